"""Estimators: the SDK's older way to give script, packages and nodes in one object. Each is a ScriptRunConfig that fills in
itself.

They were deprecated before the SDK was, and they still work: their packages come from the catalogue of curated environments.
"""

# Signatures are those of the Azure ML SDK v1: parameters that mean nothing here are accepted without effect.

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from roost.domain.errors import InvalidInput
from roost.environments.curated import catalogue, naming
from roost.sdk.environments import curated
from roost.sdk.environments.conda_dependencies import CondaDependencies, requirement_lines
from roost.sdk.environments.environments import Environment
from roost.sdk.environments.sections import ContainerRegistry
from roost.sdk.runs.distributed import Gloo, Mpi, MpiConfiguration, Nccl, ParameterServer, TensorflowConfiguration
from roost.sdk.runs.run_data import is_data
from roost.sdk.runs.runconfigs import RunConfiguration
from roost.sdk.runs.submissions import ScriptRunConfig

_BACKENDS = {"mpi": Mpi, "gloo": Gloo, "nccl": Nccl, "ps": ParameterServer}


class _Given(TypedDict, total=False):
    """The parameters of every estimator, except its folder."""

    compute_target: object
    vm_size: str | None
    vm_priority: str | None
    entry_script: str | None
    script_params: Mapping[str, Any] | None
    node_count: int
    process_count_per_node: int
    distributed_backend: str | None
    distributed_training: object
    use_gpu: bool
    use_docker: bool
    custom_docker_base_image: str | None
    custom_docker_image: str | None
    image_registry_details: ContainerRegistry | None
    user_managed: bool
    conda_packages: Sequence[str] | None
    pip_packages: Sequence[str] | None
    conda_dependencies_file_path: str | None
    pip_requirements_file_path: str | None
    conda_dependencies_file: str | None
    pip_requirements_file: str | None
    environment_variables: Mapping[str, str] | None
    environment_definition: Environment | None
    inputs: Sequence[Any] | None
    source_directory_data_store: object
    shm_size: str | None
    resume_from: object
    max_run_duration_seconds: float | None


