"""Suggests a name near one that no index or channel has. Pure; `package_names.toml` has the names that people look for."""

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from roost.domain.requirements import package

_NEAR = 0.8
"""Two names with at least this similarity, of 1, may be confused."""
_UNKNOWN = re.compile(
    r"([A-Za-z0-9][\w.-]*) was not found in the (?:package registry|provided package locations)"
    r"|No candidates were found for ([A-Za-z0-9][\w.-]*)"
    r"|Failed to build `([A-Za-z0-9][\w.-]*?)(?:==[^`]*)?`"
)


def near(name: str) -> str:
    """The package that was probably meant; empty when no name is near."""
    table = _table()
    wanted = package(name)
    if wanted in table["packages"]:
        return str(table["packages"][wanted])
    known = table["known"]["names"]
    if not wanted or wanted in known:
        return ""
    found = difflib.get_close_matches(wanted, known, n=1, cutoff=_NEAR)
    return str(found[0]) if found else ""


def _none(_: str) -> bool:
    return False


def hint(words: str, is_right: Callable[[str], bool] = _none) -> str:
    """A suggestion for a resolver's message about an unknown package. Empty when the message names none, when `is_right` accepts
    the name (then only its version is wrong), or when no name is near."""
    for found in _UNKNOWN.finditer(" ".join(words.split())):
        name = next(filter(None, found.groups()))
        if found[3] and package(name) not in _table()["packages"]:
            continue  # it exists, and could not be built
        meant = "" if is_right(name) else near(name)
        if meant:
            return f"Did you mean {meant} instead of {name}?"
    return ""


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("package_names.toml").read_text(encoding="utf-8"))
