"""`roost env …`: list, show, build, lock, prune."""

import contextlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from roost.cli import rendering, session
from roost.cli.commands import environment_archives
from roost.cli.commands.runs import streaming
from roost.cli.inputs import parsing, prompts
from roost.cli.inputs.environments import find_environment
from roost.cli.inputs.parameters import AS_JSON, YES
from roost.domain import recipes
from roost.domain.environments import Build
from roost.domain.errors import InvalidInput, NotFound
from roost.sdk.core.workspaces import Workspace
from roost.sdk.environments import curated as catalogue
from roost.sdk.environments import environments, prefixes
from roost.sdk.environments.environments import Environment
from roost.sdk.environments.prefixes import Prefix
from roost.sdk.operations import archives as archived
from roost.sdk.operations import building
from roost.sdk.runs import waiting

_NAME = typer.Argument(help="A registered or curated environment, or a requirements or conda file.", metavar="NAME")
_VERSION = typer.Option(None, "--version", help="The version; the newest by default.")
_FRESH = typer.Option(False, "--fresh", help="Resolve it anew, though its packages are locked already.")
_UNUSED = "30d"


def listing(
    curated: bool = typer.Option(False, "--curated", help="The curated ones, with what stands behind each name."),
    as_json: bool = AS_JSON,
) -> None:
    """List the registered environments, each with its newest version, and whether it is built here."""
    ws = session.workspace()
    told = [_facts(ws, each) for each in (catalogue.listing() if curated else environments.registered(ws))]
    if curated:
        told = [{**each, "gives": catalogue.find(each["name"]).title} for each in told]
    if as_json:
        rendering.as_json(told)
    elif told:
        what = "gives" if curated else "version"
        rows = [(each["name"], each[what], each["python"], _count(each), _built(each), _used(each)) for each in told]
        columns = ("environment", what, "python", "packages", "built here", "used")
        rendering.table(columns, rows, drop=("packages", "used", "built here"))
    else:
        print(f"No environments in workspace {ws.name!r} yet. Submitting with one registers it.")
    if not curated and not as_json:
        print(f"\n{len(catalogue.names())} curated ones: roost env list --curated", file=sys.stderr)


def show(name: str = _NAME, version: str | None = _VERSION, as_json: bool = AS_JSON) -> None:
    """Show what an environment asks for, what stands behind a curated name, and whether it is built here."""
    ws = session.workspace()
    found = find_environment(ws, name, version)
    facts = _facts(ws, found)
    facts["notes"] = list(dict.fromkeys([*facts["notes"], *_lock_notes(ws, found)]))
    facts["archive"] = _kept(ws, facts["lock"]) if facts["lock"] else None
    versions = environments.versions(ws, found.name) if found.version else []
    if as_json:
        rendering.as_json({**json.loads(repr(found)), "versions": versions, "build": facts})
        return
    print(f"{found.name}" + (f", version {found.version}" if found.version else ", not registered"))
    if len(versions) > 1:
        print(f"Versions: {', '.join(versions)}")
    if found.python.user_managed_dependencies:
        print(f"Packages are managed by the user; the interpreter is {found.python.interpreter_path}.")
    else:
        print(found.python.loaded().serialize_to_string().partition("\n")[2].rstrip())
    for key, value in found.environment_variables.items():
        print(f"{key}={value}")
    for note in facts["notes"]:
        print(f"Note: {note}")
    _tell_build(facts)


def _lock_notes(ws: Workspace, environment: Environment) -> tuple[str, ...]:
    """What is not as it was asked for in what is installed; nothing for what is not locked yet."""
    with contextlib.suppress(InvalidInput):  # there is nothing to build, or it cannot be built
        standing = building.standing(environment, ws)
        if standing.lock:
            return building.locked(ws._connection, standing).notes
    return ()


