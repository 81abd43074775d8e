import os
from pathlib import Path

import pytest
from tests.environments import wheels


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that is all that pip and uv know."""
    folder = tmp_path / "shelf"
    wheels.basics(folder)
    for name in [each for each in os.environ if each.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    config = wheels.pip_config(tmp_path / "pip.conf", folder)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", os.environ.get("PYENV_ROOT") or str(Path("~/.pyenv").expanduser()))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    return folder
