"""`Experiment`: a named group of runs in a workspace. `submit` sends a script to run, `start_logging` makes this process a
run.
"""

# ruff: noqa: ARG002
# Signatures are those of the Azure ML SDK v1: parameters that mean nothing here are accepted without effect.

import builtins
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from roost.domain import codec, names
from roost.domain import workspaces as domain
from roost.domain.errors import InvalidInput, NotFound
from roost.domain.runs import Reason, RunKind, RunSpec, RunStatus, Submission
from roost.domain.runs import Run as RunRecord
from roost.sdk import late
from roost.sdk.core import html_tables
from roost.sdk.core.workspaces import Workspace
from roost.sdk.runs.runs import Run
from roost.transport.client import path_of
from roost_job.tracking.children import Labels, wanted

if TYPE_CHECKING:
    from roost.sdk.runs.submissions import ScriptRunConfig

Tags = Mapping[str, str | None]
_VIEWS = {"ActiveOnly": (False,), "ArchivedOnly": (True,), "All": (False, True)}


class Experiment:
    """The constructor creates it in the workspace, as in the SDK."""

    def __init__(
        self,
        workspace: Workspace,
        name: str,
        _skip_name_validation: bool = False,
        _id: str | None = None,
        _create_in_cloud: bool = True,
        **kwargs: object,
    ) -> None:
        if not isinstance(workspace, Workspace):
            raise InvalidInput(
                f"workspace must be a Workspace, got {type(workspace).__name__}.",
                hint="Workspace.from_config() gives one.",
            )
        self._name = names.experiment(name)
        self._workspace = workspace
        self._id = _id or ""
        self._record: domain.Experiment | None = None
        if _create_in_cloud:
            route = path_of("workspaces", workspace.name, "experiments", name)
            self._record = codec.decode(domain.Experiment, workspace._connection.client.call("PUT", route))
            self._id = self._record.id

    @property
    def workspace(self) -> Workspace:
        return self._workspace

    @property
    def name(self) -> str:
        return self._name

    @property
    def id(self) -> str:
        return self._id

    def submit(self, config: "ScriptRunConfig", tags: Tags | None = None, **kwargs: object) -> Run:
        """Snapshots the folder and sends the run; returns at once. Any error leaves nothing behind."""
        connection = self._workspace._connection
        composed = late.composing.compose(self._name, config, tags, connection.bytes, connection.home, **kwargs)
        late.environments.keep_passwords(self._workspace, config.run_config.chosen_environment())
        spec = late.environments.note(self._workspace, composed.spec)
        return Run._of(self, self._send(replace(composed, spec=spec)))

    def start_logging(
        self,
        *args: object,
        outputs: str | os.PathLike[str] | bool | None = None,
        snapshot_directory: str | os.PathLike[str] | None = None,
        display_name: str | None = None,
        tags: Tags | None = None,
        description: str | None = None,
        **kwargs: object,
    ) -> Run:
        """A run whose script is this process. End it with `complete()`, `fail()`, or as a `with` block. New files in the
        folder `outputs` (default `./outputs`) are then stored; `outputs=False` stores none."""
        connection = self._workspace._connection
        tracked = late.interactive_outputs.begin(outputs)
        labels, snapshot, properties = late.composing.tags_of(tags), "", {}
        if snapshot_directory:
            with late.git.look(os.fspath(snapshot_directory)) as state:
                snapshot = late.snapshots.take(os.fspath(snapshot_directory), connection.bytes, connection.home)
                properties = {**state.properties(), late.composing.SNAPSHOT_PROPERTY: snapshot}
        submission = Submission(
            id=names.new_run_id(self._name, time.time()),
            experiment=self._name,
            spec=RunSpec(kind=RunKind.INTERACTIVE, snapshot=snapshot),
            display_name=late.composing.text("display_name", display_name),
            description=late.composing.text("description", description),
            tags=labels,
            properties=properties,
        )
        record = late.interactive.report(
            connection.client, self._send(submission).id, RunStatus.RUNNING, Reason.LOGGING
        )
        session = late.interactive.Session(connection, record.id, tracked=tracked)
        return Run._of(self, record, session=session, outputs=str(tracked.folder) if tracked else None)

    def get_runs(
        self,
        type: str | None = None,  # noqa: A002 - the SDK's name for it
        tags: Labels = None,
        properties: Labels = None,
        status: str | None = None,
        include_children: bool = False,
    ) -> Iterator[Run]:
        """The experiment's runs, newest first."""
        return Run.list(self, type, tags, properties, status, include_children)

    @staticmethod
    def list(
        workspace: Workspace,
        experiment_name: str | None = None,
        view_type: str = "ActiveOnly",
        tags: Labels = None,
    ) -> "builtins.list[Experiment]":
        """The workspace's experiments by name: `ActiveOnly`, `ArchivedOnly` or `All`. An experiment that holds only a
        service's replicas is not listed; get it by name."""
        if view_type not in _VIEWS:
            raise InvalidInput(f"There is no view_type {view_type!r}.", hint=f"It is one of: {', '.join(_VIEWS)}.")
        found = _every(workspace, replicas=experiment_name is not None)
        needed = wanted("tags", tags).items()
        return [
            Experiment._of(workspace, each)
            for each in found
            if (each.archived_at is not None) in _VIEWS[view_type]
            and experiment_name in (None, each.name)
            and all(key in each.tags and value in (None, each.tags[key]) for key, value in needed)
        ]

    @staticmethod
    def delete(workspace: Workspace, experiment_id: str) -> None:
        """Deletes an experiment that has no runs."""
        every = _every(workspace, replicas=True)
        names_of = [each.name for each in every if experiment_id in (each.id, each.name)]
        if not names_of:
            raise NotFound(f"There is no experiment {experiment_id!r} in workspace {workspace.name!r}.")
        workspace._connection.client.call("DELETE", path_of("workspaces", workspace.name, "experiments", names_of[0]))

    @classmethod
    def _of(cls, workspace: Workspace, record: domain.Experiment) -> "Experiment":
        made = cls(workspace, record.name, _id=record.id, _create_in_cloud=False)
        made._record = record
        return made

    @property
    def tags(self) -> dict[str, str | None]:
        return dict(self._now().tags)

    @property
    def archived_time(self) -> datetime | None:
        """When it was archived; None while it is active."""
        at = self._now().archived_at
        return datetime.fromtimestamp(at, UTC) if at is not None else None

    def tag(self, key: str, value: str | None = None) -> None:
        """Sets one tag; the value is None when not given."""
        self.set_tags({key: value})

    def set_tags(self, tags: Tags) -> None:
        """Sets these tags; other tags stay."""
        self._change(tags=late.composing.tags_of(tags))

    def remove_tags(self, tags: str | Sequence[str]) -> None:
        self._change(remove_tags=[tags] if isinstance(tags, str) else [str(key) for key in tags])

    def archive(self) -> None:
        """Archives it: it is no longer listed, and its runs stay. The next submitted run reactivates it."""
        self._change(archived=True)

    def reactivate(self, new_name: str | None = None) -> None:
        """Makes it active again."""
        if new_name is not None:
            raise InvalidInput("Roost cannot rename an experiment.", hint="Call reactivate() without `new_name`.")
        self._change(archived=False)

    def refresh(self) -> None:
        """Reads it again from the control plane."""
        self._record = None
        self._now()

    def get_portal_url(self) -> str:
        """The address of its page."""
        return f"{self._workspace._connection.url}/?experiment={self._name}"

    def _route(self) -> str:
        return path_of("workspaces", self._workspace.name, "experiments", self._name)

    def _now(self) -> domain.Experiment:
        if self._record is None:
            answer = self._workspace._connection.client.call("GET", self._route())
            self._record = codec.decode(domain.Experiment, answer)
        return self._record

    def _change(self, **changes: object) -> None:
        answer = self._workspace._connection.client.call("PATCH", self._route(), json=changes)
        self._record = codec.decode(domain.Experiment, answer)

    def _send(self, submission: Submission) -> RunRecord:
        route = path_of("workspaces", self._workspace.name, "runs")
        answer = self._workspace._connection.client.call("POST", route, json=codec.encode(submission))
        return codec.decode(RunRecord, answer)

    def __repr__(self) -> str:
        return f"Experiment(Name: {self._name},\nWorkspace: {self._workspace.name})"

    def _repr_html_(self) -> str:
        cells = {"Name": self._name, "Workspace": self._workspace.name}
        return html_tables.table(cells, {"Report Page": ("Link to Roost", self.get_portal_url())})


def _every(workspace: Workspace, *, replicas: bool) -> list[domain.Experiment]:
    route = path_of("workspaces", workspace.name, "experiments")
    answer = workspace._connection.client.call("GET", route, params={"replicas": "true"} if replicas else None)
    return [codec.decode(domain.Experiment, item) for item in answer["experiments"]]
