"""The conda packages of a lock as files: the path of each, and the folders that replace their channels."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roost.domain import names
from roost.environments.archiving.base import CONDA
from roost.environments.base import BuildFailed
from roost.environments.conda.settings import Channel


def place(package: Mapping[str, Any]) -> str:
    """The path of a stored package; InvalidInput when its names lead outside."""
    return names.path(f"{_folder(str(package['channel']))}/{package['subdir']}/{package['file']}")


def stand_ins(packages: Sequence[Mapping[str, Any]], kept: Path) -> dict[str, Channel]:
    """For each channel of a lock, the folder with its stored packages; BuildFailed names a package that is in none."""
    for each in packages:
        if not (kept / place(each)).is_file():
            raise BuildFailed(f"The conda package {each['file']} is not among the kept files.")
    wanted = {str(each["channel"]) for each in packages}
    return {name: Channel(name, (kept / _folder(name)).resolve().as_uri()) for name in wanted}


def _folder(channel: str) -> str:
    return f"{CONDA}/{hashlib.sha256(channel.encode()).hexdigest()[:12]}"
