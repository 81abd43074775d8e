from collections.abc import Iterator

import pytest
from tests.shared.routers import Router, served


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Router]:
    with served(tmp_path_factory.mktemp("router")) as made:
        yield made
