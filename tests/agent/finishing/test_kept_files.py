import os
import tempfile
from pathlib import Path

import pytest
from tests.shared.users import ordinary_user

from roost.agent.finishing.finish import remove
from roost.agent.finishing.kept_files import find, note_laid
from roost.agent.folder import Folder


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
    os.symlink("itself", outputs / "itself")
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


def test_removing_a_folder_changes_nothing_that_its_links_lead_to():
    with ordinary_user(), tempfile.TemporaryDirectory(dir="/tmp") as above:
        root, kept = Path(above, "root"), Path(above, "kept")
        (root / "closed" / "inner").mkdir(parents=True)
        (root / "closed" / "inner" / "f").touch()
        (kept / "sub").mkdir(parents=True)
        (kept / "file").touch(mode=0o440)
        for number, target in enumerate((kept, kept / "sub", kept / "file")):
            (root / "closed" / f"link{number}").symlink_to(target)
        (kept / "sub").chmod(0o550)
        (root / "closed" / "inner").chmod(0)
        (root / "closed").chmod(0o500)
        before = {path: path.stat().st_mode for path in (kept, kept / "sub", kept / "file")}
        remove(root)
        assert not root.exists()
        assert {path: path.stat().st_mode for path in before} == before


def test_what_came_with_the_snapshot_is_no_result_unless_it_was_changed(folder):
    (folder.work / "logs").mkdir()
    outputs = folder.work / "outputs"
    (outputs / "old").mkdir()
    (folder.work / "data").mkdir()
    for name in ("same", "rewritten", "appended", "touched", "renamed", "old/deep", "same_link_target"):
        (outputs / name).write_text("stale")
    (folder.work / "data" / "table").write_text("came along")
    (folder.work / "logs" / "old.log").write_text("of another day")
    os.symlink("same_link_target", outputs / "link")
    os.symlink("../data/table", outputs / "link_to_data")
    note_laid(folder)
    assert names(folder) == []
    (outputs / "rewritten").write_text("stale")
    with (outputs / "appended").open("a") as file:
        file.write("!")
    os.utime(outputs / "touched", (1, 1))
    (outputs / "renamed").rename(outputs / "new_name")
    (outputs / "old" / "new").write_text("made")
    (folder.work / "data" / "table").write_text("written through the link")
    os.symlink("../data/table", outputs / "new_link")
    (folder.work / "logs" / "new.log").touch()
    found = [f"outputs/{name}" for name in ("appended", "link_to_data", "new_link", "new_name", "old/new", "rewritten")]
    assert names(folder) == ["logs/new.log", *found, "outputs/touched"]


def test_a_folder_that_takes_the_place_of_a_stale_one_is_kept(folder):
    (folder.work / "outputs" / "model").write_text("stale")
    (folder.work / "made").mkdir()
    (folder.work / "made" / "model").write_text("stale")
    note_laid(folder)
    (folder.work / "outputs" / "model").unlink()
    (folder.work / "outputs").rmdir()
    (folder.work / "made").rename(folder.work / "outputs")
    assert names(folder) == ["outputs/model"]
