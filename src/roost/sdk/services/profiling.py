"""`Model.profile` and `ModelProfile`: deploys a service temporarily, sends it each row of a dataset, and stores the
measurements as a run of the experiment `model-profiles`, so that a profile can be found by its name.
"""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from roost.domain.endpoints import Limits
from roost.domain.errors import EndpointNotFound, InvalidEndpoint
from roost.domain.runs import Run as RunRecord
from roost.domain.runs import RunStatus
from roost.sdk import late
from roost.sdk.calls import endpoints, run_records, scoring
from roost.sdk.core.workspaces import Workspace
from roost.sdk.services import deploying
from roost.sdk.services.webservice_settings import AciServiceDeploymentConfiguration
from roost.transport.client import path_of
from roost_job.exceptions import WebserviceException

if TYPE_CHECKING:
    from roost.sdk.models.models import Model
    from roost.sdk.runs.runs import Run
    from roost.sdk.services.inference import InferenceConfig
    from roost.sdk.services.webservices import Webservice

EXPERIMENT = "model-profiles"
_TAG = "profile"
_PERCENTILES = {"50": 0.5, "90": 0.9, "95": 0.95, "99": 0.99, "999": 0.999}
_STATES = {RunStatus.COMPLETED: "Succeeded", RunStatus.FAILED: "Failed", RunStatus.CANCELED: "Failed"}
_LONGEST_LOOK = 15.0
"""Seconds to wait for measurements of the replica's usage."""
_ROOM = 1.5
"""The recommendation is the highest usage times this."""


def profile(
    workspace: Workspace,
    name: str,
    models: "Sequence[Model | str]",
    inference_config: "InferenceConfig",
    input_dataset: Any,
    cpu: float | None = None,
    memory_in_gb: float | None = None,
    description: str | None = None,
) -> "ModelProfile":
    """Starts the measurement and returns; the process does not end before it is done."""
    if not isinstance(name, str) or not name:
        raise InvalidEndpoint(f"profile_name must be text, got {name!r}.")
    config = AciServiceDeploymentConfiguration(cpu_cores=cpu, memory_gb=memory_in_gb, description=description)
    rows = _rows(input_dataset)
    run = late.Experiment(workspace, EXPERIMENT).start_logging(outputs=False, tags={_TAG: name}, display_name=name)
    try:
        service = deploying.deploy(workspace, _service_name(run.id), models, inference_config, config)
    except BaseException as error:
        run.fail(str(error))
        raise
    made = ModelProfile._of(workspace, name, run.id)
    made._thread = threading.Thread(target=_measure, args=(run, service, rows, config.limits()), name=f"profile-{name}")
    made._thread.start()
    return made


class ModelProfile:
    """The resources that a model needs, and its response times. `ModelProfile(ws, name)` finds the newest one of that name."""

    _thread: threading.Thread | None = None

    def __init__(self, workspace: Workspace, name: str) -> None:
        found = run_records.listing(
            workspace._connection.client, workspace.name, experiment=EXPERIMENT, tags={_TAG: name}
        )
        if not found:
            raise WebserviceException(
                f"ModelProfileNotFound: there is no profile {name!r} in workspace {workspace.name!r}.",
                hint="Model.profile(…) makes one.",
            )
        self._begin(workspace, name, found[0].id)

    @classmethod
    def _of(cls, workspace: Workspace, name: str, run_id: str) -> "ModelProfile":
        made = cls.__new__(cls)
        made._begin(workspace, name, run_id)
        return made

    def _begin(self, workspace: Workspace, name: str, run_id: str) -> None:
        self.workspace = workspace
        self.name = name
        self.id = run_id

    @property
    def state(self) -> str:
        return _STATES.get(self._run().status, "Running")

    def wait_for_completion(self, show_output: bool = False) -> None:
        """Waits for the measurement; WebserviceException gives the reason when it failed."""
        if show_output:
            print("Running", end="", flush=True)
        run = self._run()
        while not run.status.is_terminal:
            run = run_records.get(self.workspace._connection.client, self.id, after=run.revision, wait=5.0)
            if show_output:
                print(".", end="", flush=True)
        if self._thread is not None:
            self._thread.join()
        if show_output:
            print(f"\n{_STATES[run.status]}")
        if run.status is not RunStatus.COMPLETED:
            raise WebserviceException(f"Model profiling {self.name!r} failed: {run.message}")
        print(f'Model profiling operation finished, operation "{_STATES[run.status]}"')

    def wait_for_profiling(self, show_output: bool = False) -> None:
        """The older name of `wait_for_completion`."""
        self.wait_for_completion(show_output)

    def get_details(self) -> dict[str, Any]:
        """The measurements and recommendations; only the state while it is measured."""
        run = self._run()
        told: dict[str, Any] = {"name": self.name, "state": _STATES.get(run.status, "Running"), "runId": self.id}
        route = path_of("runs", self.id, "metrics")
        told.update(self.workspace._connection.client.call("GET", route)["metrics"])
        return {**told, "error": run.message} if told["state"] == "Failed" else told

    get_results = get_details

    def serialize(self) -> dict[str, Any]:
        return self.get_details()

    def _run(self) -> RunRecord:
        return run_records.get(self.workspace._connection.client, self.id)

    def __repr__(self) -> str:
        return f"ModelProfile(workspace={self.workspace!r}, name={self.name!r}, state={self.state!r})"


