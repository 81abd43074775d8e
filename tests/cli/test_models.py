"""`roost model`: there and back, in the words of the command line; what made a model, and what uses it."""

import json
from pathlib import Path

import pytest
from tests.cli.test_cli import roost
from tests.shared.folders import tree


def test_what_is_wrong_starts_nothing(home: Path) -> None:
    assert "error: Model name '../x' is not allowed." in roost("model", "register", "../x", ".", code=1)
    assert "error: --framework-version is given without" in roost(
        "model", "register", "x", ".", "--framework-version", "1", code=1
    )
    assert "error: --tag is KEY=VALUE, got 'x'." in roost("model", "register", "x", ".", "--tag", "x", code=1)
    assert "does not say which version goes" in roost("model", "delete", "net", code=1)
    assert "names no version of a model" in roost("model", "delete", "net:first", code=1)
    assert "error: No tag was given." in roost("model", "tag", "net", code=1)
    assert not home.exists()


TRAIN = """
from azureml.core import Run
from azureml.core.model import Model
open("outputs/m.pkl", "w").write("x" * 3000)
Model(Run.get_context().experiment.workspace, "net")
"""


@pytest.mark.slow
def test_there_and_back(home: Path, tmp_path: Path) -> None:
    assert roost("model", "list") == "", "what is said of nothing is for people"
    tree(tmp_path / "net", {"a": "1", "sub/b": "2"})
    assert "Model net:1, 2 B. In a script: Model(workspace, 'net')" in roost(
        "model", "register", "net", "net", "--tag", "a=b", "--property", "p=1", "--description", "A net"
    )
    assert "needs --run ID" in roost("model", "register", "net", "nowhere", code=1)
    tree(tmp_path / "src", {"train.py": TRAIN})
    roost("submit", "--source", "src", "train.py")
    run_id = json.loads(roost("run", "list", "--json"))[0]["id"]
    made = ("model", "register", "trained", "outputs/m.pkl", "--run", run_id)
    assert "Model trained:1, 3.0 kB" in roost(*made, "--framework", "ScikitLearn", "--framework-version", "0.24")
    roost("model", "register", "net", "net/a")
    listed = roost("model", "list")
    assert "net:2" in listed and "net:1" not in listed and run_id in listed
    assert "net:1" in roost("model", "list", "--all") and "net:1" in roost("model", "list", "--name", "net")
    assert [each["name"] for each in json.loads(roost("model", "list", "--run", run_id, "--json"))] == ["trained"]
    assert roost("model", "list", "--tag", "none") == ""

    shown = roost("model", "show", "trained", "--files")
    for line in (
        "framework    ScikitLearn 0.24",
        f"run          {run_id}",
        "experiment   train",
        "code         train.py",
    ):
        assert line in shown
    assert "environment  " in shown and "file         m.pkl  3.0 kB" in shown
    shown = roost("model", "show", "net:1")
    assert "run          none: somebody brought it" in shown and "tag          a = b" in shown
    assert f"used by      {run_id}" in roost("model", "show", "net:1") and "used by" not in roost(
        "model", "show", "net:2"
    )
    told = json.loads(roost("model", "show", "trained", "--json"))
    assert (told["origin"]["run_id"], told["used_by"]["services"]) == (run_id, [])
    shown = roost("run", "show", run_id)
    assert "model       trained:1, registered from it" in shown and "model       net:1, used" in shown

    assert "Model net:1: x=y" in roost("model", "tag", "net:1", "x=y", "--remove", "a")
    assert "Model net:1 is at here/net" in roost("model", "download", "net:1", "here")
    assert (tmp_path / "here/net/sub/b").read_text() == "2"
    assert "hint: Give --overwrite" in roost("model", "download", "net:1", "here", code=1)
    roost("model", "download", "net:1", "here", "--overwrite")
    assert "models" in roost("du")
    assert "error: net:2 will be deleted for good." in roost("model", "delete", "net:2", code=1)
    assert "Deleted: net:2" in roost("model", "delete", "net:2", "--yes")
    assert "Deleted: net:1" in roost("model", "delete", "net", "--all", "--yes")
    assert "hint: Did you mean 'trained'?" in roost("model", "show", "traine", code=1)
    roost("run", "delete", run_id, "--yes")
    assert f"run          {run_id}, which is deleted" in roost("model", "show", "trained")
