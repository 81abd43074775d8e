"""`roost secret …`: set, list, delete. A value comes from a prompt or from stdin, never from the command line, where every
process of the machine could read it and the shell would remember it; and no command prints one."""

import difflib
import sys

import typer

from roost.cli import rendering, session
from roost.cli.inputs import prompts
from roost.cli.inputs.parameters import AS_JSON, YES
from roost.domain.errors import NotFound
from roost.domain.secrets import checked_name, checked_value

_NAME = typer.Argument(help="A secret's name: letters, digits and dashes.", metavar="NAME")


def put(name: str = _NAME, as_json: bool = AS_JSON) -> None:
    """Set a secret. Its value is asked for, or read from stdin: roost secret set api-key < key.txt"""
    checked_name(name)
    value = checked_value(name, prompts.secret(f"Value of {name}"))
    ws = session.workspace()
    ws.get_default_keyvault().set_secret(name, value)
    if as_json:
        rendering.as_json({"set": name})
    else:
        print(f"Secret {name} is set. In a script: Run.get_context().get_secret({name!r})")


def listing(as_json: bool = AS_JSON) -> None:
    """List the names of the secrets; values are never shown."""
    ws = session.workspace()
    found = ws.get_default_keyvault().list_secrets()
    if as_json:
        rendering.as_json(found)
        return
    for each in found:
        print(each["name"])
    if not found:
        print(f"No secrets in workspace {ws.name!r} yet. Add one with: roost secret set NAME", file=sys.stderr)


def delete(name: str = _NAME, yes: bool = YES, as_json: bool = AS_JSON) -> None:
    """Delete a secret for good, after a yes."""
    checked_name(name)
    ws = session.workspace()
    vault = ws.get_default_keyvault()
    known = [each["name"] for each in vault.list_secrets()]
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        meant = f"Did you mean {near[0]!r}? " if near else ""
        raise NotFound(
            f"There is no secret {name!r} in workspace {ws.name!r}.", hint=f"{meant}List them with: roost secret list"
        )
    prompts.confirm(f"Secret {name} of workspace {ws.name!r} will be deleted for good.", yes)
    vault.delete_secret(name)
    if as_json:
        rendering.as_json({"deleted": name})
    else:
        print(f"Secret {name} was deleted.")
