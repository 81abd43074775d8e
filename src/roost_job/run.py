"""`Run`: the object that a training script uses. Start at `get_context`.

Logging goes to `_spool` (spool.py); every other request goes to `_link`, an object with `ask(op, **fields)` whose ops are the
door's (docs/how-it-works/wire.md). In a job that is the agent's door. The SDK extends this class with a link over HTTP by
overriding `_open_link` and `_open_spool`; inherited methods work the same there.
"""

import os
import sys
from threading import Lock
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

from roost_job.context import Job, experiment_of, job_here
from roost_job.data.run_data import RunData
from roost_job.door import DoorClient, KinDoor
from roost_job.exceptions import AzureMLException, RunEnvironmentException, UserErrorException
from roost_job.models.run_models import RunModels
from roost_job.secrets import RunSecrets
from roost_job.tracking import uploads, values, waiting
from roost_job.tracking.children import KINDS, RunChildren
from roost_job.tracking.details import details
from roost_job.tracking.files import RunFiles
from roost_job.tracking.metrics import RunMetrics
from roost_job.tracking.offline import _OfflineRun
from roost_job.tracking.spool import Writer

Self = TypeVar("Self", bound="Run")

END_FLUSH_SECONDS = 30.0
END_SECONDS = 20.0
"""The time that a caller of `fail()` or `complete()` waits for the end of a submitted run."""

_contexts: Dict[Tuple[type, Job], "Run"] = {}


