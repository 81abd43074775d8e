"""Logs by rank: each of several processes has a log of its own, and the run's log has the lines of all, in the order of arrival.

`user_logs/std_log_process_N.txt` is the log of rank N; `user_logs/std_log.txt` has each whole line with `[N] ` before it.
"""

from collections.abc import Iterator

import blake3

from roost.domain.files import STD_LOG, RunFile, of_attempt, speaker
from roost.domain.runs import Run
from roost.services.context import Context
from roost.services.signals import run_topic
from roost.store.base import Merge

_PIECE = 1024 * 1024
_TRIES = 100


def merge(path: str) -> Merge | None:
    """The stream that this stream's lines are merged into; None when they are not merged."""
    who = speaker(path)
    return Merge(STD_LOG, f"[{who}] ".encode()) if who else None


def merge_rest(context: Context, run_id: str, path: str) -> None:
    """A rank's log is complete: merges its last line even without a line break."""
    into = merge(path)
    if into is not None:
        context.store.streams.merge_rest(run_id, path, into)


def say(context: Context, run_id: str, words: str) -> None:
    """Writes a line of Roost's own to the run's log."""
    line = f"[roost] {words}\n".encode()
    for _ in range(_TRIES):  # ranks may append meanwhile
        mark = context.store.streams.size(run_id, STD_LOG) or 0
        if context.store.streams.append(run_id, STD_LOG, mark, line) == mark + len(line):
            break
    context.signals.notify(run_topic(run_id))


def seal(context: Context, run_id: str, name: str = STD_LOG) -> None:
    """Stores the merged log as a file of the run under this name and drops its stream; does nothing when there is no stream. Only
    for the caller that moved the run to a status in which nothing more is appended."""
    live = context.store.streams.size(run_id, STD_LOG)
    if live is None:
        return
    hashed, size = blake3.blake3(), 0
    for piece in _pieces(context, run_id):
        hashed.update(piece)
        size += len(piece)
    if size < live:  # the stream was sealed by a file of that name meanwhile
        return
    blob = hashed.hexdigest()
    context.blobs.put_stream(_pieces(context, run_id, size), expected=blob)
    file = RunFile(path=name, blob=blob, size=size, modified_at=context.clock())
    context.store.files.put(run_id, [file])
    context.store.streams.drop(run_id, [STD_LOG])


def put_aside(context: Context, run: Run) -> None:
    """The run begins again: renames its logs after the last attempt, so that the next attempt starts with empty logs."""
    last = run.attempt - 1
    seal(context, run.id, of_attempt(STD_LOG, last))
    context.store.streams.drop(run.id, [name for name in context.store.streams.names(run.id) if speaker(name)])
    kept = [file.path for file in context.store.files.list(run.id, "user_logs")]
    logs = {path: of_attempt(path, last) for path in kept if path == STD_LOG or speaker(path)}
    context.store.files.rename(run.id, logs)


def _pieces(context: Context, run_id: str, size: int | None = None) -> Iterator[bytes]:
    offset = 0
    while piece := context.store.streams.read(
        run_id, STD_LOG, offset, _PIECE if size is None else min(_PIECE, size - offset)
    ):
        yield piece
        offset += len(piece)
