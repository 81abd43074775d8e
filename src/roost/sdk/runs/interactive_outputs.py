"""The folder of outputs of a run that lives in this process: its files are stored when the run ends. Start with `begin`.

The files that existed before are listed beside the run's spools, so that salvage of a killed process stores the same files.
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
"""The default folder."""
NOTE = "outputs.json"
_AT_ONCE = 200
Signature = Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Tracked:
    folder: Path
    name: str
    """The prefix of its files' names in the run."""
    before: Mapping[str, Signature]
    """The files that existed when the run began, by path in the folder. A file unchanged at the end is not a result of the
    run."""

    def note(self, spools: Path) -> None:
        """Writes it to a file beside the run's spools."""
        facts = {"folder": str(self.folder), "name": self.name, "before": self.before}
        part = spools / f"{NOTE}.part"
        part.write_text(json.dumps(facts), encoding="utf-8")
        part.replace(spools / NOTE)

    def keep(self, connection: Connection, run_id: str, until: float = math.inf) -> None:
        """Uploads new and changed files, and shows progress when that takes long. Files written after `until` do not belong
        to the run. Skipped files are reported. Safe to call twice."""
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
        """Files to store, as name, path and size; unchanged files; files that cannot be stored, with the reason."""
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
    """The folder of `start_logging(outputs=…)`, created if missing; `./outputs` for None, no folder for False. From
    `./outputs` only new and changed files are stored; from a named folder, all. Raises InvalidInput when the folder cannot be
    used."""
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
    """The record that a process wrote; None when there is none, or the folder no longer exists."""
    try:
        facts = json.loads((spools / NOTE).read_bytes())
        found = Tracked(folder=Path(facts["folder"]), name=str(facts["name"]), before=dict(facts["before"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if found.folder.is_dir() else None


def _walk(folder: Path) -> Iterator[tuple[str, str]]:
    """Files and similar entries, by path in the folder; linked folders are not entered."""
    for place, below, found in os.walk(folder):
        below.sort()
        for each in sorted(found):
            path = os.path.join(place, each)
            yield os.path.relpath(path, folder).replace(os.sep, "/"), path


def _signature(path: str) -> list[int]:
    try:
        seen = os.stat(path)
    except OSError:  # a broken link, or deleted since
        return []
    return [seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns]


def _same_words(same: Sequence[str], run_id: str) -> str:
    if not same:
        return ""
    what = f"{same[0]} was" if len(same) == 1 else f"{len(same)} files, such as {same[0]}, were"
    return f"{what} there before run {run_id} began and did not change: not kept with it."
