"""`ScriptRunConfig`, with the SDK's signature, and how it becomes a RunSpec.

The constructor checks types and supported settings; files are checked at submission.
"""

import numbers
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from roost.domain import names
from roost.domain.errors import InvalidInput
from roost.domain.runs import RunSpec
from roost.sdk import late
from roost.sdk.runs import run_data
from roost.sdk.runs.run_data import DataOfRun
from roost_job.exceptions import ExperimentExecutionException
from roost_job.listing import some

if TYPE_CHECKING:
    from roost.domain.containers import DockerUse
    from roost.domain.datasets import Input, Output
    from roost.sdk.environments.environments import Environment
    from roost.sdk.runs.runconfigs import DockerConfiguration, RunConfiguration

_OPERATORS = frozenset({"&&", "||", "|", ";", "&", ">", ">>", "<", "2>", "2>&1"})
"""Words of a list that only a shell understands."""
Argument: TypeAlias = "str | int | float | os.PathLike[str] | DataOfRun"


class ScriptRunConfig:
    """A script or command, its folder and its arguments. Submit it with `Experiment.submit`."""

    def __init__(
        self,
        source_directory: str | os.PathLike[str] | None = None,
        script: str | None = None,
        arguments: Sequence[Argument] | None = None,
        run_config: "RunConfiguration | None" = None,
        _telemetry_values: object = None,
        compute_target: object = None,
        environment: "Environment | None" = None,
        distributed_job_config: object = None,
        resume_from: object = None,
        max_run_duration_seconds: float | None = None,
        command: str | Sequence[Argument] | None = None,
        docker_runtime_config: "DockerConfiguration | None" = None,
    ) -> None:
        self.run_config = _run_config(run_config, compute_target, environment, distributed_job_config)
        given = self.run_config
        self.source_directory = os.fspath(source_directory) if source_directory is not None else "."
        self.script = script if script is not None else given.script
        self.command, self._inside = _command(command if command is not None else given.command)
        self.arguments = _texts("arguments", arguments if arguments is not None else given.arguments)
        self.max_run_duration_seconds = _seconds(
            max_run_duration_seconds if max_run_duration_seconds is not None else given.max_run_duration_seconds
        )
        if docker_runtime_config is not None:
            if not isinstance(docker_runtime_config, late.DockerConfiguration):
                raise InvalidInput(
                    f"docker_runtime_config must be a DockerConfiguration, got {type(docker_runtime_config).__name__}."
                )
            given.docker = docker_runtime_config
        if resume_from is not None:
            self.arguments += late.run_outputs.resume_arguments(resume_from)
        if self.command and (self.script is not None or self.arguments):
            raise InvalidInput("Both `command` and `script` or `arguments` are given.", hint="Give one or the other.")

    @property
    def compute_target(self) -> str:
        """The name of the target."""
        return self.run_config.target

    @compute_target.setter
    def compute_target(self, value: object) -> None:
        self.run_config.target = value

    @property
    def environment_variables(self) -> dict[str, str]:
        return self.run_config.environment_variables

    @environment_variables.setter
    def environment_variables(self, value: Mapping[str, str]) -> None:
        self.run_config.environment_variables = dict(value)

    def spec(self, snapshot: str) -> RunSpec:
        """The RunSpec for this configuration, with that snapshot of its folder."""
        environment = self.run_config.chosen_environment()
        variables = {**(environment.environment_variables if environment else {}), **self.environment_variables}
        command = (self.command,) if isinstance(self.command, str) else tuple(run_data.texts(self.command))
        arguments = tuple(run_data.texts(self.arguments))
        inputs, outputs = self._data()
        launch, topology = self.run_config.launch()
        return RunSpec(
            snapshot=snapshot,
            script=names.path(self.script) if self.script is not None else "",
            command=command,
            shell=isinstance(self.command, str),
            arguments=arguments,
            target=self.compute_target,
            interpreter=environment._interpreter(self._docker()) if environment else sys.executable,
            environment_variables=_variables(variables),
            timeout_seconds=self.max_run_duration_seconds,
            node_count=self.run_config.node_count,
            launch=launch.value,
            topology=topology,
            priority=self.run_config.priority or 0,
            environment=environment._use(self._docker()) if environment else None,
            docker=self._docker() if environment else None,
            inputs=inputs,
            outputs=outputs,
        )

    def _data(self) -> "tuple[tuple[Input, ...], tuple[Output, ...]]":
        """Its inputs and outputs, from all places that can name them."""
        words = [self.command] if isinstance(self.command, str) else self.command
        given = self.run_config
        return run_data.collect(
            [*self.arguments, *words], given.data, given.output_data, given.data_references, self._inside
        )

    def _docker(self) -> "DockerUse | None":
        return self.run_config.docker.use() if self.run_config.docker is not None else None

    def check(self) -> str:
        """Checks that there is something to run, and that Roost supports it; returns the script's path in the folder, empty
        for a command."""
        self.run_config.check()
        self._data()
        if (environment := self.run_config.chosen_environment()) is not None:
            environment._use(self._docker())
        folder = Path(self.source_directory)
        if not folder.is_dir():
            raise ExperimentExecutionException(
                f"The source folder {str(folder)!r} does not exist (looked from {Path.cwd()}).",
                hint="Give an existing `source_directory`.",
                cli_hint="--source names the folder; without it that of the script is taken.",
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


def _run_config(
    given: "RunConfiguration | None", target: object, environment: "Environment | None", job: object
) -> "RunConfiguration":
    """The given configuration, which then replaces all other parameters; else one made of those."""
    if given is not None:
        if not isinstance(given, late.RunConfiguration):
            raise InvalidInput(f"run_config must be a RunConfiguration, got {type(given).__name__}.")
        others = {"compute_target": target, "environment": environment, "distributed_job_config": job}
        ignored = [name for name, value in others.items() if value is not None]
        if ignored:
            words = f"run_config is given, so {', '.join(ignored)} of ScriptRunConfig are ignored."
            warnings.warn(words, UserWarning, stacklevel=3)
        return given
    made = late.RunConfiguration()
    if target is not None:
        made.target = target
    if environment is not None:
        made.environment = environment
    if job is not None:
        made.distribute(job)
    return made


def _command(command: str | Sequence[Argument] | None) -> "tuple[list[str | DataOfRun] | str, list[DataOfRun]]":
    """A text is for the shell. A list is a program and its arguments, unless it was clearly written for a shell: then it is
    joined with spaces, as Azure ML joined every list. Also returns the data of a list that became one text."""
    if command is None or (not isinstance(command, str) and not command):
        return [], []
    given: list[str | DataOfRun] = [command] if isinstance(command, str) else _texts("command", command)
    words = run_data.texts(given)
    text = " ".join(words)
    if not text.strip() or "\0" in text:
        raise InvalidInput("command is empty, or holds a NUL character.", hint="Give a program and its arguments.")
    data = [each for each in given if not isinstance(each, str)]
    sentence = (len(words) == 1 or bool(data)) and len(words[0].split()) > 1
    shell = isinstance(command, str) or sentence or not _OPERATORS.isdisjoint(words)
    return (text, data) if shell else (given, [])


def _texts(what: str, values: Sequence[Argument] | None) -> "list[str | DataOfRun]":
    """Each item as text, data unchanged; the error names the first item that is neither text, number, path nor data."""
    if values is None:
        return []
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise InvalidInput(
            f"{what} must be a list, got {type(values).__name__} {str(values)[:80]!r}.", hint="['--epochs', 3]"
        )
    texts: list[str | DataOfRun] = []
    for index, value in enumerate(values):
        if run_data.is_data(value):
            texts.append(value)
            continue
        run_data.refuse_dataset(f"{what}[{index}]", value)
        if not isinstance(value, str | numbers.Number | os.PathLike):
            raise InvalidInput(
                f"{what}[{index}] is {type(value).__name__} {str(value)[:80]!r}; only text, numbers and paths can be there.",
                hint=run_data.hint_for(value),
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
        raise InvalidInput(
            f"A run may take a number of seconds above 0, got {value!r}.",
            hint="Give max_run_duration_seconds=3600, or leave it out for no limit.",
            cli_hint="Give --timeout 3600, or leave it out for no limit.",
        )
    return float(value)


def _variables(given: Mapping[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in f"{name}{value}":
            raise InvalidInput(f"Environment variable {name!r}={value!r} is not allowed.")
    return {name: str(value) for name, value in given.items()}


def _near(folder: Path, script: str) -> str:
    """A hint with similar script names."""
    import difflib  # noqa: PLC0415 - only for mistyped names

    there = [str(path.relative_to(folder)) for pattern in ("*.py", "*/*.py") for path in sorted(folder.glob(pattern))]
    same = [path for path in there if Path(path).name == Path(script).name]
    stems = {
        path.removesuffix(".py"): path for path in there
    }  # the common suffix would make any two short names similar
    near = same or [stems[stem] for stem in difflib.get_close_matches(script.removesuffix(".py"), stems, n=3)]
    if near:
        return f"Did you mean {', '.join(repr(path) for path in near[:3])}?"
    return f"Scripts there: {some(there)}." if there else "There is no .py file in that folder."
