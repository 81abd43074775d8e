from collections.abc import Iterator

import pytest
from tests.shared.processes import ServerProcess, start


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One that nobody ends or kills."""
    made = start(tmp_path_factory.mktemp("server") / "home")
    yield made
    assert made.end() == 0
