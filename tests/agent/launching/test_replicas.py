"""A replica on its node: a worker that was ready is begun anew, one that never was fails its run; models, memory, logs."""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from roost.agent.finishing.outcomes import Outcome
from roost.agent.folder import Folder
from roost.agent.launching import pauses, replicas
from roost.agent.launching.launch import Launched
from roost.agent.orders import Halt
from roost.agent.processes import POLITE_SECONDS, Started
from roost.domain.endpoints import Serving
from roost.domain.errors import Forbidden
from roost.domain.runs import RunSpec
from roost.machine.processes import Known, known
from roost.transport.carrying import Carrier

READY = "import os, socket, sys, time\ns = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()\n"


class Orders:
    """As much of them as a supervisor asks for."""

    def __init__(self) -> None:
        self.halted: Halt | None = None
        self.wake, self._writer = os.pipe()

    def halt(self) -> None:
        self.halted = Halt.CANCELED
        os.write(self._writer, b"!")


class Stage:
    """One replica whose worker is a script of the test's."""

    def __init__(self, folder: Path, scripts: Sequence[str], memory_gb: float = 0.0) -> None:
        self.folder = folder
        self.scripts = list(scripts)
        self.orders = Orders()
        self.told: list[str] = []
        self.polite: list[float] = []
        self.noted: list[str] = []
        self.started: list[Started] = []
        self.log = folder / "log"
        serving = Serving(endpoint="e", version="v", generation=1, socket=str(folder / "s"), memory_gb=memory_gb)
        self.supervisor = replicas.Supervisor(serving, self.orders, self.members, self.tell)  # type: ignore[arg-type]

    def tell(self, line: str) -> None:
        self.told.append(line)
        if len(self.started) == len(self.scripts):
            self.orders.halt()

    def members(self) -> list[Known]:
        return [known(each.pid) for each in self.started if each.exit_code() is None]

    def start(self) -> list[Launched]:
        argv = [sys.executable, "-c", self.scripts[len(self.started)], str(self.folder / "s")]
        self.started.append(Started(argv, folder=self.folder, environment={}, log=self.log))
        return [Launched(self.started[-1], 0, self.log, True)]

    def end(self, workers: Sequence[Launched], polite: float) -> None:
        self.polite.append(polite)
        ended = self.folder / "s.ended"
        self.noted.append(ended.read_text() if ended.exists() else "")
        for worker in workers:
            if worker.running.exit_code() is None:
                os.kill(self.started[-1].pid, signal.SIGKILL)
                self.started[-1]._process.wait(30)

    def run(self) -> Outcome | None:
        return self.supervisor.run(self.start, self.end)


def test_one_that_was_ready_is_begun_anew(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [READY + "time.sleep(1); os._exit(5)", "raise SystemExit(6)"])
    assert stage.run() is None
    assert "exit code 5" in stage.told[0]
    assert "begun anew" in stage.told[0]
    assert "exit code 6" in stage.told[1]  # it was ready once: now it may fail in init() too, and is tried again


def test_one_that_served_is_begun_at_once_however_often_it_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pauses, "LEAST_SECONDS", 0.0)
    stage = Stage(tmp_path, [READY + "os.kill(os.getpid(), 9)"] * 6)  # ready and gone between two looks
    assert stage.run() is None
    assert stage.told == ["The replica's process was ended by signal 9. It is begun anew at once."] * 6


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            "import os; print('here', flush=True); os._exit(4)",
            "The replica's process ended with exit code 4. init() had not returned.\nhere",
        ),
        ("import os; os.kill(os.getpid(), 9)", "The replica's process was ended by signal 9. init() had not returned."),
        ("import sys; open(sys.argv[1] + '.failed', 'w').write('told apart'); sys.exit(71)", "told apart"),
    ],
)
def test_one_that_never_was_fails(tmp_path: Path, script: str, words: str) -> None:
    outcome = Stage(tmp_path, [script]).run()
    assert outcome is not None
    assert outcome.to == "Failed"
    assert outcome.message == words


def test_too_much_memory_is_ended_and_said(tmp_path: Path) -> None:
    hungry = READY + "kept = bytearray(200 * 2**20)\nfor i in range(0, len(kept), 4096): kept[i] = 1\ntime.sleep(600)"
    stage = Stage(tmp_path, [hungry], memory_gb=0.1)
    stage.scripts.append("raise SystemExit(6)")
    (tmp_path / "elsewhere").write_text("kept")
    (tmp_path / "s.ended").symlink_to("elsewhere")
    assert stage.run() is None
    assert "more than its limit of 0.1 GB" in stage.told[0]
    assert stage.polite == [0.0, POLITE_SECONDS]  # by force, at once
    assert "more than its limit of 0.1 GB" in stage.noted[0]  # before it is ended, for the front
    assert stage.noted[1] == ""  # that was the one before
    assert (tmp_path / "elsewhere").read_text() == "kept"