class Run(RunMetrics, RunFiles, RunChildren, RunSecrets, RunData, RunModels):
    """A run. Any thread may use it, and so may forked workers, each with its own spool."""

    def __init__(self, experiment: Any, run_id: str, outputs: Optional[str] = None, **kwargs: Any) -> None:
        if not isinstance(run_id, str) or not run_id:
            raise UserErrorException("A run's id must be text that is not empty, got %.80r." % (run_id,))
        self._experiment = experiment
        self._run_id = run_id
        self._outputs = os.path.abspath(outputs) if outputs else None  # absolute: the script may change its folder
        self._outputs_name = uploads.folder_name(outputs) if outputs else "outputs"
        self._job: Optional[Job] = kwargs.get("_job")
        self._kin = bool(kwargs.get("_kin"))  # not the job's own run, but one that its token reaches
        self._above = bool(kwargs.get("_above"))
        self._kind = str(kwargs.get("_kind") or "")
        self._spool = None
        self._spool_lock = Lock()
        self._link = self._open_link()

    # ---- context

    @classmethod
    def get_submitted_run(cls: Type[Self], **kwargs: Any) -> Union[Self, _OfflineRun]:
        """The older name of `get_context`."""
        return cls.get_context(**kwargs)

    @classmethod
    def get_context(
        cls: Type[Self],
        allow_offline: bool = True,
        used_for_context_manager: bool = False,  # noqa: ARG003 - every run is a context manager
        **kwargs: Any,  # noqa: ARG003 - private settings of the SDK that scripts passed on
    ) -> Union[Self, _OfflineRun]:
        """The run of this process: the same object each time. Outside a run, an offline run, new each time."""
        job = job_here()
        if job is None:
            if allow_offline:
                return _OfflineRun()
            raise RunEnvironmentException(
                "There is no run here: ROOST_RUN_ID and ROOST_SPOOL are not set.",
                hint="Submit the script with `experiment.submit(…)`, or call `Run.get_context()` to work offline.",
            )
        known = _contexts.get((cls, job))
        if known is None:
            # Atomic, and without a lock that a fork could leave held: two concurrent threads both get the first object.
            known = _contexts.setdefault((cls, job), cls._for_job(job))
        assert isinstance(known, cls)
        return known

    @classmethod
    def _for_job(cls: Type[Self], job: Job) -> Self:
        """The run of the job that this process belongs to."""
        return cls(experiment_of(job), job.run_id, _job=job)

    def _open_link(self) -> Any:
        """The target of this run's requests. Here the agent's door, which serves only the run of its own job."""
        if self._job is None:
            self._job = job_here()
        if self._job is None or (self._job.run_id != self._run_id and not self._kin):
            raise RunEnvironmentException(
                "Run %s is not the run of this job." % self._run_id,
                hint="Other runs are read with the Roost SDK, which needs Python 3.11 or later.",
            )
        door = DoorClient(self._job.door)
        return KinDoor(door, self._run_id) if self._kin else door

    def _open_spool(self) -> Writer:
        """A spool; for a child in its own folder below the job's: the agent ships each to its run."""
        if self._job is None or self._above:
            raise RunEnvironmentException(
                "Run %s cannot be logged to from this process." % self._run_id,
                hint="A script logs to its own run and to those below it.",
            )
        return Writer(os.path.join(self._job.spool, self._run_id) if self._kin else self._job.spool, self._job.rank)

    def _relative(self, record: Mapping[str, Any], above: bool = False, **more: Any) -> Any:
        """Another run of the same family."""
        if self._job is not None and record["id"] == self._job.run_id:
            return type(self).get_context()
        kind = (record.get("spec") or {}).get("kind")
        given = {"_job": self._job, "_kin": True, "_above": above, "_kind": kind}
        return type(self)(self._experiment, record["id"], more.get("outputs"), **given)

    # ---- what it is

    @property
    def id(self) -> str:
        return self._run_id

    @property
    def experiment(self) -> Any:
        """Its experiment: `.name`, `.workspace`."""
        return self._experiment

    def _record_now(self) -> Dict[str, Any]:
        """The run's current record from the control plane."""
        record: Dict[str, Any] = self._link.ask("run")
        return record

    @property
    def type(self) -> str:
        """Its origin: `azureml.scriptrun` for a submitted run, `azureml.interactive` for one in the user's own process,
        `roost.replica` for a replica of a service."""
        if not self._kind:
            self._kind = str((self._record_now().get("spec") or {}).get("kind") or "script")
        return next((word for word, kind in KINDS.items() if kind == self._kind), "roost." + self._kind)

    @property
    def number(self) -> int:
        return int(self._record_now()["number"])

    @property
    def display_name(self) -> str:
        return str(self._record_now().get("display_name") or "")

    @display_name.setter
    def display_name(self, name: str) -> None:
        self._link.ask("annotate", display_name=values.text("A display name", name))

    @property
    def name(self) -> str:
        """The older name of `display_name`."""
        return self.display_name

    @name.setter
    def name(self, name: str) -> None:
        self.display_name = name

    @property
    def description(self) -> str:
        """The description by its people; empty for none."""
        return str(self._record_now().get("description") or "")

    @description.setter
    def description(self, description: str) -> None:
        self._link.ask("annotate", description=values.text("A description", description))

    @property
    def status(self) -> str:
        return self.get_status()

    def get_status(self) -> str:
        return str(self._record_now()["status"])

    def get_details(self) -> Dict[str, Any]:
        """The details of the run, under the names that scripts read."""
        return details(self._record_now(), self.get_file_names(), self._link.ask("uses"), self._data)

    def get_portal_url(self) -> str:
        """The address of its page in a browser."""
        return "%s/runs/%s" % (os.environ.get("AZUREML_SERVICE_ENDPOINT", "").rstrip("/"), self._run_id)

    def get_details_with_logs(self) -> Dict[str, Any]:
        """The details, with the content of each log instead of its address."""
        found = self.get_details()
        found["logFiles"] = {name: self._text_of(name) for name in found["logFiles"]}
        return found

    def get_snapshot_id(self) -> str:
        """The id of the snapshot of its source folder."""
        snapshot = (self._record_now().get("spec") or {}).get("snapshot")
        if not snapshot:
            raise UserErrorException(
                "Run %s has no snapshot." % self._run_id,
                hint="A submitted run has one, and so has start_logging(snapshot_directory=…).",
            )
        return str(snapshot)

    def restore_snapshot(self, snapshot_id: Optional[str] = None, path: Optional[str] = None) -> str:
        """Writes the snapshot of the source folder to `path` or to a new temporary folder; returns the folder's path."""
        snapshot = snapshot_id or self.get_snapshot_id()
        if path is None:
            import tempfile  # loaded on use: it is a third of what this library loads

            folder = os.path.join(tempfile.mkdtemp(prefix="roost-snapshot-"), str(snapshot))
        else:
            folder = os.path.abspath(os.fspath(path))
        if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
            raise UserErrorException(
                "%s is there already, and not an empty folder." % folder, hint="Give the path of a new folder."
            )
        self._link.ask("restore", snapshot=str(snapshot), path=folder)
        return folder

    def wait_for_completion(
        self,
        show_output: bool = False,
        wait_post_processing: bool = False,  # noqa: ARG002 - it is always waited for
        raise_on_error: bool = True,
    ) -> Dict[str, Any]:
        """Waits for the end of a run below this one; a script cannot wait for its own."""
        if not self._kin:
            raise UserErrorException("A script cannot wait for the end of the run that it is.")
        record = waiting.stream(self._link, self._run_id) if show_output else waiting.until_end(self._link)
        if raise_on_error:
            waiting.raise_for_failure(record)
        return self.get_details()

    def _text_of(self, name: str) -> str:
        with uploads.temporary(".txt") as path:
            self._link.ask("download", name=name, path=path)
            with open(path, "rb") as file:
                return file.read().decode("utf-8", "replace")

    def __repr__(self) -> str:
        return "%s(id=%r, experiment=%r)" % (type(self).__name__, self._run_id, getattr(self._experiment, "name", None))

    # ---- tags and properties

    def tag(self, key: str, value: Optional[str] = None) -> None:
        """Sets one tag; without a value it is None."""
        self.set_tags({key: value})

    def set_tags(self, tags: Mapping[str, Any]) -> None:
        """Sets these tags and leaves the others."""
        self._link.ask("annotate", tags=values.labels("Tags", tags))

    def remove_tags(self, tags: Union[str, Sequence[str]]) -> None:
        keys = [tags] if isinstance(tags, str) else list(tags)
        values.labels("Tags", dict.fromkeys(keys))
        self._link.ask("annotate", remove_tags=keys)

    def get_tags(self) -> Dict[str, Optional[str]]:
        return dict(self._record_now().get("tags") or {})

    @property
    def tags(self) -> Dict[str, Optional[str]]:
        return self.get_tags()

    def add_properties(self, properties: Mapping[str, Any]) -> None:
        """Adds properties; an existing one cannot be changed."""
        given = values.labels("Properties", properties)
        self._link.ask("annotate", properties={key: str(value) for key, value in given.items()})

    def get_properties(self) -> Dict[str, str]:
        return dict(self._record_now().get("properties") or {})

    @property
    def properties(self) -> Dict[str, str]:
        return self.get_properties()

    # ---- its end

    def flush(self, timeout_seconds: float = 300) -> None:
        """Waits until everything logged before is at the server; ServiceException when that takes longer."""
        self._link.ask("flush", timeout_seconds=timeout_seconds)

    def complete(self) -> None:
        """Waits a little until the logged data has arrived. It does not set the status of the job's own run: the script's end
        does that. A child ends."""
        if self._kin:
            self._end_child("Completed", "done", "")
            return
        try:
            self.flush(END_FLUSH_SECONDS)
        except AzureMLException as error:
            _say("run.complete(): %s" % error)  # the agent sends the rest; no reason to fail a script that is done

    def fail(self, error_details: Any = None, error_code: Optional[str] = None) -> None:
        """Writes the error to the log. It does not set the status of the job's own run: the script's end does that. A child ends
        as failed."""
        words = failure_words(error_details, error_code)
        if self._kin:
            self._end_child("Failed", "marked_failed", words)
            return
        self._say_fail(words)

    def _say_fail(self, words: str) -> None:
        _say("run.fail(): %s" % (words or "no details given"))
        _say("The run's status follows from the script's exit code; end it with `sys.exit(1)` to make the run Failed.")

    def cancel(self) -> None:
        """Ends a child. For the job's own run it only warns: a script cannot cancel its own run."""
        if self._kin:
            self._link.ask("cancel")
            return
        _say("run.cancel() does nothing inside the run itself; end the script, or cancel it from outside.")

    def _end_child(self, to: str, reason: str, message: str) -> None:
        if self.type != "azureml.interactive":
            self._mark(to, message)
            return
        if self._outputs and os.path.isdir(self._outputs):
            self.upload_folder(self._outputs_name, self._outputs)
        spool, self._spool = self._spool, None
        if spool is not None:
            spool.close()  # a script with thousands of children would run out of files
            self.flush(END_FLUSH_SECONDS)
        self._link.ask("report", to=to, reason=reason, message=message)

    def _mark(self, to: str, message: str) -> None:
        """Ends a submitted run from outside, with that status. Returns when its processes have ended, or after a while: the run
        ends in any case."""
        record = self._link.ask("mark", to=to, message=message)
        if record["status"] not in waiting.ENDS:
            waiting.until_end(self._link, record, END_SECONDS)
        elif record["status"] != to:
            _say("Run %s has ended already, as %s; that is not changed." % (self._run_id, record["status"]))

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None:
            self.complete()
        else:
            self.fail(error_details=repr(error))


def failure_words(details: Any, code: Optional[str]) -> str:
    """The arguments of `run.fail()` as one text."""
    if isinstance(details, BaseException):
        details = "%s: %s" % (type(details).__name__, details) if str(details) else type(details).__name__
    return ": ".join(str(each) for each in (code, details) if each)


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


__all__: List[str] = ["Run", "_OfflineRun"]
