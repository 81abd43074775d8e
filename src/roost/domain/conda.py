"""Conda's environment file: the meaning of its sections and specs. Pure. `recipes.py` makes a recipe of it; the solver in
`roost.environments` decides on a spec's version.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from roost.domain.errors import InvalidInput

CHANNELS_ONLY, INDEX_IF_UNREACHABLE, INDEX_FIRST = PACKAGE_SOURCES = (
    "channels-only",
    "index-if-unreachable",
    "index-first",
)
"""The allowed sources of conda packages: see `docs/decisions/033-conda-packages-from-an-index.md`."""
AWAY_SECONDS = 15 * 60.0
"""Channels that could not be reached count as unreachable for this time."""
NODEFAULTS = "nodefaults"
"""Stands among the channels of a file that uses only its own channels."""
_SECTIONS = ("name", "channels", "dependencies", "variables", "prefix")
_SPEC = re.compile(r"(?:(?P<channel>\S*?)::)?\s*(?P<name>[A-Za-z0-9_.-]+)\s*(?P<rest>[^#]*)")
_PART = r"(?:[=<>!~]=?)?\d[\w.*]*"
_VERSION = re.compile(rf"(?:{_PART}(?:,{_PART})*)?|\*")
_VERSION_KEY = re.compile(r"\[version=(['\"])([^'\"]*)\1\]")
_SELECTOR = re.compile(r"#\s*\[|\bsel\(")
_TOKEN = re.compile(r"/t/[^/]+(?=/)")
_VARIABLES = re.compile(r"(?<=/t/)\$\{\w+\}|(?:\w*:)?\$\{\w+\}@")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, kw_only=True)
class CondaFile:
    python: str = ""
    """The version of Python as a conda spec, such as `=3.8`; empty for any."""
    pip: str | None = None
    """The version of pip itself as a conda spec; None when the file does not name pip."""
    packages: tuple[str, ...] = ()
    """Specs beside Python and pip, sorted; also Python's own spec where it has more than a version."""
    channels: tuple[str, ...] = ()
    """In the file's order; earlier channels come first."""
    requirements: tuple[str, ...] = ()
    """The lines of all `pip:` sections."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """For the script's environment."""


def read(file: Mapping[str, Any]) -> CondaFile:
    """Raises InvalidInput for an entry that a node cannot install."""
    unknown = [key for key in file if key not in _SECTIONS]
    if unknown:
        raise InvalidInput(
            f"The conda file has a section {unknown[0]!r}, which is not known.",
            hint=f"Sections are: {', '.join(_SECTIONS)}.",
        )
    channels = [_channel(each) for each in _list(file, "channels")]
    python, pip, packages, requirements = "", None, set(), list[str]()
    for item in _list(file, "dependencies"):
        if isinstance(item, Mapping):
            requirements += _pip_section(item)
            continue
        name, version, text = _spec(item)
        channel, _ = split_channel(text)
        if name == "python" and _VERSION.fullmatch(version):
            python = version
            channels[:0] = [channel] if channel else []
        elif name == "python" and not re.search(r"[\d*]", version):
            raise InvalidInput(
                f"Python {version.lstrip('= ')!r} is not understood: it is no version.",
                hint="Write python=3.8 or python>=3.8,<3.11.",
            )
        elif name == "pip" and not channel:
            pip = version
        else:
            packages.add(text)
    return CondaFile(
        python=python,
        pip=pip,
        packages=tuple(sorted(packages)),
        channels=tuple(dict.fromkeys(channels)),
        requirements=tuple(requirements),
        variables=variables(file),
    )


def variables(file: Mapping[str, Any]) -> dict[str, str]:
    """The variables that the file's `variables` section sets."""
    given = file.get("variables") or {}
    if not isinstance(given, Mapping):
        raise InvalidInput(f"`variables` of a conda file must be names with values, got {given!r}.")
    for name in given:
        if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
            raise InvalidInput(f"The conda file sets a variable {name!r}, which is no name of one.")
    return {name: _value(value) for name, value in given.items()}


