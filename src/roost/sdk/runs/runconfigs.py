"""`RunConfiguration` and its parts: the target of a run and its settings. Settings that Roost does not support can be read,
and are refused at submission when they were set; they are never silently ignored.
"""

# ruff: noqa: ARG002
# Signatures are those of the Azure ML SDK v1: parameters that mean nothing here are accepted without effect.

from collections.abc import Sequence
from typing import Any, cast

from roost.domain import containers
from roost.domain.containers import DockerUse
from roost.domain.errors import InvalidInput
from roost.domain.topology import LaunchKind, Topology
from roost.sdk.environments.conda_dependencies import CondaDependencies
from roost.sdk.environments.environments import Environment
from roost.sdk.environments.sections import Section
from roost.sdk.runs import distributed
from roost.sdk.runs.distributed import MpiConfiguration, PyTorchConfiguration, TensorflowConfiguration

LOCAL = "local"
DEFAULT_ENVIRONMENT = "project"
_SPARK = ("pyspark", "spark")
_FRAMEWORKS = ("python", "pytorch", "tensorflow", "cntk")


class DockerConfiguration(Section):
    """Whether a run uses a container, and its settings; it overrides the environment. The working copy is always mounted:
    `shared_volumes=False`, a workaround for a bug of Docker on Windows, has no effect here."""

    use_docker: bool = False
    shared_volumes: bool = True
    arguments: Sequence[str] = ()
    shm_size: str | None = None

    def __init__(
        self,
        use_docker: bool = True,
        shared_volumes: bool = True,
        arguments: Sequence[str] | None = None,
        shm_size: str | None = None,
    ) -> None:
        self.use_docker = use_docker
        self.shared_volumes = shared_volumes
        self.arguments = arguments if isinstance(arguments, str) else list(arguments or ())
        self.shm_size = shm_size

    def use(self) -> DockerUse:
        """The record for a run; raises InvalidInput with the name of an unsupported argument."""
        arguments = containers.listed(self.arguments)
        made = DockerUse(use_docker=bool(self.use_docker), shm_size=self.shm_size or "", arguments=arguments)
        containers.wishes({}, made)
        return made


class HistoryConfiguration(Section):
    """Which files of a run are stored. Roost always stores `./outputs` and `./logs`."""

    output_collection: bool = True
    snapshot_project: bool = True
    directories_to_watch: Sequence[str] = ("logs",)


class RunConfiguration(Section):
    """Target, environment and limits of a run: `ScriptRunConfig(run_config=…)`."""

    script: str | None = None
    arguments: Sequence[Any] = ()
    command: str | Sequence[Any] | None = None
    framework: str = "Python"
    communicator: str | None = "None"
    max_run_duration_seconds: float | None = None
    node_count: int = 1
    priority: int | None = None
    mpi: MpiConfiguration = MpiConfiguration()
    pytorch: PyTorchConfiguration = PyTorchConfiguration()
    tensorflow: TensorflowConfiguration = TensorflowConfiguration()
    docker: DockerConfiguration | None = None
    history: HistoryConfiguration = HistoryConfiguration()
    environment_variables: dict[str, str] = {}  # noqa: RUF012 - each object gets its own
    data_references: dict[str, object] = {}  # noqa: RUF012 - as above
    data: dict[str, object] = {}  # noqa: RUF012 - as above
    output_data: dict[str, object] = {}  # noqa: RUF012 - as above
    auto_prepare_environment: bool = True

    def __init__(
        self,
        script: str | None = None,
        arguments: Sequence[Any] | None = None,
        framework: str | None = None,
        communicator: str | None = None,
        conda_dependencies: CondaDependencies | None = None,
        auto_prepare_environment: bool | None = None,
        command: str | Sequence[Any] | None = None,
        _history_enabled: bool | None = None,
        _path: str | None = None,
        _name: str | None = None,
    ) -> None:
        self.script = script
        self.arguments = list(arguments or ())
        self.command = command
        self.framework = framework or "Python"
        self.communicator = communicator or "None"
        self.mpi = MpiConfiguration()
        self.pytorch = PyTorchConfiguration()
        self.tensorflow = TensorflowConfiguration()
        self.history = HistoryConfiguration()
        self.environment_variables = {}
        self.data_references = {}
        self.data = {}
        self.output_data = {}
        self._target = LOCAL
        self._environment: Environment | None = None
        self._untouched: dict[str, Any] | None = None
        if conda_dependencies is not None:
            self.environment = Environment(DEFAULT_ENVIRONMENT)
            self.environment.python.conda_dependencies = conda_dependencies

    @property
    def target(self) -> str:
        """The name of a compute target; the setter also takes the target object."""
        return self._target

    @target.setter
    def target(self, value: object) -> None:
        self._target = target_name(value)

    @property
    def environment(self) -> Environment:
        """Until it is set or changed, a run has no environment: the submitting Python is used as it is."""
        if self._environment is None:
            self._environment = Environment(DEFAULT_ENVIRONMENT)
            self._untouched = self._environment._definition()
        return self._environment

    @environment.setter
    def environment(self, value: Environment) -> None:
        if not isinstance(given := cast("object", value), Environment):
            named = f" {given!r}" if isinstance(given, str) else ""
            raise InvalidInput(
                f"environment must be an Environment, got {type(given).__name__}{named}.",
                hint=f"Environment.get(ws, {given!r}) gives it." if named else "",
            )
        self._environment, self._untouched = value, None

    def chosen_environment(self) -> Environment | None:
        """The environment that was set; None when none was."""
        found = self._environment
        return None if found is None or found._definition() == self._untouched else found

    def distribute(self, given: object) -> None:
        """Copies a distributed configuration into its settings."""
        distributed.apply(given, self)

    def launch(self) -> tuple[LaunchKind, Topology]:
        """How the run's processes are started, and which processes there are."""
        return distributed.launch_of(self)

    def check(self) -> None:
        """Raises InvalidInput with the first setting that Roost does not support."""
        if self.docker is not None:
            self.docker.use()
        self.launch()
        if str(self.framework).lower() in _SPARK:
            raise InvalidInput(
                f"`framework` = {self.framework!r} of RunConfiguration asks for a Spark cluster, and Roost has none.",
                hint='Set framework="Python" and name pyspark among the packages: SparkSession.builder.master("local[*]") '
                "runs in the run itself, on a node that has Java.",
            )
        wishes: list[tuple[str, object, bool]] = [
            ("framework", self.framework, str(self.framework).lower() in _FRAMEWORKS),
            ("priority", self.priority, self.priority is None or type(self.priority) is int),
            ("history.output_collection", self.history.output_collection, bool(self.history.output_collection)),
            ("history.snapshot_project", self.history.snapshot_project, bool(self.history.snapshot_project)),
            (
                "history.directories_to_watch",
                self.history.directories_to_watch,
                list(self.history.directories_to_watch) == ["logs"],
            ),
        ]
        for name, value, possible in wishes:
            if not possible:
                raise InvalidInput(
                    f"Roost cannot do `{name}` = {str(value)[:80]!r} of RunConfiguration yet.",
                    hint=f"Leave `{name}` as it is by default.",
                )

    def __repr__(self) -> str:
        return f"RunConfiguration(target={self.target!r}, framework={self.framework!r}, node_count={self.node_count})"


def target_name(value: object) -> str:
    """The name of a compute target, given by name or as the target object."""
    name = value if isinstance(value, str) else getattr(value, "name", None)
    if not isinstance(name, str) or not name:
        raise InvalidInput(
            f"compute_target must be a compute target or its name, got {type(value).__name__}.",
            hint="Leave it out, or give 'local'.",
        )
    return name
