"""`roost run …`: looking at runs. Deeds are in `deeds.py`, how one is shown in `showing.py`, several in `comparing.py`."""

import sys
import time
from itertools import islice
from typing import TYPE_CHECKING

import typer

from roost.cli import deeds
from roost.domain.files import STD_LOG
from roost.domain.runs import Run as RunRecord
from roost.domain.runs import RunStatus
from roost_job.listing import some

if TYPE_CHECKING:
    from roost.sdk.waiting import Tail
    from roost.sdk.workspaces import Workspace

app = typer.Typer(
    no_args_is_help=True,
    help="List, follow, compare, cancel, repeat, delete runs.",
    rich_markup_mode=None,
)

_AS_JSON = typer.Option(False, "--json", help="Print JSON.")


@app.command("list")
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
    since: str | None = typer.Option(None, metavar="TIME", help="Only those submitted since: 12h, 7d, 2026-11-01, …"),
    children: bool = typer.Option(False, "--children", help="Those below other runs too."),
    limit: int = typer.Option(20, "--limit", "-n", min=1, help="How many at most."),
    every: bool = typer.Option(False, "--all", "-a", help="All of them, however many."),
    before: str | None = typer.Option(None, help="Only those older than this run: the next page.", metavar="ID"),
    as_json: bool = _AS_JSON,
) -> None:
    """List runs, newest first. The replicas of endpoints are left out unless --kind or --experiment asks for them."""
    from roost.cli import asking, rendering, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.domain import codec  # noqa: PLC0415
    from roost.sdk import searches  # noqa: PLC0415

    tags, statuses, sort = asking.tags(tag), asking.statuses(status), asking.kind(kind)
    start = asking.moment(since) if since else None
    ws = session.workspace()
    search = searches.Search(
        experiment=experiment,
        kind=sort,
        statuses=statuses,
        tags=tags,
        since=start,
        include_children=children,
        before=session.find(ws, before).id if before else None,
    )
    page = 1000 if every else min(limit + 1, 1000)
    matching = searches.find(ws._connection.client, ws.name, search, page=page)
    found = list(matching if every else islice(matching, limit + 1))
    more = not every and len(found) > limit
    found = found if every else found[:limit]
    if as_json:
        rendering.as_json(codec.encode(found))
    elif found:
        _table(found)
    else:
        filtered = experiment or kind or status or tag or since or before
        _none(ws, bool(filtered))
    if more:
        print(f"There are more. The next: --before {found[-1].id}   All: --all", file=sys.stderr)


def _none(ws: "Workspace", filtered: bool) -> None:
    """No run fits: says so, and where runs are when this workspace has none at all."""
    from roost.cli import workspaces  # noqa: PLC0415 - loaded when called: main.py
    from roost.sdk import configs, records  # noqa: PLC0415

    if filtered and records.listing(ws._connection.client, ws.name, limit=1):
        print(f"No runs in workspace {ws.name!r} like that.", file=sys.stderr)
        return
    print(f"No runs in workspace {ws.name!r} yet.", file=sys.stderr)
    others = workspaces.with_runs(ws)
    if others:
        there = f"workspace {others[0]!r}" if len(others) == 1 else f"workspaces {some(map(repr, others))}"
        print(f"There are runs in {there}. List them with: roost --workspace {others[0]} run list", file=sys.stderr)
        if configs.find(None, None) is None:
            print("No config.json in this folder or above names a workspace: commands use 'default'.", file=sys.stderr)


def _table(found: list[RunRecord]) -> None:
    from roost.cli import rendering  # noqa: PLC0415 - loaded when called: main.py

    rows = [
        (
            run.id,
            run.status.value,
            _took(run),
            rendering.ago(run.created_at),
            run.display_name,
            f"{run.experiment} #{run.number}",
            run.spec.target if run.spec.script or run.spec.command else "",
            " ".join(key if value is None else f"{key}={value}" for key, value in sorted(run.tags.items())),
        )
        for run in found
    ]
    columns = ("run", "status", "took", "submitted", "name", "experiment", "target", "tags")
    empty = {name for at, name in enumerate(columns) if not any(row[at] for row in rows)}
    kept = [at for at, name in enumerate(columns) if name not in empty]
    rendering.table(
        [columns[at] for at in kept],
        [[row[at] for at in kept] for row in rows],
        drop=[name for name in ("name", "tags", "experiment", "target") if name not in empty],
        cut=("name", "tags"),
    )


