"""Builds an environment ahead: a separate run that lists the installed packages. Later users of the same environment find it
ready.
"""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roost.domain import codec, recipes
from roost.domain.environments import Build
from roost.domain.errors import InvalidInput, NotFound
from roost.environments import base
from roost.environments.containers import facts as container_facts
from roost.sdk import late
from roost.sdk.connection.connections import Connection
from roost.sdk.environments.environments import Environment
from roost.sdk.runs.repeats import lock_of
from roost.sdk.runs.submissions import ScriptRunConfig
from roost.transport.client import path_of

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace
    from roost.sdk.runs.runs import Run

EXPERIMENT = "prepare_image"
"""The experiment's name for builds in the SDK."""
_SCRIPT = """
import os
import sys
found = set()
for folder in filter(os.path.isdir, sys.path):
    for name in os.listdir(folder):
        if name.endswith((".dist-info", ".egg-info")) and "-" in name.rsplit(".", 1)[0]:
            found.add(tuple(name.rsplit(".", 1)[0].split("-")[:2]))
print("Python %d.%d.%d" % sys.version_info[:3])
for name, version in sorted(found, key=lambda each: each[0].lower()):
    print("%s==%s" % (name.replace("_", "-"), version))
"""
_LOCAL_OPTIONS = ("useDocker", "pushImageToWorkspaceAcr")


def build(environment: Environment, workspace: "Workspace", fresh: bool = False, target: object = None) -> "Run":
    """Submits the build to a target, by default this machine; returns the run. `fresh` resolves again although a lock exists."""
    check(environment)
    if fresh:
        standing(environment, workspace, forget=True)
    with tempfile.TemporaryDirectory(prefix="roost-build-") as folder:
        Path(folder, "packages.py").write_text(_SCRIPT.lstrip(), encoding="utf-8")
        config = ScriptRunConfig(folder, script="packages.py", environment=environment, compute_target=target)
        return late.Experiment(workspace, EXPERIMENT).submit(config, tags={"environment": environment.name})


def build_local(environment: Environment, workspace: "Workspace", platform: str | None, **options: object) -> str:
    """Builds it and waits, printing the log; returns the prefix, empty when it is on another machine."""
    unknown = [name for name in options if name not in _LOCAL_OPTIONS]
    if unknown:
        raise InvalidInput(f"build_local() has no parameter {unknown[0]!r}.")
    if platform not in (None, "Linux", "linux"):
        raise InvalidInput(f"platform is {platform!r}; Roost's nodes run on Linux.", hint="Leave it out.")
    if options.get("pushImageToWorkspaceAcr"):
        raise InvalidInput("Roost has no registry of Azure's to push an image to.", hint="Leave it out.")
    run = build(environment, workspace)
    run.wait_for_completion(show_output=True)
    lock = lock_of(workspace._connection, run.id)
    prefix = base.find(workspace._connection.home, lock) if lock else None
    return str(prefix) if prefix is not None else ""


def standing(environment: Environment, workspace: "Workspace", forget: bool = False) -> Build:
    """The state of its build; `forget` removes its known lock, so that the next use resolves it again."""
    body = {"definition": environment._definition(), "forget": forget}
    route = path_of("workspaces", workspace.name, "builds")
    return codec.decode(Build, workspace._connection.client.call("POST", route, json=body))


def locked(connection: Connection, build: Build) -> base.Lock:
    """The lock of a build, parsed."""
    return base.read_lock(connection.client.fetch("GET", path_of("blobs", build.lock)).body.decode())


def details(environment: Environment, workspace: "Workspace") -> dict[str, Any]:
    """The result of `get_image_details`. Raises NotFound for an environment that is not built."""
    check(environment)
    found = standing(environment, workspace)
    if not found.lock:
        raise NotFound(
            f"Environment {environment.name!r} is not built" + (f": {found.message}" if found.message else "."),
            hint="env.build(ws) builds it, as does the first run that needs it.",
        )
    lock = locked(workspace._connection, found)
    image = container_facts.of_lock(lock)
    prefix = base.find(workspace._connection.home, found.lock)
    return {
        "environmentName": environment.name,
        "environmentVersion": environment.version,
        "imageExistsInRegistry": True,
        "dockerImage": {"name": image.reference, "id": image.id, "digest": image.digest} if image is not None else None,
        "pythonEnvironment": {"python": lock.python, "prefix": str(prefix) if prefix is not None else None},
        "kind": lock.kind,
        "platform": lock.platform,
        "notes": list(lock.notes),
        "lock": found.lock,
        "archive": _archive(workspace._connection, found.lock),
    }


def _archive(connection: Connection, lock: str) -> dict[str, Any] | None:
    known = late.archives.find(connection, lock)
    return late.archives.facts(known) if known is not None else None


def check(environment: Environment) -> None:
    if environment.python.user_managed_dependencies and recipes.recipe(environment._definition()) is None:
        raise InvalidInput(
            f"There is nothing to build in environment {environment.name!r}: its packages are managed by the user.",
            hint="Set python.user_managed_dependencies = False.",
        )
