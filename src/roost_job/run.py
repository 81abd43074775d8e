"""`Run`: what a training script holds in its hand. Start at `get_context`.

Logging goes to `_spool` (spool.py), everything else is asked of `_link`, an object with `ask(op, **fields)` whose ops are
the door's (docs/how-it-works/wire.md). In a job that is the agent's door. The SDK extends this class with a link over HTTP by
overriding `_open_link` and `_open_spool`; what it inherits works the same there.
"""

import sys
from threading import Lock
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

from roost_job import values
from roost_job.context import Job, experiment_of, job_here
from roost_job.details import details
from roost_job.door import DoorClient
from roost_job.exceptions import AzureMLException, RunEnvironmentException, UserErrorException
from roost_job.files import RunFiles
from roost_job.metrics import RunMetrics
from roost_job.offline import _OfflineRun
from roost_job.secrets import RunSecrets
from roost_job.spool import Writer

Self = TypeVar("Self", bound="Run")

END_FLUSH_SECONDS = 30.0

_contexts: Dict[Tuple[type, Job], "Run"] = {}


class Run(RunMetrics, RunFiles, RunSecrets):
    """A run. Any thread may use it, and so may forked workers, each with a spool of its own."""

    def __init__(self, experiment: Any, run_id: str, outputs: Optional[str] = None, **kwargs: Any) -> None:
        if not isinstance(run_id, str) or not run_id:
            raise UserErrorException("A run's id must be text that is not empty, got %.80r." % (run_id,))
        self._experiment = experiment
        self._run_id = run_id
        self._outputs = outputs
        self._job: Optional[Job] = kwargs.get("_job")
        self._spool = None
        self._spool_lock = Lock()
        self._link = self._open_link()

    # ---- context

    @classmethod
    def get_context(
        cls: Type[Self],
        allow_offline: bool = True,
        used_for_context_manager: bool = False,  # noqa: ARG003 - every run is a context manager
        **kwargs: Any,  # noqa: ARG003 - private settings of the SDK that scripts passed on
    ) -> Union[Self, _OfflineRun]:
        """The run that this process is part of: the same object each time. Outside a run, an offline one, new each time."""
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
            # Atomic, and no lock that a fork could leave held: of two threads that come at once both get the first one.
            known = _contexts.setdefault((cls, job), cls._for_job(job))
        assert isinstance(known, cls)
        return known

    @classmethod
    def _for_job(cls: Type[Self], job: Job) -> Self:
        """The run of the job that this process belongs to."""
        return cls(experiment_of(job), job.run_id, _job=job)

    def _open_link(self) -> Any:
        """What this run asks. Here the agent's door, which only knows the run of its own job."""
        if self._job is None:
            self._job = job_here()
        if self._job is None or self._job.run_id != self._run_id:
            raise RunEnvironmentException(
                "Run %s is not the run of this job." % self._run_id,
                hint="Other runs are read with the Roost SDK, which needs Python 3.11 or later.",
            )
        return DoorClient(self._job.door)

    def _open_spool(self) -> Writer:
        if self._job is None:
            raise RunEnvironmentException("Run %s cannot be logged to from this process." % self._run_id)
        return Writer(self._job.spool, self._job.rank)

    # ---- what it is

    @property
    def id(self) -> str:
        return self._run_id

    @property
    def experiment(self) -> Any:
        """Its experiment: `.name`, `.workspace`."""
        return self._experiment

    def _record_now(self) -> Dict[str, Any]:
        """The run's record as the control plane has it now."""
        record: Dict[str, Any] = self._link.ask("run")
        return record

    @property
    def number(self) -> int:
        return int(self._record_now()["number"])

    @property
    def display_name(self) -> str:
        return str(self._record_now().get("display_name") or "")

    @display_name.setter
    def display_name(self, name: str) -> None:
        if not isinstance(name, str):
            raise UserErrorException("A display name must be text, got %s %.80r." % (type(name).__name__, name))
        self._link.ask("annotate", display_name=name)

    @property
    def status(self) -> str:
        return self.get_status()

    def get_status(self) -> str:
        return str(self._record_now()["status"])

    def get_details(self) -> Dict[str, Any]:
        """What is known of the run, under the names that scripts read."""
        return details(self._record_now(), self.get_file_names())

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
        """Adds properties; one that is there already cannot be changed."""
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
        """Waits a little for what was logged to arrive. The status is not set by it: the script's end does that."""
        try:
            self.flush(END_FLUSH_SECONDS)
        except AzureMLException as error:
            _say("run.complete(): %s" % error)  # the agent sends the rest; no reason to fail a script that is done

    def fail(self, error_details: Any = None, error_code: Optional[str] = None) -> None:
        """Writes the error to the log. The status is not set by it: the script's end does that."""
        facts = [str(each) for each in (error_code, error_details) if each]
        _say("run.fail(): %s" % (": ".join(facts) or "no details given"))
        _say("The run's status follows from the script's exit code; end it with `sys.exit(1)` to make the run Failed.")

    def cancel(self) -> None:
        """Warns: a script does not cancel the run that it is."""
        _say("run.cancel() does nothing inside the run itself; end the script, or cancel it from outside.")

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None:
            self.complete()
        else:
            self.fail(error_details=repr(error))


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


__all__: List[str] = ["Run", "_OfflineRun"]