@app.command()
def show(run_id: str = deeds.RUN, as_json: bool = _AS_JSON) -> None:
    """Show where a run stands, what happened to it, its metrics and files."""
    from roost.cli import session, showing  # noqa: PLC0415 - loaded when called: main.py

    showing.show(session.find(session.workspace(), run_id), as_json)


@app.command()
def logs(
    run_id: str = deeds.RUN,
    follow: bool = typer.Option(False, "--follow", "-f", help="Go on until the run has ended."),
    file: str = typer.Option("", help="Another of its logs, such as logs/train.log."),
) -> None:
    """Print a run's output, or that of its environment's build when there is none. Ctrl-C stops the printing, not the run."""
    from roost.cli import asking, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.domain.errors import NotFound  # noqa: PLC0415
    from roost.sdk import records, waiting  # noqa: PLC0415

    run = session.find(session.workspace(), run_id)
    client = run._connection.watcher
    builds = not file and records.get(client, run.id).spec.environment is not None
    build = waiting.Tail(client, run.id, waiting.BUILD_LOG)
    about = f"The log of its environment's build, {waiting.BUILD_LOG}:"
    wrote = builds and follow and _print(build, follow, about)
    if follow:
        waiting.wait_for_room(client, run.id, sys.stderr)
    tail = waiting.Tail(client, run.id, file or STD_LOG)
    wrote = _print(tail, follow, f"Its own output, {STD_LOG}:" if wrote else "") or wrote
    if not wrote and builds and not follow:
        wrote = _print(build, follow, f"It has written nothing{'' if tail.over else ' yet'}. {about}")
    if not wrote and file and tail.over and file not in (there := run.get_file_names()):
        raise NotFound(f"Run {run.id} has no file {file!r}.", hint=asking.near(file, there))
    if not wrote:
        _, why = records.events(client, run.id)
        print(f"It has written nothing{'' if tail.over else ' yet'}. {why}", file=sys.stderr)


def _print(tail: "Tail", follow: bool, head: str = "") -> bool:
    """Prints a log as far as there is one, or until it is over, after a line on stderr; whether there was any."""
    from roost.sdk import waiting  # noqa: PLC0415 - loaded when called: main.py

    wrote = False
    while not tail.over:
        text = tail.read(wait=waiting.LONGEST_POLL if follow else 0.0)
        if text and head and not wrote:
            print(head, file=sys.stderr, flush=True)
        sys.stdout.write(text)
        sys.stdout.flush()
        wrote = wrote or bool(text)
        if not text and not follow:
            break
    return wrote


@app.command()
def metrics(
    run_id: str = deeds.RUN,
    name: str | None = typer.Option(None, help="Only this metric, with all its values."),
    as_json: bool = _AS_JSON,
) -> None:
    """Show a run's metrics: how many points, the last, the least, the most, and their course."""
    from roost.cli import session, showing  # noqa: PLC0415 - loaded when called: main.py

    showing.metrics(session.find(session.workspace(), run_id), name, as_json)


@app.command()
def compare(
    run_ids: list[str] = deeds.RUNS,
    every: bool = typer.Option(False, "--all", "-a", help="What is the same in all of them too."),
    as_json: bool = _AS_JSON,
) -> None:
    """Set runs side by side: arguments, tags, metrics. What differs is marked with *."""
    from roost.cli import comparing, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.domain.errors import InvalidInput  # noqa: PLC0415

    if len(run_ids) < 2:
        raise InvalidInput("One run cannot be compared.", hint="roost run compare ID ID …")
    ws = session.workspace()
    comparing.compare([session.find(ws, each) for each in run_ids], every, as_json)


for _deed in (deeds.cancel, deeds.download, deeds.repeat, deeds.delete):
    app.command()(_deed)


def _took(run: RunRecord) -> str:
    from roost.cli import rendering  # noqa: PLC0415 - loaded when called: main.py

    if run.started_at is None:
        return ""
    # One that is silent has gone on until it was last heard, as far as anybody knows.
    now = run.heard_at if run.status is RunStatus.NOT_RESPONDING else time.time()
    end = run.ended_at if run.ended_at is not None else now
    return rendering.duration(max(0.0, end - run.started_at)) if end is not None else ""
