"""Logs by rank: each process of several has a log of its own, and the run's log has the lines of all of them as they come.

`user_logs/std_log_process_N.txt` is a rank's own; `user_logs/std_log.txt` has each whole line with `[N] ` before it.
"""

from collections.abc import Iterator

import blake3

from roost.domain.files import STD_LOG, RunFile, of_attempt, speaker
from roost.domain.runs import Run
from roost.services.house import House
from roost.services.signals import run_topic
from roost.store.base import Merge

_PIECE = 1024 * 1024
_TRIES = 100


def merge(path: str) -> Merge | None:
    """Where the lines of this stream come together with others'; None for a stream that stands alone."""
    who = speaker(path)
    return Merge(STD_LOG, f"[{who}] ".encode()) if who else None


def merge_rest(house: House, run_id: str, path: str) -> None:
    """A rank's log is complete: its last line too, if no line break ended it."""
    into = merge(path)
    if into is not None:
        house.store.streams.merge_rest(run_id, path, into)


def say(house: House, run_id: str, words: str) -> None:
    """A line of Roost's own in the run's log."""
    line = f"[roost] {words}\n".encode()
    for _ in range(_TRIES):  # ranks may add theirs meanwhile
        mark = house.store.streams.size(run_id, STD_LOG) or 0
        if house.store.streams.append(run_id, STD_LOG, mark, line) == mark + len(line):
            break
    house.signals.ring(run_topic(run_id))


def seal(house: House, run_id: str, name: str = STD_LOG) -> None:
    """The merged log becomes a file of the run, of this name; nothing happens when there is none. Its stream goes. For whoever
    has moved the run to where nothing more is added, alone."""
    live = house.store.streams.size(run_id, STD_LOG)
    if live is None:
        return
    hashed, size = blake3.blake3(), 0
    for piece in _pieces(house, run_id):
        hashed.update(piece)
        size += len(piece)
    if size < live:  # somebody has put a file of that name meanwhile
        return
    blob = hashed.hexdigest()
    house.blobs.put_stream(_pieces(house, run_id, size), expected=blob)
    file = RunFile(path=name, blob=blob, size=size, modified_at=house.clock())
    house.store.files.put(run_id, [file])
    house.store.streams.drop(run_id, [STD_LOG])


def put_aside(house: House, run: Run) -> None:
    """The run begins again: what it has printed so far stands under its last attempt, and the next one's logs are empty."""
    last = run.attempt - 1
    seal(house, run.id, of_attempt(STD_LOG, last))
    house.store.streams.drop(run.id, [name for name in house.store.streams.names(run.id) if speaker(name)])
    kept = [file.path for file in house.store.files.list(run.id, "user_logs")]
    logs = {path: of_attempt(path, last) for path in kept if path == STD_LOG or speaker(path)}
    house.store.files.rename(run.id, logs)


def _pieces(house: House, run_id: str, size: int | None = None) -> Iterator[bytes]:
    offset = 0
    while piece := house.store.streams.read(
        run_id, STD_LOG, offset, _PIECE if size is None else min(_PIECE, size - offset)
    ):
        yield piece
        offset += len(piece)
