"""A database that lost its log or its file, or was replaced by an older copy, is not opened in silence."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.contracts.store import WS, event, submission

from roost.domain.errors import Conflict
from roost.domain.runs import RunStatus
from roost.domain.workspaces import Experiment, Workspace
from roost.store import open_store
from roost.store.base import Store
from roost.store.sql import marks


def _opened(folder: Path) -> Store:
    return open_store(f"sqlite:///{folder / 'roost.db'}")


def _with_runs(folder: Path, *names: str) -> None:
    store = _opened(folder)
    store.workspaces.ensure(Workspace(name=WS, user="ann", created_at=1.0))
    store.experiments.ensure(Experiment(id="e", workspace=WS, name="train", user="ann", created_at=1.0))
    for name in names:
        store.runs.create(WS, submission(name), user="ann", at=2.0)
    store.close()


KILLED = """
import os, signal, sys, time
from tests.contracts.store import WS, submission
from roost.store import open_store
from roost.store.sql import marks

store = open_store(f"sqlite:///{sys.argv[1]}")
for name in sys.argv[2:]:
    store.runs.create(WS, submission(name), user="ann", at=2.0)
while (mark := marks.read(sys.argv[1])) is None or mark.runs < 3:
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """One with a run in its file and two more in its write-ahead log, whose process was killed."""
    _with_runs(tmp_path, "r1")
    argv = [sys.executable, "-c", KILLED, str(tmp_path / "roost.db"), "r2", "r3"]
    done = subprocess.run(argv, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "roost.db-wal").stat().st_size
    return tmp_path


def test_whole_it_is_opened(killed: Path) -> None:
    store = _opened(killed)
    assert store.runs.get("r3").id == "r3"
    store.close()


def test_a_lost_log(killed: Path) -> None:
    (killed / "roost.db-wal").unlink()
    with pytest.raises(Conflict, match=r"is older than it was, and holds \d runs? now: it held 3 runs on 20") as raised:
        _opened(killed)
    assert "roost restore FILE --into NEW_FOLDER" in raised.value.hint


def test_a_lost_log_of_a_database_that_never_was_written_back(tmp_path: Path) -> None:
    _with_runs(tmp_path, "r1")
    (tmp_path / "roost.db").write_bytes(b"")
    with pytest.raises(Conflict, match="has lost everything that it held: it held 1 run on"):
        _opened(tmp_path)


@pytest.mark.parametrize("gone", [("",), ("", "-wal", "-shm")])
def test_a_lost_file(killed: Path, gone: tuple[str, ...]) -> None:
    for ending in gone:
        (killed / f"roost.db{ending}").unlink(missing_ok=True)
    with pytest.raises(Conflict, match=r"roost\.db is gone: it held 3 runs"):
        _opened(killed)
    assert not (killed / "roost.db").exists(), "nothing was made in its place"


def test_an_older_copy(tmp_path: Path) -> None:
    _with_runs(tmp_path, "r1")
    shutil.copy(tmp_path / "roost.db", tmp_path / "old.db")
    _with_runs(tmp_path, "r2", "r3")
    shutil.copy(tmp_path / "old.db", tmp_path / "roost.db")
    with pytest.raises(Conflict, match="holds 1 run now: it held 3 runs"):
        _opened(tmp_path)


def test_another_database(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        _with_runs(tmp_path / name, "r1")
    shutil.copy(tmp_path / "a/roost.db", tmp_path / "b/roost.db")
    with pytest.raises(Conflict, match="is not the one that was here before"):
        _opened(tmp_path / "b")


def test_it_goes_on_with_what_is_there_when_told_to(killed: Path) -> None:
    (killed / "roost.db-wal").unlink()
    with pytest.raises(Conflict) as raised:
        _opened(killed)
    (command,) = re.findall(r"rm (\S+)$", raised.value.hint)
    Path(command).unlink()
    store = _opened(killed)
    assert store.runs.get("r1").id == "r1"
    store.close()
    assert marks.read(str(killed / "roost.db")) is not None


@pytest.mark.parametrize("text", ["", "{half", "[]"])
def test_a_mark_that_makes_no_sense_stops_nobody(tmp_path: Path, text: str) -> None:
    _with_runs(tmp_path, "r1")
    (tmp_path / "roost.db.mark").write_text(text)
    _opened(tmp_path).close()


def test_deleting_runs_is_no_loss(tmp_path: Path) -> None:
    _with_runs(tmp_path, "r1", "r2")
    store = _opened(tmp_path)
    for status in (RunStatus.RUNNING, RunStatus.COMPLETED):
        store.runs.apply("r2", event(status))
    assert store.runs.delete("r2") == ["r2"]
    store.close()
    mark = marks.read(str(tmp_path / "roost.db"))
    assert mark is not None
    assert mark.runs == 1
    _opened(tmp_path).close()


def test_one_in_memory_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    open_store("sqlite://").close()
    assert list(tmp_path.iterdir()) == []
