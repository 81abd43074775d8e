"""Replicas: the runs of an endpoint. Makes the spec of a run from a version, and submits it."""

import contextlib
import re
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from roost.domain import names
from roost.domain.endpoints import Endpoint, Replica, ServedModel, Serving, Version
from roost.domain.errors import NotFound
from roost.domain.people import Caller
from roost.domain.permissions import Role
from roost.domain.runs import Run, RunKind, RunSpec, RunStatus, Submission
from roost.domain.topology import LaunchKind
from roost.services import experiments, fronts, models, submissions
from roost.services import runs as all_runs
from roost.services.context import Context
from roost.services.signals import CONTROL, run_topic

_PLACEHOLDER = "/nowhere"
_MISSING = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_SHARED = ("azure", "backports", "google", "mpl_toolkits", "opentelemetry", "ruamel", "sphinxcontrib", "zope")
"""Top-level names that several packages share: when one of their modules is missing, a package is missing."""
_PACKAGES = {
    "sklearn": "scikit-learn",
    "cv2": "opencv-python",
    "PIL": "pillow",
    "yaml": "pyyaml",
    "skimage": "scikit-image",
}
"""The package to install for an imported name, where the two differ."""
_UNREADABLE = "The model could not be loaded with "
"""The beginning of a worker's error when the framework is installed but cannot read the file."""


def experiment_of(name: str) -> str:
    """The experiment of an endpoint's replicas."""
    return f"endpoint-{name}"


def full_ids(context: Context, workspace: str, given: Sequence[str]) -> tuple[str, ...]:
    """`name:version` of each model, in the same order; ModelNotFound."""
    return tuple(models.resolve(context, workspace, each).id for each in given)


def check(context: Context, workspace: str, name: str, version: Version) -> None:
    """Raises unless a replica of the version could be submitted; changes nothing."""
    spec = spec_of(context, workspace, name, version, _PLACEHOLDER)
    submission = Submission(id=names.new_run_id(experiment_of(name), 0), experiment=experiment_of(name), spec=spec)
    submissions.check(context, workspace, submission, replica=True)


def spec_of(context: Context, workspace: str, name: str, version: Version, socket: str) -> RunSpec:
    """The spec of one replica's run."""
    found = [models.resolve(context, workspace, each) for each in version.models]
    return RunSpec(
        kind=RunKind.REPLICA,
        snapshot=version.snapshot,
        script=version.entry_script,
        # An environment has its own interpreter, which replaces this one.
        interpreter=version.interpreter or sys.executable,
        environment=version.environment,
        environment_variables=dict(version.environment_variables),
        launch=LaunchKind.SERVE,
        serving=Serving(
            endpoint=name,
            version=version.name,
            generation=version.generation,
            socket=socket,
            handler=version.handler,
            source_name=version.source_name,
            models=tuple(ServedModel(name=each.name, version=each.version, manifest=each.manifest) for each in found),
            concurrency=version.limits.concurrency,
            memory_gb=version.limits.memory_gb,
        ),
    )


def begin(context: Context, endpoint: Endpoint, version: Version) -> Replica:
    """Starts another replica of this version. Its row is written before its run: after a kill between the two, the row has no run
    and is ignored."""
    now = context.clock()
    run_id = names.new_run_id(experiment_of(endpoint.name), now)
    folder = fronts.folder_of(context.facts.home, endpoint.workspace, endpoint.name)
    socket = fronts.socket_for(Path(folder), secrets.token_hex(4))
    spec = spec_of(context, endpoint.workspace, endpoint.name, version, socket)
    replica = Replica(run_id=run_id, version=version.name, generation=version.generation, socket=socket, created_at=now)
    submission = Submission(
        id=run_id,
        experiment=experiment_of(endpoint.name),
        spec=spec,
        display_name=f"{endpoint.name} {version.name}.{version.generation}",
        properties={"endpoint": endpoint.name, "models": " ".join(version.models)},
    )
    submissions.check(context, endpoint.workspace, submission, replica=True)
    experiments.active(context, _system_for(endpoint), endpoint.workspace, submission.experiment)
    context.store.endpoints.add_replica(endpoint.workspace, endpoint.name, replica)
    context.store.runs.create(endpoint.workspace, submission, user=endpoint.user, at=now)
    context.signals.notify(CONTROL, run_topic(run_id))
    return replica


