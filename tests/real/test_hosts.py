"""Nodes as hosts: DDP and MPI jobs over agents in network namespaces, each with an address, a hostname and a folder of its own,
which reach the control plane over the network alone.
"""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from bench.distributed import install
from tests.journeys.test_submit import until
from tests.real import hosts
from tests.real.gloo import completed
from tests.real.test_distributed import log_of, submit

from roost import (
    AmlCompute,
    ComputeTarget,
    Environment,
    Experiment,
    MpiConfiguration,
    PyTorchConfiguration,
    ScriptRunConfig,
    Workspace,
)
from roost.domain.errors import InvalidCompute, Unauthorized
from roost.sdk.calls import run_records
from roost.sdk.connection import discovery
from roost.transport.client import Client, Endpoint
from roost_job.exceptions import ActivityFailedException

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


@pytest.fixture
def network(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[hosts.Network]:
    """Two hosts, and a control plane that will listen on the bridge they are on."""
    hosts.check()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    made = hosts.Network(tmp_path, home, 2)
    try:
        made.write(home / "hosts.toml")
        monkeypatch.setenv("ROOST_HOST", made.address)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.setenv(name, ",".join([os.environ.get(name, ""), made.address]))
        yield made
    finally:
        for pid in hosts.processes_of([made.home(rank) for rank in range(2)]):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        made.remove()


@pytest.fixture
def workspace(network: hosts.Network) -> Workspace:
    return Workspace()


@pytest.fixture
def cluster(workspace: Workspace) -> ComputeTarget:
    made = ComputeTarget.attach(workspace, "pair", AmlCompute.attach_configuration(engine="hosts", max_nodes=2))
    made.wait_for_completion()
    return made


@pytest.fixture
def environment() -> Environment:
    """A Python with torch and Open MPI that both hosts have; they reach no package index."""
    own = Environment("hosts")
    own.python.user_managed_dependencies, own.python.interpreter_path = True, install()
    return own


def waiting_script(folder: Path) -> str:
    folder.mkdir()
    (folder / "wait.py").write_text(
        "import os, threading\nfrom azureml.core import Run\n"
        "Run.get_context().log('pid_of_' + os.environ['RANK'], os.getpid())\nthreading.Event().wait()\n"
    )
    return str(folder)


def test_ddp_over_two_hosts(
    experiment: Experiment, cluster: ComputeTarget, network: hosts.Network, tmp_path: Path, environment: Environment
) -> None:
    run = completed(
        lambda: submit(
            experiment,
            cluster,
            script="pytorch_ddp.py",
            arguments=["--epochs", 2],
            environment=environment,
            distributed_job_config=PyTorchConfiguration("Gloo", process_count=4, node_count=2),
        ),
        tmp_path,
    )
    metrics = run.get_metrics()
    assert [metrics[f"same_on_rank_{rank}"] for rank in range(4)] == [4] * 4
    assert metrics["accuracy"] > 0.9
    assert "outputs/model.pt" in run.get_file_names()
    assert "rank 3 of 4 on node 1" in log_of(run, tmp_path, "user_logs/std_log_process_3.txt")
    members = run_records.members(experiment.workspace._connection.client, run.id)
    assert [member.address for member in members] == network.addresses
    until(lambda: not [each for rank in range(2) for each in (network.home(rank) / "runs").glob("*/work")])
    for rank in range(2):
        assert (network.home(rank) / "cache" / "blobs").is_dir()  # it fetched what it needs: no folder is shared


def test_the_form_of_the_articles_meets_over_the_network(
    experiment: Experiment, cluster: ComputeTarget, environment: Environment, tmp_path: Path
) -> None:
    args = ["--dist-backend", "gloo", "--dist-url", "$AZ_BATCHAI_PYTORCH_INIT_METHOD"]
    run = completed(
        lambda: submit(
            experiment,
            cluster,
            script="pytorch_mnist.py",
            arguments=[*args, "--rank", "$AZ_BATCHAI_TASK_INDEX", "--world-size", 2, "--epochs", 2],
            environment=environment,
            distributed_job_config=PyTorchConfiguration(communication_backend="Gloo", node_count=2),
        ),
        tmp_path,
    )
    assert [run.get_metrics()[f"sum_on_rank_{rank}"] for rank in range(2)] == [3.0, 3.0]


def test_mpi_over_two_hosts(
    experiment: Experiment, cluster: ComputeTarget, network: hosts.Network, tmp_path: Path, environment: Environment
) -> None:
    run = submit(
        experiment,
        cluster,
        script="mpi_pi.py",
        arguments=["--steps", 100000],
        environment=environment,
        distributed_job_config=MpiConfiguration(process_count_per_node=2, node_count=2),
    )
    run.wait_for_completion()
    metrics = run.get_metrics()
    assert metrics["pi"] == pytest.approx(3.14159265, abs=1e-6)
    assert [metrics[f"ranks_seen_by_{rank}"] for rank in range(4)] == [4] * 4
    for rank in range(4):
        said = log_of(run, tmp_path, f"user_logs/std_log_process_{rank}.txt")
        assert f"rank {rank} of 4 on host-{rank // 2}" in said


def test_a_rank_that_fails_ends_the_other_host(
    experiment: Experiment, cluster: ComputeTarget, network: hosts.Network, tmp_path: Path, environment: Environment
) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "fail.py").write_text(
        "import os, sys, threading\nif os.environ['RANK'] == '1':\n    sys.exit('rank 1 has had enough')\n"
        "threading.Event().wait()\n"
    )
    run = experiment.submit(
        ScriptRunConfig(
            str(source),
            "fail.py",
            compute_target=cluster,
            environment=environment,
            distributed_job_config=PyTorchConfiguration("Gloo", node_count=2),
        )
    )
    with pytest.raises(ActivityFailedException, match=r"(?s)On node 1 \(pair-2\).*rank 1 has had enough"):
        run.wait_for_completion()
    assert [member.phase.value for member in run_records.members(experiment.workspace._connection.client, run.id)] == [
        "ended",
        "ended",
    ]


