"""A misbehaving server, a cache of this test's own, and a way to the web that does not wait long."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.shared.servers import Server, serving

from roost.data.cache import Cache
from roost.data.web import Web


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    made = Cache(tmp_path / "home", 10**9)
    yield made
    made.close()


@pytest.fixture
def hasty() -> Callable[[], Web]:
    """Makes one that tries again soon: for one fetch each."""
    return lambda: Web(silence=5.0, pause=0.01)
