"""Finds the embedded control plane of ROOST_HOME, or starts one. Start with `ensure`.

Two clients at once start only one: the start holds `start.lock`, and a client that waited for the lock checks again. The server
has its own session and outlives this process; its output goes to `logs/server.log`.
"""

import errno
import importlib.util
import json
import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from roost.domain.errors import Busy, Incompatible, RoostError, Unavailable
from roost.machine.locks import FileLock
from roost.sdk.connection import discovery, holders
from roost.sdk.connection.discovery import ServerRecord
from roost.sdk.connection.holders import Holder
from roost.transport.client import Client, Endpoint
from roost.version import API_LEVEL, VERSION
from roost_job.exceptions import ServiceException

_READY_SECONDS = 60.0
_ANSWER_SECONDS = 10.0
_SILENT_SECONDS = 60.0
"""Seconds that the holder of the home may be silent before it is ended."""
_PATIENT_SECONDS = 2.0
_LONGEST_REASON = 64 * 1024
_BUSY_SECONDS = 50.0
"""Additional seconds to wait for a holder that is working."""
_ANOTHER_HOLDS_THE_HOME = 3
_LARGEST_LOG = 10 * 1024 * 1024
NEEDED = ("alembic", "fastapi", "psutil", "sqlalchemy", "uvicorn")

_warned: set[str] = set()
_waited_for: set[str] = set()


class NotStarted(ServiceException):
    """The embedded control plane could not be started, or does not respond. An immediate retry would not help."""


class _Detached(subprocess.Popen[bytes]):
    """A process that is meant to outlive this one, so Python must not warn about it."""

    def __del__(self) -> None:
        pass


_started: list[_Detached] = []
"""Servers that this process started, kept so that they are reaped when they end."""


def ensure(home: Path, *, port: int | None = None, take_over: bool = False) -> ServerRecord:
    """The control plane of this home, once it responds and is compatible with this client; starts one if there is none.
    `take_over`: first end a holder of the home that has not responded for a while."""
    if take_over:
        _end_silent(home)
    record = find(home)
    if record is None or _is_replaceable(record, home):
        _make(home)
        with FileLock(home / "start.lock"):
            record = find(home)
            if record is not None and _is_replaceable(record, home):
                stop(record, home)
                record = None
            if record is None:
                record = _start(home, port)
    _check_version(record)
    return record


def find(home: Path) -> ServerRecord | None:
    """The running control plane; None when there is none. Raises Busy when it is too busy to respond, NotStarted when it
    exists and does nothing."""
    deadline = time.monotonic() + _ANSWER_SECONDS
    effort = discovery.Effort()
    while True:
        record = discovery.read_record(home)
        _reap()
        if record is None or not discovery.is_alive(record):
            return None
        effort.begin(record.pid)
        problem = _ask(record)
        if not problem:
            return record
        if time.monotonic() > deadline and effort.is_made():
            _say_busy(record, time.monotonic() > deadline + _BUSY_SECONDS)
        elif time.monotonic() > deadline:
            raise NotStarted(
                f"The control plane of {home} (process {record.pid}, {record.url}) does not answer: {problem}",
                hint=f"Its log is {discovery.log_path(home)}; if it stays so, `roost up` ends it and starts another.",
            )
        time.sleep(0.1)  # it may be about to end or to respond, and there is no event to wait for


def _say_busy(record: ServerRecord, is_final: bool) -> None:
    """Prints once that the client is waiting; finally raises Busy."""
    if is_final:
        raise Busy(
            f"The control plane at {record.url} (process {record.pid}) is at work, and has not answered for "
            f"{_ANSWER_SECONDS + _BUSY_SECONDS:.0f} s: it has more to do than this machine can.",
            hint="Try again in a moment; runs continue meanwhile.",
        )
    if record.instance not in _waited_for:
        _waited_for.add(record.instance)
        print(f"Roost: the control plane at {record.url} is busy; waiting for its answer.", file=sys.stderr)


def _end_silent(home: Path) -> None:
    """Ends the process that holds this home when it has not responded for a while, and names it."""
    began, named = time.monotonic(), False
    if _answers(discovery.read_record(home)):
        return
    while (holder := holders.find(home)) is not None:
        record = discovery.read_record(home)
        if record is not None and record.pid == holder.pid and _answers(record):
            return
        waited = time.monotonic() - began
        if waited > _SILENT_SECONDS or (waited > _ANSWER_SECONDS and _is_stuck(holder, record)):
            break
        if not named and waited > _PATIENT_SECONDS:
            named = True
            words = f"process {holder.pid} holds {home} and does not answer; it has {_SILENT_SECONDS:.0f} s to."
            print(f"Roost: {words}", file=sys.stderr)
        time.sleep(0.1)
    if holder is None:
        return
    print(f"Roost: process {holder.pid}, which holds {home}, does not answer and is ended.", file=sys.stderr)
    _force(holder, home)


