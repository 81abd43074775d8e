"""An image as files: what the engine saves of it, taken apart so that layers that images share are kept once, and put together
again to be loaded.
"""

import tarfile
from collections.abc import Iterable
from pathlib import Path

from roost.domain import names
from roost.environments.archiving.base import IMAGE, KeptFiles
from roost.environments.base import Meanwhile

_LAST = f"{IMAGE}/manifest.json"
"""Kept last: an image that has it is whole."""


def is_kept(kept: KeptFiles) -> bool:
    return kept.has(_LAST)


def keep(saved: Iterable[bytes], kept: KeptFiles, scratch: Path, meanwhile: Meanwhile) -> None:
    """Takes apart what an engine saves. Links within it become what they lead to."""
    file, part = scratch / "image.tar", scratch / "image.part"
    try:
        with file.open("wb") as data:
            for piece in saved:
                meanwhile()
                data.write(piece)
        with tarfile.open(file) as archive:
            members = {f"{IMAGE}/{each.name}": each for each in archive if not each.isdir()}
            for path, member in sorted(members.items(), key=lambda each: each[0] == _LAST):
                meanwhile()
                content = archive.extractfile(member)
                if content is not None and not kept.has(names.path(path)):
                    with part.open("wb") as target:
                        while piece := content.read(1024 * 1024):
                            target.write(piece)
                    kept.add(path, part)
    finally:
        file.unlink(missing_ok=True)
        part.unlink(missing_ok=True)


def joined(kept: Path, target: Path) -> bool:
    """Makes the file that an engine loads; False where no image is kept."""
    folder = kept / IMAGE
    if not folder.is_dir():
        return False
    with tarfile.open(target, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                entry = tarfile.TarInfo(str(path.relative_to(folder)))
                entry.size, entry.mode = path.stat().st_size, 0o644
                with path.open("rb") as data:
                    archive.addfile(entry, data)
    return True
