"""The folder of outputs of a run that lives in this process: its files are kept when the run ends. Start with `begin`.

Which files stood there before is noted beside the run's spools, so that whoever salvages a killed process keeps the same ones.
"""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from roost.domain import names
from roost.domain.errors import InvalidInput
from roost.sdk.calls.links import HttpLink
from roost.sdk.connection.connections import Connection
from roost.sdk.core import upload_messages
from roost_job.data import local_files
from roost_job.tracking import uploads

OUTPUTS = "outputs"
"""The folder that is tracked when none is named."""
NOTE = "outputs.json"
_AT_ONCE = 200
Signature = Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Tracked:
    folder: Path
    name: str
    """What the names of its files in the run begin with."""
    before: Mapping[str, Signature]
    """What stood there when the run began, by path in the folder. Still the same at the end, it is no result of the run."""

    def note(self, spools: Path) -> None:
        """Writes it down beside the run's spools."""
        facts = {"folder": str(self.folder), "name": self.name, "before": self.before}
        part = spools / f"{NOTE}.part"
        part.write_text(json.dumps(facts), encoding="utf-8")
        part.replace(spools / NOTE)

    def keep(self, connection: Connection, run_id: str, until: float = math.inf) -> None:
        """Uploads what is new or changed, with the progress of what takes long. What was written after `until` is not the run's.
        What is passed over is said. Safe twice."""
        fresh, same, odd = self._look(until)
        link = HttpLink(connection, run_id)
        with upload_messages.Progress(len(fresh), sum(size for _, _, size in fresh), "Outputs") as progress:
            for start in range(0, len(fresh), _AT_ONCE):
                batch = fresh[start : start + _AT_ONCE]
                link.ask("upload", files=[[name, path] for name, path, _ in batch])
                progress.step(len(batch), sum(size for _, _, size in batch))
        upload_messages.once(local_files.left_out(odd))
        upload_messages.once(_same_words(same, run_id))

    def _look(self, until: float) -> tuple[list[tuple[str, str, int]], list[str], list[tuple[str, str]]]:
        """What is to be kept, as name, path and size; what has not changed; what cannot be kept, and why."""
        fresh, same, odd = [], [], []
        for inside, path in _walk(self.folder):
            name, seen = f"{self.name}/{inside}", _signature(path)
            why = names.problem(name) or local_files.problem(path, name)
            if not why and not os.access(path, os.R_OK):
                why = "it cannot be read"
            if why:
                odd.append((name, why))
            elif inside in self.before and list(self.before[inside]) == seen:
                same.append(name)
            elif seen and seen[2] / 1e9 > until:
                odd.append((name, "it was written after the run's process had ended"))
            elif seen:
                fresh.append((name, path, seen[1]))
        return fresh, same, odd


def begin(given: object) -> Tracked | None:
    """The folder that `start_logging(outputs=…)` names, made if it is missing; `./outputs` for None, nothing for False. Of
    `./outputs` only what is new or changed is kept; a folder that was named is kept whole. InvalidInput where it cannot be."""
    if given is False:
        return None
    if given is not None and not isinstance(given, str | os.PathLike):
        raise InvalidInput(f"outputs must be a folder's path, got {type(given).__name__}.", hint="outputs='outputs'")
    named = given is not None and os.fspath(given) != ""
    folder = Path(os.path.abspath(given if given is not None and named else OUTPUTS))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        words = f"The folder {folder} for outputs cannot be made: {error.strerror}."
        if named:
            raise InvalidInput(words, hint="Give another; outputs=False for none.") from None
        upload_messages.once(f"{words} The run keeps what is uploaded, and no outputs.")
        return None
    before = {} if named else {inside: _signature(path) for inside, path in _walk(folder)}
    return Tracked(folder=folder, name=uploads.folder_name(str(folder)), before=before)


def read(spools: Path) -> Tracked | None:
    """What a process noted; None where there is nothing of the kind, or no such folder any more."""
    try:
        facts = json.loads((spools / NOTE).read_bytes())
        found = Tracked(folder=Path(facts["folder"]), name=str(facts["name"]), before=dict(facts["before"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if found.folder.is_dir() else None


def _walk(folder: Path) -> Iterator[tuple[str, str]]:
    """Files and what is like them, by path in the folder; folders behind links are not gone into."""
    for place, below, found in os.walk(folder):
        below.sort()
        for each in sorted(found):
            path = os.path.join(place, each)
            yield os.path.relpath(path, folder).replace(os.sep, "/"), path


def _signature(path: str) -> list[int]:
    try:
        seen = os.stat(path)
    except OSError:  # a link to nothing, or gone since
        return []
    return [seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns]


def _same_words(same: Sequence[str], run_id: str) -> str:
    if not same:
        return ""
    what = f"{same[0]} was" if len(same) == 1 else f"{len(same)} files, such as {same[0]}, were"
    return f"{what} there before run {run_id} began and did not change: not kept with it."
