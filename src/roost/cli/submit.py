"""`roost submit`: a script and its arguments, streamed until it ends."""

import re
from pathlib import Path

import typer

from roost.domain.errors import InvalidInput

PASS_ON = {"allow_interspersed_args": False, "ignore_unknown_options": True}
"""Options come before the script; whatever stands after it is the script's own."""


def submit(
    script: str = typer.Argument(help="The script to run."),
    args: list[str] = typer.Argument(None, help="The script's own arguments; options of `submit` stand before SCRIPT."),
    experiment: str = typer.Option("", "--experiment", "-e", help="Its experiment; the script's name by default."),
    source: Path | None = typer.Option(None, help="The folder to send; that of the script by default."),
    target: str = typer.Option("local", help="Where to run it."),
    name: str = typer.Option("", help="A display name."),
    tag: list[str] = typer.Option([], help="k=v, repeated."),
    timeout: float | None = typer.Option(None, help="Seconds it may run."),
    detach: bool = typer.Option(False, "--detach", "-d", help="Print the run's id and return."),
) -> None:
    """Run a script and stream its output. Exit code 1 when it does not complete; Ctrl-C leaves it running."""
    from roost.cli import session  # noqa: PLC0415 - loaded when called: main.py
    from roost.sdk import waiting  # noqa: PLC0415
    from roost.sdk.experiments import Experiment  # noqa: PLC0415
    from roost.sdk.submissions import ScriptRunConfig  # noqa: PLC0415

    tags = dict(_tag(each) for each in tag)
    folder = source if source is not None else Path(script).parent
    config = ScriptRunConfig(
        source_directory=folder,
        script=script if source is not None else Path(script).name,
        arguments=args or [],
        compute_target=target,
        max_run_duration_seconds=timeout,
    )
    config.check()
    run = Experiment(session.workspace(), experiment or _experiment(script)).submit(
        config, tags=tags, display_name=name
    )
    if detach:
        print(run.id)
        return
    try:
        ended = waiting.stream(run._connection.watcher, run.id, run.get_portal_url())
    except KeyboardInterrupt:
        print(f"\nThe run goes on. Watch it: roost run logs -f {run.id}   End it: roost run cancel {run.id}")
        raise
    if ended.status.value != "Completed":
        raise typer.Exit(1)


def _tag(text: str) -> tuple[str, str | None]:
    key, equals, value = text.partition("=")
    if not key:
        raise InvalidInput(f"Tag {text!r} has no name.", hint="--tag model=resnet")
    return key, value if equals else None


def _experiment(script: str) -> str:
    """An experiment's name from a script's."""
    return re.sub(r"[^\w-]+", "-", Path(script).stem, flags=re.ASCII).strip("-_") or "scripts"
