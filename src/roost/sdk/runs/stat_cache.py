"""The result of a folder's last snapshot: each file's stat and manifest line, so that unchanged files cost one stat.

One file per source folder under ROOST_HOME/cache/snapshots. It is only an optimization: an invalid cache is discarded and
everything is hashed again. `marshal` loads ten thousand entries in a few milliseconds.
"""

import marshal
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from blake3 import blake3

from roost.machine import files

_FORMAT = f"roost-snapshot-2-{sys.version_info.major}.{sys.version_info.minor}\n".encode()
_DIGEST = 32

Signature = tuple[int, int, int, int]
"""size, mtime_ns, ctime_ns, inode."""

COARSE_NS, FINE_NS = 2_000_000_000, 100_000_000


@dataclass(slots=True)
class Cache:
    rules: str = ""
    """The text of the ignore file to which the verdicts belong."""
    verdicts: dict[str, bool] = field(default_factory=dict)
    manifest: str = ""
    """Name of the last manifest's blob: while the server has it, it also has the blobs it lists."""
    files: dict[str, tuple[Signature, str]] = field(default_factory=dict)
    """Path within the folder → its stat, its manifest line."""
    said: list[str] = field(default_factory=list)
    """Large left-out folders that were already reported to the user."""


def place(home: Path, folder: str) -> Path:
    return home / "cache" / "snapshots" / blake3(os.fsencode(folder)).hexdigest(20)


def load(path: Path) -> Cache:
    """The cache, or an empty one when it is missing, damaged or of another format."""
    try:
        data = path.read_bytes()
        head = len(_FORMAT) + _DIGEST
        payload = memoryview(data)[head:]
        if data[: len(_FORMAT)] != _FORMAT or blake3(payload).digest() != data[len(_FORMAT) : head]:
            return Cache()
        rules, verdicts, manifest, files, said = marshal.loads(payload)  # noqa: S302 - the user's own file, with a valid checksum
        return Cache(rules, verdicts, manifest, files, said)
    except (OSError, ValueError, EOFError, TypeError):
        return Cache()


def save(path: Path, cache: Cache) -> None:
    """Writes completely or not at all; on a full or read-only disk the next snapshot is only slower."""
    payload = marshal.dumps((cache.rules, cache.verdicts, cache.manifest, cache.files, cache.said))
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.write(path, _FORMAT + blake3(payload).digest() + payload)


def is_settled(signature: Signature, read_at_ns: int) -> bool:
    """True when any later change must show in the stat. A file changed within the clock's resolution of being read may change
    again unnoticed; file systems with whole seconds get a wider margin."""
    changed = signature[2]
    grain = COARSE_NS if changed % 1_000_000_000 == 0 else FINE_NS
    return changed < read_at_ns - grain
