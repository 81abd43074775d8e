"""`roost backup` and `roost restore`: everything a control plane keeps, as one file, and back."""

import shlex
import sys
import time
from dataclasses import asdict
from pathlib import Path

import typer

from roost.cli import rendering
from roost.cli.inputs.parameters import AS_JSON
from roost.domain.errors import Conflict
from roost.sdk.connection import discovery
from roost.sdk.connection.connections import connect
from roost.sdk.operations import backups
from roost.sdk.runs import ignoring


def backup(
    file: Path = typer.Argument(help="The file to write; snapshots leave out what is called *.roost.tar."),
    force: bool = typer.Option(False, "--force", help="Replace a file that is there."),
    as_json: bool = AS_JSON,
) -> None:
    """Write everything the control plane keeps to one file: all workspaces, runs, metrics, files. Nothing has to stop for it."""
    if file.exists() and not force:
        raise Conflict(f"{file} exists already.", hint="Give another name, or --force to replace it.")
    with rendering.progress("saving", in_bytes=True) as bar:
        made = backups.save(connect(), file, bar)
    if as_json:
        rendering.as_json(asdict(made))
    else:
        print(f"Saved {_words(made.runs, made.workspaces)} to {file}, {rendering.size(made.bytes)}.")
        print("It holds secrets too: keep it where only you can read it.")
    if not file.name.endswith(ignoring.BACKUPS) and file.absolute().is_relative_to(Path.cwd()):
        print(
            f"Runs that are submitted from this folder would take {file.name} along. Snapshots leave out what is called "
            f"*{ignoring.BACKUPS}: mv {file} {file.with_suffix('')}{ignoring.BACKUPS}",
            file=sys.stderr,
        )


def restore(
    file: Path = typer.Argument(help="A file that `roost backup` wrote."),
    into: Path | None = typer.Option(None, help="The home folder to fill, which must be empty; ROOST_HOME by default."),
    as_json: bool = AS_JSON,
) -> None:
    """Fill an empty home with a back-up. Everything is checked; a damaged file changes nothing."""
    home = into.expanduser().resolve() if into is not None else discovery.home()
    with rendering.progress("restoring", in_bytes=True) as bar:
        made = backups.restore(file, home, bar)
    if as_json:
        rendering.as_json({**asdict(made), "home": str(home)})
        return
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(made.made_at))
    print(f"Restored {_words(made.runs, made.workspaces)} of {day} into {home}.")
    prefix = "" if home == discovery.home() else f"ROOST_HOME={shlex.quote(str(home))} "
    print(f"Next: {prefix}roost up")


def _words(runs: int, workspaces: list[str]) -> str:
    return (
        f"{rendering.count(runs, 'run')} of {rendering.count(len(workspaces), 'workspace')} ({', '.join(workspaces)})"
    )