def _tell_build(facts: dict[str, Any]) -> None:
    if facts["message"]:
        print(f"Its last build failed: {facts['message']}")
    if not facts["recipe"]:
        return
    print(f"Recipe {facts['recipe'][:12]}" + (f", lock {facts['lock'][:12]}" if facts["lock"] else ", not locked yet"))
    if facts["prefix"]:
        print(f"Built here: {rendering.size(facts['bytes'])} in {facts['prefix']}")
        print(f"Last used {rendering.ago(facts['used_at'])}.")
    else:
        print("Not built here.")
    if facts["archive"]:
        print(facts["archive"]["told"])
        for line in facts["archive"]["missing"]:
            print(f"Missing: {line}")
    elif facts["lock"]:
        print("Its files are not kept: roost env archive")


def build(
    name: str = typer.Argument("", help="A registered environment, or a requirements or conda file.", metavar="NAME"),
    version: str | None = _VERSION,
    curated: str = typer.Option("", "--curated", metavar="NAME", help="A curated one instead."),
    fresh: bool = _FRESH,
    offline: bool = typer.Option(False, "--offline", help="From what `roost env archive` has kept, with no network."),
    detach: bool = typer.Option(False, "--detach", "-d", help="Print the id of the run that builds it and return."),
    as_json: bool = typer.Option(False, "--json", help="Print the run as JSON; its log goes to stderr."),
) -> None:
    """Build an environment ahead, so that runs find it there. Exit code 1 when it cannot be built."""
    if bool(name) == bool(curated):
        raise InvalidInput("Which environment?", hint="roost env build NAME, or --curated NAME.")
    ws = session.workspace()
    if curated and not catalogue.is_curated(curated):
        raise NotFound(
            f"There is no curated environment {curated!r}: their names begin with AzureML-.",
            hint="List them with: roost env list --curated",
        )
    if fresh and offline:
        raise InvalidInput("What is resolved anew cannot be had offline.", hint="Give --fresh or --offline, not both.")
    found = find_environment(ws, curated or name, version)
    found = archived.offline(found, ws) if offline else found
    streaming.follow(building.build(found, ws, fresh), detach, as_json)


def lock(
    name: str = _NAME,
    version: str | None = _VERSION,
    output: Path | None = typer.Option(None, "--output", "-o", help="Write it to this file."),
    fresh: bool = _FRESH,
    as_json: bool = AS_JSON,
) -> None:
    """Print exactly what an environment installs: versions, hashes, the Python. What is not locked yet is built first."""
    if output is not None:
        _check_target(output)
    ws = session.workspace()
    found = find_environment(ws, name, version)
    standing = building.standing(found, ws)
    if fresh or not standing.lock:
        run = building.build(found, ws, fresh)
        waiting.raise_for_failure(waiting.stream(run._connection.watcher, run.id, run.get_portal_url(), sys.stderr))
        standing = building.standing(found, ws)
    found_lock = building.locked(ws._connection, standing)
    text = found_lock.text if found_lock.text.endswith("\n") else f"{found_lock.text}\n"
    if output is not None:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InvalidInput(f"The lock cannot be written to {str(output)!r}: {error.strerror}.") from None
    if as_json:
        rendering.as_json({"lock": standing.lock, **asdict(found_lock)})
    elif output is None:
        sys.stdout.write(text)
    else:
        print(f"Written to {output}.")


def _check_target(output: Path) -> None:
    """That a file can be there, before anything is built for it."""
    if output.is_dir():
        raise InvalidInput(
            f"{str(output)!r} is a folder; the lock is a file.", hint=f"-o {output / 'environment.lock'}"
        )
    if not output.absolute().parent.is_dir():
        raise InvalidInput(
            f"There is no folder {str(output.parent)!r} to write {output.name!r} to.", hint="Make it, or name another."
        )


