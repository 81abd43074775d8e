"""Distributed configurations, `distributed_job_config=`: the number of nodes and processes of a run, and how they are started.

Three ways give the same topology: a configuration given to ScriptRunConfig, the older `framework` and `communicator` of a
RunConfiguration with their sections, and an estimator.
"""

from typing import TYPE_CHECKING

from roost.domain import topology
from roost.domain.errors import InvalidInput
from roost.domain.topology import LaunchKind, Topology
from roost.sdk.environments.sections import Section

if TYPE_CHECKING:
    from roost.sdk.runs.runconfigs import RunConfiguration

NO_COMMUNICATOR = "None"
_MPI = ("mpi", "openmpi", "intelmpi")
_BACKENDS = ("nccl", "gloo")


class MpiConfiguration(Section):
    """MPI and Horovod: `mpirun` starts this many processes on each node."""

    process_count_per_node: int = 1
    node_count: int = 1

    def __init__(self, process_count_per_node: int = 1, node_count: int = 1) -> None:
        self.process_count_per_node = _count("process_count_per_node", process_count_per_node)
        self.node_count = _count("node_count", node_count)

    def __repr__(self) -> str:
        return f"MpiConfiguration(process_count_per_node={self.process_count_per_node}, node_count={self.node_count})"


class PyTorchConfiguration(Section):
    """`torch.distributed`. `process_count` is the total over all nodes; by default each node has one process."""

    communication_backend: str = "nccl"
    process_count: int | None = None
    node_count: int = 1
    _asked = False
    """True when the user named the backend; otherwise the script chooses."""

    def __init__(
        self, communication_backend: str | None = None, process_count: int | None = None, node_count: int = 1
    ) -> None:
        self._asked = communication_backend is not None
        self.communication_backend = _backend(communication_backend or "nccl")
        self.process_count = None if process_count is None else _count("process_count", process_count)
        self.node_count = _count("node_count", node_count)

    def per_node(self, node_count: int) -> int:
        """Processes on each node; raises InvalidInput when they cannot be equal on all nodes."""
        if self.process_count is None:
            return 1
        if self.process_count % node_count:
            raise InvalidInput(
                f"{self.process_count} processes cannot be the same number on each of {node_count} nodes.",
                hint="process_count is the number on all nodes together: give a multiple of node_count.",
            )
        return self.process_count // node_count

    def __repr__(self) -> str:
        return (
            f"PyTorchConfiguration(communication_backend={self.communication_backend!r}, "
            f"process_count={self.process_count}, node_count={self.node_count})"
        )


class TensorflowConfiguration(Section):
    """`tf.distribute`: workers and parameter servers. There are as many nodes as workers; parameter servers share them.

    `chief`, which the SDK did not have: the first worker is a task of type `chief`, as `ParameterServerStrategy` requires.
    """

    worker_count: int = 1
    parameter_server_count: int = 1
    chief: bool = False

    def __init__(self, worker_count: int = 1, parameter_server_count: int = 1, chief: bool = False) -> None:
        self.worker_count = _count("worker_count", worker_count)
        self.parameter_server_count = _count("parameter_server_count", parameter_server_count, least=0)
        self.chief = bool(chief)

    def __repr__(self) -> str:
        return (
            f"TensorflowConfiguration(worker_count={self.worker_count}, "
            f"parameter_server_count={self.parameter_server_count})"
        )


class Mpi(MpiConfiguration):
    """The older name, `azureml.train.dnn.Mpi`: the estimator sets the number of nodes."""

    def __init__(self, process_count_per_node: int = 1) -> None:
        super().__init__(process_count_per_node=process_count_per_node)


class ParameterServer(TensorflowConfiguration):
    """The older name, `azureml.train.dnn.ParameterServer`."""

    def __init__(self, worker_count: int = 1, parameter_server_count: int = 1) -> None:
        super().__init__(worker_count, parameter_server_count)


class Gloo(PyTorchConfiguration):
    """The older name, `azureml.train.dnn.Gloo`: one process on each node."""

    def __init__(self) -> None:
        super().__init__("gloo")


class Nccl(PyTorchConfiguration):
    """The older name, `azureml.train.dnn.Nccl`: one process on each node."""

    def __init__(self) -> None:
        super().__init__("nccl")


Distributed = MpiConfiguration | PyTorchConfiguration | TensorflowConfiguration


def apply(given: object, to: "RunConfiguration") -> None:
    """Writes a configuration into a run configuration's older settings."""
    if isinstance(given, MpiConfiguration):
        to.communicator, to.mpi, to.node_count = "Mpi", given, given.node_count
    elif isinstance(given, PyTorchConfiguration):
        to.framework, to.communicator = "PyTorch", given.communication_backend.capitalize()
        to.pytorch, to.node_count = given, given.node_count
    elif isinstance(given, TensorflowConfiguration):
        to.framework, to.communicator = "TensorFlow", "ParameterServer"
        to.tensorflow, to.node_count = given, given.worker_count
    else:
        raise InvalidInput(
            f"distributed_job_config cannot be {type(given).__name__}.",
            hint="Give a MpiConfiguration, PyTorchConfiguration or TensorflowConfiguration.",
        )


def launch_of(config: "RunConfiguration") -> tuple[LaunchKind, Topology]:
    """How the processes of a run are started, by its communicator. Raises InvalidInput for an impossible combination."""
    communicator = str(config.communicator or NO_COMMUNICATOR).lower()
    _count("node_count", config.node_count)
    kind, found = LaunchKind.SINGLE, Topology()
    if communicator in _MPI:
        kind, found = LaunchKind.MPI, Topology(processes_per_node=config.mpi.process_count_per_node)
    elif communicator in _BACKENDS:
        backend = communicator if config.pytorch._asked else ""
        found = Topology(processes_per_node=config.pytorch.per_node(config.node_count), backend=backend)
        kind = LaunchKind.PYTORCH
    elif communicator == "parameterserver":
        tasks = config.tensorflow
        found = Topology(workers=tasks.worker_count, parameter_servers=tasks.parameter_server_count, chief=tasks.chief)
        kind = LaunchKind.TENSORFLOW
    elif communicator != NO_COMMUNICATOR.lower():
        raise InvalidInput(
            f"Roost has no communicator {config.communicator!r}.",
            hint="It has: None, Mpi, OpenMpi, IntelMpi, Nccl, Gloo, ParameterServer.",
        )
    topology.check(kind, config.node_count, found)
    return kind, found


def _backend(value: object) -> str:
    name = value.lower() if isinstance(value, str) else ""
    if name not in _BACKENDS:
        raise InvalidInput(
            f"communication_backend must be Nccl or Gloo, got {value!r}.",
            hint="Nccl is for GPUs, Gloo for processors.",
        )
    return name


def _count(what: str, value: object, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(f"{what} must be a whole number of at least {least}, got {value!r}.")
    return value
