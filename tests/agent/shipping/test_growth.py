"""What a look at a run's folder shows."""

from collections.abc import Callable
from pathlib import Path

import pytest

from roost.agent.folder import Folder
from roost.agent.shipping.growth import Growth
from roost.agent.shipping.ship import log_files


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "runs" / "train_1_abc")
    for each in (made.spool, made.staged, made.work / "logs", made.ranks):
        each.mkdir(parents=True)
    (made.spool / "0-1-aa.spool").write_bytes(b"first")
    (made.spool / "system-1-bb.spool").write_bytes(b"first")
    made.std_log.touch()
    return made


def append(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"more")


GROWS: dict[str, Callable[[Folder], Path]] = {
    "a metric": lambda folder: folder.spool / "0-1-aa.spool",
    "a metric of another process": lambda folder: folder.spool / "1-2-cc.spool",
    "a metric of a child": lambda folder: folder.spool / "train_2_def" / "0-1-aa.spool",
    "a printed line": lambda folder: folder.std_log,
    "a line of one rank": lambda folder: folder.ranks / "1.txt",
    "a line in ./logs": lambda folder: folder.work / "logs" / "sub" / "own.txt",
    "an upload": lambda folder: folder.staged / "00000001.json",
}


@pytest.mark.parametrize("what", GROWS)
def test_what_a_script_writes_is_seen(folder: Folder, what: str) -> None:
    growth = Growth(folder, lambda: log_files(folder.work / "logs"))
    before = growth.look()
    assert growth.look() == before
    append(GROWS[what](folder))
    assert growth.look() != before


def test_system_metrics_are_not_looked_for(folder: Folder) -> None:
    growth = Growth(folder, lambda: ())
    before = growth.look()
    append(folder.spool / "system-1-bb.spool")
    assert growth.look() == before


def test_logs_that_do_not_change_are_looked_through_rarely(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    append(folder.work / "logs" / "one.txt")
    calls: list[int] = []

    def slow() -> list[tuple[str, Path]]:
        calls.append(1)
        time.now += 0.002
        return [("logs/one.txt", folder.work / "logs" / "one.txt")]

    class Time:
        now = 50.0

        def monotonic(self) -> float:
            return self.now

    time = Time()
    monkeypatch.setattr("roost.agent.shipping.growth.time", time)
    growth = Growth(folder, slow)
    for _ in range(100):
        growth.look()
        time.now += 0.1
    assert len(calls) < 10


def test_a_folder_that_is_gone_shows_nothing(tmp_path: Path) -> None:
    growth = Growth(Folder(tmp_path / "runs" / "gone"), lambda: ())
    assert growth.look() == growth.look()
