from collections.abc import Iterator

import pytest
from tests.shared.api_servers import ApiServer, served


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with served(tmp_path_factory.mktemp("api")) as made:
        yield made
