"""Wheels that the user gave: blobs to everybody, files to uv."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.shared.wheels import wheel

from roost.domain.errors import InvalidInput
from roost.domain.recipes import BASICS, Recipe
from roost.environments import base
from roost.environments.base import Private
from roost.environments.pip.builder import UvBuilder

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
NAME = "ab" * 32
LINE = f"mine @ roost-blob:{NAME}/mine-1.5-py3-none-any.whl"


def test_locked_by_hash_and_installed_from_the_blob(shelf: Path, tmp_path: Path) -> None:
    wheel(shelf, "lower", "2.0")
    kept = wheel(tmp_path / "blobs", "mine", "1.5", requires=["lower"])
    private = Private(lambda _, target: shutil.copy(kept, target))
    builder = UvBuilder(lambda _: None, lambda: None, {}, tmp_path, tmp_path, private)
    lock = builder.resolve(Recipe(python=HERE, requirements=(LINE, *BASICS)))
    digest = hashlib.sha256(kept.read_bytes()).hexdigest()
    assert f"{LINE} \\\n    --hash=sha256:{digest}" in lock.body
    assert "lower==2.0" in lock.body
    assert str(tmp_path) not in lock.text
    builder.install(base.read_lock(lock.text), tmp_path / "prefix")
    text = "import mine, lower; print(mine.VERSION)"
    done = subprocess.run([tmp_path / "prefix/bin/python", "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1.5"
    wheel(kept.parent, "mine", "1.5", files={"mine.py": "VERSION = 'evil'\n"})
    with pytest.raises(base.BuildFailed, match=r"(?i)hash") as caught:
        UvBuilder(lambda _: None, lambda: None, {}, tmp_path, tmp_path, private).install(lock, tmp_path / "other")
    assert "not the one that was locked" in caught.value.hint


def test_with_nobody_to_fetch_it(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=NAME):
        UvBuilder(lambda _: None, lambda: None, {}, tmp_path, tmp_path).resolve(
            Recipe(python=HERE, requirements=(LINE,))
        )
