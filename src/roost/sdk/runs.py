"""`Run` as a person holds it: the job library's Run with a link over HTTP, and what only somebody outside can do.

Logging, tags, files and metrics are inherited (`roost_job.run`); waiting is in `waiting.py`, downloads in `downloads.py`.
Inside a job `get_context` gives this class too, with the agent's door as its link.
"""

# ruff: noqa: ARG002
# The signatures are the Azure ML SDK v1's: some of their parameters mean nothing here, and are accepted all the same.

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roost.domain import codec
from roost.domain.errors import InvalidInput
from roost.domain.runs import Reason, RunKind, RunStatus
from roost.domain.runs import Run as RunRecord
from roost.sdk import downloads, interactive, records, waiting
from roost.sdk.connections import Connection
from roost.sdk.links import HttpLink
from roost.transport.client import path_of
from roost_job import run as job
from roost_job.exceptions import AzureMLException, ExperimentExecutionException, RunEnvironmentException
from roost_job.spool import Writer

if TYPE_CHECKING:
    from roost.sdk.experiments import Experiment
    from roost.sdk.workspaces import Workspace


class Run(job.Run):
    """A run of an experiment."""

    def __init__(self, experiment: "Experiment", run_id: str, outputs: str | None = None, **kwargs: Any) -> None:
        workspace = getattr(experiment, "workspace", None)
        self._reach: Connection | None = getattr(workspace, "_connection", None) if "_job" not in kwargs else None
        self._session: interactive.Session | None = kwargs.get("_session")
        self._seen: RunRecord | None = kwargs.get("_record")
        if self._reach is None and "_job" not in kwargs:
            raise InvalidInput(
                f"experiment must be an Experiment, got {type(experiment).__name__}.", hint="Run(experiment, run_id)"
            )
        if self._reach is not None and self._seen is None:
            self._seen = records.find(self._reach, run_id, experiment.workspace.name)
        super().__init__(experiment, run_id, outputs, **kwargs)

    @classmethod
    def _of(
        cls,
        experiment: "Experiment",
        record: RunRecord,
        session: interactive.Session | None = None,
        outputs: str | None = None,
    ) -> "Run":
        return cls(experiment, record.id, outputs, _record=record, _session=session)

    @staticmethod
    def get(workspace: "Workspace", run_id: str) -> "Run":
        """The run of that id; NotFound says which it may have been."""
        from roost.sdk.experiments import Experiment  # noqa: PLC0415 - experiments make runs: no circle

        record = records.find(workspace._connection, run_id, workspace.name)
        return Run._of(Experiment(workspace, record.experiment, _create_in_cloud=False), record)

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
        if self._session is None:
            self._session = interactive.Session(self._reach, self._run_id, owns=False)
        return Writer(str(self._session.folder))

    def _ship(self) -> None:
        if self._session is not None:
            self._session.flush()

    def _record_now(self) -> dict[str, Any]:
        found = super()._record_now()
        self._seen = codec.decode(RunRecord, found)
        return found

    def _now(self) -> RunRecord:
        return codec.decode(RunRecord, self._record_now())

    # ---- what it is

    @property
    def type(self) -> str:
        """The SDK's word for where it came from."""
        interactive_kind = self._seen is not None and self._seen.spec.kind is RunKind.INTERACTIVE
        return "azureml.interactive" if interactive_kind else "azureml.scriptrun"

    @property
    def start_time(self) -> datetime | None:
        return _moment(self._now().started_at)

    @property
    def end_time(self) -> datetime | None:
        return _moment(self._now().ended_at)

    def get_portal_url(self) -> str:
        """Where a browser shows it."""
        return f"{self._connection.url}/runs/{self.id}"

    def get_metrics(
        self, name: str | None = None, recursive: bool = False, run_type: object = None, populate: bool = False
    ) -> dict[str, Any]:
        """What was logged, by name; with `recursive` by run id, then by name, of this run and those below it."""
        found = super().get_metrics(name, recursive)
        if recursive and self._reach is not None:
            for child in records.listing(self._reach.client, self.experiment.workspace.name, parent_id=self.id):
                found.update(Run._of(self.experiment, child).get_metrics(name, recursive=True))
        return found

    def __repr__(self) -> str:
        status = f",\nStatus: {self._seen.status.value}" if self._seen else ""
        return f"Run(Experiment: {self.experiment.name},\nId: {self.id},\nType: {self.type}{status})"

    # ---- its files

    def download_file(self, name: str, output_file_path: str | None = None, _validate_checksum: bool = False) -> None:
        """Writes a file of the run to `output_file_path`: a file's path, or a folder that it keeps its own name in."""
        super().download_file(name, output_file_path)

    def download_files(  # type: ignore[override]  # the SDK's own order of parameters
        self,
        prefix: str | None = None,
        output_directory: str | None = None,
        output_paths: Sequence[str] | None = None,
        batch_size: int = 100,
        append_prefix: bool = True,
    ) -> None:
        """Downloads the run's files, or those below the folder `prefix`; see `roost_job.files`. Several at once here."""
        if self._reach is None:
            super().download_files(prefix, output_directory, output_paths, append_prefix)
        else:
            downloads.fetch_folder(self._reach, self.id, prefix or "", output_directory, output_paths, append_prefix)

    # ---- waiting for its end

    def wait_for_completion(
        self, show_output: bool = False, wait_post_processing: bool = False, raise_on_error: bool = True
    ) -> dict[str, Any]:
        """Waits, with `show_output` printing the log as it comes; the details. A run that failed raises
        ActivityFailedException; Ctrl-C raises ExperimentExecutionException, and the run goes on."""
        client = self._connection.watcher
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
            waiting.raise_for_failure(run)
        return self.get_details()

    # ---- ending it

    def cancel(self) -> None:
        """Asks the run and all its processes to end."""
        if self._reach is None:
            super().cancel()
            return
        answer = self._reach.client.call("POST", path_of("runs", self.id, "cancel"))
        self._seen = codec.decode(RunRecord, answer)
        self._finish(RunStatus.CANCELED, Reason.CANCELED_BY_USER, "")

    def complete(self, _set_status: bool = True) -> None:
        """Ends an interactive run: everything it logged and its outputs are kept when this returns."""
        if self._reach is None:
            super().complete()
        else:
            self._end(RunStatus.COMPLETED, Reason.DONE, "")

    def fail(self, error_details: Any = None, error_code: str | None = None, _set_status: bool = True) -> None:
        """Ends an interactive run as failed."""
        if self._reach is None:
            super().fail(error_details, error_code)
        else:
            words = ": ".join(str(each) for each in (error_code, error_details) if each)
            self._end(RunStatus.FAILED, Reason.MARKED_FAILED, words)

    def _end(self, to: RunStatus, reason: Reason, message: str) -> None:
        if self.type != "azureml.interactive":
            raise InvalidInput(
                f"Run {self.id} was submitted: its script's end decides its status.", hint="run.cancel() ends it."
            )
        if self._outputs and Path(self._outputs).is_dir():
            self.upload_folder("outputs", os.fspath(self._outputs))
        if not self._finish(to, reason, message):
            interactive.report(self._connection.client, self.id, to, reason, message)

    def _finish(self, to: RunStatus, reason: Reason, message: str) -> bool:
        """Ends what this process ships for the run, if it does. What is logged afterwards begins anew: it is never lost."""
        session, self._session = self._session, None
        spool, self._spool = self._spool, None
        if spool is not None:
            spool.close()
        if session is None:
            return False
        try:
            session.finish(to, reason, message)
        except AzureMLException:
            self._session = session  # the control plane is away: nothing was lost, and it can be said again
            raise
        return session.owns


def _moment(seconds: float | None) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds is not None else None
