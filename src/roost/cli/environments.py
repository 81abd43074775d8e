"""`roost env …`: list, show, build; and what `--environment` of other commands means."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from roost.domain.errors import InvalidInput

if TYPE_CHECKING:
    from roost.sdk.environments import Environment
    from roost.sdk.workspaces import Workspace

app = typer.Typer(no_args_is_help=True, help="Look at environments and build them ahead.", rich_markup_mode=None)

_NAME = typer.Argument(help="An environment's name.", metavar="NAME")
_VERSION = typer.Option(None, "--version", help="The version; the newest by default.")
_AS_JSON = typer.Option(False, "--json", help="Print JSON.")


@app.command("list")
def listing(as_json: bool = _AS_JSON) -> None:
    """List the registered environments, each with its newest version."""
    from roost.cli import rendering, session  # noqa: PLC0415 - loaded when called: main.py
    from roost.domain import codec  # noqa: PLC0415
    from roost.domain.environments import Environment as Record  # noqa: PLC0415
    from roost.transport.client import path_of  # noqa: PLC0415

    ws = session.workspace()
    answer = ws._connection.client.call("GET", path_of("workspaces", ws.name, "environments"))
    found = [codec.decode(Record, item) for item in answer["environments"]]
    if as_json:
        rendering.as_json(codec.encode(found))
    elif found:
        rows = [(each.name, each.version, *_summary(each.definition), rendering.ago(each.created_at)) for each in found]
        rendering.table(("environment", "version", "python", "packages", "registered"), rows)
    else:
        print(f"No environments in workspace {ws.name!r} yet. Submitting with one registers it.")


@app.command()
def show(name: str = _NAME, version: str | None = _VERSION, as_json: bool = _AS_JSON) -> None:
    """Show what an environment asks for."""
    import json  # noqa: PLC0415 - loaded when called: main.py

    from roost.cli import rendering, session  # noqa: PLC0415
    from roost.sdk.environments import Environment  # noqa: PLC0415

    found = Environment.get(session.workspace(), name, version)
    if as_json:
        rendering.as_json(json.loads(repr(found)))
        return
    print(f"{found.name}, version {found.version}")
    if found.python.user_managed_dependencies:
        print(f"Packages are managed by the user; the interpreter is {found.python.interpreter_path}.")
    else:
        print(found.python.conda_dependencies.serialize_to_string().partition("\n")[2].rstrip())
    for key, value in found.environment_variables.items():
        print(f"{key}={value}")


@app.command()
def build(
    name: str = typer.Argument(help="A registered environment, or a requirements or conda file.", metavar="NAME"),
    version: str | None = _VERSION,
    detach: bool = typer.Option(False, "--detach", "-d", help="Print the id of the run that builds it and return."),
    as_json: bool = typer.Option(False, "--json", help="Print the run as JSON; its log goes to stderr."),
) -> None:
    """Build an environment ahead, so that runs find it there. Exit code 1 when it cannot be built."""
    from roost.cli import session, submit  # noqa: PLC0415 - loaded when called: main.py

    ws = session.workspace()
    submit.follow(chosen(ws, name, version).build(ws), detach, as_json)


def chosen(ws: "Workspace", text: str, version: str | None = None) -> "Environment":
    """The environment that a person named: a file's, called like the file, or a registered one (`NAME` or `NAME:VERSION`)."""
    from roost.sdk.environments import Environment  # noqa: PLC0415 - loaded when called: main.py

    path = Path(text)
    if path.suffix in (".txt", ".in", ".yml", ".yaml"):
        if version is not None:
            raise InvalidInput(f"{text!r} is a file, and has no version {version!r}.")
        name = path.stem if path.stem.isidentifier() else "requirements"
        made = (
            Environment.from_pip_requirements
            if path.suffix in (".txt", ".in")
            else Environment.from_conda_specification
        )
        return made(name, path)
    name, _, number = text.partition(":")
    return Environment.get(ws, name, version or number or None)


def _summary(definition: object) -> tuple[str, str]:
    """Python and how many packages, for a line of a table."""
    from roost.domain import recipes  # noqa: PLC0415 - loaded when called: main.py

    try:
        recipe = recipes.recipe(definition if isinstance(definition, dict) else {})
    except InvalidInput:
        return "", "cannot be built yet"
    if recipe is None:
        return "", "managed by the user"
    return recipe.python, str(len([line for line in recipe.requirements if line not in recipes.BASICS]))
