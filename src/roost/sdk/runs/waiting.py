"""`wait_for_completion`: prints the run's log while it runs, as the Azure ML SDK v1 does, and its end. Does not poll."""

import codecs
import re
import sys
from typing import TextIO

from roost.domain.environments import BUILD_LOG as BUILD_LOG
from roost.domain.files import STD_LOG
from roost.domain.runs import Reason, Run, RunStatus
from roost.sdk.calls import run_records
from roost.transport.client import Client, path_of
from roost_job.exceptions import ActivityFailedException

LONGEST_POLL = 25.0
_QUIET = 2.0
"""Seconds in a queue that are not worth a message."""
_WORTH_SAYING = 1.0
"""Waiting times from this many seconds on are in the summary."""
_ERROR = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Iteration|Warning)\b")
_AT_ONCE = 1024 * 1024
_OWN_BUILD = (Reason.BUILDING_ENVIRONMENT, Reason.BUILD_LOST)


def until_end(client: Client, run_id: str) -> Run:
    """The run once it has ended."""
    run = run_records.get(client, run_id)
    while not run.status.is_terminal:
        run = run_records.get(client, run_id, after=run.revision, wait=LONGEST_POLL)
    return run


class Tail:
    """One text stream of a run, read as it grows; over when the run has ended and everything was read."""

    def __init__(self, client: Client, run_id: str, name: str = STD_LOG) -> None:
        self._client = client
        self._path = path_of("runs", run_id, "streams", name)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._offset = 0
        self.over = False

    def read(self, wait: float = LONGEST_POLL) -> str:
        """New text; waits for it, for the run's end or for `wait` seconds."""
        params = {"offset": self._offset, "wait": wait, "limit": _AT_ONCE}
        answer = self._client.fetch("GET", self._path, params=params, timeout=wait + 30.0)
        self._offset = int(answer.headers.get("roost-offset", self._offset + len(answer.body)))
        # The server determines the end before it reads the bytes, so a full answer may not be the last.
        self.over = answer.headers.get("roost-over") == "1" and len(answer.body) < _AT_ONCE
        return self._decoder.decode(answer.body, final=self.over)


def stream(client: Client, run_id: str, url: str, out: TextIO | None = None) -> Run:
    """Prints address, log and summary of a run until it has ended; returns the ended run."""
    file = out if out is not None else sys.stdout
    file.write(f"RunId: {run_id}\nWeb View: {url}\n")
    file.flush()
    last = "\n"
    environment = run_records.get(client, run_id).spec.environment
    built = ""
    if environment is not None:
        _wait_for_builder(client, run_id, file)
        built = _show(Tail(client, run_id, BUILD_LOG), BUILD_LOG, file)
        last = built or last
    wait_for_room(client, run_id, file)
    logged = _show(Tail(client, run_id, STD_LOG), STD_LOG, file)
    last = logged or last
    run = until_end(client, run_id)
    file.write("" if last == "\n" else "\n")
    file.write(f"\nExecution Summary\n=================\nRunId: {run_id}\nWeb View: {url}\n")
    file.write(f"Status: {run.status.value}\n{_times(run)}")
    if run.status is RunStatus.FAILED:
        file.write(f"\nError:\n{_summary(run, bool(built), bool(logged))}\n")
    file.write("\n")
    file.flush()
    return run


def _wait_for_builder(client: Client, run_id: str, file: TextIO) -> None:
    """Waits until its environment exists or its own agent builds it; prints once that another run's agent is building it."""
    run = run_records.get(client, run_id)
    told = ""
    while run.status in (RunStatus.NOT_STARTED, RunStatus.PREPARING) and run.reason not in _OWN_BUILD:
        waits = run.message if run.reason is Reason.WAITING_FOR_BUILD else ""
        if waits and waits != told:
            file.write(f"{waits}\n")
            file.flush()
            told = waits
        run = run_records.get(client, run_id, after=run.revision, wait=LONGEST_POLL)


