"""Questions to the person at the terminal: a yes before something goes for good, and secrets."""

import getpass
import sys

import typer

from roost.domain.errors import InvalidInput


def confirm(what: str, yes: bool) -> None:
    """Says what is about to happen and goes on after a yes; exit code 1 otherwise, InvalidInput when nobody is there to ask."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(f"{what} Nobody is here to say yes.", hint="--yes goes on without asking.")
    sys.stderr.write(f"{what} Go on? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        print("Nothing was done.", file=sys.stderr)
        raise typer.Exit(1)


def secret(question: str) -> str:
    """From a prompt that shows nothing, or all of stdin less its last line break, which editors and `echo` add."""
    if sys.stdin.isatty():
        return getpass.getpass(f"{question}: ")
    return sys.stdin.read().removesuffix("\n")