def _answers(record: ServerRecord | None) -> bool:
    return record is not None and discovery.is_alive(record) and not _ask(record)


def _is_stuck(holder: Holder, record: ServerRecord | None) -> bool:
    """True when the process should have been ready long ago and never announced itself."""
    return holder.age > _SILENT_SECONDS and (record is None or record.pid != holder.pid)


def _force(holder: Holder, home: Path) -> None:
    if not holders.end(holder, home):
        raise NotStarted(
            f"Process {holder.pid}, which holds {home}, does not end, not even when it is killed.",
            hint="It waits for a disk or a device that does not answer: `dmesg` may name it.",
        )


def _ask(record: ServerRecord) -> str:
    """The problem with the server's answer; empty when it is the server that wrote the record."""
    client = Client(lambda: Endpoint(record.url, ""), patience=0.0)
    try:
        health = client.call("GET", "/api/health", timeout=_ANSWER_SECONDS)
    except RoostError as error:
        return error.message
    finally:
        client.close()
    if not isinstance(health, dict) or health.get("instance") != record.instance:
        return f"something else answers at {record.url}."
    return ""


def _call(record: ServerRecord, home: Path, method: str, path: str) -> dict[str, Any]:
    """One request to exactly this server, which may be shutting down."""
    token = discovery.read_token(home)
    client = Client(lambda: Endpoint(record.url, token), patience=1.0)
    try:
        answer: dict[str, Any] = client.call(method, path)
        return answer
    finally:
        client.close()


def ask_facts(record: ServerRecord, home: Path) -> dict[str, object]:
    """Facts about the control plane that its file does not contain."""
    facts = _call(record, home, "GET", "/api/server")
    return {"active_runs": facts["active_runs"], "api_level": facts["api_level"], "instance": facts["instance"]}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in version.split("."))


def _is_older(record: ServerRecord) -> bool:
    return (record.api_level, _numbers(record.version)) < (API_LEVEL, _numbers(VERSION))


def _is_replaceable(record: ServerRecord, home: Path) -> bool:
    """True for an older, idle server: it is replaced by this client's own version."""
    if not _is_older(record):
        return False
    try:
        facts = _call(record, home, "GET", "/api/server")
    except RoostError:
        return False
    return int(facts.get("active_runs", 1)) == 0


def _check_version(record: ServerRecord) -> None:
    check_level(record.api_level, record.version, record.url)
    if _is_older(record) and record.instance not in _warned:
        _warned.add(record.instance)
        print(
            f"Roost: the control plane at {record.url} is version {record.version}, this client {VERSION}. "
            "It has runs to look after and is replaced once it is idle.",
            file=sys.stderr,
        )


def check_level(level: int, version: str, url: str) -> None:
    """Raises Incompatible when client and control plane cannot work together."""
    if level == API_LEVEL:
        return
    hint = (
        "Let its runs end; then `roost down` and `roost up` replace it."
        if level < API_LEVEL
        else "Install the version of Roost that the control plane has."
    )
    raise Incompatible(
        f"The control plane at {url} is version {version} (level {level}), this client {VERSION} (level {API_LEVEL}).",
        hint=hint,
    )


def stop(record: ServerRecord, home: Path, *, seconds: float = 15.0) -> None:
    """Ends a control plane gracefully and waits for it; agents continue. Raises NotStarted when it does not end."""
    discovery.note_down(home, record)
    with suppress(Unavailable):  # it may end before it responds
        _call(record, home, "POST", "/api/server/shutdown")
    deadline = time.monotonic() + seconds
    while discovery.is_alive(record):
        if time.monotonic() > deadline:
            raise NotStarted(
                f"The control plane of {home} (process {record.pid}) has not ended after {seconds:.0f} s.",
                hint=f"Its log is {discovery.log_path(home)}; end it with: kill {record.pid}",
            )
        _reap()
        time.sleep(0.02)


def end(home: Path) -> int | None:
    """Ends the control plane of this home, also one that does not respond; returns its process id, None when there was none."""
    record = discovery.read_record(home)
    try:
        found = find(home)
        if found is not None:
            stop(found, home)
            return found.pid
    except (NotStarted, Busy):
        pass  # it exists, and is ended below
    holder = holders.find(home)
    if holder is None:
        return None
    if record is not None:
        discovery.note_down(home, record)
    _force(holder, home)
    return holder.pid


