"""`roost workspace …`: which workspaces there are, which one this folder means, and where else runs are."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from roost.domain.runs import Run
    from roost.sdk.core.workspaces import Workspace

app = typer.Typer(no_args_is_help=True, help="Look at the workspaces of this control plane.", rich_markup_mode=None)

_AS_JSON = typer.Option(False, "--json", help="Print JSON.")
_LOOKED_AT = 50
"""Workspaces that are asked for their newest run."""


@app.command("list")
def listing(as_json: bool = _AS_JSON) -> None:
    """List workspaces, each with its newest run; the one that commands in this folder use is marked with *."""
    from roost.cli import rendering, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.domain import codec  # noqa: PLC0415
    from roost.sdk.calls import run_records  # noqa: PLC0415

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


def _newest(runs: "list[Run]") -> tuple[str, str, str]:
    from roost.cli import rendering  # noqa: PLC0415 - loaded when called: main.py

    return (runs[0].id, runs[0].status.value, rendering.ago(runs[0].created_at)) if runs else ("", "", "")


def known(ws: "Workspace") -> list[str]:
    """Names of the workspaces of a control plane."""
    answer = ws._connection.client.call("GET", "/api/workspaces")
    return sorted(item["name"] for item in answer["workspaces"])


def with_runs(ws: "Workspace") -> list[str]:
    """Other workspaces that have runs, the one with the newest first."""
    from roost.sdk.calls import run_records  # noqa: PLC0415 - loaded when called: main.py

    others = [name for name in known(ws) if name != ws.name][:_LOOKED_AT]
    newest = {name: run_records.listing(ws._connection.client, name, limit=1) for name in others}
    return sorted((name for name in others if newest[name]), key=lambda name: -newest[name][0].created_at)
