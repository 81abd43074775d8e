"""The loop itself: wakes at once, survives what raises, lets nobody wait for a slow act, renews what takes its time."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence

import pytest

from roost.control import loop as looping
from roost.control.loop import Loop
from roost.services.signals import CONTROL, Signals


class Chores:
    """A noun whose work is a list of names."""

    def __init__(self, act: Callable[[str], float]) -> None:
        self.waiting: list[str] = []
        self.done: list[str] = []
        self.renewed: list[str] = []
        self.released: dict[str, float] = {}
        self.changed = threading.Condition()
        self._act = act

    def load(self) -> Sequence[str]:
        with self.changed:
            found, self.waiting = self.waiting, []
        return found

    def key(self, work: str) -> str:
        return work

    def act(self, work: str) -> float:
        return self._act(work)

    def apply(self, work: str, outcome: float) -> float:
        with self.changed:
            self.done.append(work)
            self.changed.notify_all()
        return outcome

    def renew(self, work: str) -> None:
        with self.changed:
            self.renewed.append(work)
            self.changed.notify_all()

    def release(self, work: str, seconds: float) -> None:
        with self.changed:
            self.released[work] = seconds
            self.changed.notify_all()

    def until(self, true: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(true, 20)


Start = Callable[[Callable[[str], float]], tuple[Chores, Signals]]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    loops: list[Loop[str, float]] = []

    def begin(act: Callable[[str], float]) -> tuple[Chores, Signals]:
        signals, chores = Signals(), Chores(act)
        loops.append(Loop(signals, workers=2))
        loops[-1].start(lambda: chores)
        return chores, signals

    yield begin
    for each in loops:
        each.stop()


def _give(chores: Chores, signals: Signals, *work: str) -> None:
    with chores.changed:
        chores.waiting.extend(work)
    signals.ring(CONTROL)


def test_a_signal_wakes_it(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looping, "TICK_SECONDS", 3600.0)
    chores, signals = start(lambda _: 5.0)
    _give(chores, signals, "a", "b")
    chores.until(lambda: chores.released == {"a": 5.0, "b": 5.0})


def test_the_timer_is_a_backstop(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looping, "TICK_SECONDS", 0.01)
    chores, _ = start(lambda _: 5.0)
    with chores.changed:
        chores.waiting.append("a")
    chores.until(lambda: chores.done == ["a"])


def test_what_raises_is_logged_backed_off_and_tried_again(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    attempts: list[str] = []

    def act(work: str) -> float:
        attempts.append(work)
        if len(attempts) < 3:
            raise ValueError("boom")
        return 5.0

    with caplog.at_level(logging.ERROR, "roost.control"):
        chores, signals = start(act)
        for expected in (looping.FIRST_DELAY, looping.FIRST_DELAY * 2, 5.0):
            _give(chores, signals, "a")
            chores.until(lambda expected=expected: chores.released.get("a") == expected)  # type: ignore[misc]
    assert "boom" in caplog.text


def test_a_slow_act_holds_nobody_up_and_keeps_its_lease(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looping, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(looping, "RENEW_SECONDS", 0.01)
    go_on = threading.Event()

    def act(work: str) -> float:
        if work == "slow":
            assert go_on.wait(20)
        return 5.0

    chores, signals = start(act)
    _give(chores, signals, "slow", "quick")
    chores.until(lambda: chores.done == ["quick"] and chores.renewed.count("slow") > 2)
    go_on.set()
    chores.until(lambda: "slow" in chores.released)


def test_it_begins_as_soon_as_its_engines_can_be_made(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looping, "FIRST_DELAY", 0.01)
    chores, signals = Chores(lambda _: 5.0), Signals()
    obstacles = [OSError("not yet"), OSError("not yet")]

    def make() -> Chores:
        if obstacles:
            raise obstacles.pop()
        return chores

    loop: Loop[str, float] = Loop(signals, workers=1)
    with caplog.at_level(logging.CRITICAL, "roost.control"):
        loop.start(make)
        _give(chores, signals, "a")
        chores.until(lambda: chores.done == ["a"])
    loop.stop()
    loop.stop()