def prune(
    older_than: str = typer.Option(
        _UNUSED, metavar="AGE", help="Those that no run has begun with for so long: 12h, 30d, 8w; m is minutes."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Say what would go; change nothing."),
    yes: bool = YES,
    as_json: bool = AS_JSON,
) -> None:
    """Remove installed environments of this machine that were not used for long, what ended builds have left, and images that
    none needs any more. Their locks stay: a run installs them again."""
    age = parsing.seconds(older_than)
    ws = session.workspace()
    home = ws._connection.home
    going = prefixes.unused(home, age)
    known = environment_archives.names_of_locks(ws) if going else {}
    if going and not as_json:
        rows = [
            (known.get(each.lock, ""), each.lock[:12], rendering.size(each.bytes), _last_use(each)) for each in going
        ]
        rendering.table(("environment", "lock", "size", "last used"), rows)
    total = rendering.size(sum(each.bytes for each in going))
    if going and not dry_run:
        which = f"{rendering.count(len(going), 'environment')}, {total}, not used for {parsing.in_full(older_than)}"
        prompts.confirm(f"{which}, will be removed from this machine.", yes)
    gone = going if dry_run else prefixes.drop(going)
    left = prefixes.unused_images(home)  # after the environments that needed them
    images = left if dry_run else prefixes.drop_images(home, left)
    freed = sum(each.bytes for each in gone)
    if as_json:
        removed = [
            {"name": known.get(each.lock, ""), "lock": each.lock, "bytes": each.bytes, "used_at": each.used_at}
            for each in gone
        ]
        built = [{"image": name, "bytes": size} for name, size in images]
        rendering.as_json({"dry_run": dry_run, "environments": removed, "bytes": freed, "images": built})
        return
    if images:
        would = "would be" if dry_run else "is" if len(images) == 1 else "are"
        total = rendering.size(sum(size for _, size in images))
        print(f"{rendering.count(len(images), 'image')} that no environment needs {would} removed, {total}.")
    if not going:
        print(f"Nothing to remove: every environment here was used within {parsing.in_full(older_than)}.")
    else:
        would = "would be" if dry_run else "is" if len(gone) == 1 else "are"
        print(f"{rendering.count(len(gone), 'environment')} {would} removed, {rendering.size(freed)}.")
        if len(gone) < len(going):
            left_here = len(going) - len(gone)
            stays = "stays: a run has it now" if left_here == 1 else "stay: a run has them now"
            print(f"{rendering.count(left_here, 'environment')} {stays}.")


def _last_use(prefix: Prefix) -> str:
    return rendering.ago(prefix.used_at) if prefix.whole else f"half-made {rendering.ago(prefix.used_at)}"


def _facts(ws: Workspace, environment: Environment) -> dict[str, Any]:
    """What there is to know of an environment and its build, in plain values."""
    definition = environment._definition()
    refused, recipe = "", None
    try:
        recipe = recipes.recipe(definition)
    except InvalidInput as error:
        refused = error.message
    standing: Build | None = building.standing(environment, ws) if recipe is not None else None
    here: Prefix | None = None
    if standing is not None and standing.lock and not session.is_elsewhere():
        here = prefixes.find(ws._connection.home, standing.lock)
    wanted = [line for line in recipe.requirements if line not in recipes.BASICS] if recipe is not None else []
    return {
        "name": environment.name,
        "version": environment.version or "",
        "python": recipe.python if recipe is not None else "",
        "packages": [*recipe.packages, *wanted] if recipe is not None else [],
        "managed": recipe is None and not refused,
        "notes": list(recipe.notes) if recipe is not None else [],
        "recipe": recipe.key if recipe is not None else "",
        "lock": standing.lock if standing is not None else "",
        "message": refused or (standing.message if standing is not None else ""),
        "prefix": str(here.path) if here is not None else "",
        "bytes": here.bytes if here is not None else 0,
        "used_at": here.used_at if here is not None else None,
    }


def _kept(ws: Workspace, lock: str) -> dict[str, Any] | None:
    found = archived.find(ws._connection, lock)
    return {**archived.facts(found), "told": environment_archives.told(found)} if found is not None else None


def _count(facts: dict[str, Any]) -> str:
    return "managed by the user" if facts["managed"] else str(len(facts["packages"]))


def _built(facts: dict[str, Any]) -> str:
    if facts["prefix"]:
        return rendering.size(facts["bytes"])
    return "locked" if facts["lock"] else ""


def _used(facts: dict[str, Any]) -> str:
    return rendering.ago(facts["used_at"])
