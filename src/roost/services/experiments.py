"""Experiments: made at first use, found by name, tagged, archived and restored."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from roost.domain import names
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.domain.workspaces import Experiment
from roost.services import submissions
from roost.services.context import Context


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Changes to an experiment; a field that is left out changes nothing."""

    tags: Mapping[str, str | None] = field(default_factory=dict)
    remove_tags: tuple[str, ...] = ()
    archived: bool | None = None


def ensure(context: Context, caller: Caller, workspace: str, name: str) -> Experiment:
    caller.require(Action.EXPERIMENT_CREATE)
    return _ensure(context, caller, workspace, name)


def _ensure(context: Context, caller: Caller, workspace: str, name: str) -> Experiment:
    names.experiment(name)
    context.store.workspaces.get(names.workspace(workspace))
    return context.store.experiments.ensure(
        Experiment(id=str(uuid.uuid4()), workspace=workspace, name=name, user=caller.user, created_at=context.clock())
    )


def active(context: Context, caller: Caller, workspace: str, name: str) -> Experiment:
    """The experiment of a new run: made if there is none, restored if it was archived."""
    found = _ensure(context, caller, workspace, name)
    return context.store.experiments.archive(workspace, name, None) if found.archived_at is not None else found


def get(context: Context, caller: Caller, workspace: str, name: str) -> Experiment:
    caller.require(Action.EXPERIMENT_READ)
    return context.store.experiments.get(names.workspace(workspace), names.experiment(name))


def listing(context: Context, caller: Caller, workspace: str, *, replicas: bool = False) -> Sequence[Experiment]:
    """By name; with `replicas` also those that only ever held an endpoint's replicas."""
    caller.require(Action.EXPERIMENT_READ)
    place = context.store.workspaces.get(names.workspace(workspace)).name
    return context.store.experiments.list(place, replicas=replicas)


def change(context: Context, caller: Caller, workspace: str, name: str, changes: Changes) -> Experiment:
    caller.require(Action.EXPERIMENT_CHANGE)
    found = context.store.experiments.get(names.workspace(workspace), names.experiment(name))
    submissions.check_labels(changes.tags, {})
    if changes.tags or changes.remove_tags:
        found = context.store.experiments.annotate(workspace, name, tags=changes.tags, remove_tags=changes.remove_tags)
    if changes.archived is not None and changes.archived != (found.archived_at is not None):
        found = context.store.experiments.archive(workspace, name, context.clock() if changes.archived else None)
    return found


def delete(context: Context, caller: Caller, workspace: str, name: str) -> None:
    """An experiment with runs is refused: deleting it would lose them."""
    caller.require(Action.EXPERIMENT_DELETE)
    context.store.experiments.delete(names.workspace(workspace), names.experiment(name))