def name_of(spec: str) -> str:
    """The package name of a spec."""
    return _spec(spec)[0]


def version_of(spec: str) -> str:
    """The part of a spec after the package's name: version, build, keys in brackets."""
    return _spec(spec)[1]


def split_channel(spec: str) -> tuple[str, str]:
    """The channel of a spec, empty for none, and the rest of the spec."""
    channel, found, rest = spec.partition("::")
    return (channel, rest) if found else ("", spec)


def _list(file: Mapping[str, Any], section: str) -> Iterable[object]:
    given = file.get(section) or ()
    if not isinstance(given, list | tuple):
        raise InvalidInput(f"`{section}` of a conda file must be a list, got {given!r}.")
    return given


def _pip_section(item: Mapping[Any, Any]) -> list[str]:
    unknown = [key for key in item if key != "pip"]
    if unknown:
        what = "selector" if _SELECTOR.search(str(unknown[0])) else "section"
        raise InvalidInput(
            f"The conda file has a {what} {unknown[0]!r} among its dependencies; only `pip` is known.",
            hint="Write what is wanted on the node, without a choice by platform." if what == "selector" else "",
        )
    lines = item.get("pip") or ()
    if not isinstance(lines, list | tuple):
        raise InvalidInput(f"`pip` in a conda file must be a list, got {lines!r}.")
    return [str(line) for line in lines]


def _spec(item: object) -> tuple[str, str, str]:
    """Name, version as it follows the name, and the spec in one normal form."""
    text = " ".join(str(item).split())
    if _SELECTOR.search(text):
        raise InvalidInput(
            f"The conda dependency {text!r} has a selector; a file has none.",
            hint="Write what is wanted on the node, without a choice by platform.",
        )
    found = _SPEC.fullmatch(text.partition(" #")[0].strip()) if isinstance(item, str) else None
    if found is None:
        raise InvalidInput(
            f"The conda dependency {str(item)!r} is not understood.",
            hint="Write name, name=1.2, name=1.2=build, name>=1,<2 or channel::name.",
        )
    name, rest = found["name"].lower(), re.sub(r"\s*([=<>!~,|]+)\s*", r"\1", found["rest"]).strip()
    rest = _VERSION_KEY.sub(r"\2", rest) if rest.startswith("[") else rest
    apart = " " if rest[:1] not in ("=", "<", ">", "!", "~", "[") else ""
    channel = f"{_channel(found['channel'])}::" if found["channel"] else ""
    return name, rest, f"{channel}{name}{apart if rest else ''}{rest}"


def _channel(given: object) -> str:
    """A channel's name, address or folder; InvalidInput when a node cannot look it up or it must not be stored."""
    if not isinstance(given, str) or not given.strip() or re.search(r"\s", given.strip()):
        raise InvalidInput(f"The conda channel {given!r} is not a name, an address or a folder.")
    text = given.strip()
    refuse_credential(text)
    if text.startswith((".", "~")):
        raise InvalidInput(
            f"The conda channel {text!r} is a relative folder; a node does not know to what.",
            hint="Name the folder from the root, such as /srv/channel.",
        )
    return text.rstrip("/") or text


def refuse_credential(channel: str) -> None:
    """InvalidInput for a password or token in clear text."""
    try:
        parts = (
            urlsplit(_VARIABLES.sub("", channel)) if "://" in channel else None
        )  # a variable is looked up on the node
    except ValueError as error:
        raise InvalidInput(f"A conda channel is no address: {error}.") from None
    if parts is not None and (parts.username or parts.password or _TOKEN.search(parts.path)):
        shown = _TOKEN.sub("", parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl())
        raise InvalidInput(
            f"The conda channel {shown} is written with a credential, which would be kept with the environment.",
            hint="Write a variable of the node there, such as ${TOKEN}, or give the node the credential (~/.netrc, .condarc).",
        )


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
