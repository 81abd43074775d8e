"""Runs below runs: made by a script on any Python, by a notebook, from outside; their metrics, files, ends."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.shared.folders import tree
from tests.shared.interpreters import each_python, python

from roost import Experiment, Run, ScriptRunConfig, Workspace
from roost.domain.errors import InvalidInput
from roost.sdk.runs import salvage
from roost_job.exceptions import UserErrorException

pytestmark = pytest.mark.slow

PARENT = """
import os
from azureml.core import Run
run = Run.get_context()
run.log("own", 1)
with run.child_run(name="first") as child:
    for step in range(3):
        child.log("loss", step)
    open("note.txt", "w").write("a note")
    child.upload_file("notes/note.txt", "note.txt")
    child.tag("fold", "0")
    child.add_properties({"p": "x"})
    assert child.parent.id == run.id and child.type == "azureml.interactive"
    assert child.get_metrics() == {"loss": [0, 1, 2]}, child.get_metrics()
    deeper = child.child_run()
    deeper.log("deep", 7)
    deeper.fail("no data", "E1")
three = run.create_children(tag_key="fold", tag_values=[1, 2, 3])
for each in three:
    each.log("score", 5)
three[0].complete()
three[1].cancel()
late = run.create_children(count=1, start_children=False)[0]
assert late.get_status() == "NotStarted"
late.start()
assert late.get_status() == "Running"
assert len(list(run.get_children())) == 5
assert len(list(run.get_children(recursive=True))) == 6
assert [c.id for c in run.get_children(tags={"fold": "1"})] == [three[0].id]
assert [c.id for c in run.get_children(tags="fold", status="Canceled")] == [three[1].id]
assert list(run.get_children(type="azureml.scriptrun")) == []
family = run.get_metrics(recursive=True)
assert len(family) == 7 and family[deeper.id] == {"deep": 7}, family
os.makedirs("made"); open("made/model.txt", "w").write("weights")
kept = run.child_run(outputs="made")
kept.complete()
matrix = {"schema_type": "confusion_matrix", "data": {"class_labels": ["a", "b"], "matrix": [[3, 0], [1, 2]]}}
run.log_confusion_matrix("confusion", matrix)
assert run.get_metrics("confusion", populate=True)["confusion"]["data"] == matrix["data"]
assert run.get_portal_url() == os.environ["AZUREML_SERVICE_ENDPOINT"] + "/runs/" + run.id
print(run.restore_snapshot(path="restored"), sorted(os.listdir("restored")))
"""


def submit(experiment: Experiment, folder: Path, script: str, interpreter: str = sys.executable) -> Run:
    tree(folder / "source", {"train.py": script})
    config = ScriptRunConfig(str(folder / "source"), command=[interpreter, "train.py"])
    return experiment.submit(config)


@each_python
def test_a_script_makes_children(experiment: Experiment, tmp_path: Path, version: str) -> None:
    run = submit(experiment, tmp_path, PARENT, python(version))
    run.wait_for_completion(show_output=True)
    by_name = {child.display_name: child for child in run.get_children()}
    first = by_name["first"]
    assert (first.get_status(), first.get_tags(), first.properties["p"]) == ("Completed", {"fold": "0"}, "x")
    assert first.get_metrics() == {"loss": [0, 1, 2]}
    assert first.get_file_names() == ["notes/note.txt"]
    (deeper,) = first.get_children()
    assert (deeper.get_status(), deeper.parent.id) == ("Failed", first.id)
    assert deeper.get_details()["error"]["error"]["message"] == "E1: no data"
    statuses = {child.get_tags().get("fold"): child.get_status() for child in run.get_children(tags="fold")}
    assert statuses == {"0": "Completed", "1": "Completed", "2": "Canceled", "3": "Completed"}
    assert {child.get_status() for child in run.get_children()} == {"Completed", "Canceled"}
    assert ["made/model.txt"] in [child.get_file_names() for child in run.get_children()]
    assert [each.id for each in experiment.get_runs()] == [run.id]
    assert len(list(experiment.get_runs(include_children=True))) == 8


SUBMITS = """
from azureml.core import Run, ScriptRunConfig
run = Run.get_context()
child = run.submit_child(ScriptRunConfig(".", script="child.py", arguments=["--n", 3]), tags={"n": "3"})
print("submitted", child.id, child.get_status() in ("NotStarted", "Queued", "Provisioning", "Running", "Completed"))
assert child.parent.id == run.id
details = child.wait_for_completion(show_output=True)
assert details["status"] == "Completed", details
assert child.get_metrics() == {"n": 3}
child.fail("too late")
assert child.get_status() == "Completed"
other = run.submit_child(ScriptRunConfig(".", command=["sleep", "600"]))
other.fail("not needed", "E2")
print("ended", other.get_status(), other.get_details()["error"]["error"]["message"])
"""
CHILD = """
import sys
from azureml.core import Run
run = Run.get_context()
run.log("n", int(sys.argv[2]))
print("the parent is", run.parent.id, run.parent.get_status())
try:
    run.parent.log("n", 1)