def _start(home: Path, port: int | None) -> ServerRecord:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise NotStarted(
            f"The embedded control plane needs packages that are not installed: {', '.join(missing)}.",
            hint=f"{sys.executable} -m pip install 'roost[server]', or set ROOST_URL and ROOST_TOKEN to use another one.",
        )
    if os.environ.get("ROOST_RUN_ID"):
        raise NotStarted(
            f"The control plane of {home} is away, and a run cannot start it: it would end with the run.",
            hint="`roost up` outside the run brings it back.",
        )
    first = not (home / "token").exists()
    log = _open_log(home)
    begin = os.fstat(log).st_size
    try:
        words = f" Its files are in {home}." if first else ""
        print(f"Roost: starting the control plane on this machine.{words}", file=sys.stderr)
        is_ours = _spawn(home, port, log, begin)
        deadline = time.monotonic() + _ANSWER_SECONDS
        while (record := find(home)) is None:  # at once, unless another process is starting one right now
            if time.monotonic() > deadline:
                raise _unannounced(home) or _failure(home, begin, "ended right after it was ready")
            time.sleep(0.05)
            if not is_ours and holders.find(home) is None:  # it was ending, and is gone now
                is_ours = _spawn(home, port, log, begin)
        return record
    finally:
        os.close(log)


def _unannounced(home: Path) -> NotStarted | None:
    """The error for a home that is held by a process whose address is unknown."""
    holder = holders.find(home)
    if holder is None:
        return None
    return NotStarted(
        f"Process {holder.pid} holds {home} since {holder.age:.0f} s, and has not said where it answers.",
        hint="`roost up` waits for it, and ends it when it stays silent.",
    )


def _make(home: Path) -> None:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        discovery.log_path(home).parent.mkdir(mode=0o700, exist_ok=True)
        if not os.access(home, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise NotStarted(
            f"Roost cannot write to its home {home}: {error.strerror or error}.",
            hint="Set ROOST_HOME to a folder of yours on a local disk.",
        ) from None


def _open_log(home: Path) -> int:
    """Opens the server's log for appending; moves a large one aside first."""
    path = discovery.log_path(home)
    try:
        if path.exists() and path.stat().st_size > _LARGEST_LOG:
            path.replace(path.with_name("server.log.1"))
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise NotStarted(f"The log {path} cannot be written: {error.strerror or error}.") from None


def _spawn(home: Path, port: int | None, log: int, begin: int) -> bool:
    """Starts the server and returns when it reports that it is ready; False when another process holds the home."""
    ready, tell = os.pipe()
    argv = [sys.executable, "-P", "-m", "roost.server", "--home", str(home), "--ready-fd", str(tell)]
    try:
        argv += ["--port", str(port)] if port is not None else []
        process = _Detached(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=home,
            pass_fds=(tell,),
            start_new_session=True,
        )
    finally:
        os.close(tell)
    _started.append(process)
    try:
        poll = select.poll()
        poll.register(ready, select.POLLIN)
        said = os.read(ready, _LONGEST_REASON) if poll.poll(_READY_SECONDS * 1000) else None
    finally:
        os.close(ready)
    if said is None:
        _terminate(process)
        raise _failure(home, begin, f"was not ready after {_READY_SECONDS:.0f} s")
    if said.startswith(b"failed "):
        raise _refusal(home, said)
    if not said and process.wait() != _ANOTHER_HOLDS_THE_HOME:
        raise _failure(home, begin, f"ended with code {process.returncode} before it was ready")
    return bool(said)


def _terminate(process: _Detached) -> None:
    process.terminate()
    try:
        process.wait(_ANSWER_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _refusal(home: Path, said: bytes) -> NotStarted:
    """The error with the server's own reason: on a full disk the log does not contain it."""
    reason = json.loads(said.removeprefix(b"failed "))
    return NotStarted(str(reason["message"]), hint=str(reason["hint"]) or f"Its log: {discovery.log_path(home)}")


def _failure(home: Path, begin: int, what: str) -> NotStarted:
    """The error with the server's own output: the log before byte `begin` is from earlier servers."""
    path = discovery.log_path(home)
    try:
        last = path.read_bytes()[begin:].decode("utf-8", "replace").splitlines()[-15:]
    except OSError:
        last = []
    lines = "".join(f"\n    {line}" for line in last)
    return NotStarted(f"The control plane {what}. The last lines of its log:{lines}", hint=f"The whole log: {path}")


def _reap() -> None:
    for process in list(_started):
        if process.poll() is not None:
            _started.remove(process)
