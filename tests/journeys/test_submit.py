"""A script is submitted, watched, read back; it fails, is cancelled, takes too long; many at once."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.shared.folders import tree

from roost import Experiment, Run, ScriptRunConfig, Workspace
from roost.domain.errors import ComputeNotFound, InvalidInput, NotFound
from roost.sdk.runs import waiting
from roost_job.exceptions import ActivityFailedException, ExperimentExecutionException, UserErrorException

pytestmark = pytest.mark.slow

# Says something, waits for a sign, says the rest.
PATIENT = """
import os, sys, time
from azureml.core import Run

run = Run.get_context()
print("begun", flush=True)
os.makedirs("logs", exist_ok=True)
open("logs/train.log", "w").write("a line\\n")
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
for step in range(3):
    run.log("loss", 1 / (step + 1), step=step)
run.log("final", 7)
run.log_row("best", rate=0.1, word="é")
run.tag("phase", "done")
os.makedirs("outputs/deep", exist_ok=True)
open("outputs/model.txt", "w").write("weights")
open("outputs/deep/more.txt", "w").write("more")
print("ended", sys.argv[2])
"""

FAILING = """
import os
os.makedirs("outputs", exist_ok=True)
open("outputs/partial.txt", "w").write("kept")
print("about to fail")
raise ValueError("the data is empty")
"""

# Outlives polite requests: a child in a session of its own, both deaf to SIGTERM.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"], start_new_session=True)
os.makedirs("outputs", exist_ok=True)
open("outputs/so_far.txt", "w").write("kept")
open(sys.argv[1] + ".part", "w").write("%d %d" % (os.getpid(), child.pid))
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(600)
"""


def submit(experiment: Experiment, folder: Path, script: str, *arguments: object, **more: object) -> Run:
    source = tree(folder / "source", {"train.py": script})
    config = ScriptRunConfig(str(source), script="train.py", arguments=[str(each) for each in arguments], **more)  # type: ignore[arg-type]
    return experiment.submit(config)


