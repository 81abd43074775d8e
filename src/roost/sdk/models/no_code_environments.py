"""Chooses the Python that serves a model with no code: `choose`.

1. that of the run that made the model, exactly as installed, when it contains what the model needs;
2. for an MLflow folder, the requirements in the folder;
3. a curated environment, by framework and version.
"""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from roost.domain import files
from roost.domain.environments import EnvironmentUse
from roost.domain.errors import InvalidInput, NotFound
from roost.domain.models import Model
from roost.environments.curated import catalogue, machine
from roost.environments.curated.machine import Machine
from roost.environments.curated.naming import version as numbers
from roost.environments.curated.resolving import resolve
from roost.sdk import late
from roost.sdk.connection.connections import named_url
from roost.sdk.environments import curated
from roost.sdk.environments.conda_dependencies import CondaDependencies
from roost.sdk.environments.environments import Environment
from roost.sdk.models import mlflow_folders
from roost.sdk.models.mlflow_folders import Folder
from roost.transport.client import path_of

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace

PACKAGES = {
    "tensorflow": ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-aarch64"),
    "sklearn": ("scikit-learn",),
    "onnx": ("onnxruntime", "onnxruntime-gpu"),
    "torchscript": ("torch", "pytorch"),
    "mlflow": ("mlflow", "mlflow-skinny"),
}
"""Any one of these packages loads it."""
MODULES = {
    "tensorflow": "tensorflow",
    "sklearn": "sklearn",
    "onnx": "onnxruntime",
    "torchscript": "torch",
    "mlflow": "mlflow",
}
_CURATED = {
    "tensorflow": ("TensorFlow", "tensorflow"),
    "sklearn": ("scikit-learn", "sklearn"),
    "onnx": ("ONNX Runtime", "onnxruntime"),
    "torchscript": ("PyTorch", "pytorch"),
}
_ASK = "import importlib.util as u, sys; sys.exit(any(u.find_spec(name) is None for name in sys.argv[1:]))"


@dataclass(frozen=True, kw_only=True)
class Room:
    """The environment or interpreter of a replica."""

    environment: EnvironmentUse | None = None
    interpreter: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Notes about differences from what a user may expect, one sentence each."""


def choose(workspace: "Workspace", model: Model, handler: str, paths: Sequence[str]) -> Room:
    folder = _folder(workspace, model, paths) if handler == "mlflow" else None
    loader = folder.loader if folder is not None else handler
    variables = {mlflow_folders.VARIABLE: folder.told} if folder is not None else {}
    room = _of_run(workspace, model, loader)
    if room is None and folder is not None and folder.requirements:
        room = Room(environment=_of_folder(folder)._use())
    if room is None:
        room = _curated(model, loader, known_machine())
    return Room(
        environment=room.environment,
        interpreter=room.interpreter,
        variables={**room.variables, **variables},
        notes=room.notes,
    )


@dataclass(frozen=True, kw_only=True)
class Made:
    """The environment in which a model was made."""

    environment: Environment
    installed: str
    """Its packages, as a lock or as requirements; empty for an interpreter as it is."""
    version: str
    """The framework's version; empty when unknown."""


def made_in(workspace: "Workspace", model: Model, loader: str, modules: Sequence[str] = ()) -> Made | None:
    """The environment in which the model was made, if it contains the model's loader; None otherwise, or when the run no
    longer exists. An interpreter as it is must have the other modules too."""
    try:
        found = late.Run.get(workspace, model.run_id).get_environment() if model.run_id else None
    except NotFound:
        found = None
    if found is None:
        return None
    if found.python.user_managed_dependencies:
        there = not found.docker.base_dockerfile and _here(found.python.interpreter_path, (MODULES[loader], *modules))
        return Made(environment=found, installed="", version="") if there else None
    installed = found.lock or "\n".join(_lines(found))
    for package in PACKAGES[loader]:
        if (said := version_in(installed, package)) is not None:
            return Made(environment=found, installed=installed, version=said)
    return None


