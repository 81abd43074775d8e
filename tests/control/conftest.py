from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.control.engines import ScriptedEngine
from tests.services.houses import Clock, make_house

from roost.services.house import House


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture
def house(tmp_path: Path, clock: Clock) -> Iterator[House]:
    made = make_house(tmp_path, clock=clock)
    yield made
    made.store.close()
