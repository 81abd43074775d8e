"""The loop itself: wakes at once, survives what raises, lets nobody wait for a slow act, renews what takes its time."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from roost.control import loop as looping
from roost.control.loop import Loop, Part
from roost.services.signals import CONTROL, Signals
from roost.store import open_store
from roost.store.base import Lease

NOUN = "chores"


class Chores:
    """A noun whose work is its key; its leases are in a store in memory, which tells the test of what becomes of them."""

    name = NOUN
    limit = 10
    in_order = False

    def __init__(self, act: Callable[[str], float | None]) -> None:
        self.store = open_store("sqlite://")
        self.done: list[str] = []
        self.renewed: list[str] = []
        self.lost: list[str] = []
        self.released: dict[str, float] = {}
        self.changed = threading.Condition()
        self.gone: set[str] = set()
        self._act = act

    def load(self, keys: Sequence[str]) -> Mapping[str, str]:
        return {key: key for key in keys if key not in self.gone}

    def act(self, work: str) -> float | None:
        return self._act(work)

    def apply(self, lease: Lease, work: str, outcome: float | None) -> float | None:
        assert (lease.noun, lease.key) == (NOUN, work)
        with self.changed:
            self.done.append(work)
            self.changed.notify_all()
        return outcome

    def until(self, true: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(true, 20)

    def is_due(self, key: str, at: float) -> bool:
        return key in [lease.key for lease in self.store.leases.take(NOUN, at=at, seconds=0.0, limit=10)]

    # What the loop asks of leases: the store's, noted.

    def take(self, noun: str, *, at: float, seconds: float, limit: int) -> Sequence[Lease]:
        return self.store.leases.take(noun, at=at, seconds=seconds, limit=limit)

    def renew(self, leases: Sequence[Lease], *, until: float) -> Sequence[Lease]:
        lost = self.store.leases.renew(leases, until=until)
        with self.changed:
            self.renewed += [lease.key for lease in leases if lease not in lost]
            self.lost += [lease.key for lease in lost]
            self.changed.notify_all()
        return lost

    def release(self, lease: Lease, *, due: float) -> None:
        self.store.leases.release(lease, due=due)
        with self.changed:
            self.released[lease.key] = due - NOW
            self.changed.notify_all()

    def drop(self, lease: Lease) -> None:
        self.store.leases.drop(lease)
        with self.changed:
            self.changed.notify_all()

    def add(self, noun: str, key: str, *, due: float = 0.0) -> None:
        self.store.leases.add(noun, key, due=due)

    def touch(self, noun: str, key: str) -> None:
        self.store.leases.touch(noun, key)

    def inherit(self) -> None:
        self.store.leases.inherit()


NOW = 1000.0
Start = Callable[[Callable[[str], float | None]], tuple[Chores, Signals]]


def _loop(chores: Chores, signals: Signals, workers: int = 2) -> Loop:
    return Loop(chores, signals, lambda: NOW, workers=workers)


@pytest.fixture
def start() -> Iterator[Start]:
    begun: list[tuple[Loop, Chores]] = []

    def begin(act: Callable[[str], float | None]) -> tuple[Chores, Signals]:
        signals, chores = Signals(), Chores(act)
        loop = _loop(chores, signals)
        begun.append((loop, chores))
        loop.start(lambda: [chores])
        return chores, signals

    yield begin
    for loop, chores in begun:
        loop.stop()
        chores.store.close()


def _give(chores: Chores, signals: Signals, *work: str) -> None:
    for key in work:
        chores.touch(NOUN, key)  # if it was given before
        chores.add(NOUN, key)
    signals.notify(CONTROL)


def test_a_signal_wakes_it(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looping, "TICK_SECONDS", 3600.0)
    chores, signals = start(lambda _: 5.0)
    _give(chores, signals, "a", "b")
    chores.until(lambda: chores.released == {"a": 5.0, "b": 5.0})


def test_the_timer_is_a_backstop(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looping, "TICK_SECONDS", 0.01)
    chores, _ = start(lambda _: 5.0)
    chores.add(NOUN, "a")
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

    def make() -> Sequence[Part]:
        if obstacles:
            raise obstacles.pop()
        return [chores]

    loop = _loop(chores, signals, workers=1)
    with caplog.at_level(logging.CRITICAL, "roost.control"):
        loop.start(make)
        _give(chores, signals, "a")
        chores.until(lambda: chores.done == ["a"])
    loop.stop()
    loop.stop()
    chores.store.close()


def test_parts_of_a_pass_come_in_their_order_and_what_is_to_be_in_order_is_done_at_once() -> None:
    done: list[str] = []

    def act(work: str) -> float:
        done.append(work)
        if work == "b":
            raise ValueError("only this one")
        return 5.0

    first, rest = Chores(act), Chores(act)
    first.in_order = True
    rest.store.close()
    rest.store, rest.name = first.store, "others"
    for key in ("c", "b", "a"):
        first.add(NOUN, key)
    first.add("others", "d")
    loop = _loop(first, Signals())
    (job,) = loop.look([first, lambda: done.append("between"), rest])
    assert done == ["c", "b", "a", "between"]
    assert (job.noun, job.work) == (rest, "d")
    assert (first.done, first.released) == (["c", "a"], {"c": 5.0, "b": looping.FIRST_DELAY, "a": 5.0})
    first.store.close()


def test_a_full_pass_is_followed_by_another_and_what_is_not_loaded_is_dropped() -> None:
    chores, signals = Chores(lambda _: None), Signals()
    chores.limit = 2
    for key in ("a", "b", "c"):
        chores.add(NOUN, key)
    chores.gone = {"b"}
    loop = _loop(chores, signals)
    with signals.listen(CONTROL) as listener:
        assert [job.work for job in loop.look([chores])] == ["a"]
        assert listener.wait(0), "there may be more"
        assert [job.work for job in loop.look([chores])] == ["c"]
        assert not listener.wait(0)
    chores.store.leases.inherit()
    assert [chores.is_due(key, NOW) for key in ("a", "b")] == [True, False]
    chores.store.close()


def test_a_lease_that_went_with_the_write_is_not_given_back(start: Start) -> None:
    chores, signals = start(lambda _: None)
    _give(chores, signals, "a")
    chores.until(lambda: chores.done == ["a"])
    _give(chores, signals, "b")
    chores.until(lambda: chores.done == ["a", "b"])
    assert chores.released == {}


def test_a_lease_that_is_lost_is_renewed_no_more(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looping, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(looping, "RENEW_SECONDS", 0.01)
    go_on = threading.Event()

    def act(work: str) -> float:
        assert go_on.wait(20)
        return 5.0

    chores, signals = start(act)
    _give(chores, signals, "a")
    chores.until(lambda: "a" in chores.renewed)
    (other,) = chores.store.leases.take(NOUN, at=NOW * 2, seconds=60, limit=1)
    _give(chores, signals, "b")
    chores.until(lambda: chores.renewed.count("b") > 3)
    assert chores.lost == ["a"]
    go_on.set()
    chores.until(lambda: set(chores.released) == {"a", "b"})
    assert chores.store.leases.renew([other], until=NOW * 3) == [], "the release of a lost lease changes nothing"


def test_its_own_work_is_not_taken_again_when_the_clock_leaps() -> None:
    """A laptop that slept: the leases ran out by the clock, and the worker goes on where it was."""
    now = [NOW]
    chores = Chores(lambda _: 5.0)
    loop = Loop(chores, Signals(), lambda: now[0])
    chores.add(NOUN, "a")
    (job,) = loop.look([chores])
    now[0] += 3600
    assert list(loop.look([chores])) == []
    loop.work(job)
    assert chores.released == {"a": 3605.0}
    chores.store.close()


def test_its_own_work_is_not_taken_again_after_a_part_that_took_long() -> None:
    now = [NOW]
    chores = Chores(lambda _: 5.0)
    loop = Loop(chores, Signals(), lambda: now[0])
    chores.add(NOUN, "a")
    (job,) = loop.look([chores])

    def slow() -> None:
        now[0] += looping.LEASE_SECONDS * 2

    assert list(loop.look([slow, chores])) == []
    loop.work(job)
    assert chores.store.leases.renew([job.lease], until=0.0) == [job.lease], "it was given back"
    chores.store.close()


def test_what_is_done_in_order_keeps_the_leases_of_what_is_still_to_come() -> None:
    now = [NOW]
    taken_by_others: list[str] = []

    def act(_: str) -> float:
        now[0] += looping.LEASE_SECONDS - 1
        others = chores.store.leases.take(NOUN, at=now[0], seconds=60.0, limit=10)
        taken_by_others.extend(lease.key for lease in others)
        return 60.0

    chores = Chores(act)
    chores.in_order = True
    for key in ("a", "b", "c"):
        chores.add(NOUN, key)
    assert list(Loop(chores, Signals(), lambda: now[0]).look([chores])) == []
    assert (chores.done, taken_by_others) == (["a", "b", "c"], [])
    chores.store.close()


def test_a_part_that_raises_keeps_no_other_from_its_work(caplog: pytest.LogCaptureFixture) -> None:
    chores, signals = Chores(lambda _: 5.0), Signals()
    passes: list[str] = []

    def broken() -> None:
        passes.append("one")
        raise ValueError("a cluster that cannot be read")

    loop = _loop(chores, signals)
    with caplog.at_level(logging.ERROR, "roost.control"):
        loop.start(lambda: [broken, chores])
        for number in range(3):
            _give(chores, signals, str(number))
            chores.until(lambda number=number: len(chores.done) == number + 1)  # type: ignore[misc]
        loop.stop()
    assert len(passes) >= 3
    assert caplog.text.count("cannot look for work") == 1, "said once"
    chores.store.close()
