"""A back-up: one tar file with every row, as of one moment, and every blob that a row refers to; made while the server runs.

`backup.json` comes first and lists the rest; then `roost.db`, `vault.key` when there are secrets, and `blobs/HASH` each. A
restore (`roost.sdk.operations.backups`) checks everything by its hash, so a truncated file is noticed.
"""

import json
import os
import secrets as randomness
import tarfile
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from blake3 import blake3

from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.services import secrets, upkeep
from roost.services.context import Context
from roost.version import VERSION

FORMAT = 1
_BLOCK = tarfile.BLOCKSIZE
_PIECE = 1024 * 1024
_COPY = ".backup-"


@dataclass(frozen=True)
class Backup:
    size: int
    """Bytes of the whole file."""
    pieces: Iterator[bytes]
    """The file, piece by piece. No blob is swept before the last piece, or before the iterator is closed. When the reader stalls
    (`upkeep_lock.py`), the next piece may raise Conflict."""


def make(context: Context, caller: Caller) -> Backup:
    """Copies the rows and lists the blobs, then returns the file piece by piece."""
    caller.require(Action.BACKUP)
    pieces = _pieces(context)
    size = int(next(pieces))  # the generator has begun, so closing it cleans up
    return Backup(size, pieces)


def _pieces(context: Context) -> Iterator[bytes]:
    """First the size of the whole file, as digits; then the file."""
    with context.upkeep.taken() as turn, closing(_file(context)) as file:
        for piece in file:
            turn.rest()
            yield piece
            turn.go_on()


def _file(context: Context) -> Generator[bytes]:
    home = Path(context.facts.home)
    for left in home.glob(f"{_COPY}*"):  # left by a control plane that was killed
        left.unlink(missing_ok=True)
    # A new name each time: an abandoned back-up may still delete its own file.
    database = home / f"{_COPY}{randomness.token_hex(4)}.db"
    try:
        before = upkeep.referred(context)
        context.store.upkeep.copy_to(database)
        database.chmod(0o600)
        # A row may come or go during the copy: references from before and after cover both cases.
        blobs = sorted({*before, *upkeep.referred(context)})
        key_file = home / secrets.KEY_FILE
        key = key_file.read_bytes() if key_file.exists() else b""
        head = _head(context, database, key, blobs)
        sizes = [len(head), database.stat().st_size, *([len(key)] if key else []), *(size for _, size in blobs)]
        yield b"%d" % (sum(_BLOCK + size + -size % _BLOCK for size in sizes) + 2 * _BLOCK)
        yield from _member("backup.json", len(head), iter((head,)))
        with database.open("rb") as rows:
            yield from _member("roost.db", os.fstat(rows.fileno()).st_size, iter(lambda: rows.read(_PIECE), b""))
        if key:
            yield from _member(secrets.KEY_FILE, len(key), iter((key,)))
        for name, size in blobs:
            yield from _member(f"blobs/{name}", size, context.blobs.open(name))
        yield bytes(2 * _BLOCK)
    finally:
        database.unlink(missing_ok=True)


def _head(context: Context, database: Path, key: bytes, blobs: list[tuple[str, int]]) -> bytes:
    head = {
        "format": FORMAT,
        "version": VERSION,
        "made_at": context.clock(),
        "home": context.facts.home,
        "workspaces": [workspace.name for workspace in context.store.workspaces.list()],
        "runs": sum(each.runs for each in context.store.upkeep.sizes()),
        "rows": {"bytes": database.stat().st_size, "blake3": _hash(database)},
        "vault": {"bytes": len(key), "blake3": blake3(key).hexdigest()} if key else None,
        "blobs": {"count": len(blobs), "bytes": sum(size for _, size in blobs)},
    }
    return json.dumps(head, indent=1).encode()


def _hash(path: Path) -> str:
    hasher = blake3()
    hasher.update_mmap(path)
    return hasher.hexdigest()


def _member(name: str, size: int, pieces: Iterator[bytes]) -> Iterator[bytes]:
    about = tarfile.TarInfo(name)
    about.size, about.mode = size, 0o600
    yield about.tobuf(tarfile.GNU_FORMAT)  # one block for any size; PAX takes three from 8 GiB on
    yield from pieces
    if size % _BLOCK:
        yield bytes(-size % _BLOCK)
