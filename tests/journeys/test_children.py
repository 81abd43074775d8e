"""Runs below runs: made by a script on any Python, by a notebook, from outside; their metrics, files, ends."""

import sys
from pathlib import Path

import pytest
from tests.interpreters import each_python, python
from tests.sdk.folders import tree

from roost import Experiment, Run, ScriptRunConfig, Workspace
from roost.domain.errors import InvalidInput
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
    assert ["outputs/model.txt"] in [child.get_file_names() for child in run.get_children()]
    assert [each.id for each in experiment.get_runs()] == [run.id]
    assert len(list(experiment.get_runs(include_children=True))) == 8
