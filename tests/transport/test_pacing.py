"""How often a shipper looks and sends."""

import pytest

from roost.transport import pacing
from roost.transport.pacing import LEAST_SECONDS, LONGEST_SECONDS, QUIET_SECONDS, Pace, Pauses


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(pacing, "time", made)
    return made


def looks(time: Time, pauses: Pauses, seconds: float) -> int:
    """How often nothing was found in so many seconds."""
    count, end = 0, time.now + seconds
    while time.now < end:
        time.now += pauses.after(sent=False)
        count += 1
    return count


def test_looks_are_frequent_after_something_was_sent_and_rare_in_a_quiet_time(time: Time) -> None:
    pauses = Pauses(Pace())
    assert pauses.after(sent=True) == LEAST_SECONDS
    assert pauses.after(sent=False) == LEAST_SECONDS
    looks(time, pauses, 60)
    assert pauses.after(sent=False) == QUIET_SECONDS
    assert pauses.after(sent=True) == LEAST_SECONDS


def test_the_control_plane_sets_the_pace(time: Time) -> None:
    pace = Pace()
    pauses = Pauses(pace)
    pace.note(2.0, 0.001)
    assert pauses.after(sent=True) == 2.0
    time.now += 0.5
    assert pauses.after(sent=False) == 1.5, "what is new meanwhile waits until the pace allows it"
    pace.note(1e9, 0.001)
    assert pauses.after(sent=True) == LONGEST_SECONDS


def test_answers_that_take_long_slow_the_sender_down() -> None:
    pace = Pace()
    pace.note(None, 3.0)
    assert pace.seconds == 6.0
    pace.note(None, 0.001)
    assert pace.seconds == LEAST_SECONDS
