"""`Environment`: the Python, packages and variables of a script, in the Azure ML SDK v1's form. It is registered, found
again, and submitted; `domain/environments.py` derives its recipe, and a build agent builds it.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roost.domain import codec, environments, recipes
from roost.domain import environments as domain
from roost.domain.containers import DockerUse
from roost.domain.environments import EnvironmentUse
from roost.domain.errors import InvalidInput
from roost.domain.runs import RunSpec
from roost.sdk import late
from roost.sdk.environments import sections
from roost.sdk.environments.conda_dependencies import FILE_NAME, CondaDependencies, requirement_lines
from roost.sdk.environments.sections import ContainerRegistry, DockerSection, PythonSection, SparkSection
from roost.transport.client import path_of

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace
    from roost.sdk.runs.runs import Run

DEFINITION_FILE = "azureml_environment.json"
CURATED = "azureml-"
"""The prefix of curated environments' names."""


class Environment:
    """A Python with packages and variables. The constructor checks only the name; a definition that cannot be built is
    refused at submission."""

    def __init__(self, name: str, **kwargs: object) -> None:
        if kwargs:
            raise InvalidInput(f"Environment() has no parameter {', '.join(map(repr, kwargs))}.")
        self.name = environments.name(name)
        self.version: str | None = None
        self.python = PythonSection()
        self.docker = DockerSection()
        self.spark = SparkSection()
        self.environment_variables: dict[str, str] = {}
        self.inferencing_stack_version: str | None = None
        self._notes: tuple[str, ...] = ()
        self._kept = _Kept()

    # ---- sources

    @staticmethod
    def from_conda_specification(name: str, file_path: str | os.PathLike[str]) -> "Environment":
        """From conda's environment file: channels, packages, a `pip` section, variables."""
        made = Environment(name)
        made.python.conda_dependencies = CondaDependencies(file_path)
        return made

    @staticmethod
    def from_pip_requirements(
        name: str, file_path: str | os.PathLike[str], pip_version: str | None = None
    ) -> "Environment":
        """From a requirements file, for the calling Python's version."""
        made = Environment(name)
        made.python.conda_dependencies.set_pip_requirements(requirement_lines(Path(file_path)))
        if pip_version:
            made.python.conda_dependencies.add_conda_package(f"pip={pip_version}")
        return made

    @staticmethod
    def from_existing_conda_environment(name: str, conda_environment_name: str) -> "Environment":
        """The packages of a conda environment of this machine, from `conda env export`, else from its folder."""
        made = Environment(name)
        structure = late.conda_environments.read(conda_environment_name)
        made.python.conda_dependencies = CondaDependencies(_underlying_structure=structure)
        return made

    @staticmethod
    def from_docker_image(
        name: str,
        image: str,
        container_registry: object = None,
        conda_specification: str | None = None,
        pip_requirements: str | None = None,
    ) -> "Environment":
        """From an image. Given packages are installed beside it; without packages, the image's own Python runs as it is."""
        made = _with_packages(name, conda_specification, pip_requirements)
        made.docker.enabled = True
        made.docker.base_image = image
        if container_registry is not None:
            if not isinstance(container_registry, ContainerRegistry):
                kind = type(container_registry).__name__
                raise InvalidInput(f"container_registry must be a ContainerRegistry, got {kind}.")
            made.docker.base_image_registry = container_registry
        # Azure's own images mean a plain Linux, replaced by a native install where they are not available: their Python is not
        # used.
        made.python.user_managed_dependencies = not (conda_specification or pip_requirements or recipes.is_azure(image))
        return made

    @staticmethod
    def from_dockerfile(
        name: str, dockerfile: str, conda_specification: str | None = None, pip_requirements: str | None = None
    ) -> "Environment":
        """From an image that is built from a Dockerfile, given as text or path. Packages as for an image."""
        made = _with_packages(name, conda_specification, pip_requirements)
        made.docker.enabled = True
        made.docker.base_image = None
        made.docker.base_dockerfile = dockerfile
        made.python.user_managed_dependencies = not (conda_specification or pip_requirements)
        made.docker.definition()  # report a missing file now
        return made

    @staticmethod
    def get(workspace: "Workspace", name: str, version: str | None = None, label: str | None = None) -> "Environment":
        """The registered environment, its newest version by default; or a curated one, by Azure's name."""
        if label is not None and (label != "latest" or version is not None):
            raise InvalidInput(
                f"Environments have versions and no labels but 'latest'; label={label!r}, version={version!r}.",
                hint="Give a version, or neither for the newest.",
            )
        if str(name).lower().startswith(CURATED):
            return late.curated.get(name, version)
        _check_workspace(workspace)
        route = path_of("workspaces", workspace.name, "environments", environments.name(name))
        params = {"version": str(version)} if version is not None else None
        return _registered(
            codec.decode(domain.Environment, workspace._connection.client.call("GET", route, params=params))
        )

    @staticmethod
    def list(workspace: "Workspace") -> "dict[str, Environment]":
        """The newest version of each registered environment and the curated ones, by name; a curated name that is not listed
        is found by its pattern."""
        known = late.curated.Environments({each.name: each for each in registered(workspace)})
        known.update({each.name: each for each in late.curated.listing()})
        return known

    @staticmethod
    def add_private_pip_wheel(workspace: "Workspace", file_path: str | os.PathLike[str], exist_ok: bool = False) -> str:
        """Stores a wheel that no index has; returns the line for `add_pip_package`."""
        return late.private_wheels.add(workspace, file_path, exist_ok)

    # ---- operations

    def register(self, workspace: "Workspace", build_on_register: bool | None = None) -> "Environment":
        """Stores it in the workspace; returns it with its version. The same definition again is the same version.
        `build_on_register` also starts its build."""
        environments.own_name(self.name)
        _check_workspace(workspace)
        definition = self._definition()
        recipes.refuse_credentials(definition)
        keep_passwords(workspace, self)
        route = path_of("workspaces", workspace.name, "environments", self.name)
        body = {"definition": definition}
        kept = codec.decode(domain.Environment, workspace._connection.client.call("PUT", route, json=body))
        made = _registered(kept)
        if build_on_register:
            made.build(workspace)
        return made

    def clone(self, new_name: str) -> "Environment":
        """A copy to change and register. A curated environment's notes about its name are not copied."""
        made = _from_definition(environments.name(new_name), deepcopy(self._definition()))
        made._notes = ()
        return made

    def build(self, workspace: "Workspace", image_build_compute: object = None, offline: bool = False) -> "Run":
        """Builds it ahead, as a run that lists its packages, on this machine or the named compute; watch it with
        `wait_for_completion(show_output=True)`. `offline` installs from the files of `archive`, without network."""
        _check_workspace(workspace)
        chosen = late.archives.offline(self, workspace) if offline else self
        return late.building.build(chosen, workspace, target=image_build_compute)

    def archive(self, workspace: "Workspace") -> dict[str, Any]:
        """Stores every file of its lock in the control plane, so that it can be installed when no index has the files any
        more; waits, with the log on stderr. Returns `files`, `bytes`, `complete`, `missing`, `python` (which the machine must
        have). For a run's environment: `run.get_environment().archive(ws)`."""
        _check_workspace(workspace)
        return late.archives.facts(late.archives.keep(self, workspace))

    def build_local(self, workspace: "Workspace", platform: str | None = None, **kwargs: object) -> str:
        """Builds it now, with the log on the terminal; returns its folder when the nodes are on this machine."""
        return late.building.build_local(self, workspace, platform, **kwargs)

    def get_image_details(self, workspace: "Workspace") -> dict[str, Any]:
        """The state of its build, and the installed packages: Roost's environments are prefixes named by their lock, or
        images."""
        return late.building.details(self, workspace)

    @property
    def lock(self) -> str | None:
        """For a run's environment: exactly what was installed, as text. The same is installed when the environment is
        submitted unchanged. None for any other environment."""
        return self._kept.text() if self._kept.text is not None else None

    def save_to_directory(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Writes the definition as JSON and the conda file beside it."""
        folder = Path(path)
        if folder.exists() and not overwrite:
            raise InvalidInput(f"The folder {str(folder)!r} exists already.", hint="Give overwrite=True to replace it.")
        if folder.exists():
            shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
        folder.mkdir(parents=True)
        whole = {"name": self.name, "version": self.version, **self._definition()}
        (folder / DEFINITION_FILE).write_text(json.dumps(whole, indent=4) + "\n", encoding="utf-8")
        if not self.python.user_managed_dependencies:
            self.python.loaded().save(folder / FILE_NAME)

    @staticmethod
    def load_from_directory(path: str | os.PathLike[str]) -> "Environment":
        """Reads the files of `save_to_directory`; the conda file overrides the definition's own copy."""
        file = Path(path, DEFINITION_FILE)
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            name = data["name"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"There is no environment in {str(path)!r}: {error}.") from None
        made = _from_definition(name, data)
        made.version = data.get("version")
        if (conda := Path(path, FILE_NAME)).is_file():
            made.python.conda_dependencies = CondaDependencies(conda)
        return made

    # ---- inside

    def _definition(self) -> dict[str, Any]:
        notes = {"notes": list(self._notes)} if self._notes else {}
        return {
            **notes,
            "environmentVariables": dict(self.environment_variables),
            "python": self.python.definition(),
            "docker": self.docker.definition(),
            "spark": self.spark.definition(),
            "inferencingStackVersion": self.inferencing_stack_version,
        }

    def _use(self, docker: DockerUse | None = None) -> EnvironmentUse:
        """The record for a submission; raises InvalidInput when it cannot be built."""
        definition = self._definition()
        sections.check_spark(self.spark)
        recipe = recipes.recipe(definition, docker)
        recipes.check_python(self.name, recipe)
        lock = self._kept.lock if recipe is not None and recipe.key == self._kept.key else ""
        how = {"archive": self._kept.archive, "offline": self._kept.offline} if lock else {}
        return EnvironmentUse(name=self.name, version=self.version or "", definition=definition, lock=lock, **how)

    def _kept_lock(self) -> str:
        """The lock of its run; empty for none, and when the environment was changed since."""
        recipe = recipes.recipe(self._definition()) if self._kept.lock else None
        return self._kept.lock if recipe is not None and recipe.key == self._kept.key else ""

    def _install_from(self, lock: str, *, archive: bool = False, offline: bool = False) -> None:
        """Sets the lock from which it is installed; `archive` stores the lock's files, `offline` uses the stored ones."""
        recipe = recipes.recipe(self._definition())
        self._kept = _Kept(recipe.key if recipe is not None else "", lock, archive=archive, offline=offline)

    def _interpreter(self, docker: DockerUse | None = None) -> str:
        """The Python of a run with user-managed packages: the named one, else the submitting one; in an image it is found
        when the run is prepared."""
        path = self.python.interpreter_path
        if self.python.user_managed_dependencies and recipes.recipe(self._definition(), docker) is not None:
            return sys.executable
        if not self.python.user_managed_dependencies or path in ("", "python", None):
            return sys.executable
        found = str(path) if os.path.isabs(path) else shutil.which(str(path))
        if not found:
            raise InvalidInput(
                f"interpreter_path {path!r} is no program on this machine.", hint="Give the absolute path of a Python."
            )
        return found

    def __repr__(self) -> str:
        return json.dumps({"name": self.name, "version": self.version, **self._definition()}, indent=4)


def _check_workspace(given: object) -> None:
    """Raises InvalidInput when it is not a workspace, such as None from an unset variable."""
    if not isinstance(given, late.Workspace):
        raise InvalidInput(
            f"workspace must be a Workspace, got {type(given).__name__}.", hint="ws = Workspace.from_config() gives it."
        )


def _with_packages(name: str, conda: str | None, pip: str | None) -> Environment:
    if conda and pip:
        raise InvalidInput("Both conda_specification and pip_requirements are given.", hint="Give one or the other.")
    if conda:
        return Environment.from_conda_specification(name, conda)
    return Environment.from_pip_requirements(name, pip) if pip else Environment(name)


def registered(workspace: "Workspace") -> list[Environment]:
    """The newest version of each registered environment."""
    answer = workspace._connection.client.call("GET", path_of("workspaces", workspace.name, "environments"))
    return [_registered(codec.decode(domain.Environment, item)) for item in answer["environments"]]


def versions(workspace: "Workspace", name: str) -> list[str]:
    """The versions of a registered environment, newest first; empty for an unknown name."""
    route = path_of("workspaces", workspace.name, "environments")
    answer = workspace._connection.client.call("GET", route, params={"name": environments.name(name)})
    return [str(item["version"]) for item in answer["environments"]]


def _registered(record: domain.Environment) -> Environment:
    made = _from_definition(record.name, record.definition)
    made.version = record.version
    return made


def keep_passwords(workspace: "Workspace", environment: Environment | None) -> None:
    """Stores the password of a private registry in the key vault, and nowhere else."""
    secrets = environment.docker.base_image_registry.secrets() if environment is not None else {}
    if secrets:
        route = path_of("workspaces", workspace.name, "secrets")
        workspace._connection.client.call("PUT", route, json={"secrets": secrets})


def note(workspace: "Workspace", spec: RunSpec) -> RunSpec:
    """Registers a submitted run's environment, as the SDK does; returns the spec with its version."""
    return replace(spec, environment=noted(workspace, spec.environment)) if spec.environment is not None else spec


def noted(workspace: "Workspace", use: EnvironmentUse) -> EnvironmentUse:
    """Registers an environment if necessary; returns it with its version."""
    if use.version or use.name.lower().startswith(environments.RESERVED):
        return use
    route = path_of("workspaces", workspace.name, "environments", use.name)
    answer = workspace._connection.client.call("PUT", route, json={"definition": use.definition})
    return replace(use, version=str(answer["version"]))


@dataclass(frozen=True)
class _Kept:
    """The lock from which an environment was installed, for the environment of a run."""

    key: str = ""
    """The recipe's key: a changed recipe is resolved again."""
    lock: str = ""
    text: Callable[[], str] | None = None
    archive: bool = False
    offline: bool = False


def of_run(use: EnvironmentUse, docker: DockerUse | None, lock: str, text: Callable[[], str]) -> Environment:
    """The environment of a submitted run, with the blob and text of its lock, if there is one."""
    made = _from_definition(use.name, use.definition)
    made.version = use.version or None
    if lock and (recipe := recipes.recipe(made._definition(), docker)) is not None:
        made._kept = _Kept(recipe.key, lock, text)
    return made


def plain(interpreter: str, variables: Mapping[str, str]) -> Environment:
    """The environment of a run without one: an interpreter as it is."""
    made = Environment("user-managed")
    made.python.user_managed_dependencies = True
    made.python.interpreter_path = interpreter
    made.environment_variables = dict(variables)
    return made


def _from_definition(name: str, definition: Mapping[str, Any]) -> Environment:
    made = Environment(name)
    made.environment_variables = dict(definition.get("environmentVariables") or {})
    made.python = PythonSection.of(definition.get("python") or {})
    made.docker = DockerSection.of(definition.get("docker") or {})
    made.spark = SparkSection.of(definition.get("spark") or {})
    made.inferencing_stack_version = definition.get("inferencingStackVersion")
    made._notes = tuple(definition.get("notes") or ())
    return made
