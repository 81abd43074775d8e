"""A storm of kills: runs come and go while processes of every kind are killed with -9; then every record is counted.

A script writes down how much it has logged, printed and kept in a ledger of its own, after each step. What the ledger has and
the run has not is lost; what the run has twice is doubled.
"""

import itertools
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import psutil
from tests.journeys.kills import alive, server_pid, submit

from roost import Experiment, Run
from roost.agent.folder import Folder
from roost.agent.processes import marked
from roost.domain.errors import RoostError
from roost.machine.processes import Known, known, look

T = TypeVar("T")
ENDED = ("Completed", "Failed", "Canceled")
AT_ONCE = 3
FIND_SECONDS = 20.0
"""That one is waited for whose turn it is to be killed."""
SETTLE_SECONDS = 180.0
SCRIPT = """
import os, sys, time
from azureml.core import Run

run, ledger = Run.get_context(), os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
points = lines = files = 0
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    for _ in range(50):
        run.log("loss", points)
        points += 1
    print("line", lines, flush=True)
    lines += 1
    if lines % 10 == 0:
        open("part", "w").write(str(files))
        os.rename("part", "outputs/%d.txt" % files)
        files += 1
    os.write(ledger, b"%d %d %d\\n" % (points, lines, files))
    time.sleep(0.05)
"""
RECORDS = ("points", "lines", "files")


@dataclass
class Tally:
    """What the storm has done, and what became of it."""

    kills: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    doubled: Counter[str] = field(default_factory=Counter)
    processes_left: int = 0

    def table(self) -> str:
        lines = ["", f"{'killed':<24}{'times':>10}"]
        lines += [f"{kind:<24}{count:>10,}" for kind, count in sorted(self.kills.items())]
        lines += [f"{'all':<24}{self.kills.total():>10,}", "", f"{'runs':<24}{self.ends.total():>10,}"]
        lines += [f"  {end:<22}{count:>10,}" for end, count in sorted(self.ends.items())]
        lines += ["", f"{'records':<24}{'written':>10}{'lost':>10}{'doubled':>10}"]
        lines += [
            f"{kind:<24}{self.written[kind]:>10,}{self.lost[kind]:>10,}{self.doubled[kind]:>10,}" for kind in RECORDS
        ]
        return "\n".join([*lines, "", f"{'processes left':<24}{self.processes_left:>10,}", ""])


