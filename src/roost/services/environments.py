"""Environments: registered by people, looked up for runs. A recipe becomes a lock in a build agent, never in the server."""

import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from roost.domain import environments, names, recipes
from roost.domain.conda import AWAY_SECONDS, INDEX_FIRST, INDEX_IF_UNREACHABLE
from roost.domain.containers import DockerUse
from roost.domain.environments import LOCK_FILE, Build, Environment
from roost.domain.errors import Conflict, InvalidInput, NotFound
from roost.domain.files import RunFile
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.domain.runs import Reason, Run, RunStatus
from roost.services import runs
from roost.services.context import Context
from roost.services.signals import CONTROL

BUILDS_AT_ONCE = 2
"""Each build uses all the network and disk it gets; more at once would slow all of them."""
_ARCHIVE = "archive "
"""Prefix of a lock: the key of the build that stores the lock's files."""
MAX_DEFINITION = 256 * 1024
MAX_WORDS = 20_000


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a build: the blob of the lock, or why there is none."""

    lock: str = ""
    message: str = ""
    from_index: bool = False
    """True when the lock's conda packages come from a package index, because their channels could not be reached."""


def register(
    context: Context, caller: Caller, workspace: str, name: str, definition: Mapping[str, Any]
) -> tuple[Environment, bool]:
    """Returns the environment with its version, and True when that is new. Its packages are checked when it is used, not here;
    but a credential in clear text is refused."""
    caller.require(Action.ENVIRONMENT_REGISTER)
    context.store.workspaces.get(names.workspace(workspace))
    environments.own_name(name)
    if len(str(definition)) > MAX_DEFINITION:
        raise InvalidInput(f"The definition of {name!r} is larger than {MAX_DEFINITION} characters.")
    recipes.refuse_credentials(definition)
    kept = {key: value for key, value in definition.items() if key not in ("name", "version")}
    made = Environment(
        workspace=workspace, name=name, version="", definition=kept, user=caller.user, created_at=context.clock()
    )
    return context.store.environments.register(made)


def get(context: Context, caller: Caller, workspace: str, name: str, version: str | None = None) -> Environment:
    caller.require(Action.ENVIRONMENT_READ)
    context.store.workspaces.get(names.workspace(workspace))
    try:
        return context.store.environments.get(workspace, environments.name(name), version)
    except NotFound as missing:
        if name.lower().startswith(environments.RESERVED):
            hint = (
                "Curated environments are not kept here: Environment.get and `roost env show` find them by their names."
            )
            raise NotFound(missing.message, hint=hint) from None
        raise


def listing(context: Context, caller: Caller, workspace: str, name: str | None = None) -> Sequence[Environment]:
    """The newest version of each name; for one name all versions, newest first."""
    caller.require(Action.ENVIRONMENT_READ)
    context.store.workspaces.get(names.workspace(workspace))
    return context.store.environments.list(workspace, environments.name(name) if name is not None else None)


def recipe_of(run: Run) -> recipes.Recipe | None:
    """The recipe that must be installed for a run; None for none."""
    use = run.spec.environment
    return recipes.recipe(use.definition, run.spec.docker) if use is not None else None


def standing(context: Context, run: Run) -> Build | None:
    """The state of the build of a run's environment; None when there is nothing to build. A run that was submitted with its own
    lock has a build of its own, which installs that lock."""
    recipe = recipe_of(run)
    if recipe is None:
        return None
    if run.spec.environment is not None and run.spec.environment.archive:
        return context.store.environments.build(_key(context, run, recipe), _platform())
    known = _known(context, recipe)
    own = run.spec.environment.lock if run.spec.environment is not None else ""
    return known if own in ("", known.lock) else _build(context, own)


def index_lock(context: Context, run: Run) -> str:
    """Blob of the lock that a package index gave for the conda packages of a run's environment, at any time; empty for none."""
    recipe = recipe_of(run)
    return _build(context, recipe.index_key).lock if recipe is not None and recipe.packages else ""


def _key(context: Context, run: Run, recipe: recipes.Recipe) -> str:
    """The key of a run's build: its recipe, or the lock that it was submitted with. A build that stores the files of a lock has a
    key of its own."""
    if run.spec.environment is not None and run.spec.environment.archive:
        return f"{_ARCHIVE}{run.spec.environment.lock}"
    return (run.spec.environment.lock if run.spec.environment is not None else "") or _recipe_key(context, recipe)


def _recipe_key(context: Context, recipe: recipes.Recipe) -> str:
    return recipe.index_key if recipe.packages and context.conda_packages == INDEX_FIRST else recipe.key


