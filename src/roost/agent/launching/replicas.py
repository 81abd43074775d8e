"""A replica of an endpoint on its node: the models laid out for it, and its worker kept alive. Start with `Supervisor.run`.

A worker that was ready and ends is restarted at once, even while the control plane is away (`pauses`). When no worker was ever
ready, `init()` has failed: then the run fails, with the script's own traceback.
"""

import contextlib
import logging
import os
import shutil
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from roost.agent.finishing import outcomes
from roost.agent.finishing.outcomes import Outcome
from roost.agent.folder import Folder, make_private
from roost.agent.launching.launch import Launched
from roost.agent.launching.pauses import Pauses
from roost.agent.orders import Orders
from roost.agent.processes import POLITE_SECONDS, wait
from roost.domain.endpoints import Serving
from roost.domain.errors import InvalidInput
from roost.domain.runs import Reason, RunSpec
from roost.machine.processes import Known
from roost.transport.carrying import Carrier, Meanwhile
from roost_job.scoring.frames import ENDED, EXIT_ABORTED

MODELS = "azureml-models"
"""The folder in the working copy, with the name that scripts expect."""
SOCKET = "ROOST_SERVING_SOCKET"
LOOK_SECONDS = 0.2
"""Between checks whether a worker is ready, and whether it uses too much memory."""
IDLE_SECONDS = 5.0
"""Between checks of a worker that is ready and has no memory limit."""
LOG_BYTES, LOG_KEPT = 64 * 2**20, 8 * 2**20
"""A replica may run for months: a log longer than the first is cut down to its last part, of the second size."""
SAID_BYTES = 32 * 2**10
"""Size of the last part of an error from init() that is reported: the reason is at its end."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
log = logging.getLogger("roost.agent")


def lay_out(folder: Folder, spec: RunSpec, carrier: Carrier, meanwhile: Meanwhile) -> dict[str, str]:
    """Puts a replica's models into its working copy; returns the variables by which its worker finds everything."""
    serving = spec.serving
    assert serving is not None
    root = folder.work / MODELS
    if os.path.lexists(root):
        raise InvalidInput(
            f"The source folder has a {MODELS!r} of its own, where the endpoint's models are to be.",
            hint="Name it otherwise, or leave it out with .amlignore.",
        )
    root.mkdir()
    for model in serving.models:
        place = root / model.name / str(model.version)
        place.mkdir(parents=True)
        carrier.lay_out(model.manifest, place, meanwhile)
    named = bool(serving.source_name) and _name_source(folder.work, serving.source_name)
    only = serving.models[0] if len(serving.models) == 1 else None
    own = {
        "AZUREML_MODEL_DIR": str(root / only.name / str(only.version) if only else root),
        "AML_APP_ROOT": str(folder.work),
        "AZUREML_APP_ROOT": str(folder.work),
        **({"AZUREML_SOURCE_DIRECTORY": serving.source_name} if named else {}),
        SOCKET: serving.socket,
        "ROOST_SERVING_HANDLER": serving.handler,
        "ROOST_SERVING_CONCURRENCY": str(serving.concurrency),
    }
    place = Path(serving.socket).parent
    make_private(place.parent)
    make_private(place)
    return {**own, "AZUREML_ENTRY_SCRIPT": spec.script} if spec.script else own


def _name_source(work: Path, name: str) -> bool:
    """Makes the working folder's entries reachable as `./name/…` too, the source folder's path in Azure ML; False when the source
    has an entry of that name. Links each entry, not the folder itself, so that a walk ends."""
    place = work / name
    entries = [entry.name for entry in os.scandir(work) if entry.name != MODELS]
    if os.path.lexists(place):
        return False
    place.mkdir()
    for entry in entries:
        (place / entry).symlink_to(Path("..", entry))
    return True


def clear(spec: RunSpec) -> None:
    """Removes the socket. Safe twice."""
    if spec.serving is not None:
        place = Path(spec.serving.socket).parent
        shutil.rmtree(place, ignore_errors=True)
        with contextlib.suppress(OSError):
            place.parent.rmdir()  # only a folder for short paths can be empty; an endpoint's own never is


