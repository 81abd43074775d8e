"""`Run` outside of jobs: the job library's Run with a link over HTTP, and the operations that are only possible from outside.

Logging, tags, files and metrics are inherited (`roost_job.run`); waiting is in `waiting.py`, downloads in `calls/downloads.py`.
Inside a job, `get_context` returns this class too, with the agent's door as its link.
"""

# ruff: noqa: ARG002
# Signatures are those of the Azure ML SDK v1: parameters that mean nothing here are accepted without effect.

import builtins
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roost.domain import codec
from roost.domain.errors import InvalidInput
from roost.domain.runs import Reason, RunKind, RunStatus
from roost.domain.runs import Run as RunRecord
from roost.sdk import late
from roost.sdk.calls import downloads, run_records
from roost.sdk.calls.links import HttpLink
from roost.sdk.connection.connections import Connection
from roost.sdk.core import html_tables
from roost.sdk.runs import waiting
from roost.transport.client import path_of
from roost_job import run as job
from roost_job.context import job_here
from roost_job.exceptions import AzureMLException, ExperimentExecutionException, RunEnvironmentException
from roost_job.tracking.children import KINDS, Labels, wanted
from roost_job.tracking.spool import Writer

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace
    from roost.sdk.data.datapaths import DataPath
    from roost.sdk.environments.environments import Environment
    from roost.sdk.runs.experiments import Experiment
    from roost.sdk.runs.interactive import Session


