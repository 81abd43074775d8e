"""Children: runs that a run's script, or a person, makes below it. `runs.py` ends them with their parent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from roost.domain.errors import Conflict, InvalidInput
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.domain.runs import Reason, Run, RunKind, RunStatus, Submission
from roost.services import lineage, runs, submissions
from roost.services.context import Context

MAX_CHILDREN = 1000


@dataclass(frozen=True, kw_only=True)
class Newborn:
    """Children to make, at most a thousand at a time. The run they are made below becomes their `parent_id`."""

    children: tuple[Submission, ...]
    start: bool = True
    """True when children that live in their parent's process start at once."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A selection of the runs below a run."""

    recursive: bool = False
    tags: Mapping[str, str | None] = field(default_factory=dict)
    """Each key must exist; a value other than None must be equal."""
    properties: Mapping[str, str | None] = field(default_factory=dict)
    status: Sequence[RunStatus] = ()
    kind: RunKind | None = None


def create(context: Context, caller: Caller, run_id: str, asked: Newborn) -> list[Run]:
    """Makes children; a request that is sent twice makes them once. All are checked before the first is made."""
    caller.require(Action.RUN_CREATE_CHILD)
    parent = runs.find(context, run_id)
    if len(asked.children) > MAX_CHILDREN:
        raise InvalidInput(f"{len(asked.children)} children were asked for; at most {MAX_CHILDREN} are made at once.")
    if caller.is_run and _is_leaving(parent):
        raise Conflict(f"Run {parent.id} is {parent.status.value}; its script cannot make children any more.")
    wanted = [replace(child, parent_id=parent.id) for child in asked.children]
    for child in wanted:
        submissions.check(context, parent.workspace, child)
    made = [_create(context, caller, parent, child, asked.start) for child in wanted]
    parent = runs.find(context, run_id)
    if caller.is_run and _is_leaving(parent):  # it was cancelled, or ended, meanwhile
        for run in made:
            if parent.status is not RunStatus.COMPLETED and run.spec.kind is RunKind.SCRIPT:
                runs.cancel(context, caller, run.id)
        if parent.status.is_terminal:
            runs.end_children(context, parent)
        made = [runs.find(context, child.id) for child in made]
    return made


def _is_leaving(run: Run) -> bool:
    return run.status.is_terminal or run.status is RunStatus.CANCEL_REQUESTED


def _create(context: Context, caller: Caller, parent: Run, child: Submission, start: bool) -> Run:
    run, new = runs.add(context, caller, parent.workspace, child)
    if new and start and run.spec.kind is RunKind.INTERACTIVE:
        run, _ = runs.move(context, run.id, RunStatus.RUNNING, Reason.LOGGING, "")
    return run


def listing(context: Context, caller: Caller, run_id: str, wanted: Wanted) -> list[Run]:
    """The matching runs below a run, newest first in each generation."""
    caller.require(Action.RUN_READ)
    run = runs.find(context, run_id)
    found = lineage.below(context, run) if wanted.recursive else lineage.children(context, run)
    return [each for each in found if _fits(each, wanted)]


def _fits(run: Run, wanted: Wanted) -> bool:
    labels = ((run.tags, wanted.tags), (run.properties, wanted.properties))
    return (
        (not wanted.status or run.status in wanted.status)
        and (wanted.kind is None or run.spec.kind is wanted.kind)
        and all(key in has and value in (None, has[key]) for has, needs in labels for key, value in needs.items())
    )