class Supervisor:
    """Keeps one worker alive until the run is halted."""

    def __init__(
        self,
        serving: Serving,
        orders: Orders,
        members: Callable[[], Sequence[Known]],
        tell: Callable[[str], None],
        hide: Callable[[str], str] = str,
    ) -> None:
        """`members` are the run's processes, `tell` writes to its log, `hide` masks secrets."""
        self._serving = serving
        self._socket = Path(serving.socket)
        self._orders = orders
        self._members = members
        self._tell = tell
        self._hide = hide
        self._limit = int(serving.memory_gb * 2**30)
        self._ever_ready = False
        self._ready = False
        self._pauses = Pauses(self._socket.parent.parent, serving.version)

    def run(
        self, start: Callable[[], Sequence[Launched]], end: Callable[[Sequence[Launched], float], object]
    ) -> Outcome | None:
        """Starts the worker again each time it ends; returns None when the run is halted, else its failure. `end` ends all
        processes, by force after the given seconds."""
        try:
            return self._run(start, end)
        finally:
            self._pauses.close()

    def _run(
        self, start: Callable[[], Sequence[Launched]], end: Callable[[Sequence[Launched], float], object]
    ) -> Outcome | None:
        ended = Path(f"{self._socket}{ENDED}")
        while True:
            for path in (self._socket, ended):
                with contextlib.suppress(OSError):
                    path.unlink()
            began = time.monotonic()
            self._ready = False
            workers = start()
            why = self._watch(workers)
            code = workers[0].running.exit_code()
            if why:
                _note(ended, why)  # before its end: the front reads the reason right after it
            end(workers, 0.0 if why else POLITE_SECONDS)  # a worker over its memory limit would grow further
            if self._orders.halted:
                return None
            why = why or _fate(code)
            if not self._ever_ready:
                return outcomes.failed(Reason.EXIT_CODE, self._init_failed(why, workers[0].log), code)
            pause = self._pauses.after(self._ready, time.monotonic() - began)
            self._tell(f"{why} It is begun anew {f'in {pause:.1f} s' if pause else 'at once'}.")
            if self._halted_within(pause):
                return None

    def _watch(self, workers: Sequence[Launched]) -> str:
        """Waits until the worker ends or must be ended; returns the reason in the second case, else an empty text."""
        running = [worker.running for worker in workers]
        while not self._orders.halted and running[0].exit_code() is None:
            pause = LOOK_SECONDS if self._limit or not self._ready else IDLE_SECONDS
            wait(running, self._orders.wake, time.monotonic() + pause)
            trim(workers[0].log)
            if not self._ready and self._socket.exists():
                self._ready = self._ever_ready = True
                log.info("The worker is ready.")
            if self._limit and (used := _memory(self._members())) > self._limit:
                return (
                    f"The replica had {used / 2**30:.2f} GB of memory, more than its limit of "
                    f"{self._serving.memory_gb:g} GB, and was ended."
                )
        # It may have become ready between two checks: a killed worker leaves its socket, and EXIT_ABORTED implies a request.
        if not self._ready and (self._socket.exists() or running[0].exit_code() == EXIT_ABORTED):
            self._ready = self._ever_ready = True
        return ""

    def _init_failed(self, why: str, log_file: Path) -> str:
        """The worker's own error; without one, how it ended and its last output."""
        with contextlib.suppress(OSError):
            if said := self._hide(_ending(f"{self._socket}.failed")).strip():
                return said
        return f"{why} init() had not returned.\n{outcomes.last_words(log_file, self._hide)}".strip()

    def _halted_within(self, seconds: float) -> bool:
        wait((), self._orders.wake, time.monotonic() + seconds)
        return self._orders.halted is not None


def trim(path: Path, most: int = LOG_BYTES, kept: int = LOG_KEPT) -> None:
    """Cuts a log that is still written down to the whole lines of its last part. Output of that very moment may be lost."""
    if not path.exists() or path.stat().st_size <= most:
        return
    with open(path, "r+b") as file:
        file.seek(-kept, os.SEEK_END)
        last = file.read().partition(b"\n")[2]
        file.truncate(0)
    with open(path, "ab", buffering=0) as file:
        file.write(b"(What was printed before is not kept.)\n" + last)


def _note(path: Path, words: str) -> None:
    """Writes a text beside the socket, to a new file, never to one that the worker made. Errors are ignored."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(words.encode())


def _ending(path: str) -> str:
    """The last part of a regular file that the worker wrote; OSError for a link or any other kind of file."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise FileNotFoundError(path)
        return os.pread(file, SAID_BYTES, max(0, found.st_size - SAID_BYTES)).decode("utf-8", "replace")
    finally:
        os.close(file)


def _fate(code: int | None) -> str:
    if code == EXIT_ABORTED:
        return "A request took longer than its time limit, and the replica's process was ended for it."
    if code is not None and code < 0:
        return f"The replica's process was ended by signal {-code}."
    return f"The replica's process ended with exit code {code}."


def _memory(processes: Sequence[Known]) -> int:
    """Bytes of memory that belong to these processes alone: file pages, which others may share, do not count."""
    total = 0
    for process in processes:
        with contextlib.suppress(OSError, ValueError, IndexError):
            resident, shared = Path(f"/proc/{process.pid}/statm").read_text().split()[1:3]
            total += (int(resident) - int(shared)) * _PAGE
    return total
