"""From distributed configurations, in each form that the SDK had, to what a run carries."""

import pytest

from roost import (
    MpiConfiguration,
    PyTorchConfiguration,
    RunConfiguration,
    ScriptRunConfig,
    TensorflowConfiguration,
)
from roost.domain.errors import InvalidInput
from roost.domain.runs import RunSpec
from roost.domain.topology import Topology


def _spec(job: object = None, **more: object) -> RunSpec:
    return ScriptRunConfig(".", "t.py", distributed_job_config=job, **more).spec("")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("job", "launch", "nodes", "topology"),
    [
        (MpiConfiguration(), "mpi", 1, Topology()),
        (MpiConfiguration(2, 3), "mpi", 3, Topology(processes_per_node=2)),
        (MpiConfiguration(node_count=2, process_count_per_node=1), "mpi", 2, Topology()),
        (PyTorchConfiguration("Nccl", node_count=2), "pytorch", 2, Topology(backend="nccl")),
        (PyTorchConfiguration(communication_backend="Gloo", node_count=2), "pytorch", 2, Topology(backend="gloo")),
        (PyTorchConfiguration(process_count=4, node_count=2), "pytorch", 2, Topology(processes_per_node=2)),
        (PyTorchConfiguration(), "pytorch", 1, Topology()),
        (TensorflowConfiguration(), "tensorflow", 1, Topology(workers=1, parameter_servers=1)),
        (TensorflowConfiguration(2, 0), "tensorflow", 2, Topology(workers=2)),
        (
            TensorflowConfiguration(3, 1, chief=True),
            "tensorflow",
            3,
            Topology(workers=3, parameter_servers=1, chief=True),
        ),
    ],
)
def test_a_configuration_of_scriptrunconfig(job: object, launch: str, nodes: int, topology: Topology) -> None:
    spec = _spec(job)
    assert (spec.launch, spec.node_count, spec.topology) == (launch, nodes, topology)


def test_none_at_all() -> None:
    spec = _spec()
    assert (spec.launch, spec.node_count, spec.topology, spec.priority) == ("single", 1, Topology(), 0)


@pytest.mark.parametrize("name", ["Mpi", "OpenMpi", "IntelMpi", "mpi"])
def test_the_older_form_of_mpi(name: str) -> None:
    config = RunConfiguration(framework="Python", communicator=name)
    config.node_count = 2
    config.mpi.process_count_per_node = 2
    spec = _spec(run_config=config)
    assert (spec.launch, spec.node_count, spec.topology) == ("mpi", 2, Topology(processes_per_node=2))


def test_the_older_form_of_pytorch() -> None:
    config = RunConfiguration(framework="PyTorch", communicator="Gloo")
    config.node_count = 2
    assert _spec(run_config=config).launch == "pytorch"
    config.pytorch = PyTorchConfiguration("gloo", process_count=4)
    assert _spec(run_config=config).topology == Topology(processes_per_node=2, backend="gloo")


def test_the_older_form_of_tensorflow() -> None:
    config = RunConfiguration(framework="TensorFlow", communicator="ParameterServer")
    config.tensorflow.worker_count = 2
    config.node_count = 3
    spec = _spec(run_config=config)
    assert (spec.launch, spec.node_count, spec.topology.workers) == ("tensorflow", 3, 2)


def test_nodes_without_a_communicator_each_run_the_script() -> None:
    config = RunConfiguration()
    config.node_count, config.priority = 3, 7
    spec = _spec(run_config=config)
    assert (spec.launch, spec.node_count, spec.priority) == ("single", 3, 7)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MpiConfiguration(node_count=0), "node_count must be a whole number of at least 1, got 0"),
        (lambda: MpiConfiguration(process_count_per_node=True), "process_count_per_node must be a whole number"),
        (lambda: PyTorchConfiguration("Tcp"), "communication_backend must be Nccl or Gloo, got 'Tcp'"),
        (lambda: TensorflowConfiguration(0), "worker_count must be a whole number of at least 1, got 0"),
        (lambda: _spec(PyTorchConfiguration(process_count=3, node_count=2)), "3 processes cannot be the same number"),
        (lambda: _spec("mpi"), "distributed_job_config cannot be str"),
        (lambda: RunConfiguration(communicator="Smoke").check(), "no communicator 'Smoke'"),
    ],
)
def test_what_cannot_be_is_refused(make: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        make()  # type: ignore[operator]


def test_two_configurations_share_nothing() -> None:
    first, second = RunConfiguration(), RunConfiguration()
    first.mpi.process_count_per_node = 4
    assert second.mpi.process_count_per_node == 1
