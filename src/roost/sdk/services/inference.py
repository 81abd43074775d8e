"""`InferenceConfig`: the entry script, its folder and its environment, with the newer and the older arguments of the SDK.

The constructor checks at once, as the SDK did, that the files exist and the arguments fit each other.
"""

import difflib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from roost.domain import environments as environment_names
from roost.domain import names, recipes
from roost.domain.endpoints import Version
from roost.domain.errors import InvalidEndpoint
from roost.sdk.environments import environments
from roost.sdk.environments.environments import Environment
from roost.sdk.environments.sections import DEFAULT_CPU_IMAGE, DEFAULT_GPU_IMAGE, ContainerRegistry
from roost.sdk.runs import snapshots
from roost.sdk.runs.ignoring import Rules, read_rules
from roost_job.listing import some
from roost_job.models import model_places

if TYPE_CHECKING:
    from roost.sdk.connection.connections import Connection
    from roost.sdk.core.workspaces import Workspace

_RUNTIMES = ("python", "python-slim", "spark-py")


class InferenceConfig:
    """An entry script with `init()` and `run(data)`, and an Environment or the older arguments that make one."""

    def __init__(
        self,
        entry_script: str,
        runtime: str | None = None,
        conda_file: str | None = None,
        extra_docker_file_steps: str | None = None,
        source_directory: str | os.PathLike[str] | None = None,
        enable_gpu: bool | None = None,
        description: str | None = None,
        base_image: str | None = None,
        base_image_registry: ContainerRegistry | None = None,
        cuda_version: str | None = None,
        environment: Environment | None = None,
    ) -> None:
        self.entry_script = os.fspath(entry_script) if entry_script else ""
        self.runtime = runtime
        self.conda_file = conda_file
        self.extra_docker_file_steps = extra_docker_file_steps
        self.source_directory = os.path.realpath(source_directory) if source_directory else None
        self.enable_gpu = enable_gpu
        self.description = description
        self.base_image = base_image
        self.base_image_registry = base_image_registry or ContainerRegistry()
        self.cuda_version = cuda_version
        self.environment = environment
        self.validate_configuration()

    def validate_configuration(self) -> None:
        """Raises InvalidEndpoint (a WebserviceException) with the missing file, or the arguments that do not fit."""
        if not self.entry_script:
            raise InvalidEndpoint("There is no entry_script.", hint="InferenceConfig(entry_script='score.py', …)")
        if self.source_directory and not os.path.isdir(self.source_directory):
            raise InvalidEndpoint(f"source_directory {self.source_directory!r} is not a folder.")
        self._check_environment()
        self._script()
        if self.runtime and str(self.runtime).lower() not in _RUNTIMES:
            raise InvalidEndpoint(f"runtime {self.runtime!r} is not known.", hint="Give runtime='python'.")
        if str(self.runtime).lower() == "spark-py":
            raise InvalidEndpoint(
                "Roost has no Spark: runtime 'spark-py' cannot be had.", hint="Give runtime='python'."
            )
        for what in ("conda_file", "extra_docker_file_steps"):
            if getattr(self, what):
                self._file(what)

    def _check_environment(self) -> None:
        given: object = self.environment
        if given is None:
            return
        if not isinstance(given, Environment):
            kind = type(given).__name__
            raise InvalidEndpoint(f"environment must be an Environment, got {kind}.", hint="Environment.get(ws, name)")
        older = ("runtime", "conda_file", "extra_docker_file_steps", "enable_gpu", "cuda_version", "base_image")
        if both := [name for name in older if getattr(self, name)]:
            raise InvalidEndpoint(
                f"{', '.join(both)} is given along with an environment.", hint="Put it into the environment."
            )

    # ---- results

    def version(self, workspace: "Workspace", service: str, variables: Mapping[str, str] | None = None) -> Version:
        """The version of a service for this configuration, without its models: snapshots the folder and registers the
        environment."""
        environment = self._environment(service)
        use = environment._use() if environment else None
        interpreter = environment._interpreter() if environment else sys.executable
        script = self._script()
        connection = workspace._connection
        if use is not None:
            environments.keep_passwords(workspace, environment)
            use = environments.noted(workspace, use)
        snapshot = take(self._folder(), connection, script)
        return Version(
            snapshot=snapshot,
            entry_script=script,
            source_name=os.path.basename(self.source_directory or ""),
            environment=use,
            interpreter=interpreter,
            environment_variables={**(environment.environment_variables if environment else {}), **(variables or {})},
            description=self.description or "",
        )

    def check(self, service: str) -> None:
        """Raises every error that `version` would raise, before anything is changed."""
        self.validate_configuration()
        _placed_models(self._folder())
        if (environment := self._environment(service)) is not None:
            environment._use()
            environment._interpreter()

    def _folder(self) -> str:
        """The folder to send: the source folder, else the script's folder."""
        if self.source_directory:
            return self.source_directory
        return os.path.dirname(os.path.abspath(self.entry_script))

    def _script(self) -> str:
        """The script's path within the folder."""
        script = self.entry_script
        folder = self._folder()
        if not self.source_directory or os.path.isabs(script):
            script = os.path.relpath(os.path.abspath(script), folder)
        if script.startswith(".."):
            raise InvalidEndpoint(
                f"entry_script {self.entry_script!r} is not in source_directory {folder!r}.",
                hint="Give its path relative to source_directory.",
            )
        found = Path(folder, script)
        if not found.is_file():
            there = sorted(each.name for each in Path(folder).glob("*.py")) if Path(folder).is_dir() else []
            stems = difflib.get_close_matches(found.stem, [each.removesuffix(".py") for each in there], n=3)
            near = [f"{each}.py" for each in stems]
            listed = f"There are: {some(there)}." if there else "There is no .py file in that folder."
            raise InvalidEndpoint(
                f"There is no entry script {self.entry_script!r} in {folder}.",
                hint=f"Did you mean {' or '.join(near)}? {listed}" if near else listed,
            )
        if found.suffix != ".py":
            raise InvalidEndpoint(f"entry_script {self.entry_script!r} is no Python file.", hint="It ends with .py")
        return names.path(Path(script).as_posix())

    def _file(self, what: str) -> Path:
        """A file beside the script, for the older arguments: in the source folder, else relative to the current folder."""
        given = getattr(self, what)
        places = [Path(self.source_directory or "", given), Path(given)]
        for place in places:
            if place.is_file():
                return place
        raise InvalidEndpoint(f"{what} {given!r} is not there (looked for {places[0].absolute()}).")

    def _environment(self, service: str) -> Environment | None:
        """The environment; None for the deploying Python."""
        if self.environment is not None:
            return self.environment
        older = (self.conda_file, self.extra_docker_file_steps, self.enable_gpu, self.base_image)
        if not any(older):
            return None
        name = environment_names.name(f"{service}-environment")
        file = self._file("conda_file") if self.conda_file else None
        made = Environment.from_conda_specification(name, file) if file else Environment(name)
        image = self.base_image or (DEFAULT_GPU_IMAGE if self.enable_gpu else DEFAULT_CPU_IMAGE)
        if self.extra_docker_file_steps:
            steps = self._file("extra_docker_file_steps").read_text(encoding="utf-8")
            made.docker.enabled = True
            made.docker.base_image = None
            made.docker.base_dockerfile = f"FROM {image}\n{steps}"
        elif self.base_image:
            made.docker.enabled = not recipes.is_azure(image)
            made.docker.base_image = image
            made.docker.base_image_registry = self.base_image_registry
            made.python.user_managed_dependencies = not self.conda_file and not recipes.is_azure(image)
        return made

    def __repr__(self) -> str:
        parts = ("entry_script", "source_directory", "runtime", "conda_file", "base_image", "environment")
        shown = {name: getattr(self, name) for name in parts if getattr(self, name)}
        if self.environment is not None:
            shown["environment"] = self.environment.name
        return f"InferenceConfig({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def take(folder: str, connection: "Connection", script: str) -> str:
    """Snapshots a service's source folder, without the models that get_model_path() downloaded there: a replica has its own
    in that place."""
    without = _placed_models(folder)
    return snapshots.take(folder, connection.bytes, connection.home, needs=script, without=without)


def _placed_models(folder: str) -> tuple[str, ...]:
    """`azureml-models`, when Roost created it: folders of models with folders of versions. Any other content is refused."""
    place = Path(folder, model_places.FOLDER)
    if not os.path.lexists(place) or Rules(read_rules(folder)).ignores(f"{model_places.FOLDER}/"):
        return ()
    if place.is_dir() and not place.is_symlink():
        versions = [name for model in os.scandir(place) for name in _names(model)]
        if all(name.isdigit() or name.endswith(".part") for name in versions):
            return (model_places.FOLDER,)
    raise InvalidEndpoint(
        f"The source folder {folder} has a {model_places.FOLDER!r} of its own, where the endpoint's models are to be.",
        hint="Name it otherwise, or leave it out with .amlignore.",
    )


def _names(model: "os.DirEntry[str]") -> list[str]:
    """The entries of a folder; for anything else a name that is no version."""
    return os.listdir(model.path) if model.is_dir(follow_symlinks=False) else [""]
