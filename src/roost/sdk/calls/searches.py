"""Searches runs, newest first, fetched page by page on demand: the cost depends on the pages read, not on the number of runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from roost.domain import codec
from roost.domain.runs import Run, RunKind, RunStatus
from roost.transport.client import Client, path_of

_PAGE = 200


@dataclass(frozen=True, kw_only=True)
class Search:
    """Filters for runs; a field that is not set does not filter."""

    experiment: str | None = None
    kind: RunKind | None = None
    """None leaves out the replicas of endpoints, unless their experiment is named."""
    statuses: Sequence[RunStatus] = ()
    tags: Mapping[str, str | None] = field(default_factory=dict)
    """A value of None matches any."""
    since: float | None = None
    until: float | None = None
    """Time of submission, in seconds since the epoch."""
    include_children: bool = False
    before: str | None = None
    """Only runs older than the run of this id."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A run with the requested metrics: summaries by name."""

    run: Run
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def find(client: Client, workspace: str, search: Search, *, page: int = _PAGE) -> Iterator[Run]:
    return (row.run for row in rows(client, workspace, search, page=page))


def rows(
    client: Client,
    workspace: str,
    search: Search,
    *,
    sort: str = "",
    metrics: Sequence[str] = (),
    page: int = _PAGE,
) -> Iterator[Row]:
    """Runs with the summaries of these metrics, `*` for all, one request per page. Newest first, or by the column `sort`,
    with `-` before it for highest first: then all matching runs are considered, not one page."""
    params = {**_params(search), "limit": page, "before": search.before, "metric": list(metrics) or None}
    if sort:
        params |= {"sort": sort, "skip": 0, "before": None, "since": search.since}
    while True:
        answer = client.call("GET", path_of("workspaces", workspace, "runs"), params=params)
        found = [codec.decode(Run, item) for item in answer["runs"]]
        logged = answer.get("metrics") or {}
        for run in found:
            if search.since is not None and run.created_at < search.since:
                return  # the rest is older still
            if search.until is None or run.created_at < search.until:
                yield Row(run=run, metrics={each["name"]: each for each in logged.get(run.id, ())})
        if len(found) < page:
            return
        params |= {"skip": params["skip"] + page} if sort else {"before": found[-1].id}


def columns(client: Client, workspace: str, search: Search) -> dict[str, list[str]]:
    """The arguments (`params`), `metrics` and `tags` that the matching runs have."""
    route = path_of("workspaces", workspace, "runs", "columns")
    answer: dict[str, list[str]] = client.call("GET", route, params={**_params(search), "since": search.since})
    return answer


def _params(search: Search) -> dict[str, Any]:
    return {
        "experiment": search.experiment,
        "kind": search.kind.value if search.kind else None,
        "status": [status.value for status in search.statuses] or None,
        "tag": [key if value is None else f"{key}={value}" for key, value in search.tags.items()] or None,
        "include_children": "true" if search.include_children else None,
    }
