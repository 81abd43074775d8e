"""Fills a prefix from stored files alone. Nothing here uses the network, resolves or builds."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from roost.environments.archiving.base import BUILT, COMPILED, WHEELS, package_of
from roost.environments.archiving.packages import HASH, entries
from roost.environments.base import BuildFailed
from roost.environments.pip import compiling, own_wheels
from roost.environments.pip.compiling import Plan
from roost.environments.pip.options import Options
from roost.environments.pip.program import Uv

_SILENT = ("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL")


def fill(uv: Uv, python: Path, text: str, plans: Sequence[Plan], kept: Path) -> None:
    """Installs the lines of a lock from the stored files; first raises BuildFailed for a line whose file is missing."""
    made = {package_of(file.name): file for file in _wheels(kept, BUILT, COMPILED)}
    there = {package_of(file.name): file for file in _wheels(kept, WHEELS)}
    for plan in plans:
        if plan.package not in made:
            raise BuildFailed(f"{plan.name}, which was compiled for this environment, is not among the kept files.")
    if plans:
        names = ", ".join(plan.name for plan in plans)
        uv.say(f"{names}: taken as compiled when the environment was kept; nothing is compiled.")
    plain = compiling.without(text, [])
    lines = [_line(name, each, there, made) for name, each in entries(plain)]
    folders = sorted({str(file.parent) for file in (*made.values(), *there.values())})
    silent = dict.fromkeys(_SILENT, "")
    options = Options(variables={**silent, "UV_FIND_LINKS": ",".join(folders), "UV_OFFLINE": "1", "UV_NO_INDEX": "1"})
    uv.install("".join(f"{line}\n" for line in lines), python, options)


def _line(name: str, lines: str, there: dict[str, Path], made: dict[str, Path]) -> str:
    """The locked line when its own file is stored; else name and version, with the hash of the wheel that was built."""
    if own_wheels.blob_of(lines) or (name in there and " @ " not in lines):
        return lines
    file = there.get(name) or made.get(name)
    if file is None:
        return lines  # for another machine; uv reports it otherwise
    digest = _digest(file)
    if name in there and HASH.search(lines) and digest not in HASH.findall(lines):
        raise BuildFailed(f"The kept file {file.name} has the hash {digest}, which is not the one that was locked.")
    return f"{name}=={file.name.split('-')[1]} --hash=sha256:{digest}"


def _wheels(kept: Path, *folders: str) -> list[Path]:
    return sorted(file for folder in folders for file in (kept / folder).rglob("*.whl"))


def _digest(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
