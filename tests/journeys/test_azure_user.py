"""An Azure user's day, with the code they have: nothing here knows that it is not Azure ML. Written from the SDK's behaviours."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.shared.folders import tree

from azureml.exceptions import AzureMLException

pytestmark = pytest.mark.slow

TRAIN = """
import argparse, os, sys
from azureml.core import Run

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--rate", type=float)
args = parser.parse_args()

run = Run.get_context()
assert Run.get_context() is run and not run.id.startswith("OfflineRun")
assert run.id == os.environ["AZUREML_RUN_ID"]
assert run.experiment.name == os.environ["AZUREML_ARM_PROJECT_NAME"] == "birds"
assert run.experiment.workspace.name == os.environ["AZUREML_ARM_WORKSPACE_NAME"] == "vision"
for name in "SUBSCRIPTION RESOURCEGROUP WORKSPACE_NAME PROJECT_NAME".split():
    assert os.environ["AZUREML_ARM_" + name]
for name in "RUN_ID EXPERIMENT_ID WORKSPACE_ID SERVICE_ENDPOINT RUN_TOKEN".split():
    assert os.environ["AZUREML_" + name]
for epoch in range(args.epochs):
    run.log("loss", 1 / (epoch + 1), step=epoch)
run.log("rate", args.rate)
run.log_list("accuracies", [0.6, 0.7, 0.87])
run.log_list("one", [7])
run.log_list("none", [])
run.log_row("once", x=1)
for y in (1, 2):
    run.log_row("rows", x=y, y=float("nan") if y == 2 else 0.5)
run.log_table("table", {"x": [1, 2], "y": ["a", "b"]})
run.log("infinite", float("inf"))
run.log("größe/尺寸 🐦", 3)
for wrong in ([1, 2], range(3), (n for n in [1])):
    try:
        run.log("wrong", wrong)
        sys.exit("was taken")
    except Exception as error:
        assert type(error).__name__ == "UserErrorException", error
with open("plot.png", "wb") as file:
    file.write(b"\\x89PNG")
run.log_image("plot", path="plot.png")
run.tag("quality", "good")
run.tag("alone")
run.add_properties({"author": "ada"})
run.upload_file("outputs/report.txt", "report.txt")
run.upload_folder("notes", "notes")
run.upload_files(["a/one.txt", "a/two.txt"], ["report.txt", "report.txt"])
for fold in run.create_children(tag_key="fold", tag_values=[1, 2]):
    with fold:
        fold.log("score", int(fold.get_tags()["fold"]))
with open("outputs/model.pt", "w") as file:
    file.write("weights")
run.complete()          # does not decide the status
assert run.get_status() == "Running"
run.cancel()            # warns
print("trained", args.epochs)
"""


@pytest.fixture
def project(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's project: a config.json above, a git repository, results of an earlier day."""
    root = tree(
        tmp_path / "project",
        {
            ".azureml/config.json": json.dumps(
                {"subscription_id": "1234", "resource_group": "team", "workspace_name": "vision"}
            ),
            "src/train.py": TRAIN,
            "src/report.txt": "fine",
            "src/notes/deep/n.txt": "note",
            "src/outputs/stale.pt": "of another day",
            "src/logs/stale.log": "of another day",
            "src/data.csv": "1,2",
            "src/.amlignore": "*.csv\n",
            "src/.gitignore": "report.txt\n",
            "src/run.sh": "#!/bin/sh\n",
        },
    )
    (root / "src/run.sh").chmod(0o755)
    (root / "src/empty folder ü").mkdir()
    (root / "src/link.txt").symlink_to("report.txt")
    quiet = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    for words in (
        ["init", "-q", "-b", "trunk"],
        ["remote", "add", "origin", "https://ada:secret@example.org/birds.git"],
        ["add", "src/train.py"],
        ["-c", "user.name=ada", "-c", "user.email=a@b.c", "commit", "-q", "-m", "first"],
    ):
        subprocess.run(["git", *words], cwd=root, env=quiet, check=True)
    monkeypatch.chdir(root / "src")
    return root


def submit(**more: Any) -> Any:
    from azureml.core import Experiment, ScriptRunConfig, Workspace

    ws = Workspace.from_config()
    src = ScriptRunConfig(
        source_directory=".", script="train.py", arguments=["--epochs", 3, "--rate", 0.1, "--rate", 0.2]
    )
    return Experiment(workspace=ws, name="birds").submit(src, **more)