def test_too_much_memory_in_init_fails(tmp_path: Path) -> None:
    hungry = (
        "import time\nkept = bytearray(200 * 2**20)\nfor i in range(0, len(kept), 4096): kept[i] = 1\ntime.sleep(600)"
    )
    outcome = Stage(tmp_path, [hungry], memory_gb=0.1).run()
    assert outcome is not None
    assert "more than its limit of 0.1 GB" in outcome.message


def test_a_halt_ends_it_at_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [READY + "time.sleep(600)"])
    threading.Timer(0.5, stage.orders.halt).start()
    assert stage.run() is None
    assert stage.started[0].exit_code() is not None


def test_a_log_is_cut_down_to_its_last_lines(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"".join(b"line %d\n" % number for number in range(1000)))
    with open(path, "ab", buffering=0) as printing:
        replicas.trim(path, 5000, 1000)
        printing.write(b"the next one\n")
    text = path.read_text()
    assert text.startswith("(What was printed before is not kept.)\nline ")
    assert text.endswith("line 999\nthe next one\n")
    assert len(text) < 1100
    replicas.trim(path, 5000, 1000)
    assert path.read_text() == text


def test_the_end_of_what_init_said_is_kept_and_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "s.failed").write_text("x" * 10**6 + "the reason")
    outcome = Stage(tmp_path, ["raise SystemExit(71)"]).run()
    assert outcome is not None and outcome.message.endswith("the reason")
    assert len(outcome.message) < replicas.SAID_BYTES + 1000
    (tmp_path / "secret").write_text("of the host")
    for make in (lambda path: path.symlink_to(tmp_path / "secret"), os.mkfifo):
        (tmp_path / "s.failed").unlink()
        make(tmp_path / "s.failed")
        outcome = Stage(tmp_path, ["raise SystemExit(71)"]).run()
        assert outcome is not None and "of the host" not in outcome.message


def test_a_folder_of_sockets_is_nobody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(tmp_path / "home/runs/run_1")
    folder.work.mkdir(parents=True)
    socket = tmp_path / "roost-1/01234567/s"
    spec = RunSpec(serving=Serving(endpoint="e", version="v", generation=1, socket=str(socket)))
    lay_out = partial(replicas.lay_out, folder, spec, cast(Carrier, None), lambda: None)
    assert lay_out()[replicas.SOCKET] == str(socket)
    assert {place.stat().st_mode & 0o777 for place in (socket.parent, socket.parent.parent)} == {0o700}
    (folder.work / replicas.MODELS).rmdir()
    mine = os.getuid()
    monkeypatch.setattr("os.getuid", lambda: mine + 1)
    with pytest.raises(Forbidden, match="roost-1 of the run's socket belongs to somebody else"):
        lay_out()


def test_the_source_folder_is_found_by_its_name_too(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "home/runs/run_1")
    (folder.work / "x").mkdir(parents=True)
    (folder.work / "extra.json").write_text("{}")
    (folder.work / "x" / "score.py").touch()
    serving = Serving(
        endpoint="e", version="v", generation=1, socket=str(tmp_path / "s/0/s"), source_name="source_directory"
    )
    made = replicas.lay_out(folder, RunSpec(serving=serving), cast(Carrier, None), lambda: None)
    assert (folder.work / "source_directory" / "extra.json").read_text() == "{}"
    assert (folder.work / "source_directory" / "x" / "score.py").exists()
    assert sorted(each.name for each in (folder.work / "source_directory").iterdir()) == ["extra.json", "x"]
    assert made["AZUREML_APP_ROOT"] == made["AML_APP_ROOT"] == str(folder.work)
    assert made["AZUREML_SOURCE_DIRECTORY"] == "source_directory"
    (folder.work / replicas.MODELS).rmdir()
    other = RunSpec(serving=replace(serving, source_name="x"))
    assert "AZUREML_SOURCE_DIRECTORY" not in replicas.lay_out(folder, other, cast(Carrier, None), lambda: None)
    assert [each.name for each in (folder.work / "x").iterdir()] == ["score.py"], "the source's own stays as it is"


def test_sockets_are_taken_away_with_their_folder(tmp_path: Path) -> None:
    place = tmp_path / "short" / "01234567"
    place.mkdir(parents=True)
    (place / "s").touch()
    spec = SimpleNamespace(serving=SimpleNamespace(socket=str(place / "s")))
    replicas.clear(spec)  # type: ignore[arg-type]
    replicas.clear(spec)  # type: ignore[arg-type]
    assert not place.parent.exists()
