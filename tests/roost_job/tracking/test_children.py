"""Children from inside a job: what is asked of the door, where they log, and that they hold nothing once they have ended."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.roost_job import spools
from tests.roost_job.doors import FakeDoor

from roost_job.exceptions import RunEnvironmentException, UserErrorException
from roost_job.run import Run


@pytest.fixture
def run(job_env: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, door: FakeDoor) -> Run:
    for name, value in job_env.items():
        if name.startswith(("ROOST_", "AZUREML_")):
            monkeypatch.setenv(name, value)
    found = Run.get_context()
    assert isinstance(found, Run)
    return found


def test_a_child_logs_to_a_folder_of_its_own(run: Run, door: FakeDoor, tmp_path: Path) -> None:
    child = run.child_run(name="fold 1")
    (asked,) = [each for each in door.asked if each["op"] == "bear"]
    assert asked["children"][0]["display_name"] == "fold 1" and asked["start"] is True
    assert child.id.startswith("train_") and child.type == "azureml.interactive"
    child.log("score", 0.5)
    run.log("loss", 1)
    folder = tmp_path / "spool" / child.id
    assert [path.suffix for path in folder.iterdir()] == [".spool"]
    assert spools.values(folder) == {"score": [0.5]}
    assert spools.values(tmp_path / "spool") == {"loss": [1]}
    child.complete()
    assert door.asked[-1] == {"op": "report", "run": child.id, "to": "Completed", "reason": "done", "message": ""}


def test_thousands_of_children_leave_no_file_open(run: Run, door: FakeDoor) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for child in run.create_children(1500):
        with child:
            child.log("score", 1)
    assert len(os.listdir("/proc/self/fd")) <= before + 2
    assert [len(each["children"]) for each in door.asked if each["op"] == "bear"] == [1000, 500]
    assert len(list(run.get_children())) == 1500


def test_how_it_ends(run: Run, door: FakeDoor) -> None:
    child = run.child_run()
    child.fail("no data", error_code="E1")
    assert (door.asked[-1]["to"], door.asked[-1]["message"]) == ("Failed", "E1: no data")
    child.cancel()
    assert door.asked[-1] == {"op": "cancel", "run": child.id}
    with pytest.raises(ZeroDivisionError), run.child_run():
        raise ZeroDivisionError
    assert door.asked[-1]["to"] == "Failed"


def test_what_takes_more_than_the_library(run: Run) -> None:
    with pytest.raises(RunEnvironmentException, match="needs the Roost SDK"):
        run.submit_child(object())
    with pytest.raises(UserErrorException, match="cannot wait for the end of the run that it is"):
        run.wait_for_completion()
    assert list(run.get_children(type="hyperdrive")) == []


def test_the_run_above_is_read_only(run: Run, door: FakeDoor) -> None:
    door.record["parent_id"] = "sweep_1700000000_00000000"
    parent = run.parent
    assert parent is not None and parent.id == "sweep_1700000000_00000000"
    with pytest.raises(RunEnvironmentException, match="cannot be logged to"):
        parent.log("loss", 1)