class MMLBaseEstimator(ScriptRunConfig):
    """The base of all estimators: a script in a folder, with its packages and its nodes."""

    FRAMEWORK_NAME = ""
    """The framework's name in the catalogue; empty for none."""
    DEFAULT_VERSION = ""
    _installs_horovod = False

    def __init__(
        self, source_directory: str | os.PathLike[str], framework_version: str | None = None, **given: Unpack[_Given]
    ) -> None:
        name = type(self).__name__
        warnings.warn(
            f"The estimator {name} is deprecated: ScriptRunConfig with an Environment says the same.",
            DeprecationWarning,
            stacklevel=3,
        )
        _refuse(name, given)
        folder = Path(source_directory)
        config = RunConfiguration()
        if (target := given.get("compute_target")) is not None:
            config.target = target
        _distribute(config, given)
        self.framework_version = framework_version or self.DEFAULT_VERSION
        environment = given.get("environment_definition") or self._environment(folder, given, config)
        if environment is not None:
            config.environment = environment
        config.environment_variables = {k: str(v) for k, v in (given.get("environment_variables") or {}).items()}
        config.data = _inputs(given.get("inputs") or ())
        if (size := given.get("shm_size")) is not None:
            config.environment.docker.shm_size = size
        super().__init__(
            source_directory=folder,
            script=given.get("entry_script"),
            arguments=_arguments(given.get("script_params") or {}),
            run_config=config,
            resume_from=given.get("resume_from"),
            max_run_duration_seconds=given.get("max_run_duration_seconds"),
        )

    @classmethod
    def get_supported_versions(cls) -> list[str]:
        """The framework's versions in the catalogue."""
        return [release.text for release in _framework(cls.FRAMEWORK_NAME).releases] if cls.FRAMEWORK_NAME else []

    @property
    def conda_dependencies(self) -> CondaDependencies:
        """The packages that it installs."""
        return self.run_config.environment.python.conda_dependencies

    def _environment(self, folder: Path, given: _Given, config: RunConfiguration) -> Environment | None:
        """The environment to install; None when the estimator specifies none."""
        pip = [*_lines(folder, given), *(given.get("pip_packages") or ())]
        conda = list(given.get("conda_packages") or ())
        file = given.get("conda_dependencies_file") or given.get("conda_dependencies_file_path")
        image = given.get("custom_docker_image") or given.get("custom_docker_base_image")
        if not (pip or conda or file or image or self.FRAMEWORK_NAME or given.get("user_managed")):
            return None
        made = Environment("-".join(filter(None, ["estimator", self.FRAMEWORK_NAME.lower(), self.framework_version])))
        dependencies = CondaDependencies(folder / file if file else None)
        if self.FRAMEWORK_NAME:
            made._notes = self._add_framework(dependencies, config, gpu=bool(given.get("use_gpu")), own=bool(file))
        for package in pip:
            dependencies.add_pip_package(package)
        for package in conda:
            dependencies.add_conda_package(package)
        made.python.conda_dependencies = dependencies
        made.python.user_managed_dependencies = bool(given.get("user_managed"))
        if image:
            made.docker.enabled, made.docker.base_image = True, image
            made.docker.base_image_registry = given.get("image_registry_details") or ContainerRegistry()
        return made

    def _add_framework(
        self, dependencies: CondaDependencies, config: RunConfiguration, *, gpu: bool, own: bool
    ) -> tuple[str, ...]:
        """Adds Python, the framework and, where MPI starts the processes, Horovod; returns notes about differences from the
        request. A package that is also in the user's file is taken from the file."""
        mpi = self._installs_horovod and str(config.communicator).lower() == "mpi"
        words = ["AzureML", self.FRAMEWORK_NAME, self.framework_version, *(["Horovod"] if mpi else [])]
        found = curated.find("-".join([*words, "GPU" if gpu else "CPU"]))
        named = {_name(line) for line in dependencies.pip_packages} if own else set()
        for requirement in found.requirements:
            if _name(requirement) not in named and (mpi or _name(requirement) != "horovod"):
                dependencies.add_pip_package(requirement)
        if not own or dependencies.get_python_version() is None:
            dependencies.set_python_version(found.python)
        return found.notes


class Estimator(MMLBaseEstimator):
    """A script of any framework, with the packages that the user names."""

    def __init__(self, source_directory: str | os.PathLike[str], **given: Unpack[_Given]) -> None:
        super().__init__(source_directory, **given)


class PyTorch(MMLBaseEstimator):
    """A script of PyTorch; with MpiConfiguration, Horovod is added."""

    FRAMEWORK_NAME = "PyTorch"
    DEFAULT_VERSION = "1.4"
    _installs_horovod = True

    def __init__(
        self, source_directory: str | os.PathLike[str], framework_version: str | None = None, **given: Unpack[_Given]
    ) -> None:
        super().__init__(source_directory, framework_version, **given)


class TensorFlow(MMLBaseEstimator):
    """A script of TensorFlow; with MpiConfiguration, Horovod is added."""

    FRAMEWORK_NAME = "TensorFlow"
    DEFAULT_VERSION = "1.13"
    _installs_horovod = True

    def __init__(
        self,
        source_directory: str | os.PathLike[str],
        framework_version: str | None = None,
        worker_count: int = 1,
        parameter_server_count: int = 1,
        **given: Unpack[_Given],
    ) -> None:
        if str(given.get("distributed_backend") or "").lower() == "ps":
            given["distributed_backend"] = None
            given["distributed_training"] = TensorflowConfiguration(worker_count, parameter_server_count)
        super().__init__(source_directory, framework_version, **given)


