"""The git state that is kept with a run."""

import subprocess
from pathlib import Path

from tests.shared.folders import tree

from roost.sdk.runs import git


def call(folder: Path, *words: str) -> None:
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", "-C", str(folder), *settings, *words], check=True, capture_output=True)


def state(folder: Path) -> dict[str, str]:
    with git.look(str(folder)) as found:
        return found.properties()


def test_a_folder_without_git(tmp_path: Path) -> None:
    assert state(tmp_path) == {}


def test_branch_commit_remote_and_changes(tmp_path: Path) -> None:
    tree(tmp_path, {"code/train.py": "print(1)"})
    for words in (["init"], ["add", "."], ["commit", "-m", "first"]):
        call(tmp_path, *words)
    call(tmp_path, "remote", "add", "origin", "https://me:secret@example.org/team/vision.git")
    clean = state(tmp_path / "code")
    assert clean["azureml.git.branch"] == clean["mlflow.source.git.branch"] == "main"
    assert len(clean["azureml.git.commit"]) == 40
    assert clean["azureml.git.repository_uri"] == "https://example.org/team/vision.git"
    assert clean["azureml.git.dirty"] == "False"
    (tmp_path / "code/train.py").write_text("print(2)")
    assert state(tmp_path / "code")["azureml.git.dirty"] == "True"


def test_a_repository_with_no_commit_yet(tmp_path: Path) -> None:
    call(tmp_path, "init")
    assert "azureml.git.commit" not in state(tmp_path)
