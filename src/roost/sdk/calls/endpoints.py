"""Calls about services: deploying, changing, keys, logs, replicas and records. Thin."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from roost.domain import codec
from roost.domain.endpoints import Endpoint, EndpointSpec, Keys, Replica, checked_name
from roost.domain.errors import EndpointNotFound
from roost.transport.client import path_of

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace

HOST = "127.0.0.1"
"""The address of fronts: on the control plane's machine, for that machine only."""
LONGEST_POLL = 25.0


def route(workspace: "Workspace", name: str, *parts: str) -> str:
    return path_of("workspaces", workspace.name, "endpoints", checked_name(name), *parts)


def get(workspace: "Workspace", name: str, *, after: int | None = None, wait: float = 0.0) -> Endpoint:
    """The endpoint; with `after`, once its revision is higher, or when `wait` seconds are over."""
    params = {"after": after, "wait": wait} if after is not None else None
    answer = workspace._connection.client.call("GET", route(workspace, name), params=params, timeout=wait + 30.0)
    return codec.decode(Endpoint, answer)


def find(workspace: "Workspace", name: object) -> Endpoint | None:
    """The endpoint of that name; None when there is none."""
    try:
        return get(workspace, checked_name(name))
    except EndpointNotFound:
        return None


def listing(workspace: "Workspace") -> list[Endpoint]:
    answer = workspace._connection.client.call("GET", path_of("workspaces", workspace.name, "endpoints"))
    return [codec.decode(Endpoint, item) for item in answer["endpoints"]]


def put(
    workspace: "Workspace", name: str, spec: EndpointSpec, *, overwrite: bool = False, update: bool = False
) -> Endpoint:
    """Deploys, or with `update` changes the existing endpoint."""
    body = {"spec": codec.encode(spec), "overwrite": overwrite, "update": update}
    return codec.decode(Endpoint, workspace._connection.client.call("PUT", route(workspace, name), json=body))


def delete(workspace: "Workspace", name: str) -> None:
    """Deletes it; returns when its processes are gone and its port is free."""
    place, client = route(workspace, name), workspace._connection.client
    gone = client.call("DELETE", place, params={"wait": LONGEST_POLL})["gone"]
    while not gone:
        try:
            gone = client.call("DELETE", place, params={"wait": LONGEST_POLL})["gone"]
        except EndpointNotFound:
            return


def keys(workspace: "Workspace", name: str) -> Keys:
    return codec.decode(Keys, workspace._connection.client.call("GET", route(workspace, name, "keys")))


def renew_key(workspace: "Workspace", name: str, which: str, value: str | None = None) -> Keys:
    """Replaces a key, by a new one or by the user's choice."""
    body = {"which": which, "key": value or ""}
    return codec.decode(Keys, workspace._connection.client.call("POST", route(workspace, name, "keys"), json=body))


def token(workspace: "Workspace", name: str) -> tuple[str, datetime, datetime]:
    """A token for the caller, the time to renew it, and the time it expires."""
    said = workspace._connection.client.call("POST", route(workspace, name, "token"))
    return str(said["token"]), _moment(said["refresh_at"]), _moment(said["expires_at"])


def logs(workspace: "Workspace", name: str, lines: int, replica: str = "") -> Mapping[str, str]:
    """The last lines of a replica's output (`text`): the named one, else the one of the last failed change, else all serving
    ones, else the newest; with its `run_id`, and a `note` when it does not serve."""
    params = {"lines": lines, "replica": replica or None}
    found: Mapping[str, str] = workspace._connection.client.call("GET", route(workspace, name, "logs"), params=params)
    return found


def telling(workspace: "Workspace", name: str, replica: str = "") -> str:
    """The run whose log `logs` returns, the newest of several; empty when there is none yet."""
    params = {"lines": 1, "replica": replica or None}
    return str(workspace._connection.client.call("GET", route(workspace, name, "logs"), params=params)["run_id"])


def replicas(workspace: "Workspace", name: str) -> list[Replica]:
    said = workspace._connection.client.call("GET", route(workspace, name, "replicas"))
    return [codec.decode(Replica, item) for item in said["replicas"]]


def status(workspace: "Workspace", name: str) -> Mapping[str, Any]:
    """The counters of its front: requests, errors, waiting requests."""
    found: Mapping[str, Any] = workspace._connection.client.call("GET", route(workspace, name, "status"))
    return found


def records(workspace: "Workspace", name: str, limit: int) -> list[dict[str, Any]]:
    """Requests with their answers, the newest first."""
    said = workspace._connection.client.call("GET", route(workspace, name, "records"), params={"limit": limit})
    found: list[dict[str, Any]] = said["records"]
    return found


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(float(seconds), UTC)
