"""An image as files: splits the engine's export, so that layers shared by images are stored once, and joins it for loading."""

import tarfile
from collections.abc import Iterable
from pathlib import Path

from roost.domain import names
from roost.environments.archiving.base import IMAGE, KeptFiles
from roost.environments.base import Meanwhile

_LAST = f"{IMAGE}/manifest.json"
"""Stored last: an image that has it is complete."""


def is_kept(kept: KeptFiles) -> bool:
    return kept.has(_LAST)


def keep(saved: Iterable[bytes], kept: KeptFiles, scratch: Path, meanwhile: Meanwhile) -> None:
    """Splits an engine's export. Links in it are replaced by their targets."""
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
    """Writes the file that an engine loads; False when no image is stored."""
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
