"""A conda environment of this machine as a definition: from conda itself, else from the files that conda wrote into it."""

import glob
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from roost.domain.errors import InvalidInput

_PROGRAMS = ("conda", "mamba", "micromamba")
_SECONDS = 120.0


def read(name: str) -> dict[str, Any]:
    """Channels and dependencies of the environment of that name or path. InvalidInput lists the existing ones."""
    program = next((found for found in map(shutil.which, _PROGRAMS) if found), None)
    prefix = _prefix(name)
    if program is not None:
        return _exported(program, name, prefix)
    if prefix is None:
        there = ", ".join(sorted({place.name for place in _prefixes()})) or "none"
        raise InvalidInput(
            f"There is no conda environment {name!r} on this machine, and no conda program to ask.",
            hint=f"Environments here: {there}. A folder's path can be given too, or a file: from_conda_specification.",
        )
    return _written(prefix)


def _exported(program: str, name: str, prefix: Path | None) -> dict[str, Any]:
    import yaml  # noqa: PLC0415 - loaded only to read or write such files

    which = ["-p", str(prefix)] if prefix is not None else ["-n", name]
    command = [program, "env", "export", *which]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InvalidInput(f"{Path(program).name} could not be asked for the environment {name!r}: {error}.") from None
    if answer.returncode:
        words = (answer.stderr or answer.stdout).strip().splitlines()
        said = words[-1] if words else f"it ended with {answer.returncode}"
        raise InvalidInput(
            f"{Path(program).name} has no environment {name!r}: {said}", hint="List them with: conda env list"
        )
    data = yaml.safe_load(answer.stdout)
    if not isinstance(data, dict) or not isinstance(data.get("dependencies"), list):
        raise InvalidInput(f"{Path(program).name} gave no list of packages for the environment {name!r}.")
    return {"channels": data.get("channels") or ["conda-forge"], "dependencies": data["dependencies"]}


def _prefix(name: str) -> Path | None:
    """The folder of an environment, by path or name."""
    if os.sep in name:
        return Path(name) if os.path.isdir(Path(name, "conda-meta")) else None
    return next((place for place in _prefixes() if place.name == name), None)


def _prefixes() -> Iterator[Path]:
    """Conda's folders on this machine: those in conda's own list, and the usual places."""
    noted = Path.home() / ".conda" / "environments.txt"
    try:
        lines = noted.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    places = [Path(line.strip()) for line in lines if line.strip()]
    roots = [Path(os.environ[name]) for name in ("CONDA_PREFIX", "MAMBA_ROOT_PREFIX") if os.environ.get(name)]
    roots += [
        Path.home() / each for each in ("miniconda3", "anaconda3", "miniforge3", "mambaforge", ".conda", "micromamba")
    ]
    for root in roots:
        # glob and os.path skip an unreadable folder, perhaps another user's; pathlib would raise.
        places += [root, *map(Path, sorted(glob.glob(f"{glob.escape(str(root))}/envs/*")))]
    yield from (place for place in dict.fromkeys(places) if os.path.isdir(place / "conda-meta"))


def _written(prefix: Path) -> dict[str, Any]:
    """From the records in `conda-meta` and the metadata of pip's packages."""
    records = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((prefix / "conda-meta").glob("*.json"))]
    channels = dict.fromkeys(_channel(str(each.get("channel") or "")) for each in records)
    packages = [f"{each['name']}={each['version']}" for each in records]
    if not any(each["name"] == "python" for each in records):
        raise InvalidInput(f"The conda environment {str(prefix)!r} has no Python.", hint="Name one that has.")
    ours = {_plain(str(each["name"])) for each in records}
    pip = sorted(f"{name}=={version}" for name, version in _by_pip(prefix) if _plain(name) not in ours)
    dependencies: list[Any] = [*packages, *([{"pip": pip}] if pip else [])]
    return {"channels": [each for each in channels if each] or ["conda-forge"], "dependencies": dependencies}


def _by_pip(prefix: Path) -> Iterator[tuple[str, str]]:
    """Distributions that conda did not install, according to their metadata."""
    from importlib.metadata import Distribution  # noqa: PLC0415 - loaded only when needed

    for folder in sorted(prefix.glob("lib/python3*/site-packages/*.dist-info")):
        found = Distribution.at(folder)
        if (found.read_text("INSTALLER") or "").strip() != "conda" and found.metadata["Name"]:
            yield found.metadata["Name"], found.version


def _channel(address: str) -> str:
    """The name of a channel of anaconda.org; otherwise the channel's address without the platform."""
    address = re.sub(r"/(linux|osx|win)-\w+$|/noarch$", "", address.rstrip("/"))
    return address.rpartition("/")[2] if "conda.anaconda.org" in address else address


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