def test_a_cancel_ends_the_processes_on_both_hosts_also_after_a_restart(
    experiment: Experiment, cluster: ComputeTarget, home: Path, tmp_path: Path, environment: Environment
) -> None:
    """The control plane's way to a host is new then, and the agents' handles are the old ones."""
    run = experiment.submit(
        ScriptRunConfig(
            waiting_script(tmp_path / "src"),
            "wait.py",
            compute_target=cluster,
            environment=environment,
            distributed_job_config=PyTorchConfiguration("Gloo", node_count=2),
        )
    )
    while len(run.get_metrics()) < 2:
        assert run.get_status() not in ("Failed", "Completed"), run.get_details()
    pids = [int(value) for value in run.get_metrics().values()]
    record = discovery.read_record(home)
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    again = Experiment(Workspace(), "tests")
    found = next(iter(again.get_runs()))
    assert found.id == run.id
    assert found.get_status() == "Running"
    found.cancel()
    found.wait_for_completion()
    assert found.get_status() == "Canceled"
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_an_agent_that_is_killed_on_its_host_is_salvaged(
    experiment: Experiment, cluster: ComputeTarget, network: hosts.Network, tmp_path: Path, environment: Environment
) -> None:
    run = experiment.submit(
        ScriptRunConfig(
            waiting_script(tmp_path / "src"),
            "wait.py",
            compute_target=cluster,
            environment=environment,
            distributed_job_config=PyTorchConfiguration("Gloo", node_count=2),
        )
    )
    while len(run.get_metrics()) < 2:
        assert run.get_status() not in ("Failed", "Completed"), run.get_details()
    pids = [int(value) for value in run.get_metrics().values()]
    (agent,) = (network.home(1) / "runs").glob("*/agent.json")
    os.kill(json.loads(agent.read_bytes())["pid"], signal.SIGKILL)
    with pytest.raises(ActivityFailedException, match=r"On node 1 \(pair-2\): .*agent"):
        run.wait_for_completion()
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_more_nodes_than_hosts_are_refused_and_so_is_who_has_no_token(
    workspace: Workspace, network: hosts.Network, home: Path
) -> None:
    with pytest.raises(InvalidCompute, match="The engine 'hosts' has 2 hosts, and the cluster is to have up to 3"):
        ComputeTarget.attach(workspace, "wide", AmlCompute.attach_configuration(engine="hosts", max_nodes=3))
    record = discovery.read_record(home)
    assert record is not None
    assert network.address in record.url
    with (
        closing(Client(lambda: Endpoint(record.url, "guessed"), patience=0.0)) as stranger,
        pytest.raises(Unauthorized),
    ):
        stranger.call("GET", "/api/workspaces")


def test_a_host_whose_cable_is_cut_is_not_responding_until_it_is_back(
    experiment: Experiment, cluster: ComputeTarget, network: hosts.Network, tmp_path: Path, environment: Environment
) -> None:
    run = experiment.submit(
        ScriptRunConfig(
            waiting_script(tmp_path / "src"),
            "wait.py",
            compute_target=cluster,
            environment=environment,
            distributed_job_config=PyTorchConfiguration("Gloo", node_count=2),
        )
    )
    client = experiment.workspace._connection.client
    while len(run.get_metrics()) < 2:
        assert run.get_status() not in ("Failed", "Completed"), run.get_details()
    now = run_records.get(client, run.id)
    network.cut(1)
    while now.status.value == "Running":
        now = run_records.get(client, run.id, after=now.revision, wait=20.0)
    assert now.status.value == "NotResponding"
    assert "node 1 (pair-2)" in now.message
    network.mend(1)
    while now.status.value == "NotResponding":
        now = run_records.get(client, run.id, after=now.revision, wait=20.0)
    assert now.status.value == "Running"
    run.cancel()
    run.wait_for_completion()
    assert run.get_status() == "Canceled"


def test_a_run_of_one_node_is_on_a_host(experiment: Experiment, cluster: ComputeTarget, tmp_path: Path) -> None:
    source = tmp_path / "src"
    source.mkdir()
    (source / "name.py").write_text(
        "import os, socket\nprint('on', socket.gethostname(), os.environ['ROOST_NODE_ADDRESS'])\n"
    )
    run = experiment.submit(ScriptRunConfig(str(source), "name.py", compute_target=cluster))
    run.wait_for_completion()
    (address,) = [node["privateIpAddress"] for node in cluster.list_nodes()]
    assert log_of(run, tmp_path) == f"on host-0 {address}\n"
