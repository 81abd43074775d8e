"""`roost`: the commands put together, and the one place where an error becomes words and an exit code.

Exit codes: 0 done, 1 the user's error or a run that failed, 2 wrong usage, 3 no control plane, 4 one that is busy, 130 Ctrl-C.
A command is loaded when it is typed (`command_table.py`, `groups.py`); nothing here loads the SDK, and `roost --help` is quick.
"""

import io
import os
import sys
from typing import Any

import typer

from roost.cli import completion, global_options, rendering
from roost.cli.command_table import ROOT
from roost.cli.groups import WIDEST, Group
from roost.domain.errors import Busy
from roost.version import VERSION
from roost_job.exceptions import AzureMLException, ServiceException


class Root(Group):
    """All commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(table=ROOT, **settings)


app = typer.Typer(
    name="roost",
    cls=Root,
    context_settings={"max_content_width": WIDEST},
    help="Train where you are: submit scripts, watch them, keep what they make.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        print(f"roost {VERSION}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(  # noqa: ARG001 - its callback ends the program
        False, "--version", callback=_version, is_eager=True, help="Show the version."
    ),
    workspace: str | None = typer.Option(
        None,
        "--workspace",
        "-w",
        metavar="NAME",
        help="The workspace to work in; by default the one that config.json of this folder names.",
    ),
) -> None:
    """Train where you are: submit scripts, watch them, keep what they make."""
    global_options.workspace = workspace


def main() -> None:
    """The console script."""
    if sys.stdout is None:  # closed by who called
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="replace"
            )  # a terminal that cannot show a character shows another, and no stack trace
    if completion.VARIABLE in os.environ:
        completion.begin()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # what cannot be written is told below, not by the interpreter at its end
    except Busy as error:
        sys.exit(_say(error, 4))
    except ServiceException as error:
        sys.exit(_say(error, 3))
    except AzureMLException as error:
        sys.exit(_say(error, 1))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # `roost run logs … | head`
        _leave_stdout()
        sys.exit(0)
    except OSError as error:  # of this machine: a full disk behind `>`, a folder that is gone
        _leave_stdout()
        where = f": {error.filename}" if error.filename else ""
        sys.exit(_say(AzureMLException(f"{error.strerror or error}{where}."), 1))


def _leave_stdout() -> None:
    """What is not written yet never is: it cannot be."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(error: AzureMLException, code: int) -> int:
    sys.stdout.flush()
    hint = error.cli_hint or error.hint
    for word, text in (("error", error.message), ("hint", hint)):
        if text or word == "error":  # names of others are in it, such as those of a run's metrics
            print(f"{word}: " + "\n".join(map(rendering.clean, str(text).split("\n"))), file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
