"""Runs that live in the caller's own process."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from roost import Experiment, Workspace
from roost.domain.errors import InvalidInput, Unavailable
from roost.sdk.connection import discovery, embedded
from roost.sdk.runs import interactive, salvage

pytestmark = pytest.mark.slow


def told(code: str, *arguments: object) -> str:
    """What a process of its own prints."""
    argv = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60).stdout


BEGIN = (
    "from roost import Experiment, Workspace\nrun = Experiment(Workspace(), 'tests').start_logging()\nprint(run.id)\n"
)


def test_log_upload_and_complete(experiment: Experiment, home: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/model.txt").write_text("weights")
    with experiment.start_logging(outputs=str(tmp_path / "mine"), snapshot_directory=str(tmp_path / "mine")) as run:
        assert "Status: Running" in repr(run)
        assert run.get_status() == "Running"
        for step in range(100):
            run.log("loss", step)
        run.upload_file("notes/a.txt", str(tmp_path / "mine/model.txt"))
        run.tag("kind", "notebook")
        assert run.get_metrics()["loss"] == list(range(100))
        (spools,) = interactive.spools_of(home).iterdir()
    assert "Status: Completed" in repr(run) and "Completed" in run._repr_html_()
    assert run.get_status() == "Completed"
    assert run.get_file_names() == ["mine/model.txt", "notes/a.txt"]
    assert run.tags == {"kind": "notebook"}
    assert not spools.exists()


def test_the_folder_of_outputs_is_made_and_kept(
    experiment: Experiment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = experiment.start_logging()
    (tmp_path / "outputs/deep").mkdir(parents=True)
    (tmp_path / "outputs/a.txt").write_text("a")
    (tmp_path / "outputs/deep/b.txt").write_text("b")
    first.complete()
    assert first.get_file_names() == ["outputs/a.txt", "outputs/deep/b.txt"]
    second = experiment.start_logging()
    (tmp_path / "outputs/deep/b.txt").write_text("changed")
    (tmp_path / "outputs/c.txt").write_text("c")
    (tmp_path / "elsewhere").mkdir()
    os.chdir(tmp_path / "elsewhere")
    capsys.readouterr()
    second.fail("no use")
    assert second.get_file_names() == ["outputs/c.txt", "outputs/deep/b.txt"]
    words = f"outputs/a.txt was there before run {second.id} began and did not change: not kept with it."
    assert words in capsys.readouterr().err
    os.chdir(tmp_path)
    with experiment.start_logging(outputs="myout") as named:
        (tmp_path / "myout/c.txt").write_text("c")
        named.register_model("c", model_path="myout/c.txt")
    assert named.get_file_names() == ["myout/c.txt"]
    with experiment.start_logging(outputs=False) as without:
        (tmp_path / "outputs/d.txt").write_text("d")
    assert without.get_file_names() == []


def test_outputs_that_are_no_folder_are_refused_before_a_run_is_made(experiment: Experiment, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for given in (3, "file", "file/below"):
        with pytest.raises(InvalidInput, match="outputs"):
            experiment.start_logging(outputs=given)  # type: ignore[arg-type]
    assert list(experiment.get_runs()) == []


def test_an_exception_in_the_block_fails_the_run(experiment: Experiment) -> None:
    with pytest.raises(ZeroDivisionError), experiment.start_logging() as run:
        run.log("loss", 1)
        raise ZeroDivisionError("no data")
    assert run.get_status() == "Failed"
    assert "no data" in run.get_details()["error"]["error"]["message"]
    assert run.get_metrics() == {"loss": 1}


def test_what_is_logged_after_the_end_is_not_lost(experiment: Experiment) -> None:
    with experiment.start_logging() as run:
        run.log("loss", 1)
    run.log("loss", 2)
    assert run.get_metrics() == {"loss": [1, 2]}
    assert run.get_status() == "Completed"


def test_logging_goes_on_while_the_control_plane_is_down(experiment: Experiment, home: Path) -> None:
    run = experiment.start_logging()
    run.log("loss", 1)
    record = discovery.read_record(home)
    assert record
    embedded.stop(record, home)
    run.log("loss", 2)
    with pytest.raises(Unavailable, match="was shut down"):
        experiment.workspace._connection.background.call("GET", "/api/workspaces")
    assert embedded.find(home) is None
    run.complete()
    assert run.get_metrics() == {"loss": [1, 2]}
    assert run.get_status() == "Completed"


def test_two_objects_of_one_run_in_one_process(experiment: Experiment, workspace: Workspace) -> None:
    with experiment.start_logging() as run:
        for other in (workspace.get_run(run.id), workspace.get_run(run.id)):
            other.log("seen", 1)
            other.flush()
        assert run.get_metrics() == {"seen": [1, 1]}


@pytest.mark.parametrize(("ending", "status"), [("", "Completed"), ("raise ValueError('bad data')", "Failed")])
def test_a_process_that_ends_without_saying(ending: str, status: str, workspace: Workspace, home: Path) -> None:
    run_id = told(BEGIN + "for i in range(1000): run.log('loss', i)\n" + ending).strip()
    run = workspace.get_run(run_id)
    assert run.get_metrics()["loss"] == list(range(1000))
    assert run.get_status() == status
    assert list(interactive.spools_of(home).iterdir()) == []


def test_a_killed_process_is_delivered_once_by_who_comes_next(workspace: Workspace, home: Path) -> None:
    dying = "import os\nfor i in range(5000): run.log('loss', i)\nos.kill(os.getpid(), 9)\n"
    made = "open('outputs/model.txt', 'w').write('half')\n"
    run_id = told("import sys\n" + BEGIN + made + "sys.stdout.flush()\n" + dying).strip()
    run = workspace.get_run(run_id)
    assert run.get_status() == "Running"
    told("from roost import Workspace\nWorkspace()")
    assert run.get_metrics()["loss"] == list(range(5000))
    assert run.get_status() == "Failed"
    assert run.get_details()["error"]["error"]["code"] == "client_lost"
    assert run.get_file_names() == ["outputs/model.txt"]
    assert list(interactive.spools_of(home).iterdir()) == []


def test_what_was_written_long_after_a_kill_is_not_the_runs(workspace: Workspace, home: Path) -> None:
    made = "open('outputs/mine.txt', 'w').write('half')\nsys.stdout.flush()\n"
    run_id = told("import os, sys\n" + BEGIN + made + "os.kill(os.getpid(), 9)\n").strip()
    later = Path("outputs/later.txt")
    later.write_text("of whoever came next")
    soon = time.time() + 20 * interactive.HEARTBEAT
    os.utime(later, (soon, soon))
    told("from roost import Workspace\nWorkspace()")
    assert workspace.get_run(run_id).get_file_names() == ["outputs/mine.txt"]


def test_a_living_process_is_left_alone(experiment: Experiment, workspace: Workspace) -> None:
    with experiment.start_logging() as run:
        run.log("loss", 1)
        told("from roost import Workspace\nWorkspace()")
        assert salvage.salvage(workspace._connection, "") == []
        assert run.get_status() == "Running"
        run.log("loss", 2)
    assert run.get_metrics() == {"loss": [1, 2]}


def test_points_added_to_a_run_of_another_process(experiment: Experiment, workspace: Workspace) -> None:
    with experiment.start_logging() as run:
        told("import sys\nfrom roost import Workspace\nWorkspace().get_run(sys.argv[1]).log('seen', 1)\n", run.id)
        assert run.get_metrics() == {"seen": 1}
        assert run.get_status() == "Running"


def test_forked_workers_log_to_the_same_run(experiment: Experiment) -> None:
    import multiprocessing

    with experiment.start_logging() as run:
        run.log("loss", 0)
        context = multiprocessing.get_context("fork")
        workers = [context.Process(target=run.log, args=("worker", number)) for number in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert sorted(run.get_metrics()["worker"]) == [0, 1, 2]
