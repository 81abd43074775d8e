"""Repeats a run: the same snapshot, arguments, target, environment and submitted tags, as a new run with a reference to the
first. Tags that were added later describe the first run's results, and are not copied.

The environment is installed from the first run's lock, even if an index has changed since; `fresh` resolves it again.
"""

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from roost.domain import codec, names
from roost.domain.environments import LOCK_FILE
from roost.domain.errors import InvalidInput
from roost.domain.runs import Run as RunRecord
from roost.domain.runs import RunKind, RunSpec, Submission
from roost.sdk import late
from roost.sdk.calls import downloads
from roost.sdk.connection.connections import Connection
from roost.transport.client import path_of

if TYPE_CHECKING:
    from roost.sdk.runs.runs import Run

REPEATS = "roost.repeats"
"""The property with the id of the repeated run."""


def repeat(run: "Run", fresh: bool = False, offline: bool = False) -> "Run":
    """The new run; `offline` installs from the archive of its lock, without network. Raises InvalidInput for a run that was
    not submitted: its process was the caller's own."""
    client = run._connection.client
    first = codec.decode(RunRecord, client.call("GET", path_of("runs", run.id)))
    if first.spec.kind is not RunKind.SCRIPT:
        raise InvalidInput(
            f"Run {run.id} was not submitted but logged by a process of its own; there is nothing to run again.",
            hint="Runs made with `roost submit` or `experiment.submit` can be repeated.",
        )
    if fresh and offline:
        raise InvalidInput("What is resolved anew cannot be had offline.", hint="Give fresh or offline, not both.")
    submission = Submission(
        id=names.new_run_id(first.experiment, time.time()),
        experiment=first.experiment,
        spec=_spec(run._connection, first, fresh, offline),
        display_name=first.display_name,
        description=first.description,
        tags=first.given_tags,
        properties={**first.properties, REPEATS: first.id},
    )
    answer = client.call("POST", path_of("workspaces", first.workspace, "runs"), json=codec.encode(submission))
    return type(run)._of(run.experiment, codec.decode(RunRecord, answer))


def _spec(connection: Connection, first: RunRecord, fresh: bool, offline: bool) -> RunSpec:
    if first.spec.environment is None:
        return first.spec  # nothing is installed for it, with or without a network
    if fresh:
        docker = codec.encode(first.spec.docker) if first.spec.docker is not None else None
        body = {"definition": first.spec.environment.definition, "docker": docker, "forget": True}
        connection.client.call("POST", path_of("workspaces", first.workspace, "builds"), json=body)
    lock = "" if fresh else lock_of(connection, first.id)
    offline = offline and bool(lock)
    if offline:
        _check_kept(connection, first, lock)
    use = replace(first.spec.environment, lock=lock, archive=False, offline=offline)
    return replace(first.spec, environment=use)


def _check_kept(connection: Connection, first: RunRecord, lock: str) -> None:
    assert first.spec.environment is not None
    late.archives.check(connection, first.spec.environment.name, lock)


def lock_of(connection: Connection, run_id: str) -> str:
    """The blob of the lock from which a run was installed; empty for none."""
    return next((file.blob for file in downloads.listing(connection, run_id, LOCK_FILE)), "")


def lock_text(connection: Connection, run_id: str) -> str:
    """The text of a run's lock: what was installed."""
    return connection.client.fetch("GET", path_of("runs", run_id, "files", LOCK_FILE)).body.decode()