def test_train_watch_read_back(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from azureml.core import Experiment, Run, Workspace
    from azureml.core.script_run import ScriptRun

    ws = Workspace.from_config()
    assert (ws.name, ws.subscription_id, ws.resource_group) == ("vision", "1234", "team")
    run = submit(tags={"model": "small"})
    assert isinstance(run, ScriptRun)
    head, seconds, hexadecimal = run.id.rsplit("_", 2)
    assert (head, seconds.isdigit(), len(hexadecimal)) == ("birds", True, 8)
    capsys.readouterr()
    details = run.wait_for_completion(show_output=True)
    said = capsys.readouterr().out
    url = run.get_portal_url()
    title = "Streaming user_logs/std_log.txt"
    assert said.startswith(f"RunId: {run.id}\nWeb View: {url}\n\n{title}\n{'=' * len(title)}\n\n")
    summary = (
        f"\n\nExecution Summary\n=================\nRunId: {run.id}\nWeb View: {url}\nStatus: Completed\nDuration: "
    )
    assert summary in said
    assert "trained 3\n" in said and "run.cancel() does nothing inside" in said
    assert set(details) == {
        *("runId", "target", "status", "startTimeUtc", "endTimeUtc", "properties", "inputDatasets", "outputDatasets"),
        *("runDefinition", "logFiles", "submittedBy"),
    }
    assert details["status"] == run.get_status() == run.status == "Completed"

    metrics = run.get_metrics()
    rows = metrics.pop("rows")
    assert rows["x"] == [1, 2] and rows["y"][0] == 0.5 and rows["y"][1] != rows["y"][1]
    assert metrics.pop("plot").startswith(f"aml://artifactId/ExperimentRun/dcid.{run.id}/plot_")
    assert metrics == {
        "loss": [1.0, 0.5, 1 / 3],
        "rate": 0.2,
        "accuracies": [0.6, 0.7, 0.87],
        "one": 7,
        "once": {"x": 1},
        "table": {"x": [1, 2], "y": ["a", "b"]},
        "infinite": float("inf"),
        "größe/尺寸 🐦": 3,
    }
    assert run.get_metrics(name="rate") == {"rate": 0.2}
    assert run.get_metrics(name="score", recursive=True)[run.id] == {}

    files = run.get_file_names()
    assert {"outputs/model.pt", "outputs/report.txt", "notes/deep/n.txt", "a/one.txt", "a/two.txt"} <= set(files)
    assert not {"outputs/stale.pt", "logs/stale.log"} & set(files)
    logs = run.get_details_with_logs()["logFiles"]
    assert "trained 3" in logs["user_logs/std_log.txt"]
    saved = run.get_all_logs(destination=str(tmp_path / "logs"))
    assert str(tmp_path / "logs/user_logs/std_log.txt") in saved and all(Path(path).is_file() for path in saved)
    run.download_files(prefix="outputs/model", output_directory=str(tmp_path / "nothing"))
    assert not (tmp_path / "nothing").exists()
    run.download_file("outputs/model.pt", str(tmp_path) + "/")
    assert (tmp_path / "model.pt").read_text() == "weights"

    assert run.get_tags() == run.tags == {"model": "small", "quality": "good", "alone": None}
    run.set_tags({"model": "large", "more": "1"})
    run.remove_tags(["alone"])
    assert run.tags == {"model": "large", "quality": "good", "more": "1"}
    properties = run.get_properties()
    assert properties["author"] == "ada"
    git = {name.rpartition(".")[2]: properties[name] for name in properties if name.startswith("azureml.git.")}
    assert (git["repository_uri"], git["branch"], git["dirty"]) == ("https://example.org/birds.git", "trunk", "False")
    assert git["commit"] == properties["mlflow.source.git.commit"] and len(git["commit"]) == 40
    assert properties["mlflow.source.git.repoURL"] == git["repository_uri"]
    assert properties["mlflow.source.git.branch"] == "trunk"
    with pytest.raises(AzureMLException, match="author"):
        run.add_properties({"author": "bob"})
    run.display_name = "the good one"
    assert (Run.get(ws, run.id).display_name, run.name, run.number) == ("the good one", "the good one", 1)
    run.description = "Larger images."
    assert Run.get(ws, run.id).description == "Larger images." and run.display_name == "the good one"

    children = list(run.get_children())
    assert [child.get_tags()["fold"] for child in children] == ["2", "1"]
    assert {child.get_status() for child in children} == {"Completed"}
    assert children[0].parent.id == run.id and run.parent is None
    assert [each.id for each in run.get_children(tags={"fold": "1"})] == [children[1].id]

    experiment = Experiment(ws, "birds")
    assert [each.id for each in experiment.get_runs()] == [run.id]
    assert len(list(Run.list(experiment, include_children=True))) == 3
    assert [each.id for each in Run.list(experiment, tags="model", type="azureml.scriptrun", status="Completed")] == [
        run.id
    ]
    assert list(Run.list(experiment, properties={"author": "bob"})) == []
    assert list(experiment.get_runs(type="hyperdrive")) == []
    assert repr(run).startswith(f"Run(Experiment: birds,\nId: {run.id},\nType: azureml.scriptrun,\nStatus: ")
    assert run.id in run._repr_html_() and f'href="{url}"' in run._repr_html_()
    assert repr(experiment) == "Experiment(Name: birds,\nWorkspace: vision)"
    assert "<td>birds</td>" in experiment._repr_html_()


def test_restore_the_snapshot(project: Path, tmp_path: Path) -> None:
    run = submit()
    run.wait_for_completion()
    place = Path(run.restore_snapshot(path=str(tmp_path / "restored")))
    assert place == tmp_path / "restored"
    assert (place / "train.py").read_text() == TRAIN
    assert not (place / "data.csv").exists()
    assert (place / "report.txt").exists()  # .amlignore counts, so .gitignore does not
    assert (place / "empty folder ü").is_dir()
    assert os.access(place / "run.sh", os.X_OK) and not os.access(place / "train.py", os.X_OK)
    assert (place / "link.txt").is_symlink() and (place / "link.txt").read_text() == "fine"
    assert (place / "outputs/stale.pt").exists()
    again = Path(run.restore_snapshot(run.get_snapshot_id()))
    assert sorted(path.name for path in again.iterdir()) == sorted(path.name for path in place.iterdir())
    with pytest.raises(AzureMLException, match="is there already"):
        run.restore_snapshot(path=str(place))


def test_a_stale_output_that_the_script_changes_is_kept(project: Path) -> None:
    (project / "src/train.py").write_text(
        "open('outputs/stale.pt', 'a').write('!')\nopen('logs/stale.log', 'w').write('new')"
    )
    run = submit()
    run.wait_for_completion()
    assert {"outputs/stale.pt", "logs/stale.log"} <= set(run.get_file_names())


def test_cancel_fail_and_refuse(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from azureml.core import Experiment, ScriptRunConfig, Workspace
    from azureml.exceptions import ActivityFailedException, ExperimentExecutionException

    ws = Workspace.from_config()
    experiment = Experiment(ws, "birds")
    asleep = "import time\nprint('on', flush=True)\ntime.sleep(600)"
    tree(project / "src", {"sleep.py": asleep, "fail.py": "raise ValueError('no data')"})
    run = experiment.submit(ScriptRunConfig(".", script="sleep.py"))
    run.cancel()
    assert run.wait_for_completion(show_output=True)["status"] == "Canceled"
    failed = experiment.submit(ScriptRunConfig(".", script="fail.py"))
    with pytest.raises(ActivityFailedException, match="no data") as caught:
        failed.wait_for_completion(show_output=True)
    assert isinstance(caught.value, AzureMLException) and "no data" in caught.value.message
    assert failed.get_details()["status"] == "Failed"
    with pytest.raises(ExperimentExecutionException):
        experiment.submit(ScriptRunConfig(".", script="nowhere.py"))
    assert {each.get_status() for each in experiment.get_runs()} == {"Canceled", "Failed"}


def test_a_notebook_s_run(project: Path) -> None:
    from azureml.core import Experiment, Run, Workspace

    experiment = Experiment(Workspace.from_config(), "notebook")
    with experiment.start_logging(snapshot_directory=".", outputs=None) as run:
        run.log("loss", 0.5)
        with run.child_run("inner") as inner:
            inner.log("loss", 0.25)
        run.flush()
    assert (run.get_status(), run.type) == ("Completed", "azureml.interactive")
    assert run.get_metrics(recursive=True) == {run.id: {"loss": 0.5}, inner.id: {"loss": 0.25}}
    assert run.get_properties()["azureml.git.branch"] == "trunk"
    assert Path(run.restore_snapshot(), "train.py").is_file()
    plain = experiment.start_logging()
    with pytest.raises(AzureMLException, match="no snapshot"):
        plain.get_snapshot_id()
    plain.fail("it broke", error_code="E7")
    assert plain.get_details()["error"]["error"]["message"] == "E7: it broke"
    offline = Run.get_submitted_run()
    assert offline.id.startswith("OfflineRun_")


def test_experiments(project: Path) -> None:
    from azureml.core import Experiment, Workspace

    ws = Workspace.from_config()
    first, second = Experiment(ws, "first"), Experiment(ws, "second")
    first.tag("kind", "old")
    first.set_tags({"more": "1"})
    first.remove_tags(["more"])
    assert Experiment(ws, "first").tags == {"kind": "old"}
    assert [each.name for each in Experiment.list(ws)] == ["first", "second"]
    assert [each.name for each in Experiment.list(ws, tags={"kind": "old"})] == ["first"]
    assert [each.name for each in Experiment.list(ws, experiment_name="second")] == ["second"]
    first.archive()
    assert [each.name for each in Experiment.list(ws)] == ["second"]
    assert [each.name for each in Experiment.list(ws, view_type="ArchivedOnly")] == ["first"]
    assert first.archived_time is not None
    assert len(Experiment.list(ws, view_type="All")) == 2
    first.reactivate()
    second.refresh()
    assert first.archived_time is None
    first.archive()
    first.start_logging().complete()  # a new run takes it out again
    first.refresh()
    assert first.archived_time is None
    Experiment.delete(ws, second.id)
    assert [each.name for each in Experiment.list(ws, view_type="All")] == ["first"]
    with pytest.raises(AzureMLException, match="has runs"):
        Experiment.delete(ws, first.id)
    with pytest.raises(AzureMLException, match="view_type"):
        Experiment.list(ws, view_type="Some")