def wait_for_room(client: Client, run_id: str, file: TextIO) -> None:
    """Waits until it has left the queue; prints the reason when it stays there, and again when the reason changes."""
    run = run_records.get(client, run_id)
    told = ""
    while run.status in (RunStatus.NOT_STARTED, RunStatus.PREPARING, RunStatus.QUEUED) or _is_held(run):
        before = run.revision
        run = run_records.get(client, run_id, after=before, wait=LONGEST_POLL if told else _QUIET)
        if run.revision == before and (run.status is RunStatus.QUEUED or _is_held(run)):
            _, why = run_records.events(client, run_id)
            if why != told:
                file.write(f"{run.status.value}. {why}\n")
                file.flush()
                told = why


def _is_held(run: Run) -> bool:
    """True while the queue of its engine holds its agent back."""
    return run.status is RunStatus.PROVISIONING and run.reason is Reason.WAITING_IN_QUEUE


def _times(run: Run) -> str:
    """How long it ran, and how long it waited before, when that was long."""
    if run.ended_at is None:
        return ""
    if run.started_at is None:
        return f"Duration: it ended before its script began, after {_duration(run.ended_at - run.created_at)}\n"
    waited = run.started_at - run.created_at
    before = f" (waited {_duration(waited)} before)" if waited >= _WORTH_SAYING else ""
    return f"Duration: {_duration(run.ended_at - run.started_at)}{before}\n"


def _duration(seconds: float) -> str:
    """`5.6 s`, `2:05 min`, `1:02:03 h`."""
    seconds = max(0.0, seconds)
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} h" if hours else f"{minutes}:{rest:02} min"


def _summary(run: Run, built: bool, logged: bool) -> str:
    """Why it failed. When the log was printed above: only the first line, the error's own line and the hint."""
    words = describe_failure(run)
    first, *rest = words.splitlines()
    hints = [line for line in rest if line.startswith("hint: ")]
    if rest and built and run.reason is Reason.ENVIRONMENT_FAILED:
        return "\n".join([f"{first} Its log above says why.", *hints])
    return brief(run) if logged and run.reason is Reason.EXIT_CODE else words


def brief(run: Run) -> str:
    """Why a run failed, without details that are in its log: the event, the error itself, and the hint."""
    words = describe_failure(run)
    if run.reason not in (Reason.EXIT_CODE, Reason.ENVIRONMENT_FAILED):
        return words
    first, *rest = words.splitlines()
    hints = [line for line in rest if line.startswith("hint: ")]
    told = [line for line in rest if line not in hints]
    errors = [line for line in told if _ERROR.match(line)]
    return "\n".join([first, *(errors[-1:] or _last_sentence(told)), *hints])


def _last_sentence(lines: list[str]) -> list[str]:
    """The last line; an indented one together with the lines above it, up to the line it is indented under."""
    if not lines:
        return []
    depths = [len(line) - len(line.lstrip()) for line in lines]
    begin = next((i for i in reversed(range(len(lines))) if depths[i] < depths[-1]), len(lines) - 1)
    return [" ".join(line.strip() for line in lines[begin:])]


def _show(tail: Tail, name: str, file: TextIO) -> str:
    """Prints one log under its title until it is over; returns its last character, empty for an empty log."""
    last = ""
    while not tail.over:
        text = tail.read()
        if not text:
            continue
        if not last:
            title = f"Streaming {name}"
            file.write(f"\n{title}\n{'=' * len(title)}\n\n")
        file.write(text)
        file.flush()
        last = text[-1]
    return last


def describe_failure(run: Run) -> str:
    """Why a run failed: the reason and the last error lines."""
    if run.reason is Reason.EXIT_CODE and run.message:
        return run.message  # it names the reason
    what = run.reason.value.replace("_", " ") or "failed"
    if run.exit_code is not None:
        what = f"{what} {run.exit_code}" if run.reason is Reason.EXIT_CODE else f"{what}, exit code {run.exit_code}"
    return f"{what}: {run.message}" if run.message else what


def raise_for_failure(run: Run, *, shown: bool = False) -> None:
    """Raises ActivityFailedException when the run failed; a short one when its log was just `shown`."""
    if run.status is RunStatus.FAILED:
        words = brief(run) if shown else describe_failure(run)
        raise ActivityFailedException(f"Run {run.id} failed: {words}", hint=f"Its whole log: roost run logs {run.id}")