def _known(context: Context, recipe: recipes.Recipe, *, however_old: bool = False) -> Build:
    """The state of the build of a recipe. A lock with conda packages from a package index counts while the channels are assumed
    to be unreachable; after that an agent asks the channels again."""
    build = _build(context, _recipe_key(context, recipe))
    if build.lock or not recipe.packages or context.conda_packages != INDEX_IF_UNREACHABLE:
        return build
    instead = _build(context, recipe.index_key)
    out_of_reach = not build.message and context.clock() - build.failed_at < AWAY_SECONDS
    return instead if instead.lock and (out_of_reach or however_old) else build


def look_up(
    context: Context,
    caller: Caller,
    workspace: str,
    definition: Mapping[str, Any],
    docker: DockerUse | None = None,
    *,
    forget: bool = False,
) -> Build:
    """The state of the build of a definition. `forget` drops its lock: the next run that needs it resolves it again. Runs that
    were installed from it keep it."""
    caller.require(Action.BUILD_LOOK_UP)
    context.store.workspaces.get(names.workspace(workspace))
    recipe = recipes.recipe(definition, docker)
    if recipe is None:
        raise InvalidInput("There is nothing to build: its packages are managed by the user.")
    if forget:
        for key in (recipe.key, recipe.index_key):
            context.store.environments.forget_lock(key, _platform())
    return _known(context, recipe, however_old=True)


def renew(context: Context, run: Run) -> None:
    """A new run that stores the files of a lock checks them again, whatever an earlier run found."""
    if run.spec.environment is not None and run.spec.environment.archive and (recipe := recipe_of(run)) is not None:
        context.store.environments.forget_lock(_key(context, run, recipe), _platform())


def claim(context: Context, run: Run, build: Build) -> Build:
    """Gives the build to this run's agent if no other has it; returns the state of the build in any case."""
    known = context.store.environments.build(build.key, build.platform).lock
    lost = known if known and context.blobs.size(known) is None else ""
    return context.store.environments.claim_build(build.key, build.platform, run.id, BUILDS_AT_ONCE, lost=lost)


def keep_lock(context: Context, run: Run, lock: str) -> None:
    """Stores the lock as a file of the run, which is installed from it, now and when it is repeated."""
    size = context.blobs.size(lock) or 0
    context.store.files.put(run.id, [RunFile(path=LOCK_FILE, blob=lock, size=size, modified_at=context.clock())])


def lock_of(context: Context, run: Run) -> str:
    """The lock that the run is installed from; empty for none."""
    if recipe_of(run) is None:
        return ""
    return context.store.files.get(run.id, LOCK_FILE).blob


def end_build(context: Context, caller: Caller, run_id: str, said: Outcome) -> Run:
    """Takes in the outcome of a build agent: built or failed. Every run in preparation is checked again."""
    caller.require(Action.BUILD_REPORT)
    run = context.store.runs.get(names.run_id(run_id))
    recipe = recipe_of(run)
    if recipe is None or run.status is not RunStatus.PREPARING:
        raise Conflict(f"Run {run_id} is {run.status.value} and has no environment to be built.")
    if said.lock:
        if context.blobs.size(names.blob(said.lock)) is None:
            raise InvalidInput(f"The lock {said.lock} is not here.", hint="Put the blob first.")
        _keep(context, _key(context, run, recipe), recipe, said)
    else:
        words = said.message[-MAX_WORDS:] or "The environment could not be built."
        context.store.environments.end_build(_key(context, run, recipe), _platform(), at=context.clock(), message=words)
        run, _ = runs.move(context, run_id, RunStatus.FAILED, Reason.ENVIRONMENT_FAILED, words)
    context.store.runs.touch_all(RunStatus.PREPARING)
    context.signals.notify(CONTROL)
    return run


def _keep(context: Context, key: str, recipe: recipes.Recipe, said: Outcome) -> None:
    """Stores the lock under its origin: a lock from a package index gets the recipe's index key, and the build from channels is
    noted as failed."""
    if said.from_index and key == recipe.key:
        context.store.environments.end_build(recipe.index_key, _platform(), lock=said.lock)
        context.store.environments.end_build(key, _platform(), at=context.clock())
    else:
        context.store.environments.end_build(key, _platform(), lock=said.lock)


def _build(context: Context, key: str) -> Build:
    """The stored build; a lock whose blob is gone counts as none and is made again."""
    build = context.store.environments.build(key, _platform())
    if build.lock and context.blobs.size(build.lock) is None:
        return Build(key=build.key, platform=build.platform)
    return build


def _platform() -> str:
    """The platform of all targets: the embedded engine's nodes are this machine."""
    return f"{sys.platform}-{platform.machine()}"
