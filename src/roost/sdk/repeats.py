"""A run once more: the same snapshot, arguments, target, environment and tags that it was submitted with, as a new run that says
which one it repeats. Tags that came later tell of that run's results, and stay with it."""

import time
from typing import TYPE_CHECKING

from roost.domain import codec, names
from roost.domain.errors import InvalidInput
from roost.domain.runs import Run as RunRecord
from roost.domain.runs import RunKind, Submission
from roost.transport.client import path_of

if TYPE_CHECKING:
    from roost.sdk.runs import Run

REPEATS = "roost.repeats"
"""The property that holds the id of the run that is repeated."""


def repeat(run: "Run") -> "Run":
    """The new run. InvalidInput for one that was not submitted: its process was the caller's own."""
    client = run._connection.client
    first = codec.decode(RunRecord, client.call("GET", path_of("runs", run.id)))
    if first.spec.kind is not RunKind.SCRIPT:
        raise InvalidInput(
            f"Run {run.id} was not submitted but logged by a process of its own; there is nothing to run again.",
            hint="Runs made with `roost submit` or `experiment.submit` can be repeated.",
        )
    submission = Submission(
        id=names.new_run_id(first.experiment, time.time()),
        experiment=first.experiment,
        spec=first.spec,
        display_name=first.display_name,
        tags=first.given_tags,
        properties={**first.properties, REPEATS: first.id},
    )
    answer = client.call("POST", path_of("workspaces", first.workspace, "runs"), json=codec.encode(submission))
    return type(run)._of(run.experiment, codec.decode(RunRecord, answer))
