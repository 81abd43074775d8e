"""Which Pythons there are: a name that says its version is believed, only the others are asked."""

import sys
from pathlib import Path

import pytest

from roost.environments import pythons


@pytest.mark.parametrize(
    ("path", "minor"),
    [
        ("/usr/bin/python3.11", "3.11"),
        ("/usr/bin/python3", ""),
        ("/srv/ann/.pyenv/versions/3.6.15/bin/python", "3.6"),
        ("/srv/ann/.pyenv/versions/mine/bin/python", ""),
        ("/srv/ann/.local/share/uv/python/cpython-3.12.4-linux-x86_64-gnu/bin/python", "3.12"),
        ("/srv/versions/3.6/bin/python3.10", "3.10"),
    ],
)
def test_what_a_path_says(path: str, minor: str) -> None:
    assert pythons._said(path) == minor


def test_minor_versions_that_are_there(tmp_path: Path) -> None:
    for name, mode in (("python3.5", 0o755), ("python3.4", 0o644), ("python3", 0o755)):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(mode)
    found = pythons.minors({"PATH": str(tmp_path), "PYENV_ROOT": str(tmp_path)})
    assert f"{sys.version_info[0]}.{sys.version_info[1]}" in found
    assert "3.5" in found
    assert "3.4" not in found, "it may not be executed"
