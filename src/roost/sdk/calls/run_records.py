"""Calls about runs: reading one, listing them, and the error for a missing one."""

from collections.abc import Mapping
from urllib.parse import quote

from roost.domain import codec, names
from roost.domain.errors import InvalidInput, NotFound
from roost.domain.gangs import Member
from roost.domain.runs import Run, RunEvent, RunKind, RunStatus
from roost.sdk.connection.connections import Connection
from roost.transport.client import Client, path_of

_PAGE = 100


def run_path(run_id: str, *parts: str) -> str:
    return path_of("runs", names.run_id(run_id), *parts)


def get(client: Client, run_id: str, *, after: int | None = None, wait: float = 0.0) -> Run:
    """The run; with `after`, once its revision is higher, or when `wait` seconds are over."""
    params = {"after": after, "wait": wait} if after is not None else None
    return codec.decode(Run, client.call("GET", path_of("runs", run_id), params=params, timeout=wait + 30.0))


def members(client: Client, run_id: str) -> list[Member]:
    """The agents of a run on several nodes, by rank; empty before it has its nodes."""
    answer = client.call("GET", run_path(run_id, "agents"))
    return [codec.decode(Member, each) for each in answer["members"]]


def find(connection: Connection, run_id: str, workspace: str) -> Run:
    """The run of that id; NotFound suggests similar ids."""
    try:
        names.run_id(run_id)
        run = get(connection.client, run_id)
    except (NotFound, InvalidInput):
        raise NotFound(
            f"There is no run {str(run_id)!r} in workspace {workspace!r}.",
            hint=_near(connection, workspace, str(run_id)),
        ) from None
    if run.workspace != workspace:
        raise NotFound(
            f"There is no run {run_id!r} in workspace {workspace!r}.", hint=f"It is in workspace {run.workspace!r}."
        )
    return run


def _near(connection: Connection, workspace: str, run_id: str) -> str:
    import difflib  # noqa: PLC0415 - only for mistyped ids

    known = [run.id for run in listing(connection.client, workspace, limit=_PAGE, include_children=True)]
    near = difflib.get_close_matches(run_id, known, n=3, cutoff=0.75)
    if near:
        return f"Did you mean {', '.join(repr(name) for name in near)}?"
    return "List them with: roost run list"


def listing(
    client: Client,
    workspace: str,
    *,
    experiment: str | None = None,
    status: RunStatus | None = None,
    kind: RunKind | None = None,
    parent_id: str | None = None,
    include_children: bool = False,
    tags: Mapping[str, str | None] | None = None,
    properties: Mapping[str, str | None] | None = None,
    limit: int | None = None,
) -> list[Run]:
    """Runs, newest first, page by page until the end or `limit`."""
    route = f"/api/workspaces/{quote(workspace, safe='')}/runs"
    found: list[Run] = []
    while limit is None or len(found) < limit:
        wanted = _PAGE if limit is None else min(_PAGE, limit - len(found))
        params = {
            "experiment": experiment,
            "status": status.value if status else None,
            "kind": kind.value if kind else None,
            "parent_id": parent_id,
            "include_children": "true" if include_children else None,
            "tag": pairs(tags),
            "property": pairs(properties),
            "limit": wanted,
            "before": found[-1].id if found else None,
        }
        page = [codec.decode(Run, item) for item in client.call("GET", route, params=params)["runs"]]
        found += page
        if len(page) < wanted:
            break
    return found


def pairs(wanted: Mapping[str, str | None] | None) -> list[str] | None:
    """Labels as query parameters: `k` for any value, `k=v` for that one."""
    return [key if value is None else f"{key}={value}" for key, value in wanted.items()] if wanted else None


def events(client: Client, run_id: str) -> tuple[list[RunEvent], str]:
    """The events of a run, and a text with what it waits for."""
    answer = client.call("GET", run_path(run_id, "events"))
    return [codec.decode(RunEvent, item) for item in answer["events"]], str(answer.get("why") or "")