def _measure(run: "Run", service: "Webservice", rows: Sequence[bytes], limits: Limits) -> None:
    """Measures, in a separate thread; always ends the run and deletes the service."""
    workspace, name = service.workspace, service.name
    try:
        service._settle(False, None)
        patience = scoring.patience(service._record.spec)
        with scoring.Caller(service._address(), lambda: None, timeout=patience) as caller:
            begun = time.monotonic()
            taken, failed = _send(caller, rows)
            seconds = time.monotonic() - begun
            used = _used(workspace, name)
            # Nodes measure every few seconds: keep the service busy until they have.
            while not all(used) and time.monotonic() - begun < _LONGEST_LOOK:
                _send(caller, rows)
                used = _used(workspace, name)
        for key, value in results(taken, failed, seconds, used, limits).items():
            run.log(key, value)
        run.complete()
    except Exception as error:  # noqa: BLE001 - any error is stored with the run
        run.fail(str(error))
    finally:
        with suppress(EndpointNotFound):
            endpoints.delete(workspace, name)


def _send(caller: scoring.Caller, rows: Sequence[bytes]) -> tuple[list[float], int]:
    """Sends the rows one after the other; returns the seconds of each answer, and the number of failures."""
    taken, failed = [], 0
    for row in rows:
        begun = time.perf_counter()
        answer = caller.post(row)
        taken.append(time.perf_counter() - begun)
        failed += answer.status != 200
    return taken, failed


def results(
    taken: Sequence[float], failed: int, seconds: float, used: tuple[float, float], limits: Limits
) -> dict[str, float]:
    """The results under the SDK's keys."""
    ordered = sorted(taken)
    cpu, memory = used
    return {
        "requestedCpu": limits.cpu,
        "requestedMemoryInGB": limits.memory_gb,
        "totalQueries": len(ordered),
        "successQueries": len(ordered) - failed,
        "successRate": 100.0 * (len(ordered) - failed) / len(ordered),
        "averageLatencyInMs": 1000 * sum(ordered) / len(ordered),
        **{f"latencyPercentile{key}InMs": 1000 * percentile(ordered, at) for key, at in _PERCENTILES.items()},
        "measuredQueriesPerSecond": len(ordered) / seconds if seconds else 0.0,
        "maxUtilizedCpu": cpu,
        "maxUtilizedMemory": memory,
        "recommendedCpu": max(0.1, round(cpu * _ROOM, 1)),
        "recommendedMemoryInGB": max(0.1, round(memory * _ROOM, 1)),
    }


def percentile(ordered: Sequence[float], share: float) -> float:
    """The percentile of sorted numbers: the value that this share does not exceed."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _used(workspace: Workspace, name: str) -> tuple[float, float]:
    """The highest cores and gigabytes of the replica, as its node measures them; zeros when it ran too briefly."""
    cores = memory = 0.0
    for replica in endpoints.replicas(workspace, name):
        route = path_of("runs", replica.run_id, "metrics", "summary")
        for metric in workspace._connection.client.call("GET", route, params={"space": "system"})["metrics"]:
            most = metric["most"] if isinstance(metric["most"], int | float) else 0.0
            if metric["name"] == "run/cpu_percent":
                cores = max(cores, most / 100)
            elif metric["name"] == "run/memory_bytes":
                memory = max(memory, most / 1e9)
    return cores, memory


def _rows(dataset: Any) -> list[bytes]:
    """Each row of a table with one column is one request, as in the SDK."""
    frame = getattr(dataset, "to_pandas_dataframe", None)
    if frame is None:
        raise InvalidEndpoint(
            f"input_dataset is {type(dataset).__name__}.",
            hint="Give a TabularDataset with one column, each row of which is the text of a request.",
        )
    table = frame()
    if table.shape[1] != 1 or not len(table):
        raise InvalidEndpoint(
            f"input_dataset has {table.shape[1]} columns and {len(table)} rows.",
            hint="It needs one column and at least one row; each row is the text of a request.",
        )
    return [scoring.body_of(str(value)) for value in table.iloc[:, 0]]


def _service_name(run_id: str) -> str:
    return f"profile-{run_id.rpartition('_')[2]}"
