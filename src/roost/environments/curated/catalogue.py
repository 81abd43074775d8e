"""The catalogue's files as records: one framework per file, with its releases; and the listed names."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from roost.environments.curated.naming import Version, version

FRAMEWORKS = ("pytorch", "tensorflow", "scikit-learn", "onnxruntime", "xgboost", "lightgbm", "chainer")


@dataclass(frozen=True, kw_only=True)
class Release:
    """One version of a framework that is known to work."""

    text: str
    python: str
    """The default Python, from the years of the release; a name can choose another."""
    pythons: tuple[str, ...]
    """The Pythons that have wheels of it."""
    companions: tuple[str, ...]
    """Its own requirements; one replaces the common requirement for the same package."""
    horovod: str
    """The Horovod of its year; empty when none is known to build against it."""
    tried: bool
    """True when that pair was compiled and used; else it follows from what the releases state."""

    @property
    def version(self) -> Version:
        return version(self.text)


@dataclass(frozen=True, kw_only=True)
class Framework:
    title: str
    pattern: str
    """The pattern of its names after `AzureML-`."""
    default: str
    """The version for a name without one."""
    packages: tuple[tuple[Version, str, str], ...]
    """The package name from each version on: for CPU only, for GPUs."""
    companions: tuple[str, ...]
    caps: tuple[tuple[Version, tuple[str, ...]], ...]
    """The limits that versions below this one need."""
    releases: tuple[Release, ...]
    """Oldest first."""
    aliases: Mapping[str, str]
    """Versions that names write in another way."""
    horovod: Version
    """Names of versions below this one promise Horovod; empty when there is no Horovod for it."""
    gpu_note: str
    """The note for the use of the GPU packages; empty for none."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """An environment whose name has no version."""

    title: str
    pattern: str
    python: str
    packages: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Refused:
    """Azure's names of environments that Roost does not have."""

    pattern: str
    why: str
    hint: str


@cache
def frameworks() -> tuple[Framework, ...]:
    return tuple(_framework(_read(name)) for name in FRAMEWORKS)


@cache
def kinds() -> tuple[Kind, ...]:
    return tuple(Kind(**{**each, "packages": tuple(each["packages"])}) for each in _read("plain")["kinds"])


@cache
def refused() -> tuple[Refused, ...]:
    return tuple(Refused(**each) for each in _read("plain")["refused"])


@cache
def names() -> tuple[str, ...]:
    """The listed names."""
    return tuple(_read("names")["names"])


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def _framework(data: Mapping[str, Any]) -> Framework:
    return Framework(
        title=data["title"],
        pattern=data["pattern"],
        default=data["default"],
        packages=tuple((version(each["from"]), each["cpu"], each["gpu"]) for each in data["packages"]),
        companions=tuple(data["with"]),
        caps=tuple((version(each["below"]), tuple(each["packages"])) for each in data["caps"]),
        releases=tuple(sorted((_release(*each) for each in data["releases"].items()), key=lambda each: each.version)),
        aliases=data.get("aliases", {}),
        horovod=version(data.get("horovod", "")),
        gpu_note=data.get("gpu_note", ""),
    )


def _release(text: str, data: Mapping[str, Any]) -> Release:
    first, last = (version(each) for each in data["pythons"].split("-"))
    return Release(
        text=text,
        python=data["python"],
        pythons=tuple(f"3.{minor}" for minor in range(first[1], last[1] + 1)),
        companions=tuple(data.get("with", ())),
        horovod=data.get("horovod", ""),
        tried=data.get("tried", True),
    )
