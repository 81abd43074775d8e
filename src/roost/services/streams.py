"""Live text of a run, addressed by offset: stdout and the files in ./logs, until it is sealed into a blob."""

from dataclasses import dataclass

from roost.domain import names
from roost.domain.environments import BUILD_LOG
from roost.domain.errors import InvalidInput, NotFound
from roost.domain.files import ALIASES
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.domain.runs import RunStatus
from roost.services import files, rank_logs
from roost.services.context import Context
from roost.services.signals import run_topic

MAX_READ = 4 * 1024 * 1024
_BEFORE_BUILT = (RunStatus.NOT_STARTED, RunStatus.STARTING, RunStatus.PREPARING)


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A part of a stream."""

    data: bytes
    offset: int
    """The offset of the next piece."""
    status: RunStatus
    """The run's status, read before the bytes: if it is terminal, no more bytes follow these."""
    sealed: bool
    over: bool
    """True when the run has ended, or has left the stage that writes this stream: nothing more will come."""


def append(
    context: Context, caller: Caller, run_id: str, name: str, offset: int, data: bytes, *, reset: bool = False
) -> int:
    """Stores bytes if `offset` is the mark; always returns the mark. A sealed stream accepts nothing."""
    caller.require(Action.LOG_WRITE)
    path = names.path(name)
    if path in ALIASES:
        raise InvalidInput(f"Stream {path!r} is another name of {ALIASES[path]!r}.", hint="Write to that one.")
    if offset == 0 and context.store.streams.size(run_id, path) is None:
        context.store.runs.get(names.run_id(run_id))
        sealed = _sealed_size(context, run_id, path)
        if sealed is not None:
            return sealed
    mark = context.store.streams.append(run_id, path, offset, data, reset=reset, into=rank_logs.merge(path))
    context.signals.notify(run_topic(run_id))
    return mark


def read(context: Context, caller: Caller, run_id: str, name: str, offset: int, limit: int = MAX_READ) -> Piece:
    """Bytes from `offset` of the live stream or of its sealed file; none when there is no such stream (yet)."""
    caller.require(Action.LOG_READ)
    path = files.real_path(name)
    status = context.store.runs.get(names.run_id(run_id)).status
    limit = min(limit, MAX_READ)
    over = status.is_terminal or (path == BUILD_LOG and status not in _BEFORE_BUILT)
    if context.store.streams.size(run_id, path) is not None:
        data = context.store.streams.read(run_id, path, offset, limit)
        return Piece(data=data, offset=offset + len(data), status=status, sealed=False, over=over)
    size = _sealed_size(context, run_id, path)
    if size is None or offset >= size:
        return Piece(data=b"", offset=offset, status=status, sealed=size is not None, over=over)
    data = b"".join(context.blobs.open(context.store.files.get(run_id, path).blob, offset, limit))
    return Piece(data=data, offset=offset + len(data), status=status, sealed=True, over=over)


def _sealed_size(context: Context, run_id: str, path: str) -> int | None:
    try:
        return context.store.files.get(run_id, path).size
    except NotFound:
        return None
