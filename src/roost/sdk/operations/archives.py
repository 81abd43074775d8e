"""Archives of environments: every file of a lock, so that it can be installed when no index has the files any more."""

import copy
import sys
from typing import TYPE_CHECKING, Any, TextIO

from roost.domain import codec
from roost.domain.environments import Archive
from roost.domain.errors import InvalidInput, NotFound
from roost.sdk.connection.connections import Connection
from roost.sdk.environments.environments import Environment
from roost.sdk.operations import building
from roost.sdk.runs import waiting
from roost.transport.client import path_of

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace
    from roost.sdk.runs.runs import Run

_HINT = "env.archive(ws) keeps it, where its indexes and channels can be reached."


def find(connection: Connection, lock: str) -> Archive | None:
    """The archive of a lock; None when there is none."""
    try:
        return codec.decode(Archive, connection.client.call("GET", path_of("archives", lock)))
    except NotFound:
        return None


def listing(connection: Connection) -> list[Archive]:
    return [codec.decode(Archive, each) for each in connection.client.call("GET", path_of("archives"))["archives"]]


def remove(connection: Connection, lock: str) -> None:
    """The next sweep frees its space, except for files that others use too."""
    connection.client.call("DELETE", path_of("archives", lock))


def lock_of(environment: Environment, workspace: "Workspace") -> str:
    """The lock of the environment's run, else the known lock for its definition; empty for none."""
    return environment._kept_lock() or building.standing(environment, workspace).lock


def keep(environment: Environment, workspace: "Workspace", out: TextIO | None = None) -> Archive:
    """Archives every file of its lock, resolving the lock first if it is unknown, and waits; the log goes to `out`. Raises
    when the build fails; files that could not be archived are in the archive's `missing`."""
    building.check(environment)
    connection = workspace._connection
    lock = lock_of(environment, workspace)
    if not lock:
        _wait(building.build(environment, workspace), out)
        lock = building.standing(environment, workspace).lock
    if not lock:
        raise NotFound(
            f"Environment {environment.name!r} was built, and its lock is not known any more.",
            hint="Somebody has it resolved anew; keep it again.",
        )
    known = find(connection, lock)
    if known is None or not known.complete:
        _wait(building.build(_with(environment, lock, archive=True), workspace), out)
        known = find(connection, lock)
    if known is None:
        raise NotFound(f"Nothing is kept of the lock {lock}.", hint="Its archive was removed meanwhile; keep it again.")
    return known


def offline(environment: Environment, workspace: "Workspace") -> Environment:
    """The environment, to be installed from its archive; raises NotFound or InvalidInput when the archive is not complete."""
    lock = lock_of(environment, workspace)
    if not lock:
        raise NotFound(f"Environment {environment.name!r} is not locked yet, so nothing of it is kept.", hint=_HINT)
    check(workspace._connection, environment.name, lock)
    return _with(environment, lock, offline=True)


def check(connection: Connection, name: str, lock: str) -> None:
    """Checks that a lock can be installed from its archive."""
    known = find(connection, lock)
    if known is None:
        raise NotFound(f"Nothing is kept of environment {name!r} (lock {lock[:12]}).", hint=_HINT, cli_hint=_cli(name))
    if not known.complete:
        raise InvalidInput(
            f"What is kept of environment {name!r} (lock {lock[:12]}) is not complete. Missing: {words(known)}",
            hint=_HINT,
            cli_hint=_cli(name),
        )


def facts(archive: Archive) -> dict[str, Any]:
    return {**codec.encode(archive), "missing": list(archive.missing), "complete": archive.complete}


def words(archive: Archive) -> str:
    """The first few missing files, as text."""
    more = f"; and {len(archive.missing) - 3} more" if len(archive.missing) > 3 else ""
    return "; ".join(archive.missing[:3]) + more


def _cli(name: str) -> str:
    return f"Where its indexes and channels can be reached: roost env archive {name}, or --run ID"


def _with(environment: Environment, lock: str, **how: bool) -> Environment:
    made = copy.copy(environment)
    made._install_from(lock, **how)
    return made


def _wait(run: "Run", out: TextIO | None) -> None:
    watcher = run._connection.watcher
    waiting.raise_for_failure(waiting.stream(watcher, run.id, run.get_portal_url(), out or sys.stderr))
