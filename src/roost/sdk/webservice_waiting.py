"""`wait_for_deployment`: waits until a service serves, and prints what the Azure ML SDK v1 printed meanwhile. Nothing polls."""

import sys
import time
from typing import TYPE_CHECKING

from roost.domain.endpoints import Endpoint, EndpointState
from roost.domain.errors import InvalidEndpoint
from roost.sdk import endpoints
from roost_job.exceptions import WebserviceException

if TYPE_CHECKING:
    from roost.sdk.workspaces import Workspace

_DOT_SECONDS = 5.0
_FINAL = {EndpointState.HEALTHY: "Succeeded", EndpointState.FAILED: "Failed"}


def wait(workspace: "Workspace", name: str, kind: str, show_output: bool, timeout: float | None) -> None:
    """Returns when it serves as it was last asked to; WebserviceException says why it does not, or that the time is over."""
    deadline = time.monotonic() + _seconds(timeout)
    if show_output:
        print(
            "Tips: You can try get_logs() to see what the service prints while it starts.\nRunning", end="", flush=True
        )
    record = endpoints.get(workspace, name)
    told = Told(workspace, name) if show_output else None
    while record.state not in _FINAL:
        left = deadline - time.monotonic()
        if left <= 0:
            raise WebserviceException(
                f"Deployment polling exceeded timeout override of {timeout}s. Current status: {record.state.value}",
                hint="It goes on by itself: update_deployment_state() fetches its latest state, get_logs() what it prints.",
            )
        record = endpoints.get(workspace, name, after=record.revision, wait=min(_DOT_SECONDS, left))
        if told is not None:
            told.step()
    ended = "Failed" if record.error else _FINAL[record.state]
    if show_output:
        print(f"\n{ended}", flush=True)
    if ended != "Succeeded":
        raise _failure(record)
    print(f'{kind} service creation operation finished, operation "{ended}"')


class Told:
    """A dot for each while, and a line when a replica comes to something new."""

    def __init__(self, workspace: "Workspace", name: str) -> None:
        self._workspace = workspace
        self._name = name
        self._known: dict[str, str] = {}

    def step(self) -> None:
        sys.stdout.write(".")
        for replica in endpoints.replicas(self._workspace, self._name):
            now = "ready" if replica.ready else replica.status
            if now and self._known.get(replica.run_id, "NotStarted") != now:
                sys.stdout.write(f"\n{time.strftime('%Y-%m-%d %H:%M:%S%z')} Replica {replica.run_id}: {now}")
            self._known[replica.run_id] = now
        sys.stdout.flush()


def _failure(record: Endpoint) -> WebserviceException:
    served = record.state is EndpointState.HEALTHY
    return WebserviceException(
        "Service deployment polling reached non-successful terminal state, current service state: "
        f"{record.state.value}\n"
        + ("The update failed; what was deployed before still serves.\n" if served else "")
        + f"More information can be found using '.get_logs()'\nError:\n{record.error or 'It did not come up.'}"
    )


def _seconds(timeout: object) -> float:
    if timeout is None:
        return float("inf")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout < 0:
        raise InvalidEndpoint(f"timeout_sec must be a number of seconds, got {timeout!r}.")
    return float(timeout) or float("inf")
