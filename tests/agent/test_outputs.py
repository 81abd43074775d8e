"""What of a run's folders becomes data, and what of it never does."""

from pathlib import Path

import pytest

from roost.agent import outputs
from roost.agent.folder import Folder
from roost.domain.datasets import Output
from roost.domain.errors import InvalidInput
from roost.domain.runs import RunSpec


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "home" / "runs" / "exp_1_ab")
    made.work.mkdir(parents=True)
    return made


def test_each_has_a_folder(folder: Folder) -> None:
    given = (Output(name="made"), Output(name="own", source="out/deep"), Output(name="far", source="/tmp/far"))
    paths = outputs.lay_out(folder, RunSpec(outputs=given))
    assert paths == {
        "made": str(folder.filled / "made"),
        "own": str(folder.work / "out" / "deep"),
        "far": "/tmp/far",
    }
    assert Path(paths["made"]).is_dir()
    assert Path(paths["own"]).parent.is_dir()


def test_files_of_a_folder(tmp_path: Path) -> None:
    place = tmp_path / "made"
    (place / "deep").mkdir(parents=True)
    (place / "a.csv").write_text("1")
    (place / "deep" / "b.csv").write_text("2")
    (place / "c.txt").write_text("3")
    (place / "inside.csv").symlink_to("a.csv")
    (place / "outside.csv").symlink_to("/etc/passwd")
    (place / "nowhere.csv").symlink_to("absent")
    (place / "folder").symlink_to("/etc")
    assert [name for name, _ in outputs.written(place)] == ["a.csv", "c.txt", "inside.csv", "deep/b.csv"]
    assert [name for name, _ in outputs.written(place, ["deep/*", "*.txt"])] == ["c.txt", "deep/b.csv"]
    assert outputs.written(place / "a.csv") == [("a.csv", place / "a.csv")]
    assert outputs.written(place / "absent") == []


def test_of_a_script_in_a_container(folder: Folder) -> None:
    folder.container.write_text("{}")
    assert outputs._real(folder, Output(name="o", source="/tmp/made")) == folder.tmp / "made"
    assert outputs._real(folder, Output(name="o", source="made")) == folder.work / "made"
    with pytest.raises(InvalidInput, match="in the container alone"):
        outputs._real(folder, Output(name="o", source="/srv/made"))
    (folder.work / "link").symlink_to("/etc")
    with pytest.raises(InvalidInput, match="in the container alone"):
        outputs._real(folder, Output(name="o", source="link"))