def until(what: Callable[[], object], seconds: float = 60) -> object:
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, f"waited {seconds} s in vain"
        time.sleep(0.02)
    return found


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_submit_watch_and_read_back(
    experiment: Experiment, workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = submit(experiment, tmp_path, PATIENT, tmp_path / "sign", "$AZUREML_RUN_ID")
    shown = io.StringIO()
    client = run._connection.watcher
    watching = threading.Thread(target=waiting.stream, args=(client, run.id, run.get_portal_url(), shown))
    watching.start()
    until(lambda: "begun" in shown.getvalue())
    assert "Execution Summary" not in shown.getvalue()
    assert run.get_status() == "Running"
    until(lambda: "logs/train.log" in run.get_file_names())
    (tmp_path / "sign").touch()
    watching.join(60)
    text = shown.getvalue()
    assert text.startswith(f"RunId: {run.id}\nWeb View: {run.get_portal_url()}\n")
    assert "\nStreaming user_logs/std_log.txt\n===============================\n\nbegun\n" in text
    assert f"ended {run.id}\n\nExecution Summary\n=================\nRunId: {run.id}\n" in text

    details = run.wait_for_completion(show_output=False)
    assert details["status"] == "Completed"
    assert set(details) >= {"runId", "target", "status", "startTimeUtc", "endTimeUtc", "properties", "inputDatasets"}
    assert set(details) >= {"outputDatasets", "runDefinition", "logFiles", "submittedBy"}
    assert run.get_metrics() == {"loss": [1.0, 0.5, 1 / 3], "final": 7, "best": {"rate": 0.1, "word": "é"}}
    assert run.get_metrics("final") == {"final": 7}
    assert run.get_metrics(recursive=True) == {run.id: run.get_metrics()}
    assert run.tags == {"phase": "done"}
    names = run.get_file_names()
    assert {"outputs/model.txt", "outputs/deep/more.txt", "logs/train.log", "user_logs/std_log.txt"} <= set(names)

    run.download_file("outputs/model.txt", str(tmp_path / "got/model.txt"))
    assert (tmp_path / "got/model.txt").read_text() == "weights"
    run.download_file("azureml-logs/70_driver_log.txt", str(tmp_path / "log.txt"))
    assert "begun" in (tmp_path / "log.txt").read_text()
    run.download_files("outputs", str(tmp_path / "all"), append_prefix=False)
    assert (tmp_path / "all/deep/more.txt").read_text() == "more"
    with pytest.raises(NotFound, match=r"nothing\.txt"):
        run.download_file("outputs/nothing.txt")

    again = workspace.get_run(run.id)
    assert (again.id, again.number, again.get_status()) == (run.id, 1, "Completed")
    assert [each.id for each in experiment.get_runs()] == [run.id]
    assert [each.id for each in experiment.get_runs(tags={"phase": "done"})] == [run.id]
    assert list(experiment.get_runs(tags={"phase": "begun"})) == []
    assert set(workspace.experiments) == {"tests"}


def test_a_script_that_fails(experiment: Experiment, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = submit(experiment, tmp_path, FAILING)
    with pytest.raises(ActivityFailedException, match="the data is empty") as caught:
        run.wait_for_completion(show_output=True)
    said = capsys.readouterr().out
    assert "about to fail" in said
    assert "\nStatus: Failed\nDuration: " in said
    assert "\nError:\nThe script ended with exit code 1.\nValueError: the data is empty\n" in said
    assert (said + str(caught.value)).count("Traceback") == 1, "the frames are shown once, in the log"
    with pytest.raises(ActivityFailedException, match="Traceback"):
        run.wait_for_completion()
    assert run.wait_for_completion(raise_on_error=False)["status"] == "Failed"
    assert "outputs/partial.txt" in run.get_file_names()
    assert "ValueError" in run.get_details()["error"]["error"]["message"]


def test_cancel_ends_the_whole_tree_and_raises_nothing(experiment: Experiment, tmp_path: Path) -> None:
    run = submit(experiment, tmp_path, STUBBORN, tmp_path / "pids")
    until((tmp_path / "pids").exists)
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    run.cancel()
    assert run.wait_for_completion(show_output=True)["status"] == "Canceled"
    assert [pid for pid in pids if not gone(pid)] == []
    assert "outputs/so_far.txt" in run.get_file_names()


@pytest.mark.parametrize("ends", ["fail", "complete"])
def test_a_run_is_ended_from_outside_as_failed_or_completed(
    experiment: Experiment, tmp_path: Path, ends: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = submit(experiment, tmp_path, STUBBORN, tmp_path / "pids")
    until((tmp_path / "pids").exists)
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    if ends == "fail":
        run.fail(error_details=ValueError("it diverges"), error_code="E1")
    else:
        run.complete()
    status = "Failed" if ends == "fail" else "Completed"
    assert (run.get_status(), [pid for pid in pids if not gone(pid)]) == (status, [])
    assert f"Status: {status}" in repr(run)
    assert "outputs/so_far.txt" in run.get_file_names()
    if ends == "fail":
        assert run.get_details()["error"]["error"] == {
            "code": "marked_failed",
            "message": "E1: ValueError: it diverges",
        }
    run.cancel()
    run.complete()
    assert run.get_status() == status
    capsys.readouterr()
    done = submit(experiment, tmp_path, "print('done')")
    done.wait_for_completion()
    done.fail("too late")
    assert done.get_status() == "Completed"
    assert f"Run {done.id} has ended already, as Completed; that is not changed." in capsys.readouterr().err


def test_a_run_that_waits_is_ended_from_outside(experiment: Experiment, tmp_path: Path) -> None:
    waiting = [submit(experiment, tmp_path, PATIENT, tmp_path / "sign", str(number)) for number in range(12)]
    waiting[-1].fail("not needed any more")
    waiting[-2].complete()
    assert [run.get_status() for run in waiting[-2:]] == ["Completed", "Failed"]
    for run in waiting:
        run.cancel()


def test_a_script_does_not_decide_its_own_status_by_way_of_the_sdk(experiment: Experiment, tmp_path: Path) -> None:
    text = (
        "from roost import Run, Workspace\nown = Run.get_context()\n"
        "own.fail('one')\nrun = Workspace().get_run(own.id)\nrun.fail('two')\nrun.complete()\nprint('goes on')"
    )
    run = submit(experiment, tmp_path, text)
    assert run.wait_for_completion(show_output=True)["status"] == "Completed"


def test_a_run_that_takes_too_long(experiment: Experiment, tmp_path: Path) -> None:
    run = submit(experiment, tmp_path, STUBBORN, tmp_path / "pids", max_run_duration_seconds=1)
    with pytest.raises(ActivityFailedException, match="timed out"):
        run.wait_for_completion()
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert [pid for pid in pids if not gone(pid)] == []
    assert "outputs/so_far.txt" in run.get_file_names()


def test_a_run_goes_on_from_the_outputs_of_another(experiment: Experiment, tmp_path: Path) -> None:
    first = submit(experiment, tmp_path, "open('outputs/step.txt', 'w').write('7')")
    first.wait_for_completion()
    place = first._get_outputs_datapath()
    assert (place.datastore_name, place.path_on_datastore) == ("workspaceblobstore", f"azureml/{first.id}/outputs")
    text = (
        "import os, sys\nassert sys.argv[1] == '--resume-from', sys.argv\n"
        "assert sys.argv[2] == os.environ['AZUREML_DATAREFERENCE_MODEL_LOCATION']\n"
        "print('goes on from', open(os.path.join(sys.argv[2], 'step.txt')).read())"
    )
    second = submit(experiment, tmp_path, text, resume_from=place)
    second.wait_for_completion(show_output=True)
    second.download_file("user_logs/std_log.txt", str(tmp_path / "log.txt"))
    assert "goes on from 7" in (tmp_path / "log.txt").read_text()
    with pytest.raises(InvalidInput, match="has no files below `outputs`"):
        second._get_outputs_datapath()


def test_control_c_ends_the_watching_only(experiment: Experiment, tmp_path: Path) -> None:
    run = submit(experiment, tmp_path, PATIENT, tmp_path / "sign", "x")
    code = """
import sys
from roost import Workspace
from roost_job.exceptions import ExperimentExecutionException
try:
    Workspace().get_run(sys.argv[1]).wait_for_completion(show_output=True)
except ExperimentExecutionException as error:
    print("caught:", error.message)
"""
    with subprocess.Popen([sys.executable, "-c", code, run.id], stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout
        assert any(line == "begun\n" for line in iter(watcher.stdout.readline, ""))
        watcher.send_signal(signal.SIGINT)
        assert "caught: The output streaming for the run interrupted." in watcher.stdout.read()
    assert run.get_status() == "Running"
    (tmp_path / "sign").touch()
    assert run.wait_for_completion()["status"] == "Completed"


def test_waiting_outlasts_a_killed_control_plane(experiment: Experiment, home: Path, tmp_path: Path) -> None:
    run = submit(experiment, tmp_path, PATIENT, tmp_path / "sign", "well")
    shown = io.StringIO()
    watching = threading.Thread(target=waiting.stream, args=(run._connection.watcher, run.id, "u", shown))
    watching.start()
    until(lambda: "begun" in shown.getvalue())
    os.kill(json.loads((home / "server.json").read_text())["pid"], signal.SIGKILL)
    (tmp_path / "sign").touch()
    watching.join(60)
    assert shown.getvalue().count("begun") == 1
    assert "ended well" in shown.getvalue()
    assert run.get_status() == "Completed"


def test_two_hundred_runs_from_eight_processes(experiment: Experiment, tmp_path: Path) -> None:
    tree(tmp_path / "source", {"train.py": "import os\nprint(os.environ['ROOST_RUN_ID'])\n"})
    code = """
import sys
from roost import Experiment, ScriptRunConfig, Workspace
experiment = Experiment(Workspace(), "tests")
runs = [experiment.submit(ScriptRunConfig(sys.argv[1], script="train.py")) for _ in range(25)]
print(*(run.id for run in runs))
"""
    argv = [sys.executable, "-c", code, str(tmp_path / "source")]
    submitters = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    told = [submitter.communicate(timeout=100)[0].split() for submitter in submitters]
    sent = [run_id for ids in told for run_id in ids]
    assert len(set(sent)) == 200
    for run_id in sent:
        Run(experiment, run_id).wait_for_completion()
    found = list(experiment.get_runs())
    assert sorted(run.id for run in found) == sorted(sent)
    assert sorted(run.number for run in found[:5]) == [196, 197, 198, 199, 200]
    for run in found:
        log = waiting.Tail(run._connection.client, run.id)
        assert log.read(0) == f"{run.id}\n", "each ran exactly once"


class TestBadInput:
    def test_a_run_that_is_not_there(self, experiment: Experiment, workspace: Workspace, tmp_path: Path) -> None:
        run = submit(experiment, tmp_path, "print(1)")
        for wrong in (run.id[:-1] + "x", run.id[:-3]):
            with pytest.raises(NotFound) as raised:
                workspace.get_run(wrong)
            assert run.id in raised.value.hint
        for odd in ("../../etc/passwd", "", "a b", "no_such_run"):
            with pytest.raises(NotFound, match="There is no run") as raised:
                workspace.get_run(odd)
            assert "roost run list" in raised.value.hint
        run.wait_for_completion()

    def test_nothing_is_half_made(self, experiment: Experiment, tmp_path: Path) -> None:
        source = tree(tmp_path / "source", {"train.py": ""})
        with pytest.raises(ExperimentExecutionException):
            experiment.submit(ScriptRunConfig(str(source), script="missing.py"))
        with pytest.raises(ComputeNotFound, match="ComputeTargetNotFound"):
            experiment.submit(ScriptRunConfig(str(source), script="train.py", compute_target="gpu-large"))
        with pytest.raises(InvalidInput, match="tags"):
            experiment.submit(ScriptRunConfig(str(source), script="train.py"), tags=["a"])  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="ScriptRunConfig"):
            experiment.submit("train.py")  # type: ignore[arg-type]
        os.mkfifo(source / "pipe")
        with pytest.raises(InvalidInput, match="a pipe"):
            experiment.submit(ScriptRunConfig(str(source), script="train.py"))
        assert list(experiment.get_runs()) == []

    @pytest.mark.parametrize("name", ["a/b", "../up", ".hidden", "", "x" * 256, "a b", 7])
    def test_names_of_experiments(self, name: object, workspace: Workspace) -> None:
        with pytest.raises(UserErrorException, match="Experiment name"):
            Experiment(workspace, name)  # type: ignore[arg-type]
        assert workspace.experiments == {}

    def test_traversal_in_an_artefacts_name(self, experiment: Experiment, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        with experiment.start_logging() as run:
            for name in ("../../evil", "/etc/evil", "a/../../b", "a\\..\\b", "x\ny"):
                with pytest.raises(UserErrorException):
                    run.upload_file(name, str(tmp_path / "file"))
                with pytest.raises(UserErrorException):
                    run.download_file(name, str(tmp_path / "got"))
            assert run.get_file_names() == []

    def test_a_wrong_token(self, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ROOST_URL", workspace._connection.url)
        monkeypatch.setenv("ROOST_TOKEN", "wrong")
        from roost.domain.errors import Unauthorized

        with pytest.raises(Unauthorized):
            Workspace()
        monkeypatch.delenv("ROOST_TOKEN")
        with pytest.raises(Unauthorized, match="ROOST_TOKEN is not set"):
            Workspace()


def test_a_run_gets_the_machines_variables_and_those_that_were_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MAKEFLAGS", "MAKELEVEL", "API_KEY", "LC_TIME", "GIVEN"):
        monkeypatch.setenv(name, "C")
    monkeypatch.setenv("ROOST_PASS", "API_*")
    tree(tmp_path, {"source/a.txt": ""})
    config = ScriptRunConfig(
        str(tmp_path / "source"), command="python -c 'import os; print(*os.environ)' && echo 1 | cat"
    )
    config.environment_variables = {"GIVEN": "too"}
    run = Experiment(Workspace(), "variables").submit(config)
    run.wait_for_completion()
    names, one = waiting.Tail(run._connection.client, run.id).read().splitlines()
    assert one == "1"
    assert {"PATH", "HOME", "API_KEY", "LC_TIME", "GIVEN", "AZUREML_RUN_ID"} <= set(names.split())
    assert {"MAKEFLAGS", "MAKELEVEL", "ROOST_PASS", "PYTEST_CURRENT_TEST"}.isdisjoint(names.split())
