"""`roost endpoint logs`: what replicas have printed."""

import sys

import typer

from roost.cli import rendering, session
from roost.cli.inputs.parameters import AS_JSON, ENDPOINT
from roost.sdk.calls import endpoints
from roost.sdk.core.workspaces import Workspace
from roost.sdk.runs import waiting
from roost.sdk.services.webservices import found_or_told


def logs(
    name: str = ENDPOINT,
    lines: int = typer.Option(500, "--lines", "-n", help="How many of the last lines."),
    replica: str = typer.Option("", "--replica", help="The run of one replica.", metavar="ID"),
    follow: bool = typer.Option(False, "--follow", "-f", help="Print what comes, until the replica ends."),
    as_json: bool = AS_JSON,
) -> None:
    """Print what a replica has printed: the one with which the last change failed, else each that serves, else the newest."""
    ws = session.workspace()
    if follow and (run_id := found_or_told(ws, name, lambda: endpoints.telling(ws, name, replica))):
        others = [each.run_id for each in endpoints.replicas(ws, name) if each.ready and each.run_id != run_id]
        if others and not replica:
            print(
                f"Follows {run_id}. Of those that serve beside it: --replica {others[-1]}", file=sys.stderr, flush=True
            )
        _follow_log(ws, run_id, lines)
        return
    said = found_or_told(ws, name, lambda: endpoints.logs(ws, name, lines, replica))
    text = said["text"]
    if as_json:
        rendering.as_json(said)
    else:
        if said["note"]:
            print(said["note"], file=sys.stderr, flush=True)
        sys.stdout.write(text if text.endswith("\n") or not text else f"{text}\n")


def _follow_log(ws: Workspace, run_id: str, lines: int) -> None:
    tail = waiting.Tail(ws._connection.watcher, run_id)
    there = ""
    while piece := tail.read(wait=0.0):
        there += piece
    sys.stdout.write("".join(there.splitlines(keepends=True)[-lines:]))
    while not tail.over:
        sys.stdout.flush()
        sys.stdout.write(tail.read())
    print(f"Replica {run_id} has ended.", file=sys.stderr)