def end(context: Context, endpoint: Endpoint, run: Run) -> None:
    """Asks a replica's run to end."""
    if not run.status.is_terminal and run.status is not RunStatus.CANCEL_REQUESTED:
        all_runs.cancel(context, _system_for(endpoint), run.id)


def _system_for(endpoint: Endpoint) -> Caller:
    """The control loop acts as the system, in the name of the user who deployed the endpoint."""
    return Caller(user=endpoint.user, role=Role.SYSTEM)


def waits_for(run: Run) -> str:
    """A sentence for people: why it is not ready."""
    if run.status is RunStatus.RUNNING:
        return "Its process has started; init() has not returned yet."
    if run.status is RunStatus.PREPARING and run.spec.environment is not None:
        return f"Building environment {run.spec.environment.name!r}."
    return run.message


def explained(context: Context, workspace: str, versions: Sequence[Version], why: str) -> str:
    """The error of a replica that could not start; when the error is a known one, with the place where it ran and the next
    step."""
    first = why.partition("\n")[0]
    if (missing := _MISSING.search(first)) is not None:
        more = [_lacking(context, workspace, each, missing[1]) for each in versions]
    elif first.startswith(_UNREADABLE):
        more = [_as_registered(context, workspace, each) for each in versions if each.handler != "script"]
    else:
        more = []
    return "\n".join(filter(None, [why, *more]))


def _lacking(context: Context, workspace: str, version: Version, module: str) -> str:
    use = version.environment
    if "." in module and module.partition(".")[0] not in _SHARED:  # Python names the first missing part
        return _another_version(context, workspace, version, module)
    if use is not None:
        return f"It ran in environment {use.name!r}: add the package that has {module!r} to it."
    made = [each for each in (_environment_of(context, workspace, each) for each in version.models) if each]
    known = f", such as that of the model's run: {made[0]!r}" if made else ""
    return (
        f"It ran in {version.interpreter or sys.executable}, as there was no environment. Give one "
        f"(InferenceConfig(environment=…), or --environment){known}."
    )


def _another_version(context: Context, workspace: str, version: Version, module: str) -> str:
    """The package is installed in a version without this module: the model or the script needs another version."""
    use, package = version.environment, module.partition(".")[0]
    where = f"environment {use.name!r}" if use is not None else version.interpreter or sys.executable
    name = _PACKAGES.get(package, package)
    said = [words for words in (_registered_with(context, workspace, each) for each in version.models) if words]
    return (
        f"It ran in {where}, whose {package!r} has no {module!r}: what is loaded was made with another version of {name}. "
        f"Install that version there.{' ' if said else ''}{' '.join(said)}"
    )


def _registered_with(context: Context, workspace: str, model: str) -> str:
    """A sentence with the framework's version that a model was registered with; empty when it has none."""
    with contextlib.suppress(NotFound):
        found = models.resolve(context, workspace, model)
        if found.framework_version:
            return f"Model {found.id} is registered with {found.framework} {found.framework_version}."
    return ""


def _environment_of(context: Context, workspace: str, model: str) -> str:
    """The name of the environment of the run that made a model; empty when it is not known."""
    with contextlib.suppress(NotFound):
        run_id = models.resolve(context, workspace, model).run_id
        if run_id and (use := all_runs.find(context, run_id).spec.environment) is not None:
            return use.name
    return ""


def _as_registered(context: Context, workspace: str, version: Version) -> str:
    with contextlib.suppress(NotFound):
        model = models.resolve(context, workspace, version.models[0])
        said = f"{model.framework} {model.framework_version or 'of no version'}"
        return (
            f"Model {model.id} is registered with {said}. If another version saved it, register it with that version."
        )
    return ""
