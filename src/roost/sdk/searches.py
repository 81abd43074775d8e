"""Runs that fit, newest first, fetched page by page as they are asked for: a million cost no more than those looked at."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from roost.domain import codec
from roost.domain.runs import Run, RunKind, RunStatus
from roost.transport.client import Client

_PAGE = 200


@dataclass(frozen=True, kw_only=True)
class Search:
    """Which runs; what is left out does not matter."""

    experiment: str | None = None
    kind: RunKind | None = None
    """None leaves out the replicas of endpoints, unless it is their experiment that is named."""
    statuses: Sequence[RunStatus] = ()
    tags: Mapping[str, str | None] = field(default_factory=dict)
    """A value of None: any."""
    since: float | None = None
    until: float | None = None
    """When they were submitted, in seconds since the epoch."""
    include_children: bool = False
    before: str | None = None
    """Only those older than the run of this id."""


def find(client: Client, workspace: str, search: Search, *, page: int = _PAGE) -> Iterator[Run]:
    route = f"/api/workspaces/{quote(workspace, safe='')}/runs"
    params: dict[str, object] = {
        "experiment": search.experiment,
        "kind": search.kind.value if search.kind else None,
        "status": [status.value for status in search.statuses] or None,
        "tag": [key if value is None else f"{key}={value}" for key, value in search.tags.items()] or None,
        "include_children": "true" if search.include_children else None,
        "limit": page,
        "before": search.before,
    }
    while True:
        found = [codec.decode(Run, item) for item in client.call("GET", route, params=params)["runs"]]
        for run in found:
            if search.since is not None and run.created_at < search.since:
                return  # the rest is older still
            if search.until is None or run.created_at < search.until:
                yield run
        if len(found) < page:
            return
        params["before"] = found[-1].id
