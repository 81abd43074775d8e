"""`roost`: the commands put together, and the one place where an error becomes words and an exit code.

Exit codes: 0 done, 1 the user's error or a run that failed, 2 wrong usage, 3 no control plane, 4 one that is busy, 130 Ctrl-C.
What a command needs of the SDK it imports when it is called, so that `roost --help` stays quick.
"""

import io
import os
import sys

import typer

from roost.cli import (
    backups,
    completing,
    compute,
    data,
    datastores,
    doctor,
    endpoints,
    environments,
    experiments,
    models,
    onnx,
    runs,
    secrets,
    server,
    session,
    studio,
    submit,
    upkeep,
    workspaces,
)
from roost.cli.groups import WIDEST, Group
from roost.domain.errors import Busy
from roost.version import VERSION
from roost_job.exceptions import AzureMLException, ServiceException

app = typer.Typer(
    name="roost",
    cls=Group,
    context_settings={"max_content_width": WIDEST},
    help="Train where you are: submit scripts, watch them, keep what they make.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
app.command("up", short_help="Start the control plane here, or find it.")(server.up)
app.command("down", short_help="End the control plane here; runs go on.")(server.down)
app.command("status", short_help="Show where the control plane answers.")(server.status)
app.command("open")(studio.open_studio)
app.command("submit", context_settings=submit.PASS_ON)(submit.submit)
app.command("doctor", short_help="Look for what is wrong, and say what to do.")(doctor.doctor)
app.command("du", short_help="Show what takes room.")(upkeep.du)
app.command("gc", short_help="Free room.")(upkeep.gc)
app.command("backup", short_help="Write everything to one file.")(backups.backup)
app.command("restore", short_help="Fill an empty home with a back-up.")(backups.restore)
app.command("completion", short_help="Print the completion script of a shell.")(completing.completion)
models.app.command("export-onnx")(onnx.export_onnx)
for _name, _group in {
    "run": runs.app,
    "experiment": experiments.app,
    "workspace": workspaces.app,
    "env": environments.app,
    "compute": compute.app,
    "secret": secrets.app,
    "data": data.app,
    "model": models.app,
    "datastore": datastores.app,
    "endpoint": endpoints.app,
}.items():
    app.add_typer(_group, name=_name, cls=Group)


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
    session.chosen = workspace


def main() -> None:
    """The console script."""
    if sys.stdout is None:  # closed by who called
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="replace"
            )  # a terminal that cannot show a character shows another, and no stack trace
    if completing.VARIABLE in os.environ:
        completing.begin()
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
    from roost.cli import rendering  # noqa: PLC0415 - for errors only: see the top

    sys.stdout.flush()
    hint = error.cli_hint or error.hint
    for word, text in (("error", error.message), ("hint", hint)):
        if text or word == "error":  # names of others are in it, such as those of a run's metrics
            print(f"{word}: " + "\n".join(map(rendering.clean, str(text).split("\n"))), file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
