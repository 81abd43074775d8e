"""An engine of somebody else with a queue of its own, from its entry point to the words that people read."""

import os
import signal
from pathlib import Path

import pytest
from tests.contracts.engine import eventually
from tests.engines import packages, queueing
from tests.shared.folders import tree
from typer.testing import CliRunner

from roost import AmlCompute, ComputeTarget, Experiment, Run, ScriptRunConfig, Workspace
from roost.cli.main import app
from roost.domain.runs import Reason
from roost.sdk.calls import run_records
from roost.sdk.connection import discovery, embedded

pytestmark = pytest.mark.slow
_FROM_NOTHING = embedded._Detached


@pytest.fixture
def cluster(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ComputeTarget:
    """On the tests' engine that queues; its control plane finds it as it would find any that is installed."""
    site = packages.install(tmp_path / "site", twin="tests.engines.queueing")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), str(Path(__file__).parents[2])]))
    monkeypatch.setenv("ROOST_ENGINES", "twin")
    monkeypatch.setattr(embedded, "_Detached", _FROM_NOTHING)  # one that is forked has read its path already
    return ComputeTarget.attach(Workspace(), "partition", AmlCompute.attach_configuration(engine="twin", max_nodes=1))


def submit(cluster: ComputeTarget, folder: Path) -> Run:
    source = tree(folder, {"train.py": "open('outputs/done.txt', 'w').write('yes')"})
    return Experiment(cluster.workspace, "queued").submit(ScriptRunConfig(source, "train.py", compute_target=cluster))


def is_held(run: Run) -> bool:
    return run_records.get(run._connection.client, run.id).reason is Reason.WAITING_IN_QUEUE


def test_runs_wait_in_the_queue_of_their_engine(home: Path, cluster: ComputeTarget, tmp_path: Path) -> None:
    first, second = submit(cluster, tmp_path / "a"), submit(cluster, tmp_path / "b")
    eventually(lambda: is_held(first) and is_held(second))
    shown = CliRunner().invoke(app, ["run", "show", first.id], catch_exceptions=False).stdout
    assert queueing.WHY in shown
    told = CliRunner().invoke(app, ["run", "logs", first.id], catch_exceptions=False).stderr
    assert queueing.WHY in told
    assert "0 running, 2 queued" in CliRunner().invoke(app, ["compute", "show", "partition"]).stdout

    # Words that change arrive by themselves.
    (home / "queue" / "why").write_text("Twin: HELD (until Monday)")
    eventually(lambda: run_records.get(first._connection.client, first.id).message == "Twin: HELD (until Monday)")

    # The queue outlives the control plane.
    record = discovery.read_record(home)
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    assert first.get_status() == "Provisioning" and is_held(first)

    second.cancel()
    second.wait_for_completion(raise_on_error=False)
    assert second.get_status() == "Canceled"
    queueing.let_in(home, second.id)
    queueing.let_in(home, first.id)
    first.wait_for_completion()
    assert first.get_status() == "Completed"
    assert "outputs/done.txt" in first.get_file_names()
    assert not (home / "runs" / second.id).exists(), "nothing of it was ever started"
