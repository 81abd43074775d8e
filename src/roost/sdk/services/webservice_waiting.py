"""`wait_for_deployment`: waits until a service serves, and prints the texts of the Azure ML SDK v1 meanwhile. Does not poll."""

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

from roost.domain.endpoints import Endpoint, EndpointState, Replica
from roost.domain.errors import InvalidEndpoint
from roost.domain.runs import RunStatus
from roost.sdk.calls import endpoints
from roost.sdk.runs import waiting
from roost_job.exceptions import WebserviceException

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace

_DOT_SECONDS = 5.0
_LINE_SECONDS = 1.0
_WIDEST = 140
_MEANS: Mapping[str, str] = {
    RunStatus.QUEUED: ": it waits for its node",
    RunStatus.PROVISIONING: ": its agent lays out the model and the environment",
    RunStatus.RUNNING: ": its worker starts and calls init()",
}
_FINAL = {EndpointState.HEALTHY: "Succeeded", EndpointState.FAILED: "Failed", EndpointState.UNHEALTHY: "Failed"}


def wait(workspace: "Workspace", name: str, show_output: bool, timeout: float | None) -> None:
    """As in the SDK: returns when the service serves with its last requested settings."""
    seconds = _seconds(timeout)
    if show_output:
        print(
            "Tips: You can try get_logs() to see what the service prints while it starts.\nRunning", end="", flush=True
        )
    record = until_settled(workspace, name, Told(workspace, name, sys.stdout) if show_output else None, seconds)
    if show_output:
        print(f"\n{'Failed' if record.error else _FINAL[record.state]}", flush=True)
    raise_for_failure(record)


def until_settled(
    workspace: "Workspace", name: str, told: "Told | None" = None, seconds: float = float("inf")
) -> Endpoint:
    """The endpoint once it serves or has failed; raises WebserviceException when the time runs out first."""
    deadline = time.monotonic() + seconds
    pause = told.seconds if told is not None else _DOT_SECONDS
    record = endpoints.get(workspace, name)
    if told is not None and record.state not in _FINAL:
        told.look(record)
    while record.state not in _FINAL:
        left = deadline - time.monotonic()
        if left <= 0:
            raise WebserviceException(
                f"Deployment polling exceeded timeout override of {seconds:g}s. Current status: {record.state.value}",
                hint="It goes on by itself: update_deployment_state() fetches its latest state, get_logs() what it prints.",
            )
        if told is not None:
            told.expect(record)
        record = endpoints.get(workspace, name, after=record.revision, wait=min(pause, left))
        if told is not None:
            told.step(record)
    if told is not None and record.failed_replica:
        told.end(record.failed_replica)
    return record


class Told:
    """Prints a dot at intervals, a line when a replica changes its state, and the last line of the log of its environment's
    build."""

    seconds = _DOT_SECONDS

    def __init__(self, workspace: "Workspace", name: str, out: TextIO) -> None:
        self._workspace = workspace
        self._name = name
        self._out = out
        self._known: dict[str, str] = {}
        self._wanted: set[tuple[str, int]] = set()
        self._builds: dict[str, waiting.Tail] = {}

    def expect(self, record: Endpoint) -> None:
        """Stores which version is starting: after a failure, the record describes the previous one."""
        self._wanted = {(version.name, version.generation) for version in record.spec.versions}

    def step(self, record: Endpoint) -> None:
        self._out.write(".")
        self.look(record)

    def look(self, record: Endpoint) -> None:
        """Prints changes, without a dot."""
        if record.state not in _FINAL:
            self.expect(record)
        wanted = self._wanted
        for replica in endpoints.replicas(self._workspace, self._name):
            if replica.leaving or (replica.version, replica.generation) not in wanted:
                continue
            self._tell(replica.run_id, "ready" if replica.ready else _phase(replica))
            if replica.status == RunStatus.PREPARING:
                self._tell_build(replica.run_id)
        self._out.flush()

    def _tell_build(self, run_id: str) -> None:
        """The progress of the build: the newest line of its log."""
        tail = self._builds.get(run_id)
        if tail is None:
            client = self._workspace._connection.watcher
            tail = self._builds[run_id] = waiting.Tail(client, run_id, waiting.BUILD_LOG)
        lines = [line.rpartition("\r")[2].strip() for line in tail.read(wait=0.0).splitlines()]
        if newest := next((line for line in reversed(lines) if line), ""):
            self._out.write(f"\n    {newest[:_WIDEST]}")

    def end(self, failed: str) -> None:
        """Prints that the deployment has failed, with this replica."""
        self._tell(failed, "Failed")
        self._out.flush()

    def _tell(self, run_id: str, now: str) -> None:
        if now and self._known.get(run_id, "NotStarted") != now:
            self._out.write(f"\n{time.strftime('%Y-%m-%d %H:%M:%S%z')} Replica {run_id}: {now}")
        self._known[run_id] = now


class ToldInLines(Told):
    """The same for a file or a pipe: one line per phase, that of the slowest replica."""

    seconds = _LINE_SECONDS

    def __init__(self, workspace: "Workspace", name: str, out: TextIO) -> None:
        super().__init__(workspace, name, out)
        self._last = ""

    def look(self, record: Endpoint) -> None:
        self.step(record)

    def step(self, record: Endpoint) -> None:
        if record.state in _FINAL:
            return self._say("Failed" if record.error else record.state.value)
        self.expect(record)
        coming = [
            each
            for each in endpoints.replicas(self._workspace, self._name)
            if (each.version, each.generation) in self._wanted and not (each.leaving or each.ready)
        ]
        building = [each for each in coming if each.status == RunStatus.PREPARING]
        if coming:
            self._say(_phase(building[0]) if building else "Starting")
        return None

    def end(self, failed: str) -> None:
        self._say(f"Replica {failed}: Failed")

    def _say(self, words: str) -> None:
        if words != self._last:
            self._out.write(f"{words}\n")
            self._out.flush()
        self._last = words


def _phase(replica: Replica) -> str:
    """The replica's phase and its meaning; for a build also what is built."""
    if replica.status == RunStatus.PREPARING and replica.message:
        return f"{replica.status}: {replica.message[0].lower()}{replica.message[1:].rstrip('.')}"
    return f"{replica.status}{_MEANS.get(replica.status, '')}"


def raise_for_failure(record: Endpoint) -> None:
    """Raises WebserviceException when the service does not serve with its last requested settings."""
    if record.state is EndpointState.HEALTHY and not record.error:
        return
    served = record.state is EndpointState.HEALTHY
    raise WebserviceException(
        "Service deployment polling reached non-successful terminal state, current service state: "
        f"{record.state.value}\n"
        + ("The update failed; what was deployed before still serves.\n" if served else "")
        + (f"The replica that failed: {record.failed_replica}\n" if record.failed_replica else "")
        + f"More information can be found using '.get_logs()'\nError:\n{record.error or 'It did not come up.'}"
    )


def _seconds(timeout: object) -> float:
    if timeout is None:
        return float("inf")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout < 0:
        raise InvalidEndpoint(f"timeout_sec must be a number of seconds, got {timeout!r}.")
    return float(timeout) or float("inf")