def _of_run(workspace: "Workspace", model: Model, loader: str) -> Room | None:
    made = made_in(workspace, model, loader)
    if made is None:
        return None
    if made.environment.python.user_managed_dependencies:
        return Room(interpreter=made.environment.python.interpreter_path)
    notes: tuple[str, ...] = ()
    declared = numbers(model.framework_version)
    if declared and made.version and loader != "onnx" and numbers(made.version)[: len(declared)] != declared:
        notes = (
            f"registered for {model.framework} {model.framework_version}, and served with {made.version}: "
            "that of the run that made it.",
        )
    return Room(environment=made.environment._use(), notes=notes)


def known_machine() -> Machine | None:
    """This machine, when the nodes are on it; None when they are elsewhere: then the catalogue decides alone."""
    return None if named_url() else machine.here()


def _here(interpreter: str, modules: Sequence[str]) -> bool:
    """True when a Python of this machine has these modules. It is not started when the nodes are on another machine."""
    if named_url() or not os.path.isabs(interpreter):
        return False
    try:
        asked = subprocess.run([interpreter, "-c", _ASK, *modules], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0


def _lines(environment: Environment) -> list[str]:
    packages = environment.python.loaded()
    return [*packages.conda_packages, *packages.pip_packages]


def version_in(installed: str, package: str) -> str | None:
    """The version of a package in a lock or in requirements; empty without a version, None when the package is missing."""
    name = re.escape(package).replace(r"\-", "[-_.]")
    found = re.search(rf"(?im)(?<![\w.-]){name}(?:\[[^\]]*\])?(?:\s*(?:==?|-)\s*(\d[\w.]*)|\s*$|\s*[<>~!])", installed)
    return None if found is None else found[1] or ""


def _folder(workspace: "Workspace", model: Model, paths: Sequence[str]) -> Folder:
    client = workspace._connection.client
    manifest = files.read_manifest(client.fetch("GET", path_of("blobs", model.manifest)).body)
    blobs = {entry.path: entry.content for entry in manifest if entry.kind is files.EntryKind.FILE}
    return mlflow_folders.read(
        model.id, paths, lambda path: client.fetch("GET", path_of("blobs", blobs[path])).body.decode("utf-8", "replace")
    )


def _of_folder(folder: Folder) -> Environment:
    made = Environment("mlflow-model")
    python = [f"python={folder.python}"] if folder.python else []
    made.python.conda_dependencies = CondaDependencies(
        _underlying_structure={"dependencies": [*python, {"pip": ["azureml-defaults", *folder.requirements]}]}
    )
    return made


def _curated(model: Model, loader: str, here: Machine | None) -> Room:
    if loader == "mlflow":
        raise InvalidInput(
            f"Model {model.id} is an MLflow folder that does not say what it needs.",
            hint="Save it with its requirements.txt, as mlflow does by itself.",
        )
    name, notes = curated_name(model, loader, here)
    made = curated.get(name)
    return Room(environment=made._use(), notes=(*notes, *made._notes))


def curated_name(model: Model, loader: str, here: Machine | None) -> tuple[str, tuple[str, ...]]:
    """The curated environment for a model by its framework's version, and a note when the version differs.

    ONNX Runtime reads every older model, so the newest one serves. The others are used as registered; where this machine has no
    Python for that version, the next newer one that has a Python here."""
    title, word = _CURATED[loader]
    framework = next(each for each in catalogue.frameworks() if each.title == title)
    possible = [each for each in framework.releases if here is None or set(each.pythons) & set(here.pythons)]
    newest = (possible or framework.releases)[-1].text
    keras = model.framework.lower() == "tfkeras" and numbers(model.framework_version)[:1] >= (3,)
    wanted = newest if loader == "onnx" or keras else model.framework_version or newest
    if not numbers(wanted):
        raise InvalidInput(
            f"Model {model.id} is registered with the framework version {wanted!r}, which is no version.",
            hint="Register it with model_framework_version='2.0', or another version of its framework.",
        )
    device = "gpu" if model.resources.gpu else "cpu"
    name = f"AzureML-{word}-{wanted}-{device}-inference"
    if here is None or resolve(name, here).python in here.pythons:
        return name, ()
    newer = [each.text for each in possible if each.version > numbers(wanted)]
    chosen = newer[0] if newer else newest
    note = f"there is no Python here for {title} {wanted}; it is served with {chosen}."
    return f"AzureML-{word}-{chosen}-{device}-inference", (note,)
