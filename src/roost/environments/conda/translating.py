"""Translates conda packages to the names and versions of a package index, for places that reach no channel. Pure;
`index_names.toml` is the table of names, `from_index.py` builds with it.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from roost.domain import requirements
from roost.domain.conda import name_of, version_of
from roost.domain.recipes import BASICS, Recipe, python_wanted
from roost.environments.base import BuildFailed
from roost.environments.curated import catalogue, naming

_BARE = re.compile(r"[\w.-]+\s*(?:\[[^\]]*\])?")
"""A requirement without a version: any version that conda has installed is accepted."""
_PINNED = re.compile(r"==(\d+(?:\.\d+)*)")
_ONE = re.compile(r"(={0,2})\s*([\w.!*]+)(?:[=\s]+([\w.*]+))?")
_LIMIT = re.compile(r"([<>!~=]=?|)\s*(\d[\w.!]*?)(\.?\*)?")
_VERSION = re.compile(r"(?:\d+!)?\d+(?:\.\d+)*(?:\.?(?:a|b|rc|post|dev)\d+)*")
_NUMBERS = re.compile(r"(?:\d+!)?\d+(?:\.\d+)*")


@dataclass(frozen=True, kw_only=True)
class Translation:
    """A recipe whose conda packages have become requirements."""

    recipe: Recipe
    """Without conda packages."""
    replaced: Mapping[str, str]
    """Conda package, as it is written → the requirement that replaces it."""
    left_out: tuple[str, ...]
    """Names of packages that are not Python packages."""
    limits: tuple[str, ...]
    """Other packages that must be old enough for a framework of those years: channels have these limits, an index often has
    not."""


def translate(recipe: Recipe) -> Translation:
    """BuildFailed for a version that an index cannot express. A package that is also in the `pip` part is taken from there, since
    pip would replace it."""
    python = recipe.python
    replaced: dict[str, str] = {}
    left_out = []
    own = {requirements.package(line) for line in recipe.requirements if not _BARE.fullmatch(line)}
    for spec in recipe.packages:
        name = name_of(spec)
        if name == "python":
            python = python or python_wanted(_versions(spec))
            continue
        called = index_name(name)
        if called is None:
            left_out.append(name)
        elif requirements.package(called) not in own:
            replaced[spec] = f"{called}{_versions(spec)}"
    given = [*recipe.requirements, *replaced.values()]
    limits = _limits(given)
    lines = requirements.checked(given)
    named = {requirements.package(line) for line in lines}
    lines += [each for each in BASICS if each not in named]
    made = replace(recipe, python=python, requirements=tuple(lines), packages=())
    return Translation(recipe=made, replaced=replaced, left_out=tuple(dict.fromkeys(left_out)), limits=tuple(limits))


def _limits(lines: Sequence[str]) -> list[str]:
    """The catalogue's limits for pinned frameworks, without packages that have a version."""
    own = {requirements.package(line) for line in lines if not _BARE.fullmatch(line)}
    found = []
    for line in lines:
        pinned = _PINNED.search(line)
        for framework in catalogue.frameworks() if pinned else ():
            if requirements.package(line) in {name for _, *both in framework.packages for name in both}:
                known = naming.version(pinned[1]) if pinned else ()
                found += [limit for below, limits in framework.caps if known < below for limit in limits]
    return [limit for limit in dict.fromkeys(found) if requirements.package(limit) not in own]


def index_name(name: str) -> str | None:
    """The index's name for a conda package; None when it is not a Python package."""
    table = _table()
    known = requirements.package(name) or name
    if known in table["named"]:
        return str(table["named"][known])
    if known in table["left_out"]["names"] or any(re.fullmatch(each, name) for each in table["left_out"]["patterns"]):
        return None
    return name


def is_conda_name(name: str) -> bool:
    """True when channels are known to have a package of that name."""
    table = _table()
    known = requirements.package(name)
    return known in (*BASICS, "python") or known in table["named"] or known in table["left_out"]["names"]


def in_words(replaced: Mapping[str, str]) -> str:
    """The packages from the index by name, each with conda's name where it differs."""
    words = []
    for spec, line in replaced.items():
        called, name = requirements.package(line), name_of(spec)
        if called in BASICS and len(replaced) > 1:
            continue  # every environment has them
        words.append(called if called == requirements.package(name) else f"{called} (for {name})")
    return ", ".join(words)


def _versions(spec: str) -> str:
    """The version of a spec as in a requirement: `=1.2` is `==1.2.*`, a version with its build is exact."""
    text = re.sub(r"\[.*\]$", "", version_of(spec)).strip()
    text = text.split("|")[-1]  # an index has no "or": the last alternative is the newest
    one = _ONE.fullmatch(text)
    limits = [_limit(one[1] if not one[3] else "==", one[2])] if one else [_range(part) for part in _parts(text)]
    if any(each is None for each in limits):
        raise BuildFailed(
            f"The version in {spec!r} is conda's own; a package index could not look for it.",
            hint="Write name=1.2 or name>=1,<2 in the conda file.",
        )
    return ",".join(each for each in limits if each)


def _parts(text: str) -> Sequence[str]:
    return [part.split(" ")[0] for part in text.split(",") if part.strip()]


def _range(part: str) -> str | None:
    found = _LIMIT.fullmatch(part)
    if found is None:
        return None
    if found[1] in ("", "=", "=="):
        return _limit(found[1], found[2] + (found[3] or ""))
    star = ".*" if found[3] and found[1] == "!=" else ""
    return f"{found[1]}{found[2]}{star}" if _VERSION.fullmatch(found[2]) else None


def _limit(operator: str, version: str) -> str | None:
    """One version: exact for `==` and for no operator, a prefix for `=` and for `1.2.*`."""
    if version == "*":
        return ""
    number = version.rstrip("*").rstrip(".")
    if not _VERSION.fullmatch(number):
        return None
    begins = _NUMBERS.fullmatch(number) and (operator == "=" or version.endswith("*"))
    return f"=={number}.*" if begins else f"=={number}"


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("index_names.toml").read_text(encoding="utf-8"))
