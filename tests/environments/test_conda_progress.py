import json

import pytest

from roost.environments.conda import progress as conda_progress
from roost.environments.conda.progress import Progress


class Clock:
    """A clock that goes when it is told to; sleeping moves it, and an end ends what watches."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Ended(Exception):
    """Instead of the end of the process."""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()

    class Process:
        @staticmethod
        def _exit(code: int) -> None:
            raise Ended

    monkeypatch.setattr(conda_progress, "time", made)
    monkeypatch.setattr(conda_progress, "os", Process)
    return made


def told(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_line_a_second_at_the_most(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress([{"size": 4_000_000}, {"size": 46_000_000}])
    progress.on_transaction_start(2)
    first, second = progress.on_download_start(0), progress.on_download_start(1)
    for step in range(1, 11):
        clock.now += 0.25
        progress.on_download_progress(first, step * 400_000, None)
        progress.on_download_progress(second, step * 1_000_000, None)
    progress.on_download_completed(first)
    clock.now += 2
    progress.on_populate_cache_complete(0)
    progress.on_populate_cache_complete(1)
    clock.now += 2
    progress.on_link_complete(0)
    progress.on_link_complete(1)
    progress.end()
    assert [line["say"] for line in told(capsys)] == [
        "Installing 2 conda packages (50 MB).",
        "Downloaded 0 of 2, 4.6 of 50 MB.",
        "Downloaded 0 of 2, 10 of 50 MB.",
        "Downloaded 1 of 2, 14 of 50 MB.",
        "Linked 1 of 2.",
        "Linked 2 conda packages, downloaded 14 MB in 2 files.",
    ]


def test_a_download_that_stands_still_is_given_up(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress([{"size": 4_000_000}])
    progress.on_download_start(0)
    with pytest.raises(Ended):
        progress.watch()
    (last,) = told(capsys)
    assert "stands still" in last["error"]
    assert clock.now > 220


def test_what_else_rattler_tells_is_let_go() -> None:
    progress = Progress([])
    assert progress.on_validate_start(3) == 0
    with pytest.raises(AttributeError):
        _ = progress.other