class Storm:
    def __init__(self, experiment: Experiment, home: Path, folder: Path, seed: int) -> None:
        self._experiment = experiment
        self._home = home
        self._folder = folder
        self._random = random.Random(seed)
        self._numbers = itertools.count()
        self._going: dict[str, tuple[Run, Path]] = {}
        self._met: set[Known] = set()
        self._marks: set[str] = set()
        self.tally = Tally()
        self._kinds: dict[str, Callable[[], Iterator[int]]] = {
            "control plane": self._control_plane,
            "agent": lambda: self._of_agent(agent=True),
            "keeper": lambda: self._of_agent(keeper=True),
            "agent and keeper": lambda: self._of_agent(agent=True, keeper=True),
            "script": lambda: self._of_agent(script=True),
            "node": lambda: self._of_agent(agent=True, keeper=True, script=True),
            "warm process": self._warm,
        }

    def rage(self, seconds: float, every: float) -> Tally:
        """Kills something `every` so many seconds; returns when all runs have ended and were counted."""
        end, kinds = time.monotonic() + seconds, itertools.cycle(self._kinds)
        while time.monotonic() < end:
            due, kind = time.monotonic() + every, next(kinds)
            self._go_on()
            while not self._kill(kind) and time.monotonic() < due + FIND_SECONDS:
                time.sleep(0.1)
                self._go_on()
            time.sleep(max(0.0, due - time.monotonic()))
        deadline = time.monotonic() + SETTLE_SECONDS
        while self._going:
            assert time.monotonic() < deadline, f"these have not ended: {sorted(self._going)}"
            self._count_ended()
            time.sleep(0.2)
        self._count_processes()
        return self.tally

    def _go_on(self) -> None:
        self._count_ended()
        while len(self._going) < AT_ONCE:
            ledger = self._folder / f"ledger-{next(self._numbers)}"
            run = self._try(lambda: submit(self._experiment, self._folder, SCRIPT, str(ledger), 15))  # noqa: B023
            self._going[run.id] = (run, ledger)
            self._marks.add(Folder(self._home / "runs" / run.id).mark)

    def _count_ended(self) -> None:
        for run, ledger in list(self._going.values()):
            status = self._try(run.get_status)
            if status in ENDED:
                del self._going[run.id]
                self.tally.ends[status] += 1
                self._try(lambda: self._count(run, ledger))  # noqa: B023
                ledger.unlink(missing_ok=True)

    def _count(self, run: Run, ledger: Path) -> None:
        told = ledger.read_text().splitlines() if ledger.exists() else []
        written = [int(number) for number in (told[-1] if told else "0 0 0").split()]
        names = run.get_file_names()
        loss = run.get_metrics().get("loss", [])
        lines: list[str] = []
        if "user_logs/std_log.txt" in names:
            run.download_file("user_logs/std_log.txt", str(self._folder / "log.txt"))
            lines = [line for line in (self._folder / "log.txt").read_text().splitlines() if line.startswith("line ")]
        kept = {
            "points": loss if isinstance(loss, list) else [loss],
            "lines": [int(line.split()[1]) for line in lines],
            "files": [int(Path(name).stem) for name in names if name.startswith("outputs/")],
        }
        for kind, count in zip(RECORDS, written, strict=True):
            found: list[int] = kept[kind]
            self.tally.written[kind] += count
            self.tally.lost[kind] += len(set(range(count)) - set(found))
            self.tally.doubled[kind] += len(found) - len(set(found))

    def _count_processes(self) -> None:
        """Those of runs that have ended; they have a moment to go."""
        deadline = time.monotonic() + 20.0
        while True:
            left = [process for process in self._met if process.lives]
            left += [process for mark in self._marks for process in marked(mark)] if not left else []
            self.tally.processes_left = len(left)
            if not left or time.monotonic() > deadline:
                return
            time.sleep(0.5)

    # Who is killed

    def _kill(self, kind: str) -> bool:
        victims = list(self._kinds[kind]())
        for pid in victims:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.tally.kills[kind] += bool(victims)
        return bool(victims)

    def _control_plane(self) -> Iterator[int]:
        with suppress(OSError, ValueError):
            if alive(pid := server_pid(self._home)):
                yield pid

    def _of_agent(self, *, agent: bool = False, keeper: bool = False, script: bool = False) -> Iterator[int]:
        """Of a run that goes: its script has begun to write down what it does."""
        begun = [run_id for run_id, (_, ledger) in self._going.items() if ledger.exists()]
        self._random.shuffle(begun)
        for run_id in begun:
            folder = Folder(self._home / "runs" / run_id)
            with suppress(OSError, ValueError, KeyError):
                there = look(int(json.loads(folder.agent.read_bytes())["pid"]))
                own = marked(folder.mark)
                if there is None or there.is_zombie or not own:
                    continue
                self._met.add(Known(there.pid, there.started))
                if there.parent > 1 and (keeper or agent):
                    self._met.add(known(there.parent))
                # The keeper first: it would begin to save the run's files as soon as its agent is gone.
                yield from [there.parent] if keeper and there.parent > 1 else []
                yield from [there.pid] if agent else []
                yield from [process.pid for process in own] if script else []
                return

    def _warm(self) -> Iterator[int]:
        """The control plane's child; keepers, which are forks of it, have the same command line, and are the warm one's."""
        with suppress(psutil.Error, OSError, ValueError):
            for child in psutil.Process(server_pid(self._home)).children():
                if "roost.agent.warm" in child.cmdline():
                    yield child.pid

    def _try(self, deed: Callable[[], T]) -> T:
        """Again, while the control plane that was killed comes back."""
        deadline = time.monotonic() + 60.0
        while True:
            try:
                return deed()
            except (RoostError, OSError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
