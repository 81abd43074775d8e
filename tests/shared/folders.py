"""Blobs for snapshot tests: the real folder of blobs, without a control plane in front of it."""

from collections.abc import Sequence
from pathlib import Path

from roost.blobs.folder import FolderBlobs
from roost.domain import files


class LocalBlobs:
    """What `snapshots.take` needs, over a folder; notes which files were read."""

    def __init__(self, root: Path) -> None:
        self.folder = FolderBlobs(root)
        self.read: list[str] = []

    def put(self, data: bytes) -> str:
        return self.folder.put(data)

    def carry(self, paths: Sequence[Path]) -> list[tuple[str, int]]:
        self.read += [path.name for path in paths]
        return [self.folder.put_file(path) for path in paths]

    def has(self, name: str) -> bool:
        return self.folder.size(name) is not None

    def entries(self, manifest: str) -> dict[str, files.Entry]:
        return {entry.path: entry for entry in files.read_manifest(self.folder.get(manifest))}


def tree(root: Path, content: dict[str, str]) -> Path:
    """A folder with these files."""
    for name, text in content.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def settle(root: Path) -> None:
    """Waits out the grain of the file system's clock, within which a file may change unseen and is therefore read again."""
    import time

    from roost.sdk.runs import stat_cache

    newest = max(path.lstat().st_ctime_ns for path in root.rglob("*"))
    while time.time_ns() - newest <= stat_cache.FINE_NS:
        time.sleep(0.01)
