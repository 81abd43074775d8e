import os

import pytest

from roost.agent.finish import remove
from roost.agent.folder import Folder
from roost.agent.keeping import find


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path / "home" / "runs" / "exp_1_ab")
    (made.work / "outputs").mkdir(parents=True)
    return made


def names(folder):
    return [name for name, _ in find(folder).files]


def test_outputs_logs_and_the_log_are_found(folder):
    folder.std_log.touch()
    (folder.work / "logs").mkdir()
    for name in ("outputs/b", "outputs/a", "logs/x", "elsewhere"):
        (folder.work / name).touch()
    assert names(folder) == ["user_logs/std_log.txt", "logs/x", "outputs/a", "outputs/b"]


def test_links_are_followed_inside_the_working_copy_only(folder, caplog, tmp_path):
    (tmp_path / "secret").write_text("not yours")
    (folder.work / "results").mkdir()
    (folder.work / "results" / "r").touch()
    outputs = folder.work / "outputs"
    os.symlink("../results", outputs / "results")
    os.symlink(tmp_path / "secret", outputs / "secret")
    os.symlink("../../plan.json", outputs / "plan")
    os.symlink("nothing", outputs / "broken")
    assert names(folder) == ["outputs/results/r"]
    assert find(folder).losses == []
    for name in ("outputs/secret", "outputs/plan", "outputs/broken"):
        assert name in caplog.text


def test_links_that_go_round_end(folder):
    outputs = folder.work / "outputs"
    for name in ("a", "b"):
        (outputs / name).mkdir()
        (outputs / name / "file").touch()
    os.symlink("../b", outputs / "a" / "to_b")
    os.symlink("../a", outputs / "b" / "to_a")
    os.symlink(".", outputs / "self")
    assert names(folder) == ["outputs/a/file", "outputs/a/to_b/file", "outputs/b/file", "outputs/b/to_a/file"]


def test_a_link_in_place_of_the_folder_itself(folder, tmp_path):
    (folder.work / "outputs").rmdir()
    os.symlink("/etc", folder.work / "outputs")
    assert names(folder) == []


def test_names_that_cannot_be_kept_are_losses(folder):
    (folder.work / "outputs" / "good").touch()
    (folder.work / "outputs" / "bad\nname").touch()
    (folder.work / "outputs" / "back\\slash").touch()
    found = find(folder)
    assert [name for name, _ in found.files] == ["outputs/good"]
    assert len(found.losses) == 2


def test_a_working_copy_that_is_gone_has_nothing(folder):
    remove(folder.work)
    assert find(folder).files == []


def test_a_folder_with_read_only_parts_is_removed(folder):
    (folder.work / "outputs" / "f").touch()
    (folder.work / "outputs").chmod(0o500)
    remove(folder.root)
    assert not folder.root.exists()
