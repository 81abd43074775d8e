from collections.abc import Iterator

import pytest
from tests.api.desks import Desk, served


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with served(tmp_path_factory.mktemp("desk")) as made:
        yield made
