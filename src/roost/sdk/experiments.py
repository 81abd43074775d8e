"""`Experiment`: runs of one name in a workspace. `submit` sends a script to run, `start_logging` makes this process a run."""

# ruff: noqa: ARG002
# The signatures are the Azure ML SDK v1's: some of their parameters mean nothing here, and are accepted all the same.

import os
import time
from collections.abc import Iterator, Mapping

from roost.domain import codec, names
from roost.domain import workspaces as domain
from roost.domain.errors import InvalidInput
from roost.domain.runs import Reason, RunKind, RunSpec, RunStatus, Submission
from roost.domain.runs import Run as RunRecord
from roost.sdk import git, interactive, records, snapshots
from roost.sdk.runs import Run
from roost.sdk.submissions import ScriptRunConfig
from roost.sdk.workspaces import Workspace
from roost.transport.client import path_of

Tags = Mapping[str, str | None]


class Experiment:
    """Made in the workspace when it is constructed, as the SDK does it."""

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
        if _create_in_cloud:
            route = path_of("workspaces", workspace.name, "experiments", name)
            self._id = codec.decode(domain.Experiment, workspace._connection.client.call("PUT", route)).id

    @property
    def workspace(self) -> Workspace:
        return self._workspace

    @property
    def name(self) -> str:
        return self._name

    @property
    def id(self) -> str:
        return self._id

    def submit(self, config: ScriptRunConfig, tags: Tags | None = None, **kwargs: object) -> Run:
        """Snapshots the folder and sends the run; returns at once. Nothing is made when anything is wrong."""
        if not isinstance(config, ScriptRunConfig):
            raise InvalidInput(f"Roost can submit a ScriptRunConfig, got {type(config).__name__}.")
        display_name = str(kwargs.pop("display_name", "") or "")
        if kwargs:
            raise InvalidInput(f"submit() has no parameter {', '.join(map(repr, kwargs))}.")
        labels = _tags(tags)
        script = config.check()
        connection = self._workspace._connection
        folder = config.source_directory
        with git.look(folder) as state:
            snapshot = snapshots.take(folder, connection.bytes, connection.home, needs=script)
            properties = state.properties()
        submission = Submission(
            id=names.new_run_id(self._name, time.time()),
            experiment=self._name,
            spec=config.spec(snapshot),
            display_name=display_name,
            tags=labels,
            properties=properties,
        )
        return Run._of(self, self._send(submission))

    def start_logging(
        self,
        *args: object,
        outputs: str | os.PathLike[str] | None = None,
        snapshot_directory: str | os.PathLike[str] | None = None,
        display_name: str | None = None,
        tags: Tags | None = None,
        **kwargs: object,
    ) -> Run:
        """A run whose script is this process. End it with `complete()`, `fail()`, or as a `with` block."""
        connection = self._workspace._connection
        snapshot = ""
        if snapshot_directory:
            snapshot = snapshots.take(os.fspath(snapshot_directory), connection.bytes, connection.home)
        submission = Submission(
            id=names.new_run_id(self._name, time.time()),
            experiment=self._name,
            spec=RunSpec(kind=RunKind.INTERACTIVE, snapshot=snapshot),
            display_name=display_name or "",
            tags=_tags(tags),
        )
        record = self._send(submission)
        interactive.report(connection.client, record.id, RunStatus.RUNNING, Reason.LOGGING)
        session = interactive.Session(connection, record.id)
        return Run._of(self, record, session=session, outputs=os.fspath(outputs) if outputs else None)

    def get_runs(
        self,
        type: str | None = None,  # noqa: A002 - the SDK's name for it
        tags: Tags | str | None = None,
        properties: Tags | str | None = None,
        include_children: bool = False,
    ) -> Iterator[Run]:
        """The experiment's runs, newest first."""
        found = records.listing(
            self._workspace._connection.client,
            self._workspace.name,
            experiment=self._name,
            tags={tags: None} if isinstance(tags, str) else tags,
            properties={properties: None} if isinstance(properties, str) else properties,
            include_children=include_children,
        )
        return iter([Run._of(self, record) for record in found if type is None or _type_of(record) == type])

    def _send(self, submission: Submission) -> RunRecord:
        route = path_of("workspaces", self._workspace.name, "runs")
        answer = self._workspace._connection.client.call("POST", route, json=codec.encode(submission))
        return codec.decode(RunRecord, answer)

    def __repr__(self) -> str:
        return f"Experiment(name={self._name!r}, workspace={self._workspace.name!r})"


def _type_of(record: RunRecord) -> str:
    """The SDK's word for where a run came from."""
    return "azureml.scriptrun" if record.spec.kind is RunKind.SCRIPT else "azureml.interactive"


def _tags(tags: Tags | None) -> dict[str, str | None]:
    if tags is None:
        return {}
    if not isinstance(tags, Mapping):
        raise InvalidInput(f"tags must be a dict, got {type(tags).__name__}.", hint="tags={'model': 'resnet'}")
    return {str(key): None if value is None else str(value) for key, value in tags.items()}
