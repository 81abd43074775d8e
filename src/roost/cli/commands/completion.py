"""`roost completion`: the script that makes a shell complete commands, options and run ids."""

import os

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]

from roost.cli.completion import VARIABLE
from roost.domain.errors import InvalidInput

SHELLS = ("bash", "zsh", "fish")


_HINTS = {
    "bash": 'Add to ~/.bashrc:  eval "$(roost completion bash)"',
    "zsh": 'Add to ~/.zshrc:  eval "$(roost completion zsh)"',
    "fish": "Save as ~/.config/fish/completions/roost.fish",
}


def completion(shell: str = typer.Argument("", help="bash, zsh or fish; the one you use by default.")) -> None:
    """Print the script that makes a shell complete commands, options and run ids."""
    chosen = shell or os.path.basename(os.environ.get("SHELL", ""))
    if chosen not in SHELLS:
        raise InvalidInput(f"There is no completion for the shell {chosen!r}.", hint=f"One of: {', '.join(SHELLS)}.")
    print(f"# {_HINTS[chosen]}")
    print(get_completion_script(prog_name="roost", complete_var=VARIABLE, shell=chosen))
