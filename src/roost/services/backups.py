"""A back-up: one tar file with every row, as it stood at one moment, and every blob that a row refers to; made while all goes on.

`backup.json` comes first and says what follows; then `roost.db`, `vault.key` when there are secrets, and `blobs/HASH` each.
Everything in it is checked by its hash when it is restored (`roost.sdk.backups`), and a file that was cut short lacks what
`backup.json` promised.
"""

import json
import os
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from blake3 import blake3

from roost.services import secrets, upkeep
from roost.services.house import House
from roost.version import VERSION

FORMAT = 1
_BLOCK = tarfile.BLOCKSIZE
_PIECE = 1024 * 1024


@dataclass(frozen=True)
class Backup:
    house: House
    database: Path
    """The copy of the rows; gone once the pieces have been read or given up."""
    head: bytes
    key: bytes
    """What the rows' secrets are sealed with; empty when there are none."""
    blobs: list[tuple[str, int]]

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        sizes = [len(self.head), self.database.stat().st_size, *(size for _, size in self.blobs)]
        sizes += [len(self.key)] if self.key else []
        return sum(_BLOCK + size + -size % _BLOCK for size in sizes) + 2 * _BLOCK

    def pieces(self) -> Iterator[bytes]:
        """The file, piece by piece. No blob is swept before the last of them."""
        try:
            yield from _member("backup.json", len(self.head), iter((self.head,)))
            with self.database.open("rb") as rows:
                yield from _member("roost.db", os.fstat(rows.fileno()).st_size, iter(lambda: rows.read(_PIECE), b""))
            if self.key:
                yield from _member(secrets.KEY_FILE, len(self.key), iter((self.key,)))
            for name, size in self.blobs:
                yield from _member(f"blobs/{name}", size, self.house.blobs.open(name))
            yield bytes(2 * _BLOCK)
        finally:
            self.database.unlink(missing_ok=True)
            self.house.upkeep.release()


def make(house: House) -> Backup:
    """Copies the rows and lists the blobs; holds off sweeping until the pieces were read or thrown away."""
    house.upkeep.acquire()
    handle, path = tempfile.mkstemp(dir=house.facts.home, prefix=".backup-", suffix=".db")
    os.close(handle)
    database = Path(path)
    try:
        database.unlink()
        before = upkeep.referred(house)
        house.store.upkeep.copy_to(database)
        database.chmod(0o600)
        # Rows of the copy that came or went around it are known before or afterwards.
        blobs = sorted({*before, *upkeep.referred(house)})
        key_file = Path(house.facts.home) / secrets.KEY_FILE
        key = key_file.read_bytes() if key_file.exists() else b""
        head = {
            "format": FORMAT,
            "version": VERSION,
            "made_at": house.clock(),
            "home": house.facts.home,
            "workspaces": [workspace.name for workspace in house.store.workspaces.list()],
            "runs": sum(each.runs for each in house.store.upkeep.sizes()),
            "rows": {"bytes": database.stat().st_size, "blake3": _hash(database)},
            "vault": {"bytes": len(key), "blake3": blake3(key).hexdigest()} if key else None,
            "blobs": {"count": len(blobs), "bytes": sum(size for _, size in blobs)},
        }
        return Backup(house, database, json.dumps(head, indent=1).encode(), key, blobs)
    except BaseException:
        database.unlink(missing_ok=True)
        house.upkeep.release()
        raise


def _hash(path: Path) -> str:
    hasher = blake3()
    hasher.update_mmap(path)
    return hasher.hexdigest()


def _member(name: str, size: int, pieces: Iterator[bytes]) -> Iterator[bytes]:
    about = tarfile.TarInfo(name)
    about.size, about.mode = size, 0o600
    yield about.tobuf()
    yield from pieces
    if size % _BLOCK:
        yield bytes(-size % _BLOCK)