class Run(job.Run):
    """A run of an experiment."""

    def __init__(self, experiment: "Experiment", run_id: str, outputs: str | None = None, **kwargs: Any) -> None:
        workspace = getattr(experiment, "workspace", None)
        self._reach: Connection | None = getattr(workspace, "_connection", None) if "_job" not in kwargs else None
        self._session: Session | None = kwargs.get("_session")
        self._host: Session | None = kwargs.get("_host")
        self._seen: RunRecord | None = kwargs.get("_record")
        if self._reach is None and "_job" not in kwargs:
            raise InvalidInput(
                f"experiment must be an Experiment, got {type(experiment).__name__}.", hint="Run(experiment, run_id)"
            )
        if self._reach is not None and self._seen is None:
            self._seen = run_records.find(self._reach, run_id, experiment.workspace.name)
        super().__init__(experiment, run_id, outputs, **kwargs)

    @classmethod
    def _of(
        cls,
        experiment: "Experiment",
        record: RunRecord,
        session: "Session | None" = None,
        outputs: str | None = None,
        host: "Session | None" = None,
    ) -> "Run":
        kind = record.spec.kind.value
        return cls(experiment, record.id, outputs, _record=record, _session=session, _host=host, _kind=kind)

    def _relative(self, record: Mapping[str, Any], above: bool = False, **more: Any) -> "Run":
        """Another run of the same family. A child of this process's own run logs through its parent's session."""
        if self._reach is None:
            found: Run = super()._relative(record, above, **more)
            return found
        run = (
            codec.decode(RunRecord, record) if "status" in record else run_records.get(self._reach.client, record["id"])
        )
        same = run.experiment == self.experiment.name
        experiment = (
            self.experiment
            if same
            else late.Experiment(self.experiment.workspace, run.experiment, _create_in_cloud=False)
        )
        host = self._host or (self._session if self._session is not None and self._session.owns else None)
        if above or run.spec.kind is not RunKind.INTERACTIVE or (host is not None and host.ended):
            host = None
        lives_here = bool(more.get("lives_here")) and host is None
        session = self._new_session(run.id) if lives_here else None
        return Run._of(experiment, run, session=session, outputs=more.get("outputs"), host=host)

    @staticmethod
    def get(workspace: "Workspace", run_id: str) -> "Run":
        """The run of that id; NotFound suggests similar ids."""
        record = run_records.find(workspace._connection, run_id, workspace.name)
        return Run._of(late.Experiment(workspace, record.experiment, _create_in_cloud=False), record)

    # ---- how it is reached

    @property
    def _connection(self) -> Connection:
        if self._reach is None:
            raise RunEnvironmentException(
                f"Run {self.id} cannot do this from inside its own job.", hint="Do it where the run was submitted."
            )
        return self._reach

    def _open_link(self) -> Any:
        if self._reach is None:
            return super()._open_link()
        return HttpLink(self._reach, self._run_id, self._ship)

    def _open_spool(self) -> Writer:
        if self._reach is None:
            return super()._open_spool()
        if self._host is not None and not self._host.ended:
            self._host.host(self._let_go)
            return Writer(str(self._host.folder / self._run_id))
        if self._session is None:
            self._session = self._new_session(self._run_id, owns=False)
        return Writer(str(self._session.folder))

    def _new_session(self, run_id: str, owns: bool = True) -> "Session":
        return late.Session(self._connection, run_id, owns=owns)

    def _ship(self) -> None:
        for session in (self._session, self._host):
            if session is not None:
                session.flush()

    def _let_go(self) -> None:
        """Called when the parent run ends: later values are logged through a separate session."""
        spool, self._spool, self._host = self._spool, None, None
        if spool is not None:
            spool.close()

    def _record_now(self) -> dict[str, Any]:
        found = super()._record_now()
        self._seen = codec.decode(RunRecord, found)
        return found

    def _now(self) -> RunRecord:
        return codec.decode(RunRecord, self._record_now())

    # ---- what it is

    @property
    def start_time(self) -> datetime | None:
        return _moment(self._now().started_at)

    @property
    def end_time(self) -> datetime | None:
        return _moment(self._now().ended_at)

    def get_environment(self) -> "Environment":
        """The environment it was submitted with. Its `lock` is exactly what was installed; submitted again unchanged, the
        same is installed again."""
        spec = self._now().spec
        if spec.environment is not None:
            if self._reach is None:
                return late.environments.of_run(spec.environment, spec.docker, "", str)
            lock = late.repeats.lock_of(self._reach, self.id)
            text = partial(late.repeats.lock_text, self._reach, self.id)
            return late.environments.of_run(spec.environment, spec.docker, lock, text)
        return late.environments.plain(spec.interpreter, spec.environment_variables)

    def _is_here(self) -> bool:
        return self._reach is None and super()._is_here()

    def _data(self, given: Mapping[str, Any]) -> Any:
        if self._reach is None:
            return super()._data(given)
        return late.dataset_factory.of_use(self.experiment.workspace, given)

    def _model(self, facts: Any) -> Any:
        return late.Model._of(self.experiment.workspace, facts)

    def get_portal_url(self) -> str:
        """The address of its page."""
        return super().get_portal_url() if self._reach is None else f"{self._reach.url}/runs/{self.id}"

    @staticmethod
    def list(
        experiment: "Experiment",
        type: str | None = None,  # noqa: A002 - the SDK's name for it
        tags: Labels = None,
        properties: Labels = None,
        status: str | None = None,
        include_children: bool = False,
        _rehydrate_runs: bool = True,
    ) -> "Iterator[Run]":
        """Runs of an experiment, newest first."""
        if type is not None and type not in KINDS:
            return iter(())
        found = run_records.listing(
            experiment.workspace._connection.client,
            experiment.workspace.name,
            experiment=experiment.name,
            status=_status(status),
            kind=RunKind(KINDS[type]) if type else None,
            tags=wanted("tags", tags),
            properties=wanted("properties", properties),
            include_children=include_children,
        )
        return iter([Run._of(experiment, record) for record in found])

    def submit_child(self, config: Any, tags: Mapping[str, str | None] | None = None, **kwargs: Any) -> "Run":
        """Submits a script as a separate run below this one; also from inside a job."""
        if self._reach is not None:
            blobs: Any = self._reach.bytes
            home = self._reach.home
        else:
            assert self._job is not None
            blobs, home = late.composing.DoorBlobs(self._link), Path(self._job.spool).parent
        submission = late.composing.compose(self.experiment.name, config, tags, blobs, home, **kwargs)
        if self._reach is not None:
            submission = replace(submission, spec=late.environments.note(self.experiment.workspace, submission.spec))
        (record,) = self._link.ask("bear", children=[codec.encode(submission)], start=False)
        return self._relative(record)

    def repeat(self, fresh: bool = False, offline: bool = False) -> "Run":
        """Submits it again: the same snapshot, arguments and target, installed from the same lock. `fresh` resolves its
        environment again; `offline` installs from the archive (`Environment.archive`), without network."""
        return late.repeats.repeat(self, fresh, offline)

    def get_all_logs(self, destination: str | None = None) -> "builtins.list[str]":
        """Downloads every log to a folder, `destination` or the current one; returns the paths of the files."""
        folder = Path(destination) if destination is not None else Path.cwd()
        found = list(self.get_details()["logFiles"])
        for name in found:
            self.download_file(name, str(folder / name))
        return [str(folder / name) for name in found]

    def _status_to_show(self) -> str:
        """The current status. Does not wait for, or start, a control plane that is unavailable: then returns the last known
        status."""
        if self._reach is not None and (self._seen is None or not self._seen.status.is_terminal):
            with suppress(AzureMLException):
                self._seen = run_records.get(self._reach.background, self.id)
        return self._seen.status.value if self._seen else ""

    def __repr__(self) -> str:
        status = self._status_to_show()
        shown = f",\nStatus: {status}" if status else ""
        return f"Run(Experiment: {self.experiment.name},\nId: {self.id},\nType: {self.type}{shown})"

    def _repr_html_(self) -> str:
        status = self._status_to_show()
        cells = {"Experiment": self.experiment.name, "Id": self.id, "Type": self.type, "Status": status}
        return html_tables.table(cells, {"Details Page": ("Link to Roost", self.get_portal_url())})

    # ---- its files

    def download_file(self, name: str, output_file_path: str | None = None, _validate_checksum: bool = False) -> None:
        """Writes a file of the run to `output_file_path`: a file's path, or a folder in which it keeps its name."""
        super().download_file(name, output_file_path)

    def download_files(  # type: ignore[override]  # the SDK's own order of parameters
        self,
        prefix: str | None = None,
        output_directory: str | None = None,
        output_paths: Sequence[str] | None = None,
        batch_size: int = 100,
        append_prefix: bool = True,
        timeout_seconds: int | None = None,
    ) -> None:
        """Downloads the run's files, or those below the folder `prefix`; see `roost_job.tracking.files`. Downloads several at
        once, without a time limit: `batch_size` and `timeout_seconds` have no effect."""
        if self._reach is None:
            super().download_files(prefix, output_directory, output_paths, append_prefix)
        else:
            downloads.fetch_folder(self._reach, self.id, prefix or "", output_directory, output_paths, append_prefix)

    def _get_outputs_datapath(self) -> "DataPath":
        """Its outputs as a place in the workspace's default datastore, for `resume_from`; see `run_outputs.py`."""
        _ = self._connection  # inside its own job this raises, with a hint where it is possible
        return late.run_outputs.datapath(self)

    # ---- waiting for its end

    def wait_for_completion(
        self, show_output: bool = False, wait_post_processing: bool = False, raise_on_error: bool = True
    ) -> dict[str, Any]:
        """Waits for the end and returns the details; with `show_output` it prints the log. A run that failed raises
        ActivityFailedException; Ctrl-C raises ExperimentExecutionException, and the run continues."""
        if self._reach is None:
            return super().wait_for_completion(show_output, wait_post_processing, raise_on_error)
        client = self._reach.watcher
        try:
            url = self.get_portal_url()
            run = waiting.stream(client, self.id, url) if show_output else waiting.until_end(client, self.id)
        except KeyboardInterrupt:
            raise ExperimentExecutionException(
                "The output streaming for the run interrupted.\nBut the run is still executing on the compute target.",
                hint=f"Cancel it with: roost run cancel {self.id}",
            ) from None
        self._seen = run
        if raise_on_error:
            waiting.raise_for_failure(run, shown=show_output)
        return self.get_details()

    # ---- ending it

    def cancel(self) -> None:
        """Requests the end of the run and all its processes."""
        if self._reach is None:
            super().cancel()
            return
        answer = self._reach.client.call("POST", path_of("runs", self.id, "cancel"))
        self._seen = codec.decode(RunRecord, answer)
        self._finish(RunStatus.CANCELED, Reason.CANCELED_BY_USER, "")

    def complete(self, _set_status: bool = True) -> None:
        """Ends an interactive run: when this returns, everything it logged and its outputs are stored. A submitted run is
        ended with all its processes, as Completed."""
        if self._reach is None:
            super().complete()
        else:
            self._end(RunStatus.COMPLETED, Reason.DONE, "")

    def fail(self, error_details: Any = None, error_code: str | None = None, _set_status: bool = True) -> None:
        """Ends a run as failed, with that message; a submitted one with all its processes."""
        if self._reach is None:
            super().fail(error_details, error_code)
        else:
            self._end(RunStatus.FAILED, Reason.MARKED_FAILED, job.failure_words(error_details, error_code))

    def _end(self, to: RunStatus, reason: Reason, message: str) -> None:
        if self.type != "azureml.interactive":
            self._end_submitted(to, message)
            return
        tracks = self._session is not None and self._session.tracked is not None  # then the session stores them
        if self._outputs and not tracks and Path(self._outputs).is_dir():
            self.upload_folder(self._outputs_name, self._outputs)
        if not self._finish(to, reason, message):
            late.interactive.report(self._connection.client, self.id, to, reason, message)

    def _end_submitted(self, to: RunStatus, message: str) -> None:
        """Ends a submitted run from outside. A script cannot set its own run's status this way, however it got this object."""
        here = job_here()
        if here is None or here.run_id != self.id:
            self._ship()
            self._mark(to.value, message)
        elif to is RunStatus.FAILED:
            self._say_fail(message)

    def _finish(self, to: RunStatus, reason: Reason, message: str) -> bool:
        """Ends this process's session for the run, if there is one. Values logged later start a new session, so none is lost."""
        session, self._session = self._session, None
        spool, self._spool = self._spool, None
        if spool is not None:
            spool.close()
        if self._host is not None:
            self._host.flush()
        if session is None:
            return False
        try:
            session.finish(to, reason, message)
        except AzureMLException:
            self._session = session  # the control plane is unavailable: nothing is lost, and the call can be repeated
            raise
        return session.owns


def _status(given: str | None) -> RunStatus | None:
    try:
        return RunStatus(given) if given is not None else None
    except ValueError:
        choices = ", ".join(status.value for status in RunStatus)
        raise InvalidInput(f"There is no status {given!r}.", hint=f"It is one of: {choices}.") from None


def _moment(seconds: float | None) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds is not None else None
