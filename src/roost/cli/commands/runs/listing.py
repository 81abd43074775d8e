"""`roost run list`: which runs, in which order, with which columns."""

import sys
from itertools import islice

import typer

from roost.cli import rendering, session
from roost.cli.commands import workspaces
from roost.cli.commands.runs import columns as run_columns
from roost.cli.commands.runs.columns import FIELDS, Column
from roost.cli.inputs import parsing
from roost.cli.inputs.runs import find_run
from roost.domain import codec
from roost.domain.errors import InvalidInput
from roost.sdk.calls import run_records, searches
from roost.sdk.calls.searches import Row
from roost.sdk.core import configs
from roost.sdk.core.workspaces import Workspace
from roost_job.listing import some

_SORTABLE = "status, duration, created, started, ended, name, experiment, number, target, user or id"


def listing(
    experiment: str | None = typer.Option(None, "--experiment", "-e", metavar="NAME", help="Only this experiment's."),
    status: list[str] = typer.Option(
        [],
        "--status",
        "-s",
        metavar="STATUS",
        help="Only those in this status, such as running; repeated: any of them.",
    ),
    kind: str | None = typer.Option(
        None, "--kind", metavar="KIND", help="Only script, interactive or replica: those of endpoints, else left out."
    ),
    tag: list[str] = typer.Option(
        [], "--tag", "-t", metavar="K=V", help="Only those with this tag, k or k=v; repeated: all of them."
    ),
    since: str | None = typer.Option(
        None, metavar="TIME", help="Only those submitted since: 30m (minutes), 12h, 7d, 2026-11-01."
    ),
    children: bool = typer.Option(False, "--children", help="Those below other runs too."),
    columns: str | None = typer.Option(
        None,
        "--columns",
        "-c",
        metavar="NAMES",
        help="Which columns: fields, arguments, metrics and tags by name, such as id,status,lr,val_acc,duration; "
        "params.lr, metrics.lr or tags.lr where a name means several.",
    ),
    sort: str | None = typer.Option(
        None,
        "--sort",
        metavar="COLUMN",
        help="Sort all runs that fit by a column, such as lr; -val_acc or val_acc:desc for the highest first. "
        "Runs without a value come last.",
    ),
    limit: int = typer.Option(20, "--limit", "-n", min=1, help="How many at most."),
    every: bool = typer.Option(False, "--all", "-a", help="All of them, however many."),
    before: str | None = typer.Option(None, help="Only those older than this run: the next page.", metavar="ID"),
    as_json: bool = typer.Option(False, "--json", help="Print JSON, with the arguments and last metrics of each run."),
) -> None:
    """List runs, newest first. The replicas of endpoints are left out unless --kind or --experiment asks for them."""
    if sort and before:
        raise InvalidInput("--before is for lists by age, not with --sort.", hint="--limit N or --all shows more.")
    tags, statuses, of_kind = parsing.tags(tag), parsing.statuses(status), parsing.kind(kind)
    start = parsing.moment(since) if since else None
    asked = run_columns.names(columns) if columns is not None else []
    by, descending = _direction(sort)
    ws = session.workspace()
    search = searches.Search(
        experiment=experiment,
        kind=of_kind,
        statuses=statuses,
        tags=tags,
        since=start,
        include_children=children,
        before=find_run(ws, before).id if before else None,
    )
    found_columns = run_columns.resolve(ws, search, [*asked, *([by] if by else [])])
    order = _order(found_columns[-1], descending) if by else ""
    shown = found_columns[: len(asked)]
    logged = ["*"] if as_json else [each.name for each in found_columns if each.kind == "metrics"]
    page = 1000 if every else min(limit + 1, 1000)
    matching = searches.rows(ws._connection.client, ws.name, search, sort=order, metrics=logged, page=page)
    found = list(matching if every else islice(matching, limit + 1))
    more = not every and len(found) > limit
    found = found if every else found[:limit]
    if as_json:
        rendering.as_json([{**codec.encode(row.run), **run_columns.as_json(row)} for row in found])
    elif not found:
        _none(ws)
    elif asked:
        cut = [each.head for each in shown if each.path in ("name", "tags", "description", "arguments", "script")]
        rows = [[each.text(row) for each in shown] for row in found]
        rendering.table([each.head for each in shown], rows, drop=[each.head for each in shown[1:]], cut=cut)
    else:
        _table(found, found_columns[-1] if by else None)
    if more and by:
        print("There are more: --limit N or --all shows them.", file=sys.stderr)
    elif more:
        print(f"There are more. The next: --before {found[-1].run.id}   All: --all", file=sys.stderr)


def _direction(text: str | None) -> tuple[str, bool]:
    """`-acc` and `acc:desc` are the highest first; `acc`, `+acc` and `acc:asc` the lowest."""
    name = (text or "").strip()
    if name.startswith(("-", "+")) and not name.startswith("--"):
        return name[1:], name[0] == "-"
    stem, colon, way = name.rpartition(":")
    return (stem, way == "desc") if colon and way in ("asc", "desc") else (name, False)


def _order(column: Column, descending: bool) -> str:
    if column.kind == "field" and column.name in ("description", "tags", "script", "arguments"):
        raise InvalidInput(
            f"Runs cannot be sorted by {column.head!r}.",
            hint=f"Sort by {_SORTABLE}, or by the name of an argument, a metric or a tag.",
        )
    return ("-" if descending else "") + column.path


def _none(ws: Workspace) -> None:
    """No run fits: says so, and where runs are when this workspace has none at all."""
    if run_records.listing(ws._connection.client, ws.name, limit=1):
        print(f"No runs in workspace {ws.name!r} like that.", file=sys.stderr)
        return
    print(f"No runs in workspace {ws.name!r} yet.", file=sys.stderr)
    others = workspaces.with_runs(ws)
    if others:
        there = f"workspace {others[0]!r}" if len(others) == 1 else f"workspaces {some(map(repr, others))}"
        print(f"There are runs in {there}. List them with: roost --workspace {others[0]} run list", file=sys.stderr)
        if configs.find(None, None) is None:
            print("No config.json in this folder or above names a workspace: commands use 'default'.", file=sys.stderr)


def _table(found: list[Row], by: Column | None) -> None:
    """The usual columns, with the one that the list is sorted by where it is no field."""
    extra = [by] if by is not None and by.kind != "field" else []
    rows = [
        [
            run.id,
            run.status.value,
            *(each.text(row) for each in extra),
            FIELDS["duration"](run),
            FIELDS["created"](run),
            run.display_name,
            f"{run.experiment} #{run.number}",
            FIELDS["target"](run),
            FIELDS["tags"](run),
        ]
        for row in found
        for run in (row.run,)
    ]
    heads = [each.head for each in extra]
    rendering.compact(
        ("run", "status", *heads, "took", "submitted", "name", "experiment", "target", "tags"),
        rows,
        drop=("name", "tags", "experiment", "target"),
        cut=("name", "tags"),
    )
