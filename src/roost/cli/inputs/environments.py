"""The environment that `--environment` and the commands of `roost env` name."""

from pathlib import Path

from roost.cli.inputs import parsing
from roost.domain.errors import InvalidInput, NotFound
from roost.sdk.core.workspaces import Workspace
from roost.sdk.environments.environments import Environment


def find_environment(ws: Workspace, text: str, version: str | None = None) -> Environment:
    """The environment that a person named: a file's, called like the file, or a registered or curated one (`NAME` or
    `NAME:VERSION`)."""
    path = environment_file(text)
    if path is not None:
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


def environment_file(text: str) -> Path | None:
    """The file that `--environment` names; None for a registered environment. NotFound when it is not there."""
    path = Path(text)
    if path.suffix not in (".txt", ".in", ".yml", ".yaml"):
        return None
    if not path.is_file():
        what = "a folder" if path.is_dir() else "not there"
        raise NotFound(
            f"The environment's file {text!r} is {what} (looked from {Path.cwd()}).",
            hint=parsing.near_files(path, path.suffix)
            or "Give a requirements file (.txt), a conda file (.yml), or a name of: roost env list",
        )
    return path