except Exception as error:
    print("refused:", error)
"""


def test_a_script_submits_a_script(experiment: Experiment, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree(tmp_path / "source", {"train.py": SUBMITS, "child.py": CHILD})
    run = experiment.submit(ScriptRunConfig(str(tmp_path / "source"), script="train.py"))
    run.wait_for_completion(show_output=True)
    said = capsys.readouterr().out
    other, child = run.get_children()
    assert "ended Failed E2: not needed" in said
    assert f"Run {child.id} has ended already, as Completed; that is not changed." in said
    assert (child.type, child.get_tags()) == ("azureml.scriptrun", {"n": "3"})
    assert f"submitted {child.id} True" in said
    assert f"the parent is {run.id} Running" in said  # the child's log, streamed by its parent
    assert "Streaming user_logs/std_log.txt\n===============================\n" in said
    assert "refused: Run" in said
    assert run.get_metrics(recursive=True, run_type="azureml.scriptrun") == {
        run.id: {},
        child.id: {"n": 3},
        other.id: {},
    }
    assert child.get_properties()["ContentSnapshotId"] == child.get_snapshot_id()


def test_a_child_submitted_from_outside(experiment: Experiment, tmp_path: Path) -> None:
    tree(tmp_path / "source", {"child.py": "print('hello')"})
    with experiment.start_logging() as parent:
        child = parent.submit_child(ScriptRunConfig(str(tmp_path / "source"), script="child.py"))
        assert child.wait_for_completion()["status"] == "Completed"
        assert child.parent.id == parent.id
    assert [each.id for each in parent.get_children()] == [child.id]


def test_children_of_a_notebook_share_its_session(experiment: Experiment, workspace: Workspace) -> None:
    run = experiment.start_logging()
    folds = run.create_children(20)
    for number, fold in enumerate(folds):
        fold.log("score", number)
    assert folds[7].get_metrics() == {"score": 7}
    with run.child_run("with", run_id="my-own-id") as child:
        child.log("x", 1)
    assert (child.id, child.display_name, child.get_status()) == ("my-own-id", "with", "Completed")
    assert child.parent.id == run.id
    with pytest.raises(ZeroDivisionError), run.child_run() as broken:
        raise ZeroDivisionError("no data")
    assert broken.get_status() == "Failed"
    folds[0].fail("bad")
    run.complete()
    assert [fold.get_status() for fold in folds[:3]] == ["Failed", "Completed", "Completed"]
    folds[1].log("score", 100)  # never lost, not even now
    assert folds[1].get_metrics() == {"score": [1, 100]}
    assert run.get_metrics("score", recursive=True)[folds[19].id] == {"score": 19}
    late = workspace.get_run(run.id).child_run()
    late.log("x", 1)
    late.complete()
    assert (late.get_status(), late.get_metrics()) == ("Completed", {"x": 1})


def test_what_create_children_refuses(experiment: Experiment) -> None:
    with experiment.start_logging() as run:
        for given in ({}, {"count": 0}, {"count": 2, "tag_key": "a"}, {"tag_key": "a"}, {"tag_values": [1]}):
            with pytest.raises(UserErrorException):
                run.create_children(**given)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            run.child_run(run_id="not/an/id")
        assert list(run.get_children()) == []
        assert run.parent is None


def test_a_cancelled_parent_takes_what_it_submitted_along(experiment: Experiment, tmp_path: Path) -> None:
    tree(tmp_path / "source", {"child.py": "import time\nprint('begun', flush=True)\ntime.sleep(600)"})
    run = experiment.start_logging()
    child = run.submit_child(ScriptRunConfig(str(tmp_path / "source"), script="child.py"))
    inner = run.child_run()
    run.cancel()
    assert run.get_status() == inner.get_status() == "Canceled"
    assert child.wait_for_completion()["status"] == "Canceled"


KILLED = """
import os
from roost import Experiment, Workspace
run = Experiment(Workspace(), "tests").start_logging()
run.log("loss", 1)
for number, child in enumerate(run.create_children(2)):
    child.log("score", number)
print(run.id, flush=True)
os._exit(9)
"""


def test_what_a_killed_notebook_logged_to_children_arrives(experiment: Experiment, home: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=60, check=False)
    run = experiment.workspace.get_run(done.stdout.split()[-1])
    salvage.salvage(experiment.workspace._connection, "")
    family = run.get_metrics(recursive=True)
    assert sorted(map(str, family.values())) == ["{'loss': 1}", "{'score': 0}", "{'score': 1}"]
    assert {each.get_status() for each in (run, *run.get_children())} == {"Failed"}
