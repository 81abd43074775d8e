"""Unpacks and repacks wheels, so that their libraries find others relative to their own place."""

import base64
import hashlib
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path


def set_runpath(wheel: Path, runpath: Sequence[str], patchelf: Callable[[list[str]], object]) -> None:
    """Sets the folders in which a wheel's libraries look for others; `patchelf` runs that program with arguments."""
    with tempfile.TemporaryDirectory(prefix="wheel-", dir=wheel.parent) as name:
        folder = Path(name)
        with zipfile.ZipFile(wheel) as archive:
            entries = archive.infolist()
            archive.extractall(folder)
        for library in sorted(folder.rglob("*.so")):
            patchelf(["--set-rpath", ":".join(runpath), str(library)])
        _pack(folder, entries, wheel)


def _pack(folder: Path, entries: Sequence[zipfile.ZipInfo], wheel: Path) -> None:
    """Packs the same files again, with a correct RECORD."""
    (record,) = (entry.filename for entry in entries if entry.filename.endswith(".dist-info/RECORD"))
    lines = []
    part = wheel.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in entries:
            if entry.is_dir() or entry.filename == record:
                continue
            data = (folder / entry.filename).read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{entry.filename},sha256={digest},{len(data)}\n")
            archive.writestr(_entry(entry), data)
        archive.writestr(record, "".join(lines) + f"{record},,\n")
    part.rename(wheel)


def _entry(old: zipfile.ZipInfo) -> zipfile.ZipInfo:
    new = zipfile.ZipInfo(old.filename, old.date_time)
    new.external_attr = old.external_attr  # its mode
    new.compress_type = zipfile.ZIP_DEFLATED
    return new
