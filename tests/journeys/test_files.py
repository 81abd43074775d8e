"""A run's files: uploads from a notebook, and downloads in every form."""

from pathlib import Path

import pytest
from tests.shared.folders import tree

from roost import Experiment, Run
from roost_job.exceptions import UserErrorException

pytestmark = pytest.mark.slow

FILES = {"outputs/model/a.txt": "a", "outputs/model/deep/b.txt": "b", "outputs/model.pt": "pt", "notes.md": "n"}


@pytest.fixture
def run(experiment: Experiment, tmp_path: Path) -> Run:
    source = tree(tmp_path / "up", FILES)
    with experiment.start_logging() as made:
        made.upload_files(list(FILES), [str(source / name) for name in FILES])
    return made


def below(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_all_of_them(run: Run, tmp_path: Path) -> None:
    assert run.get_file_names() == sorted(FILES)
    run.download_files(output_directory=str(tmp_path / "all"), timeout_seconds=60)
    assert below(tmp_path / "all") == FILES


def test_a_prefix_is_a_folder(run: Run, tmp_path: Path) -> None:
    run.download_files("outputs/model", str(tmp_path / "kept"))
    assert below(tmp_path / "kept") == {name: FILES[name] for name in FILES if name.startswith("outputs/model/")}
    run.download_files("outputs/model/", str(tmp_path / "cut"), append_prefix=False)
    assert below(tmp_path / "cut") == {"a.txt": "a", "deep/b.txt": "b"}


def test_a_path_for_each(run: Run, tmp_path: Path) -> None:
    targets = [str(tmp_path / "x"), str(tmp_path / "y/z")]
    run.download_files("outputs/model", output_paths=targets)
    assert [Path(target).read_text() for target in targets] == ["a", "b"]
    with pytest.raises(UserErrorException, match="1 `output_paths` for 2 files"):
        run.download_files("outputs/model", output_paths=targets[:1])
    with pytest.raises(UserErrorException, match="Both"):
        run.download_files("outputs/model", str(tmp_path), output_paths=targets)
    with pytest.raises(UserErrorException, match="one place"):
        run.download_files("outputs/model", output_paths=[targets[0], targets[0]])


def test_one_file_to_a_path_a_folder_or_here(run: Run, tmp_path: Path) -> None:
    run.download_file("outputs/model.pt", str(tmp_path / "new/name.pt"))
    assert (tmp_path / "new/name.pt").read_text() == "pt"
    run.download_file("outputs/model.pt", str(tmp_path / "new"))
    assert (tmp_path / "new/model.pt").read_text() == "pt"
    run.download_file("notes.md")
    assert (tmp_path / "notes.md").read_text() == "n"


def test_what_is_kept_does_not_change_with_its_copies(run: Run, experiment: Experiment, tmp_path: Path) -> None:
    run.download_file("notes.md", str(tmp_path / "copy.md"))
    (tmp_path / "copy.md").write_text("changed")
    (tmp_path / "up/notes.md").write_text("changed")
    run.download_file("notes.md", str(tmp_path / "again.md"))
    assert (tmp_path / "again.md").read_text() == "n"


def test_uploads_that_are_refused_leave_nothing(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UserErrorException, match="There is no file"):
        run.upload_files(["a", "b"], [str(tmp_path / "up/notes.md"), str(tmp_path / "missing")])
    with pytest.raises(UserErrorException, match=r"\.\."):
        run.upload_files(["a", "../b"], [str(tmp_path / "up/notes.md")] * 2)
    assert run.get_file_names() == sorted(FILES)
