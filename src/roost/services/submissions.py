"""The checks of a submission before anything is made of it: every error has the value that broke the rule."""

import math
from collections.abc import Mapping
from pathlib import PurePosixPath

from roost.domain import environments, labels, names, recipes, topology
from roost.domain.compute import Compute, ComputeKind
from roost.domain.errors import InvalidInput
from roost.domain.runs import RunKind, RunSpec, Submission
from roost.services import archives
from roost.services.context import Context

MAX_DISPLAY_NAME = 255
MAX_DESCRIPTION = 8192
MAX_PRIORITY = 1_000_000
MAX_TEXT = 128 * 1024
"""Length of one argument or variable; the kernel accepts no longer one."""
MAX_MANIFEST = 256 * 1024 * 1024


def check(context: Context, workspace: str, submission: Submission, *, replica: bool = False) -> None:
    """Raises InvalidInput, NotFound or ComputeNotFound; changes nothing. Only an endpoint submits a `replica`."""
    if (submission.spec.kind is RunKind.REPLICA, submission.spec.serving is not None) != (replica, replica):
        raise InvalidInput(
            "A replica is made by its endpoint, not submitted.", hint="Deploy the model: Model.deploy(…)."
        )
    names.run_id(submission.id)
    names.experiment(submission.experiment)
    context.store.workspaces.get(names.workspace(workspace))
    check_labels(submission.tags, submission.properties, submission.display_name, submission.description)
    _check_limits(submission.spec)
    _check_texts(submission.spec)
    _check_environment(context, submission.spec)
    if submission.spec.kind is RunKind.SCRIPT:
        _check_width(context, context.store.computes.get(workspace, submission.spec.target), submission.spec)
        _check_program(submission.spec)
    elif replica:
        _check_interpreter(submission.spec)
    _check_snapshot(context, submission.spec)
    if submission.parent_id is not None:
        parent = context.store.runs.get(names.run_id(submission.parent_id))
        if parent.workspace != workspace:
            raise InvalidInput(f"Parent run {parent.id} is in workspace {parent.workspace!r}, not in {workspace!r}.")


def check_labels(
    tags: Mapping[str, str | None],
    properties: Mapping[str, str | None],
    display_name: str | None = None,
    description: str | None = None,
) -> None:
    for word, given in (("tag", tags), ("property", properties)):
        labels.check(word, given)
    if display_name is not None and len(display_name) > MAX_DISPLAY_NAME:
        raise InvalidInput(f"The display name has {len(display_name)} characters; at most {MAX_DISPLAY_NAME} are kept.")
    if description is not None and len(description) > MAX_DESCRIPTION:
        raise InvalidInput(
            f"The description has {len(description)} characters; at most {MAX_DESCRIPTION} are kept.",
            hint="Keep long text in a file: run.upload_file(…).",
        )


def _check_program(spec: RunSpec) -> None:
    if bool(spec.script) == bool(spec.command):
        raise InvalidInput(
            f"A run has a script or a command, got script {spec.script!r} and command {list(spec.command)!r}.",
            hint="Give one of the two.",
        )
    if spec.script:
        names.path(spec.script)
        _check_interpreter(spec)
    elif spec.shell and len(spec.command) != 1:
        raise InvalidInput(f"A command for the shell is one text, got {len(spec.command)} words.")
    elif not spec.command[0]:
        raise InvalidInput("The command's first word, its program, is empty.")


def _check_interpreter(spec: RunSpec) -> None:
    if not PurePosixPath(spec.interpreter).is_absolute():
        raise InvalidInput(f"The interpreter of a script is the absolute path of a Python, got {spec.interpreter!r}.")


def _check_width(context: Context, compute: Compute, spec: RunSpec) -> None:
    """Raises when the target can never have that many nodes. On `local` nodes are logical, and may be more than its places."""
    engine = context.engines.get(compute.engine)
    if spec.node_count > 1 and engine is not None and engine.queues:
        raise InvalidInput(
            f"The run asks for {spec.node_count} nodes, and engine {compute.engine!r} of cluster {compute.name!r}, which has a "
            "queue of its own, starts one node of a run.",
            hint="Lower node_count to 1, or submit to a cluster on another engine.",
        )
    if compute.kind is ComputeKind.CLUSTER and spec.node_count > compute.max_nodes:
        raise InvalidInput(
            f"The run asks for {spec.node_count} nodes, and cluster {compute.name!r} has at most {compute.max_nodes}.",
            hint="Lower node_count, or raise the cluster's limit: cluster.update(max_nodes=…).",
            cli_hint=f"Ask for fewer, or raise its limit: roost compute update {compute.name} --max {spec.node_count}",
        )


def _check_environment(context: Context, spec: RunSpec) -> None:
    """Raises when the run cannot get its environment."""
    if spec.environment is None:
        return
    environments.name(spec.environment.name)
    if spec.environment.lock and context.blobs.keep(names.blob(spec.environment.lock)) is None:
        raise InvalidInput(
            f"The lock {spec.environment.lock} of environment {spec.environment.name!r} is not here.",
            hint="It is of another control plane: submit without it, and the environment is resolved anew.",
        )
    archives.check(context, spec.environment)
    recipes.check_python(spec.environment.name, recipes.recipe(spec.environment.definition, spec.docker))


def _check_limits(spec: RunSpec) -> None:
    timeout = spec.timeout_seconds
    if timeout is not None and not (math.isfinite(timeout) and timeout > 0):
        raise InvalidInput(f"The time-out must be more than 0 seconds, got {timeout}.")
    topology.check(spec.launch, spec.node_count, spec.topology)
    if not -MAX_PRIORITY <= spec.priority <= MAX_PRIORITY:
        raise InvalidInput(f"A priority is -{MAX_PRIORITY} to {MAX_PRIORITY}, got {spec.priority}.")


def _check_texts(spec: RunSpec) -> None:
    for key, value in spec.environment_variables.items():
        if not key or "=" in key or "\0" in key or "\0" in value:
            raise InvalidInput(f"Environment variable {key!r} is not allowed: an empty name, a `=` or a zero byte.")
        if len(key) + len(value) > MAX_TEXT:
            raise InvalidInput(f"Environment variable {key!r} is longer than {MAX_TEXT} characters.")
    for place, text in enumerate((*spec.command, *spec.arguments)):
        if "\0" in text:
            raise InvalidInput(f"Argument {place} has a zero byte: {text[:80]!r}.")
        if len(text) > MAX_TEXT:
            raise InvalidInput(f"Argument {place} is longer than {MAX_TEXT} characters: {text[:80]!r}….")


def _check_snapshot(context: Context, spec: RunSpec) -> None:
    if not spec.snapshot:
        if spec.script and spec.kind is not RunKind.INTERACTIVE:
            raise InvalidInput(f"Script {spec.script!r} was given without a snapshot of its folder.")
        return
    size = context.blobs.keep(names.blob(spec.snapshot))
    if size is None:
        raise InvalidInput(f"Snapshot {spec.snapshot} is not here.", hint="Put the manifest and its blobs first.")
    if size > MAX_MANIFEST:
        raise InvalidInput(f"The snapshot's manifest has {size} bytes; at most {MAX_MANIFEST} are read.")
    # One search instead of parsing every line: for 10,000 files that would cost more than all other checks.
    if spec.script and f"\t{names.path(spec.script)}\n".encode() not in context.blobs.get(spec.snapshot):
        raise InvalidInput(
            f"Script {spec.script!r} is not in the snapshot.",
            hint="Give its path relative to the source directory, and see that the ignore file does not leave it out.",
        )
