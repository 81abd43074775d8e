"""`roost workspace …`: which workspaces there are, which one this folder means, and where else runs are."""

from roost.cli import rendering, session
from roost.cli.inputs.parameters import AS_JSON
from roost.domain import codec
from roost.domain.runs import Run
from roost.sdk.calls import run_records
from roost.sdk.core.workspaces import Workspace

_LOOKED_AT = 50
"""Workspaces that are asked for their newest run."""


def listing(as_json: bool = AS_JSON) -> None:
    """List workspaces, each with its newest run; the one that commands in this folder use is marked with *."""
    here = session.workspace()
    rows, found = [], []
    for name in known(here):
        newest = run_records.listing(here._connection.client, name, limit=1)
        found.append(
            {"name": name, "here": name == here.name, "newest_run": codec.encode(newest[0]) if newest else None}
        )
        rows.append(("*" if name == here.name else "", name, *_newest(newest)))
    if as_json:
        rendering.as_json(found)
    else:
        rendering.table(("", "workspace", "last run", "status", "submitted"), rows, drop=("submitted", "last run"))


def _newest(runs: list[Run]) -> tuple[str, str, str]:
    return (runs[0].id, runs[0].status.value, rendering.ago(runs[0].created_at)) if runs else ("", "", "")


def known(ws: Workspace) -> list[str]:
    """Names of the workspaces of a control plane."""
    answer = ws._connection.client.call("GET", "/api/workspaces")
    return sorted(item["name"] for item in answer["workspaces"])


def with_runs(ws: Workspace) -> list[str]:
    """Other workspaces that have runs, the one with the newest first."""
    others = [name for name in known(ws) if name != ws.name][:_LOOKED_AT]
    newest = {name: run_records.listing(ws._connection.client, name, limit=1) for name in others}
    return sorted((name for name in others if newest[name]), key=lambda name: -newest[name][0].created_at)
