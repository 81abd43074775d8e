"""How often agents are asked to send, and who is here."""

from roost.services.pacing import LONGEST, PER_SECOND, Pacing
from roost.services.presence import Presence


def test_all_runs_together_send_no_more_often_than_there_is_time_for() -> None:
    now = [0.0]
    pacing = Pacing(lambda: now[0])
    assert pacing.sent("r0") == round(1 / PER_SECOND, 2)
    for number in range(200):
        pace = pacing.sent(f"r{number}")
    assert pace == round(200 / PER_SECOND, 2)
    for number in range(5000):
        pace = pacing.sent(f"r{number}")
    assert pace == LONGEST


def test_those_that_send_no_more_are_forgotten() -> None:
    now = [0.0]
    pacing = Pacing(lambda: now[0])
    for number in range(200):
        pacing.sent(f"r{number}")
    now[0] = 60.0
    assert pacing.sent("r0") == round(1 / PER_SECOND, 2)


def test_a_run_is_present_while_one_of_its_heartbeats_waits() -> None:
    present = Presence()
    with present.at("r1"):
        with present.at("r1"):
            assert present.has("r1")
        assert present.has("r1")
        assert not present.has("r2")
    assert not present.has("r1")