class SKLearn(MMLBaseEstimator):
    """A script of scikit-learn, on one node."""

    FRAMEWORK_NAME = "sklearn"
    DEFAULT_VERSION = "0.20.3"

    def __init__(
        self, source_directory: str | os.PathLike[str], framework_version: str | None = None, **given: Unpack[_Given]
    ) -> None:
        if given.get("distributed_training") or given.get("distributed_backend") or given.get("node_count", 1) != 1:
            raise InvalidInput("SKLearn runs on one node.", hint="Use Estimator, or ScriptRunConfig, for several.")
        super().__init__(source_directory, framework_version, **given)


class Chainer(MMLBaseEstimator):
    """A script of Chainer. For several processes, ChainerMN needs mpi4py: add that to the packages."""

    FRAMEWORK_NAME = "Chainer"
    DEFAULT_VERSION = "5.1.0"

    def __init__(
        self, source_directory: str | os.PathLike[str], framework_version: str | None = None, **given: Unpack[_Given]
    ) -> None:
        super().__init__(source_directory, framework_version, **given)


def _distribute(config: RunConfiguration, given: _Given) -> None:
    """Sets nodes and processes from the estimator's own parameters where the configuration leaves them at one."""
    nodes, processes = given.get("node_count", 1), given.get("process_count_per_node", 1)
    job = given.get("distributed_training")
    if job is None and (backend := given.get("distributed_backend")) is not None:
        if str(backend).lower() not in _BACKENDS:
            raise InvalidInput(f"distributed_backend must be one of {', '.join(_BACKENDS)}, got {backend!r}.")
        job = _BACKENDS[str(backend).lower()]()
    if job is not None:
        config.distribute(job)
        if isinstance(job, MpiConfiguration) and job.process_count_per_node == 1:
            config.mpi = MpiConfiguration(process_count_per_node=processes)
        elif processes != 1 and not isinstance(job, MpiConfiguration):
            config.pytorch.process_count = processes * max(nodes, config.node_count)
    elif processes != 1:
        raise InvalidInput(
            f"process_count_per_node={processes} needs something that starts them.",
            hint="Give distributed_training=MpiConfiguration() too.",
        )
    if nodes != 1:
        config.node_count = nodes


def _arguments(params: Mapping[str, Any]) -> list[Any]:
    """`{'--flag': '', '--lr': 0.1}` as the script's arguments: only the name where the value is empty."""
    if not isinstance(params, Mapping):
        raise InvalidInput(f"script_params must be a dict, got {type(params).__name__}.", hint="{'--epochs': 3}")
    words: list[Any] = []
    for name, value in params.items():
        words += [name] if value is None or value == "" else [name, value]
    return words


def _inputs(given: Sequence[Any]) -> dict[str, object]:
    for each in given:
        if not is_data(each):
            raise InvalidInput(
                f"inputs of an estimator are data that a run gets, got {type(each).__name__}.",
                hint="Give dataset.as_named_input('name').",
            )
    return {str(index): each for index, each in enumerate(given)}


def _lines(folder: Path, given: _Given) -> list[str]:
    file = given.get("pip_requirements_file") or given.get("pip_requirements_file_path")
    return requirement_lines(folder / file) if file else []


def _refuse(name: str, given: _Given) -> None:
    unknown = set(given) - set(_Given.__annotations__)
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    if given.get("vm_size") or given.get("vm_priority"):
        raise InvalidInput(
            f"{name} cannot make a compute target for itself (vm_size, vm_priority).",
            hint="Make a cluster first, and give it as compute_target.",
        )
    if given.get("source_directory_data_store") is not None:
        raise InvalidInput("The source folder cannot be in a datastore.", hint="Give a folder of this machine.")


def _framework(name: str) -> catalogue.Framework:
    return next(each for each in catalogue.frameworks() if naming.split(name.lower(), each.pattern) is not None)


def _name(requirement: str) -> str:
    word = requirement
    for sign in "=<>!~[; ":
        word = word.partition(sign)[0]
    return word.strip().lower().replace("_", "-")
