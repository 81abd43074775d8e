"""The thread that sends what a script writes, and tells when the script began and ended."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from roost.agent.ship import Ship
from roost.domain.runs import RunStatus
from roost.transport.pacing import Pace


def test_the_end_of_the_script_has_its_own_time(tmp_path: Path) -> None:
    """Nobody may have answered since: the agent comes to its last round late, and the script ended before."""
    said: list[tuple[RunStatus, float]] = []

    def say(to: RunStatus, *_: object, at: float, **__: object) -> None:
        said.append((to, at))

    parts: Any = SimpleNamespace(root=tmp_path, say=say, heard=lambda _: None, round=lambda **_: None, pace=Pace())
    ship = Ship(parts, parts, parts, parts)
    ship.start()
    ship.finish(1005.6)
    assert said[-1] == (RunStatus.FINALIZING, 1005.6)
