"""`roost env archive`: keep every file of an environment, say what is kept, give its room back."""

import contextlib
import sys

import typer

from roost.cli import rendering, session
from roost.cli.inputs import prompts
from roost.cli.inputs.environments import find_environment
from roost.cli.inputs.parameters import YES
from roost.cli.inputs.runs import find_run
from roost.domain.environments import Archive
from roost.domain.errors import InvalidInput, NotFound
from roost.sdk.core.workspaces import Workspace
from roost.sdk.environments import environments
from roost.sdk.environments.environments import Environment
from roost.sdk.operations import archives, building


def archive(
    name: str = typer.Argument(
        "", help="A registered or curated environment, or a requirements or conda file.", metavar="NAME"
    ),
    run: str = typer.Option("", "--run", metavar="ID", help="The environment of this run, as it was installed then."),
    version: str | None = typer.Option(None, "--version", help="The version; the newest by default."),
    listing: bool = typer.Option(False, "--list", help="List what is kept; keep nothing."),
    remove: bool = typer.Option(False, "--remove", help="Keep it no longer. NAME may be a lock here."),
    yes: bool = YES,
    as_json: bool = typer.Option(False, "--json", help="Print JSON; the log goes to stderr."),
) -> None:
    """Keep every file of an environment's lock, so that it can be installed when no index has them any more: `roost run repeat
    --offline`, `roost env build --offline`. What is kept already is not fetched again. Exit code 1 when it is not complete."""
    if listing and (name or run or remove):
        raise InvalidInput("--list lists all that is kept.", hint="roost env show NAME tells of one environment.")
    if not listing and bool(name) == bool(run):
        raise InvalidInput("Which environment?", hint="roost env archive NAME, or --run ID.")
    ws = session.workspace()
    if listing:
        _list(ws, as_json)
        return
    if remove:
        _remove(ws, name, run, version, yes, as_json)
        return
    kept = archives.keep(_chosen(ws, name, run, version), ws, sys.stderr)
    if as_json:
        rendering.as_json(archives.facts(kept))
    else:
        print(told(kept))
        for line in kept.missing:
            print(f"Missing: {line}")
    if not kept.complete:
        raise typer.Exit(1)


def told(kept: Archive) -> str:
    """What is kept, in a line."""
    whole = "complete" if kept.complete else f"not complete, {rendering.count(len(kept.missing), 'file')} missing"
    needs = f"; needs Python {kept.python} on the machine" if kept.python else ""
    return f"Kept: {rendering.count(kept.files, 'file')}, {rendering.size(kept.bytes)}, {whole}{needs}."


def _chosen(ws: Workspace, name: str, run: str, version: str | None) -> Environment:
    if not run:
        return find_environment(ws, name, version)
    found = find_run(ws, run).get_environment()
    if not found._kept_lock():
        raise NotFound(
            f"Run {run} was not installed from a lock: its packages were managed by the user, or it never got so far.",
            hint="roost run show ID tells what it ran with.",
        )
    return found


def _list(ws: Workspace, as_json: bool) -> None:
    found = archives.listing(ws._connection)
    names = names_of_locks(ws) if found else {}
    if as_json:
        rendering.as_json([{**archives.facts(each), "name": names.get(each.lock, "")} for each in found])
    elif found:
        rows = [
            (
                names.get(each.lock, ""),
                each.lock[:12],
                str(each.files),
                rendering.size(each.bytes),
                each.python,
                "complete" if each.complete else f"{len(each.missing)} missing",
                rendering.ago(each.kept_at),
            )
            for each in found
        ]
        rendering.table(("environment", "lock", "files", "size", "needs Python", "", "kept"), rows)
    else:
        print("Nothing is kept yet. roost env archive NAME keeps an environment.")


def _remove(ws: Workspace, name: str, run: str, version: str | None, yes: bool, as_json: bool) -> None:
    found = [each for each in archives.listing(ws._connection) if len(name) >= 8 and each.lock.startswith(name)]
    if not found:
        lock = archives.lock_of(_chosen(ws, name, run, version), ws)
        one = archives.find(ws._connection, lock) if lock else None
        found = [one] if one is not None else []
    if len(found) != 1:
        raise NotFound(
            f"{'Nothing is' if not found else 'More than one is'} kept of {run or name!r}.",
            hint="roost env archive --list shows what is.",
        )
    size = rendering.size(found[0].bytes)
    prompts.confirm(f"{rendering.count(found[0].files, 'file')}, {size}, will be kept no longer.", yes)
    archives.remove(ws._connection, found[0].lock)
    if as_json:
        rendering.as_json({"lock": found[0].lock, "bytes": found[0].bytes})
    else:
        print(f"Kept no longer. `roost gc` gives the room back, up to {size}, once its grace of an hour is over.")


def names_of_locks(ws: Workspace) -> dict[str, str]:
    """Which registered environments are installed from which lock now; older locks have no name any more."""
    known: dict[str, list[str]] = {}
    for each in environments.registered(ws):
        with contextlib.suppress(InvalidInput):  # there is nothing to build, or it cannot be built
            if lock := building.standing(each, ws).lock:
                known.setdefault(lock, []).append(each.name)
    return {lock: ", ".join(names) for lock, names in known.items()}
