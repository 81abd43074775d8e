"""A run's files under one set of names: sealed ones are blobs, live streams still grow."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from roost.domain import names
from roost.domain.errors import InvalidInput, NotFound
from roost.domain.files import ALIASES, RunFile
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.services import rank_logs
from roost.services.context import Context
from roost.services.signals import run_topic
from roost_job.listing import some

PIECE = 1024 * 1024


def real_path(path: str) -> str:
    """The checked path, with aliases resolved."""
    checked = names.path(path)
    return ALIASES.get(checked, checked)


def listing(context: Context, caller: Caller, run_id: str, prefix: str = "") -> list[RunFile]:
    """By path; live streams have an empty blob."""
    caller.require(Action.FILE_READ)
    return _listing(context, run_id, prefix)


def _listing(context: Context, run_id: str, prefix: str = "") -> list[RunFile]:
    context.store.runs.get(names.run_id(run_id))
    folder = names.path(prefix) if prefix else ""
    # Streams are read first: one that is sealed in between is then found among the files, and is listed once.
    live = [name for name in context.store.streams.names(run_id) if _under(name, folder)]
    sealed = context.store.files.list(run_id, folder)
    known = {file.path for file in sealed}
    now = context.clock()
    streams = [
        RunFile(path=name, blob="", size=context.store.streams.size(run_id, name) or 0, modified_at=now)
        for name in live
        if name not in known
    ]
    return sorted([*sealed, *streams], key=lambda file: file.path)


def _under(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(folder + "/")


def put(context: Context, caller: Caller, run_id: str, files: Sequence[RunFile], *, node_rank: int = 0) -> int:
    """Adds files whose blobs are stored. This seals streams of the same names: their rows are deleted after the files are
    written. When two nodes of a run have different content under one path, both are kept, and the run's log names the paths."""
    caller.require(Action.FILE_WRITE)
    context.store.runs.get(names.run_id(run_id))
    checked = [_checked(context, file) for file in files]
    for path, place in context.store.files.put(run_id, checked, node_rank=node_rank).items():
        rank_logs.say(context, run_id, f"Two nodes have made {path!r}; the later one's is kept as {place!r}.")
    sealed = sorted({file.path for file in checked} & set(context.store.streams.names(run_id)))
    if sealed:
        for path in sealed:
            rank_logs.merge_rest(context, run_id, path)
        context.store.streams.drop(run_id, sealed)
    context.signals.notify(run_topic(run_id))
    return len(checked)


def _checked(context: Context, file: RunFile) -> RunFile:
    path = names.path(file.path)
    if path in ALIASES:
        raise InvalidInput(f"Path {path!r} is another name of {ALIASES[path]!r}.", hint="Put the file under that name.")
    if not math.isfinite(file.modified_at):
        raise InvalidInput(f"The time of file {path!r} must be a number of seconds, got {file.modified_at}.")
    size = context.blobs.keep(names.blob(file.blob))
    if size is None:
        raise InvalidInput(f"File {path!r} names blob {file.blob}, which is not here.", hint="Put the blob first.")
    return replace(file, path=path, size=size)


def size(context: Context, caller: Caller, run_id: str, path: str) -> int:
    """The size of a file in bytes, of a live stream so far; NotFound when there is no such file."""
    caller.require(Action.FILE_READ)
    context.store.runs.get(names.run_id(run_id))
    place = real_path(path)
    live = context.store.streams.size(run_id, place)
    return live if live is not None else _file(context, run_id, place).size


def read(
    context: Context, caller: Caller, run_id: str, path: str, offset: int = 0, limit: int | None = None
) -> Iterator[bytes]:
    """The bytes, piece by piece; of a live stream those that have arrived."""
    caller.require(Action.FILE_READ)
    place = real_path(path)
    live = context.store.streams.size(run_id, place)
    if live is None:
        return context.blobs.open(_file(context, run_id, place).blob, offset, limit)
    end = live if limit is None else min(live, offset + limit)
    return _read_live(context, run_id, place, offset, end)


def _read_live(context: Context, run_id: str, path: str, offset: int, end: int) -> Iterator[bytes]:
    while offset < end:
        piece = context.store.streams.read(run_id, path, offset, min(PIECE, end - offset))
        if not piece:  # sealed meanwhile: the rest is in the blob, byte for byte
            yield from context.blobs.open(_file(context, run_id, path).blob, offset, end - offset)
            return
        offset += len(piece)
        yield piece


def _file(context: Context, run_id: str, path: str) -> RunFile:
    try:
        return context.store.files.get(run_id, path)
    except NotFound:
        there = [file.path for file in _listing(context, run_id)]
        hint = f"It has: {some(there, 20)}." if there else "It has no files yet."
        raise NotFound(f"Run {run_id} has no file {path!r}.", hint=hint) from None
