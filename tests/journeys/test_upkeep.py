"""Operating it, as whole stories: deleting frees the disk, a full disk takes no run, a back-up becomes another home."""

import json
import os
import time
from pathlib import Path

import pytest
from tests.cli.test_cli import roost
from tests.shared.folders import tree

from roost import Experiment, ScriptRunConfig, Workspace
from roost.domain.errors import DiskFull
from roost.sdk.operations import upkeep

pytestmark = pytest.mark.slow

TRAIN = """
import os
from azureml.core import Run
os.makedirs("outputs", exist_ok=True)
open("outputs/model.bin", "wb").write(os.urandom(3_000_000))
for step in range(1000):
    Run.get_context().log("loss", step)
"""


def age(home: Path) -> None:
    """Every blob was last used two hours ago."""
    for path in (home / "blobs").glob("[0-9a-f][0-9a-f]/*"):
        os.utime(path, (time.time() - 7200,) * 2)


def stored(home: Path) -> int:
    return sum(path.stat().st_size for path in (home / "blobs").glob("[0-9a-f][0-9a-f]/*"))


def test_deleting_really_frees_and_the_client_s_cache_stays_true(home: Path, tmp_path: Path) -> None:
    tree(tmp_path, {"code/train.py": TRAIN, **{f"code/part{n}.py": f"x = {n}\n" for n in range(60)}})
    ws = Workspace()
    experiment = Experiment(ws, "train")
    config = ScriptRunConfig(source_directory=str(tmp_path / "code"), script="train.py")
    for part in (tmp_path / "code").iterdir():
        os.utime(part, (time.time() - 86400,) * 2)
    first = experiment.submit(config)
    first.wait_for_completion()
    assert list((home / "cache" / "snapshots").iterdir())
    age(home)
    before = stored(home)
    assert upkeep.sweep(ws._connection)["bytes"] == 0
    assert upkeep.delete_run(ws._connection, first.id) == [first.id]
    assert upkeep.sweep(ws._connection)["bytes"] == before
    assert stored(home) == 0
    # The cache of the folder says that its files are there; they are not, and the client notices.
    again = experiment.submit(config)
    assert again.wait_for_completion()["status"] == "Completed"


def test_a_full_disk_takes_no_new_run_while_others_go_on(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(
        tmp_path,
        {
            "code/train.py": "import os, time\nwhile not os.path.exists(os.environ['GO']): time.sleep(0.01)\nprint('done')"
        },
    )
    config = ScriptRunConfig(source_directory=str(tmp_path / "code"), script="train.py")
    monkeypatch.setenv("GO", str(tmp_path / "go"))
    config.environment_variables = {"GO": str(tmp_path / "go")}
    experiment = Experiment(Workspace(), "train")
    run = experiment.submit(config)
    roost("down")
    monkeypatch.setenv("ROOST_DISK_LIMIT", "1")
    roost("up")
    with pytest.raises(DiskFull, match="the limit is 1 %"):
        experiment.submit(config)
    with pytest.raises(DiskFull):
        experiment.start_logging()
    (tmp_path / "go").touch()
    assert run.wait_for_completion()["status"] == "Completed"
    said = roost("submit", "code/train.py", code=1)
    assert "error: No new run is taken in: the disk of" in said
    assert "hint: `roost du`" in said


def test_a_back_up_of_a_home_that_goes_on_becomes_another_home(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(tmp_path, {"train.py": TRAIN})
    roost("submit", "--tag", "a=b", "train.py")
    (before,) = json.loads(roost("run", "list", "--json"))
    summary = json.loads(roost("backup", "all.tar", "--json"))
    assert (summary["runs"], summary["workspaces"]) == (1, ["default"])
    assert (tmp_path / "all.tar").stat().st_mode & 0o077 == 0
    assert "exists already" in roost("backup", "all.tar", code=1)
    assert "error: A control plane runs in" in roost("restore", "all.tar", code=1)
    assert "Restored 1 run of 1 workspace (default)" in (told := roost("restore", "all.tar", "--into", "x/../new"))
    assert f"Next: ROOST_HOME={tmp_path}/new roost up\n" in told
    model = (home / "blobs").glob("*/*")
    assert any(path.stat().st_size == 3_000_000 for path in model)

    roost("down")
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "new"))
    try:
        assert json.loads(roost("run", "list", "--json")) == [before]
        roost("run", "download", before["id"], "--prefix", "outputs", "-o", "got")
        assert (tmp_path / "got/outputs/model.bin").stat().st_size == 3_000_000
        assert len(json.loads(roost("run", "metrics", before["id"], "--json"))["loss"]) == 1000
        roost("run", "repeat", before["id"])
        assert len(json.loads(roost("run", "list", "--json"))) == 2
    finally:
        roost("down")
