"""`roost run logs`: what a run has printed, or the log of its environment's build."""

import sys

import typer

from roost.cli import session
from roost.cli.inputs import parsing
from roost.cli.inputs.runs import RUN, find_run
from roost.domain.errors import NotFound
from roost.domain.files import STD_LOG
from roost.domain.runs import RunStatus
from roost.sdk.calls import run_records
from roost.sdk.runs import waiting
from roost.sdk.runs.waiting import Tail
from roost.transport.client import Client


def logs(
    run_id: str = RUN,
    follow: bool = typer.Option(False, "--follow", "-f", help="Go on until the run has ended."),
    file: str = typer.Option("", help="Another of its logs, such as logs/train.log."),
) -> None:
    """Print a run's output, or that of its environment's build when there is none. Ctrl-C stops the printing, not the run."""
    run = find_run(session.workspace(), run_id)
    client = run._connection.watcher
    builds = not file and run_records.get(client, run.id).spec.environment is not None
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
        raise NotFound(f"Run {run.id} has no file {file!r}.", hint=parsing.near(file, there))
    if not wrote:
        _silent(client, run.id, tail.over)


def _silent(client: Client, run_id: str, over: bool) -> None:
    """A run without output: says so, and what it waits for or how it ended."""
    if run_records.get(client, run_id).status is RunStatus.RUNNING:
        print(f"The run is running and has written nothing yet. Follow it: roost run logs -f {run_id}", file=sys.stderr)
        return
    _, why = run_records.events(client, run_id)
    print(f"The run has written nothing{'' if over else ' yet'}. {why}", file=sys.stderr)


def _print(tail: Tail, follow: bool, head: str = "") -> bool:
    """Prints a log as far as there is one, or until it is over, after a line on stderr; whether there was any."""
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
