"""The parts of an environment's definition, as attributes: `env.python`, `env.docker`, `env.spark`."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roost.domain.containers import listed, secret_name
from roost.domain.errors import InvalidInput
from roost.sdk.environments.conda_dependencies import CondaDependencies

DEFAULT_CPU_IMAGE = "mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu20.04"
DEFAULT_GPU_IMAGE = "mcr.microsoft.com/azureml/openmpi4.1.0-cuda11.6-cudnn8-ubuntu20.04"


class Section:
    """Allows known attributes only: a misspelled one is an error, not a setting without effect."""

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_") and not hasattr(type(self), name):
            import difflib  # noqa: PLC0415 - only for mistyped names

            public = (each for each in dir(type(self)) if not each.startswith("_"))
            known = sorted(each for each in public if not callable(getattr(type(self), each)))
            near = difflib.get_close_matches(name, known, n=1)
            meant = f"Did you mean {near[0]!r}? " if near else ""
            raise InvalidInput(f"{type(self).__name__} has no {name!r}.", hint=f"{meant}It has: {', '.join(known)}.")
        super().__setattr__(name, value)


class PythonSection(Section):
    user_managed_dependencies: bool = False
    """True: nothing is installed, `interpreter_path` is used as it is."""
    interpreter_path: str = "python"
    conda_dependencies_file: str | os.PathLike[str] | None = None
    """Read when the environment is registered or submitted, and used instead of `conda_dependencies`."""
    base_conda_environment: str | None = None

    def __init__(self) -> None:
        self._conda = CondaDependencies()

    @property
    def conda_dependencies(self) -> CondaDependencies:
        return self._conda

    @conda_dependencies.setter
    def conda_dependencies(self, value: CondaDependencies) -> None:
        if not isinstance(value, CondaDependencies):
            raise InvalidInput(f"conda_dependencies must be CondaDependencies, got {type(value).__name__}.")
        self._conda = value

    def loaded(self) -> CondaDependencies:
        """The dependencies in use."""
        file = self.conda_dependencies_file
        return CondaDependencies(file) if file is not None else self._conda

    def definition(self) -> dict[str, Any]:
        return {
            "interpreterPath": self.interpreter_path,
            "userManagedDependencies": bool(self.user_managed_dependencies),
            "baseCondaEnvironment": self.base_conda_environment,
            "condaDependencies": self.loaded().as_dict(),
        }

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "PythonSection":
        made = cls()
        made.interpreter_path = data.get("interpreterPath") or "python"
        made.user_managed_dependencies = bool(data.get("userManagedDependencies"))
        made.base_conda_environment = data.get("baseCondaEnvironment")
        if data.get("condaDependencies"):
            made.conda_dependencies = CondaDependencies(_underlying_structure=data["condaDependencies"])
        return made


class ContainerRegistry(Section):
    """The registry of a private image. The password goes only to the workspace's key vault, when the environment is
    registered or submitted; an environment that is loaded again does not need it in that workspace."""

    address: str | None = None
    username: str | None = None
    password: str | None = None

    def definition(self) -> dict[str, Any]:
        kept = {"address": self.address, "username": self.username}
        if self.password and not self.username:
            raise InvalidInput(
                "docker.base_image_registry has a password and no username.", hint="Set the username too."
            )
        return {**kept, "passwordSecret": secret_name(self.address or "", self.username)} if self.username else kept

    def secrets(self) -> dict[str, str]:
        """The values for the key vault."""
        return {str(self.definition()["passwordSecret"]): self.password} if self.password else {}


class DockerSection(Section):
    """The container of a run. Azure's own images mean a plain Linux; where they are not available, the packages are installed
    natively. A user's own image or Dockerfile needs Docker or Podman on the node."""

    enabled: bool = False
    base_image: str | None = DEFAULT_CPU_IMAGE
    base_dockerfile: str | os.PathLike[str] | None = None
    """Its text, or the path of a file that is read when the environment is registered or submitted."""
    gpu_support: bool = False
    shared_volumes: bool = True
    shm_size: str | None = None
    arguments: Sequence[str] = ()
    base_image_registry: ContainerRegistry = ContainerRegistry()

    def __init__(self) -> None:
        self.base_image_registry = ContainerRegistry()  # each object gets its own

    def definition(self) -> dict[str, Any]:
        return {
            "enabled": bool(self.enabled),
            "baseImage": self.base_image,
            "baseDockerfile": _dockerfile(self.base_dockerfile),
            "baseImageRegistry": self.base_image_registry.definition(),
            "sharedVolumes": bool(self.shared_volumes),
            "shmSize": self.shm_size,
            "gpuSupport": bool(self.gpu_support),
            "arguments": list(listed(self.arguments)),
        }

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "DockerSection":
        made = cls()
        made.enabled = bool(data.get("enabled"))
        made.base_image = data.get("baseImage")
        made.base_dockerfile = data.get("baseDockerfile")
        made.shared_volumes = bool(data.get("sharedVolumes", True))
        made.shm_size = data.get("shmSize")
        made.gpu_support = bool(data.get("gpuSupport"))
        made.arguments = list(listed(data.get("arguments")))
        registry = data.get("baseImageRegistry") or {}
        made.base_image_registry.address = registry.get("address")
        made.base_image_registry.username = registry.get("username")
        return made


def _dockerfile(given: str | os.PathLike[str] | None) -> str | None:
    """The text of a Dockerfile, given as text or as a file: a one-line text that names a file is that file."""
    if given is None or (isinstance(given, str) and ("\n" in given or not given.strip())):
        return given or None
    path = Path(given)
    if path.is_file():
        return path.read_text(encoding="utf-8")
    if isinstance(given, str) and given.split()[0].upper() in ("FROM", "ARG"):
        return given
    raise InvalidInput(f"There is no Dockerfile {os.fspath(given)!r}.", hint="Give the path of a file, or its text.")


class SparkSection(Section):
    """Stored with the environment; Roost has no Spark."""

    repositories: Sequence[str] = ()
    packages: Sequence[object] = ()
    precache_packages: bool = True

    def definition(self) -> dict[str, Any]:
        return {
            "repositories": list(self.repositories),
            "packages": [str(each) for each in self.packages],
            "precachePackages": bool(self.precache_packages),
        }

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "SparkSection":
        made = cls()
        made.repositories = list(data.get("repositories") or ())
        made.packages = list(data.get("packages") or ())
        made.precache_packages = bool(data.get("precachePackages", True))
        return made


def check_spark(spark: SparkSection) -> None:
    if spark.packages or spark.repositories:
        raise InvalidInput(
            "The environment asks for Spark packages; Roost has no Spark.", hint="Leave env.spark alone."
        )
