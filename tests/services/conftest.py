from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.shared.contexts import Clock, make_house

from roost.services.context import Context


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def context(tmp_path: Path, clock: Clock) -> Iterator[Context]:
    made = make_house(tmp_path, clock=clock)
    yield made
    made.store.close()
