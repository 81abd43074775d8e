"""The catalogue's files as records: one framework a file, with its releases; and the names that are listed."""

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
    """The Python it is given unless the name says another: that of its years."""
    pythons: tuple[str, ...]
    """Those that have wheels of it."""
    companions: tuple[str, ...]
    """Requirements that belong to it; one of a name that every release has too stands in its place."""
    horovod: str
    """The Horovod of its year; empty for none that is known to build against it."""
    tried: bool
    """Whether that pair was compiled and used; if not, it stands here by what the releases say of themselves."""

    @property
    def version(self) -> Version:
        return version(self.text)


@dataclass(frozen=True, kw_only=True)
class Framework:
    title: str
    pattern: str
    """What its names have behind `AzureML-`."""
    default: str
    """The version of a name that says none."""
    packages: tuple[tuple[Version, str, str], ...]
    """From which version on it is which package: for processors alone, for GPUs."""
    companions: tuple[str, ...]
    caps: tuple[tuple[Version, tuple[str, ...]], ...]
    """Below which version it needs which limits."""
    releases: tuple[Release, ...]
    """Oldest first."""
    aliases: Mapping[str, str]
    """Versions that names write in another way."""
    horovod: Version
    """Below which version names promise Horovod; empty where there is no Horovod for it."""
    gpu_note: str
    """What is to be said where the packages for GPUs are taken; empty for nothing."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """An environment whose name says no version."""

    title: str
    pattern: str
    python: str
    packages: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Refused:
    """Names of Azure's that stand for what Roost does not have."""

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
    """Those that are listed."""
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
