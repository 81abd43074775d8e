from pathlib import Path

import pytest
from tests.shared import wheels


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that is all that pip and uv know."""
    return wheels.machine(tmp_path, monkeypatch)
