import os
import stat
from pathlib import Path

import pytest

from roost.machine import files


def test_a_file_is_replaced_whole_and_is_its_owners(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    path.chmod(0o644)
    files.write(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    files.write(path, b"\x00", durable=True)
    assert path.read_bytes() == b"\x00"
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_what_was_not_finished_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(type(error)), files.replacing(path) as part:
        part.write_text("half")
        assert path.read_text() == "old"
        raise error
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def test_an_error_names_the_file_that_was_meant(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught:
        files.write(tmp_path / "missing" / "a", "text")
    assert caught.value.filename == str(tmp_path / "missing" / "a")


@pytest.mark.parametrize("name", ["n" * 255, "長" * 85])
def test_a_name_as_long_as_the_disk_allows(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    files.write(path, "text")
    assert path.read_text() == "text"
