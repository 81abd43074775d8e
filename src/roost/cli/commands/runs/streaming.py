"""A run that was just submitted, streamed until it ends: what `roost submit`, `run repeat` and `env build` share."""

import sys

import typer

from roost.cli import rendering
from roost.cli.rendering import build_progress
from roost.domain import codec
from roost.sdk.calls import run_records
from roost.sdk.runs import waiting
from roost.sdk.runs.runs import Run


def follow(run: Run, detach: bool, as_json: bool) -> None:
    """Streams a run until it ends, or prints its id; exit code 1 when it does not complete. JSON is the run at the end, its
    log then goes to stderr."""
    if detach:
        if as_json:
            rendering.as_json(codec.encode(run_records.get(run._connection.client, run.id)))
        else:
            print(run.id)
        return
    out = sys.stderr if as_json else sys.stdout
    try:
        with build_progress.below(out) as shown:
            ended = waiting.stream(run._connection.watcher, run.id, run.get_portal_url(), shown)
    except KeyboardInterrupt:
        words = f"The run goes on. Watch it: roost run logs -f {run.id}   End it: roost run cancel {run.id}"
        print(f"\n{words}", file=sys.stderr)
        raise
    if as_json:
        rendering.as_json(codec.encode(ended))
    if ended.status.value == "Canceled":
        print("The run was canceled.", file=sys.stderr)
    if ended.status.value != "Completed":
        raise typer.Exit(1)
