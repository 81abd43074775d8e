"""Whole runs through a real control plane: what a script does, and what is kept of it."""

import pytest

from roost.domain.runs import Reason, RunStatus

pytestmark = pytest.mark.slow


def test_a_script_runs_and_what_it_made_is_kept(plane):
    run = plane.run(
        """
        import pathlib, sys
        print("hello", flush=True)
        sys.stderr.write("and stderr\\n")
        pathlib.Path("outputs/model.txt").write_text("weights")
        pathlib.Path("logs/train.log").write_text("epoch 1")
        """
    )
    assert (run.status, run.reason, run.exit_code) == (RunStatus.COMPLETED, Reason.DONE, 0)
    assert plane.names(run) == ["logs/train.log", "outputs/model.txt", "system_logs/agent.log", "user_logs/std_log.txt"]
    assert plane.log(run) == "hello\nand stderr\n"
    assert plane.read(run, "outputs/model.txt") == b"weights"
    assert not plane.folder(run).exists()
