"""The command line from outside: what it prints, its exit codes, its JSON; and one whole story."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli import commands
from tests.cli.commands import ROOST
from tests.shared.folders import tree

SCRIPT = """
import os, sys
from azureml.core import Run
run = Run.get_context()
for step in range(5):
    run.log("loss", 1.0 / (step + 1), step=step)
run.log("bad", float("nan"))
os.makedirs("outputs", exist_ok=True)
open("outputs/model.txt", "w").write("weights")
print("args", sys.argv[1:])
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 0)
"""


def roost(*words: str, code: int = 0, given: str = "") -> str:
    """What a command prints; its exit code must be `code`. An error is two lines on stderr, never a stack trace."""
    done = commands.run(words, given)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


class TestWithoutAControlPlane:
    def test_help_and_version(self, home: Path) -> None:
        assert {"up", "down", "status", "submit", "run"} <= set(roost("--help").split())
        assert {"list", "show", "logs", "metrics", "cancel", "download"} <= set(roost("run", "--help").split())
        assert subprocess.check_output([ROOST, "--version"], text=True, timeout=60).startswith("roost 0.")
        assert not home.exists()

    @pytest.mark.parametrize("url", ["", " "])
    def test_status_starts_nothing(self, home: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
        monkeypatch.setenv("ROOST_URL", url)
        done = subprocess.run([ROOST, "status", "--json"], capture_output=True, text=True, timeout=30)
        assert (done.returncode, json.loads(done.stdout)) == (3, {"running": False, "home": str(home)})
        assert "No control plane runs" in roost("down")
        assert not home.exists()

    @pytest.mark.parametrize("words", [["nonsense"], ["run", "show"], ["run", "list", "--limit", "0"], ["--nope"]])
    def test_wrong_usage(self, words: list[str], home: Path) -> None:
        roost(*words, code=2)
        assert not home.exists()

    def test_a_missing_script_is_refused_before_anything_starts(self, home: Path, tmp_path: Path) -> None:
        tree(tmp_path, {"train.py": ""})
        assert "hint: Scripts there: train.py." in roost("submit", "io.py", code=1), "not alike but for .py"
        said = roost("submit", "trian.py", code=1)
        assert said.startswith("error: There is no script 'trian.py'")
        assert "hint: Did you mean 'train.py'?" in said
        assert "hint: --tag model=resnet" in roost("submit", "--tag", "=x", "train.py", code=1)
        assert not home.exists()

    def test_what_is_no_script_is_refused_with_the_next_step(self, home: Path, tmp_path: Path) -> None:
        tree(tmp_path, {"birds/train.py": "", "notes.txt": "buy milk", "run-me": "", "reqs.txt": "numpy"})
        said = roost("submit", "birds", code=1)
        assert "error: 'birds' is a folder, not a script." in said
        assert "hint: roost submit --source birds SCRIPT. Scripts in it: train.py." in said
        said = roost("submit", "notes.txt", code=1)
        assert "error: 'notes.txt' is not a Python script." in said
        assert "ScriptRunConfig(command=…)" in said
        said = roost("submit", "--environment", "req.txt", "run-me", code=1)
        assert "error: The environment's file 'req.txt' is not there" in said
        assert "hint: Did you mean 'reqs.txt'" in said
        said = roost("submit", "--timeout", "-1", "run-me", code=1)
        assert said.startswith(
            "error: A run may take a number of seconds above 0, got -1.0.\nhint: Give --timeout 3600"
        )
        assert not home.exists()

    def test_statuses_in_any_case(self, home: Path) -> None:
        for wrong, meant in (("runing", "Running"), ("cancel", "Canceled")):
            for words in (["run", "list"], ["gc"]):
                said = roost(*words, "--status", wrong, code=1)
                assert f"error: There is no status '{wrong}'.\nhint: Did you mean {meant}" in said
        assert not home.exists()

    def test_a_back_up_that_is_not_there(self, home: Path, tmp_path: Path) -> None:
        said = roost("restore", "nofile", code=1)
        assert said == (
            f"error: The back-up nofile is not there (looked from {tmp_path}).\n"
            "hint: Give a file that `roost backup FILE` wrote.\n"
        )
        assert "is a folder, not a file" in roost("restore", ".", code=1)
        assert not home.exists()

    def test_a_control_plane_that_cannot_be_reached(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ROOST_URL", "http://127.0.0.1:9")
        monkeypatch.setenv("ROOST_TOKEN", "t")
        said = roost("run", "list", code=3)
        assert said.startswith("error: No control plane answers at http://127.0.0.1:9")
        assert "hint: Check ROOST_URL" in said
        done = subprocess.run([ROOST, "down"], capture_output=True, text=True, timeout=60)
        assert done.stderr == "ROOST_URL is set: all other commands use http://127.0.0.1:9, not this one.\n"

    def test_what_the_machine_refuses_is_no_stack_trace(self, home: Path) -> None:
        bare = {**os.environ, "PYTHONUNBUFFERED": ""}  # as people have it: what is printed waits for the end
        for word in ("status", "--version"):
            with open("/dev/full", "w") as full:
                done = subprocess.run(
                    [ROOST, word], env=bare, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
                )
            assert (done.returncode, done.stderr) == (1, "error: No space left on device.\n")
        told = "from roost.cli import main\nmain.app = lambda: print('so far') or open('nowhere/x')\nmain.main()"
        done = subprocess.run([sys.executable, "-c", told], env=bare, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (1, "so far\n"), "what was printed before arrives"
        assert done.stderr == "error: No such file or directory: nowhere/x.\n"
        closed = subprocess.run(["bash", "-c", f"{ROOST} status >&-"], stderr=subprocess.PIPE, text=True, timeout=60)
        assert (closed.returncode, closed.stderr) == (3, "")

    def test_one_that_is_busy_has_an_exit_code_of_its_own(self, home: Path) -> None:
        told = (
            "from roost.cli import main\nfrom roost.domain.errors import Busy\n"
            "def app(): raise Busy('64 reads wait already.', hint='Try again in a moment.')\n"
            "main.app = app\nmain.main()"
        )
        done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, timeout=60)
        said = "error: 64 reads wait already.\nhint: Try again in a moment.\n"
        assert (done.returncode, done.stdout, done.stderr) == (4, "", said)

    def test_control_c_while_the_parser_is_loaded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        done = subprocess.run([ROOST, "--version"], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (130, "")

    def test_control_c_while_the_command_is_loaded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "webbrowser.py").write_text("raise KeyboardInterrupt")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        done = subprocess.run([ROOST, "open"], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (130, "")

    def test_a_port_that_is_none(self, home: Path) -> None:
        assert "--port" in roost("up", "--port", "99999", code=2)
        assert not home.exists()


@pytest.mark.slow
class TestStory:
    def test_up_submit_look_and_down(self, home: Path, tmp_path: Path) -> None:
        tree(tmp_path, {"code/train.py": SCRIPT})
        assert str(home) in roost("up")
        status = json.loads(roost("status", "--json"))
        assert status["running"] is True
        assert set(status) >= {"url", "pid", "version", "home"}

        out = roost("submit", "-e", "vision", "--name", "first", "--tag", "a=b", "code/train.py", "--epochs", "3")
        assert "args ['--epochs', '3']" in out
        assert "Execution Summary" in out
        (listed,) = self.load("run", "list", "--json")
        run_id = listed["id"]
        assert (listed["status"], listed["experiment"], listed["display_name"]) == ("Completed", "vision", "first")
        assert listed["tags"] == {"a": "b"}

        for typed in (run_id, run_id[:-2], run_id[-8:], "@latest", "-"):
            assert self.load("run", "show", typed, "--json")["run"]["id"] == run_id
        shown = self.load("run", "show", run_id, "--json")
        assert set(shown) == {"run", "events", "why", "metrics", "files", "models", "nodes", "children"}
        assert shown["events"][-1]["to"] == "Completed"
        text = roost("run", "show", run_id)
        assert "Completed, exit code 0" in text
        assert "outputs/model.txt" in text
        assert f"roost run logs {run_id}" in text

        assert roost("run", "logs", run_id) == "args ['--epochs', '3']\n"
        assert roost("run", "logs", "-f", run_id) == "args ['--epochs', '3']\n"
        metrics = self.load("run", "metrics", run_id, "--json")
        assert metrics["loss"] == [1.0, 0.5, 1 / 3, 0.25, 0.2]
        assert metrics["bad"] == {"float": "NaN"}
        assert roost("run", "metrics", run_id, "--name", "loss").split() == [str(each) for each in metrics["loss"]]
        assert "loss" in roost("run", "metrics", run_id)
        assert "1 file, 7 B, in got" in roost("run", "download", run_id, "--prefix", "outputs", "-o", "got")
        assert (tmp_path / "got/outputs/model.txt").read_text() == "weights"

        roost("submit", "--source", "code", "train.py", "7", code=1)
        (failed,) = self.load("run", "list", "--status", "Failed", "--json")
        assert (failed["exit_code"], failed["experiment"]) == (7, "train")
        assert len(self.load("run", "list", "--json", "--limit", "1")) == 1
        assert "vision" in roost("run", "list", "-e", "vision")
        assert roost("run", "list", "-e", "other") == ""

        roost("down")
        roost("status", code=3)

    def test_detach_cancel_and_control_c(self, home: Path, tmp_path: Path) -> None:
        tree(tmp_path, {"wait.py": "import time\nprint('on', flush=True)\ntime.sleep(600)"})
        run_id = roost("submit", "--detach", "wait.py").strip()
        with subprocess.Popen([ROOST, "run", "logs", "-f", run_id], stdout=subprocess.PIPE, text=True) as following:
            assert following.stdout
            assert following.stdout.readline() == "on\n"
            following.send_signal(signal.SIGINT)
            assert following.wait(30) == 130
        assert self.load("run", "show", run_id, "--json")["run"]["status"] == "Running"
        assert run_id in roost("run", "cancel", run_id)
        assert roost("run", "logs", "-f", run_id) == "on\n"
        assert self.load("run", "show", run_id, "--json")["run"]["status"] == "Canceled"

        timed = roost("submit", "--timeout", "0.5", "wait.py", code=1)
        assert timed == ""
        (late,) = self.load("run", "list", "--status", "Failed", "--json")
        assert late["reason"] == "timed_out"

    def test_errors_are_two_lines(self, home: Path, tmp_path: Path) -> None:
        tree(tmp_path, {"train.py": "print(1)"})
        assert "error: There is no run 'nothing_here'" in roost("run", "show", "nothing_here", code=1)
        assert "error: ComputeTargetNotFound" in roost("submit", "--target", "gpu", "train.py", code=1)
        assert "error: Experiment name 'a/b'" in roost("submit", "-e", "a/b", "train.py", code=1)
        assert "error: There is no run in workspace" in roost("run", "show", "@latest", code=1)
        for _ in range(2):
            roost("submit", "-d", "train.py")
        said = roost("run", "show", "train_", code=1)
        assert "error: 2 runs begin with 'train_'" in said
        tree(tmp_path, {"config.json": '{"subscription_id": "s"}'})
        assert "has no 'workspace_name'" in roost("run", "list", code=1)
        tree(tmp_path, {"config.json": '{"workspace_name": "vision", "subscription_id": "s", "resource_group": "g"}'})
        assert self.load("run", "list", "--json") == []

    def load(self, *words: str) -> Any:
        return json.loads(roost(*words))


@pytest.mark.slow
def test_what_a_killed_notebook_left_is_shown_by_the_next_command(home: Path) -> None:
    code = """
import os
from roost import Experiment, Workspace
run = Experiment(Workspace(), "notebook").start_logging()
for i in range(100):
    run.log("loss", i)
print(run.id, flush=True)
os.kill(os.getpid(), 9)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert told.returncode == -signal.SIGKILL
    shown = json.loads(roost("run", "show", told.stdout.strip(), "--json"))
    assert (shown["run"]["status"], shown["run"]["reason"]) == ("Failed", "client_lost")
    assert [each["count"] for each in shown["metrics"]] == [100]
    assert os.listdir(home / "spools") == []
