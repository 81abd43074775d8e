"""Shell completion: `roost completion bash`, and run ids when Tab is pressed. Tab starts no control plane and never complains."""

import contextlib
import os

import typer

from roost.domain.errors import InvalidInput

VARIABLE = "_ROOST_COMPLETE"
"""Set by the shell when it asks what may follow."""
SHELLS = ("bash", "zsh", "fish")
_SHOWN = 50
_HINTS = {
    "bash": 'Add to ~/.bashrc:  eval "$(roost completion bash)"',
    "zsh": 'Add to ~/.zshrc:  eval "$(roost completion zsh)"',
    "fish": "Save as ~/.config/fish/completions/roost.fish",
}


def completion(shell: str = typer.Argument("", help="bash, zsh or fish; the one you use by default.")) -> None:
    """Print the script that makes a shell complete commands, options and run ids."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # noqa: PLC0415 - as all: main.py

    chosen = shell or os.path.basename(os.environ.get("SHELL", ""))
    if chosen not in SHELLS:
        raise InvalidInput(f"There is no completion for the shell {chosen!r}.", hint=f"One of: {', '.join(SHELLS)}.")
    print(f"# {_HINTS[chosen]}")
    print(get_completion_script(prog_name="roost", complete_var=VARIABLE, shell=chosen))


def begin() -> None:
    """Makes the shells known to the parser."""
    from typer.completion import completion_init  # type: ignore[attr-defined]  # noqa: PLC0415 - only when a shell asks

    completion_init()


def run_ids(incomplete: str) -> list[str]:
    """Ids of the newest runs that begin so, of a control plane that runs already."""
    with contextlib.suppress(Exception):
        from roost.cli import session  # noqa: PLC0415 - loaded when called: main.py
        from roost.sdk.calls import searches  # noqa: PLC0415
        from roost.sdk.connection import discovery, embedded  # noqa: PLC0415

        if not session.is_elsewhere() and embedded.find(discovery.home()) is None:
            return []
        ws = session.workspace()
        found = searches.find(ws._connection.client, ws.name, searches.Search(include_children=True), page=_SHOWN)
        newest = [run.id for run, _ in zip(found, range(_SHOWN), strict=False)]
        return [each for each in ("@latest", *newest) if each.startswith(incomplete)]
    return []
