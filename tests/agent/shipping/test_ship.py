"""The thread that sends what a script writes, and tells when the script began and ended."""

import threading
from types import SimpleNamespace
from typing import Any

from roost.agent.shipping.ship import Ship
from roost.domain.runs import RunStatus
from roost.transport.pacing import Pace


def test_the_end_of_the_script_has_its_own_time() -> None:
    """Nobody may have answered since: the agent comes to its last round late, and the script ended before."""
    said: list[tuple[RunStatus, float]] = []

    def say(to: RunStatus, *_: object, at: float, **__: object) -> None:
        said.append((to, at))

    parts: Any = SimpleNamespace(is_gone=False, say=say, heard=lambda _: None, round=lambda **_: None, pace=Pace())
    ship = Ship(parts, parts, parts, parts)
    ship.start()
    ship.finish(1005.6)
    assert said[-1] == (RunStatus.FINALIZING, 1005.6)


def test_nothing_is_sent_while_nothing_is_new() -> None:
    """A run that writes nothing costs looks, and no round of sending."""
    looks, rounds = threading.Semaphore(0), []
    parts: Any = SimpleNamespace(
        is_gone=False,
        say=lambda *_, **__: None,
        heard=lambda _: None,
        round=lambda **given: rounds.append(given),
        has_news=lambda: looks.release() or False,
        is_due=lambda: False,
        pace=Pace(),
    )
    ship = Ship(parts, parts, parts, parts)
    ship.start()
    for _ in range(3):
        assert looks.acquire(timeout=20)
    assert rounds == []
    ship.flush(20)
    assert rounds == [{"last": False}], "who reads the log makes it send"
    ship.finish(1.0)
    assert rounds[-1] == {"last": True}
