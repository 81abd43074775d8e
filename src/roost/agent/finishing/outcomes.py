"""The end of a run: derives status, reason and message from exit codes and the log's last lines. It is written to `ended.json` as
soon as it is known, so that a salvage pass reports the same end if the agent dies.
"""

import json
import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from roost.agent.finishing import excerpts
from roost.agent.folder import Folder
from roost.agent.launching import ranks
from roost.domain.codec import decode, encode
from roost.domain.errors import InvalidInput
from roost.domain.runs import Reason, RunSpec, RunStatus
from roost.machine import files

_TAIL_BYTES = 64 * 1024
_MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    to: RunStatus
    reason: Reason
    message: str = ""
    exit_code: int | None = None
    at: float = field(default_factory=time.time, compare=False)
    """When this node learned of the end, by its own clock."""

    def with_losses(self, losses: list[str], place: Path) -> "Outcome":
        """The end with a list of the files that could not be kept; with losses, a completed run becomes failed."""
        if not losses:
            return self
        more = f" and {len(losses) - 10} more" if len(losses) > 10 else ""
        words = f"Not kept: {'; '.join(losses[:10])}{more}. It is still on the node, in {place}."
        if self.to is RunStatus.COMPLETED:
            return replace(self, to=RunStatus.FAILED, reason=Reason.UPLOAD_FAILED, message=words)
        return replace(self, message=f"{self.message}\n{words}".strip())

    def without_folder(self) -> "Outcome":
        """The end of a run whose folder was deleted: a completed run becomes failed, since its outputs may be lost."""
        if self.reason is Reason.FOLDER_GONE:
            return self
        if self.to is RunStatus.COMPLETED:
            return replace(self, to=RunStatus.FAILED, reason=Reason.FOLDER_GONE, message=FOLDER_GONE)
        return replace(self, message=f"{self.message}\n{FOLDER_GONE}".strip())


FOLDER_GONE = (
    "The run's folder on the node was deleted while it ran, and what was in ./outputs and ./logs with it. What it had printed "
    "and logged was still open, and is kept."
)
DONE = Outcome(to=RunStatus.COMPLETED, reason=Reason.DONE, exit_code=0)


def failed(reason: Reason, message: str, exit_code: int | None = None) -> Outcome:
    return Outcome(to=RunStatus.FAILED, reason=reason, message=message, exit_code=exit_code)


def canceled(message: str, exit_code: int | None = None) -> Outcome:
    return Outcome(to=RunStatus.CANCELED, reason=Reason.CANCELED_BY_USER, message=message, exit_code=exit_code)


def told(ending: Reason, exit_code: int | None = None, words: str = "") -> Outcome:
    """The end of a node that was halted because of other nodes; `words` describe a failed rank of this node."""
    if ending is Reason.NODES_DONE:
        return Outcome(to=RunStatus.COMPLETED, reason=ending, exit_code=0)
    return failed(ending, "A node of the run was taken away." if ending is Reason.PREEMPTED else words, exit_code)


def of_exit(
    code: int, log: Path, hide: Callable[[str], str] = str, memory: str = "", who: str = "The script"
) -> Outcome:
    """The end of a script that ended by itself. `memory`: a sentence if it ran out of memory; `who`: the process's name."""
    if code == 0:
        return replace(DONE, at=time.time())
    words = [memory or _fate(code, who), last_words(log, hide), _full_disk(log)]
    return failed(Reason.EXIT_CODE, "\n".join(filter(None, words)), code)


def missing_module(message: str, spec: RunSpec) -> str:
    """A hint if the script's last error is a missing module, else empty."""
    missing = _MISSING_MODULE.fullmatch(message.rpartition("\n")[2])
    if missing is None:
        return ""
    module = missing[1]
    package, dot, _ = module.partition(".")
    if dot:  # Python names the first part that is missing
        return (
            f"hint: {package!r} is there, but without {module!r}: the script needs another version of it, or a package that adds "
            "to it."
        )
    looked = f"hint: {module!r} is neither among the run's files nor in "
    if spec.environment is not None:
        return f"{looked}environment {spec.environment.name!r}: add the package that has it to the environment."
    return (
        f"{looked}{spec.interpreter or 'its Python'}, which was used because the run has no environment. Install the package "
        "there, or give an environment: ScriptRunConfig(environment=…), or roost submit --environment requirements.txt."
    )


def _full_disk(log: Path) -> str:
    """A sentence if the log's disk is full, else empty: the log itself may have no room for this error."""
    try:
        return "" if os.statvfs(log.parent).f_bavail else f"No room is left on the disk of {log.parent}."
    except OSError:
        return ""


def _fate(code: int, who: str) -> str:
    if code > 0:
        return f"{who} ended with exit code {code}."
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " Perhaps the machine ran out of memory." if name == "SIGKILL" else ""
    return f"{who} was ended by {name}.{hint}"


def of_ranks(folder: Folder, hide: Callable[[str], str]) -> str:
    """The failed rank among those that MPI started here, with its last lines; empty when none failed. The rank's own node reports
    them, since only its agent has the secrets to mask."""
    found = ranks.failed(folder)
    if found is None:
        return ""
    rank, code, log = found
    return f"{_fate(code, f'Rank {rank}')}\n{last_words(log, hide)}".strip()


def last_words(log: Path, hide: Callable[[str], str] = str) -> str:
    """The log's last error lines, from `excerpts`; `hide` masks secrets."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            text = hide(file.read().decode("utf-8", "replace"))
    except OSError:
        return ""
    return excerpts.last_words(text)


def save(folder: Folder, outcome: Outcome) -> None:
    files.write(folder.ended, json.dumps(encode(outcome)).encode())


def load(folder: Folder) -> Outcome | None:
    """The script's end, if it was saved before the agent died; else None."""
    try:
        return decode(Outcome, json.loads(folder.ended.read_bytes()))
    except (OSError, ValueError, InvalidInput):
        return None
