"""What a person asks to run: `ScriptRunConfig` in the SDK's own signature, and how it becomes a RunSpec.

Constructing checks types and what Roost can do; files are looked at when it is submitted.
"""

import difflib
import numbers
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from roost.domain import names
from roost.domain.errors import InvalidInput
from roost.domain.runs import RunSpec
from roost_job.exceptions import ExperimentExecutionException

Argument = str | int | float | os.PathLike[str]
LOCAL = "local"


class ScriptRunConfig:
    """A script or command, its folder and its arguments. Submit it with `Experiment.submit`."""

    def __init__(
        self,
        source_directory: str | os.PathLike[str] | None = None,
        script: str | None = None,
        arguments: Sequence[Argument] | None = None,
        run_config: object = None,
        _telemetry_values: object = None,
        compute_target: str | None = None,
        environment: object = None,
        distributed_job_config: object = None,
        resume_from: object = None,
        max_run_duration_seconds: float | None = None,
        command: str | Sequence[Argument] | None = None,
        docker_runtime_config: object = None,
    ) -> None:
        _refuse(
            run_config=run_config,
            environment=environment,
            distributed_job_config=distributed_job_config,
            resume_from=resume_from,
            docker_runtime_config=docker_runtime_config,
        )
        if compute_target is not None and not isinstance(compute_target, str):
            raise InvalidInput(
                f"compute_target must be a name, got {type(compute_target).__name__}; Roost cannot take objects there yet.",
                hint="Leave it out, or give 'local'.",
            )
        self.source_directory = os.fspath(source_directory) if source_directory is not None else "."
        self.script = script
        self.command = _command(command)
        self.arguments = _texts("arguments", arguments)
        self.compute_target = compute_target or LOCAL
        self.environment_variables: dict[str, str] = {}
        self.max_run_duration_seconds = _seconds(max_run_duration_seconds)
        if self.command and (script is not None or arguments):
            raise InvalidInput("Both `command` and `script` or `arguments` are given.", hint="Give one or the other.")

    def spec(self, snapshot: str) -> RunSpec:
        """The run that this asks for, with that snapshot of its folder."""
        return RunSpec(
            snapshot=snapshot,
            script=names.path(self.script) if self.script is not None else "",
            command=tuple(self.command),
            arguments=tuple(self.arguments),
            target=self.compute_target,
            interpreter=sys.executable,
            environment_variables=_variables(self.environment_variables),
            timeout_seconds=self.max_run_duration_seconds,
        )

    def check(self) -> str:
        """That there is something to run; the script's path within the folder, nothing for a command."""
        folder = Path(self.source_directory)
        if not folder.is_dir():
            raise ExperimentExecutionException(
                f"The source folder {str(folder)!r} does not exist (looked from {Path.cwd()}).",
                hint="Give an existing `source_directory`.",
            )
        if self.command:
            return ""
        if not self.script:
            raise ExperimentExecutionException("There is nothing to run.", hint="Give `script` or `command`.")
        script = names.path(self.script)
        if not (folder / script).is_file():
            raise ExperimentExecutionException(
                f"There is no script {self.script!r} in {folder.resolve()}.", hint=_near(folder, script)
            )
        return script

    def __repr__(self) -> str:
        what = f"command={self.command!r}" if self.command else f"script={self.script!r}, arguments={self.arguments!r}"
        return f"ScriptRunConfig(source_directory={self.source_directory!r}, {what})"


def _refuse(**given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise InvalidInput(
                f"Roost cannot do `{name}` of ScriptRunConfig yet; it was given {type(value).__name__}.",
                hint=f"Leave `{name}` out: the script runs on this machine with the Python that submits it.",
            )


def _command(command: str | Sequence[Argument] | None) -> list[str]:
    if not isinstance(command, str):
        return _texts("command", command)
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidInput(f"command={command!r} cannot be split into words: {error}.") from None
    if not words:
        raise InvalidInput("command is empty.", hint="Give a program and its arguments.")
    return words


def _texts(what: str, values: Sequence[Argument] | None) -> list[str]:
    """Each item as text; the first that is neither text, number nor path is named."""
    if values is None:
        return []
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise InvalidInput(
            f"{what} must be a list, got {type(values).__name__} {str(values)[:80]!r}.", hint="['--epochs', 3]"
        )
    texts = []
    for index, value in enumerate(values):
        if not isinstance(value, str | numbers.Number | os.PathLike):
            raise InvalidInput(
                f"{what}[{index}] is {type(value).__name__} {str(value)[:80]!r}; only text, numbers and paths can be there.",
                hint="Turn it into text first.",
            )
        text = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
        if "\0" in text:
            raise InvalidInput(f"{what}[{index}] holds a NUL character: {text[:80]!r}.")
        texts.append(text)
    return texts


def _seconds(value: float | None) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise InvalidInput(f"max_run_duration_seconds must be a number above 0, got {value!r}.")
    return float(value)


def _variables(given: Mapping[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in f"{name}{value}":
            raise InvalidInput(f"Environment variable {name!r}={value!r} is not allowed.")
    return {name: str(value) for name, value in given.items()}


def _near(folder: Path, script: str) -> str:
    """What the person may have meant."""
    there = sorted(str(path.relative_to(folder)) for pattern in ("*.py", "*/*.py") for path in folder.glob(pattern))
    same = [path for path in there if Path(path).name == Path(script).name]
    near = same or difflib.get_close_matches(script, there, n=3)
    if near:
        return f"Did you mean {', '.join(repr(path) for path in near[:3])}?"
    return f"Scripts there: {', '.join(there[:5])}." if there else "There is no .py file in that folder."
