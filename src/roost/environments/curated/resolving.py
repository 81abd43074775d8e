"""From a name and a machine to exact requirements, with a note for each difference from the name. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from roost.domain.errors import NotFound
from roost.environments.curated import catalogue
from roost.environments.curated.catalogue import Framework, Release
from roost.environments.curated.machine import Machine
from roost.environments.curated.naming import Name, Version, parse, split, version

VERSION = "1"
"""The version of every curated environment: its content changes with Roost's own version, and is stored with each run."""
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, kw_only=True)
class Curated:
    """The environment of a name on a machine."""

    name: str
    title: str
    """Framework and version, for people."""
    python: str
    requirements: tuple[str, ...]
    notes: tuple[str, ...]
    """The differences from the name, a sentence each."""


def resolve(name: str, machine: Machine | None = None) -> Curated:
    """NotFound, with the next step, for an unknown name. Without a machine, the catalogue alone decides."""
    said = parse(name)
    for kind in catalogue.kinds():
        if split(said.text, kind.pattern) is not None:
            notes: list[str] = []
            python = _python(said.python or kind.python, (), machine, notes)
            return Curated(name=name, title=kind.title, python=python, requirements=kind.packages, notes=tuple(notes))
    for framework in catalogue.frameworks():
        wanted = split(said.text, framework.pattern)
        if wanted is not None:
            return _of_framework(name, said, framework, wanted or framework.default, machine)
    for each in catalogue.refused():
        if re.match(rf"(?:{each.pattern})(?=-|\d|$)", said.text):
            raise NotFound(f"There is no curated environment {name!r}: {each.why}", hint=each.hint)
    titles = [*(each.title for each in catalogue.kinds()), *(each.title for each in catalogue.frameworks())]
    known = ", ".join(f"AzureML-{title.replace(' ', '')}-…" for title in titles)
    raise NotFound(
        f"There is no curated environment {name!r}.",
        hint=f"Names that lead to one: {known}. List them with: roost env list --curated",
    )


def _of_framework(name: str, said: Name, framework: Framework, wanted: str, machine: Machine | None) -> Curated:
    notes: list[str] = []
    release, exact = _release(framework, wanted, notes)
    known = release.version if exact == release.text else version(exact)
    python = _python(said.python or release.python, release.pythons, machine, notes)
    gpu = _gpu(said, framework, known, machine, notes)
    package = next(each for each in reversed(framework.packages) if known >= each[0])[2 if gpu else 1]
    companions = _joined(framework.companions, release.companions)
    if exact != release.text:  # pins belong to the known release: the resolver finds versions that fit this one
        companions = [_NAME.match(each)[0] if "==" in each else each for each in companions]  # type: ignore[index]
    horovod = _horovod(said, framework, release, exact, machine, notes)
    limits = [limit for below, packages in framework.caps if known < below for limit in packages]
    return Curated(
        name=name,
        title=f"{framework.title} {exact.removesuffix('.*')}",
        python=python,
        requirements=(
            f"{package}=={exact}",
            *_limited(companions, limits),
            *([f"horovod=={horovod}"] if horovod else []),
        ),
        notes=tuple(notes),
    )


def _release(framework: Framework, wanted: str, notes: list[str]) -> tuple[Release, str]:
    """The release for a version, and the version itself: the release's own, or a nearby one that is also available."""
    wanted = framework.aliases.get(wanted, wanted)
    asked = version(wanted)
    same = [each for each in framework.releases if each.version[: len(asked)] == asked]
    if same:
        return same[-1], same[-1].text
    patch = [each for each in framework.releases if len(asked) > 2 and each.version[:2] == asked[:2]]
    if patch:
        return patch[-1], wanted
    newer = [each for each in framework.releases if each.version > asked]
    if newer:
        notes.append(f"{framework.title} {wanted} cannot be had; the nearest newer one is {newer[0].text}.")
        return newer[0], newer[0].text
    last = framework.releases[-1]
    notes.append(
        f"{framework.title} {wanted} is newer than the catalogue, which ends with {last.text}; "
        "its packages are as the index has them."
    )
    return last, wanted if len(asked) > 2 else f"{wanted}.*"


def _python(wanted: str, possible: Sequence[str], machine: Machine | None, notes: list[str]) -> str:
    """The Python nearest to the requested one, of those that have wheels and, if the machine is known, are installed."""
    chosen = wanted
    if possible and wanted not in possible:
        chosen = _nearest(wanted, possible)
        notes.append(f"It has no packages for Python {wanted}; the nearest that has is {chosen}.")
    there = machine.pythons if machine is not None else (chosen,)
    if chosen in there:
        return chosen
    others = [each for each in there if not possible or each in possible]
    if not others:
        return chosen  # the build reports the installed ones
    nearest = _nearest(chosen, others)
    notes.append(f"There is no Python {chosen} on this machine; the nearest that has packages is {nearest}.")
    return nearest


def _nearest(wanted: str, choices: Sequence[str]) -> str:
    """The next newer one, else the newest."""
    newer = [each for each in choices if version(each) > version(wanted)]
    return min(newer, key=version) if newer else max(choices, key=version)


def _gpu(said: Name, framework: Framework, known: Version, machine: Machine | None, notes: list[str]) -> bool:
    """True when the GPU packages are used: the name requests them, and this machine has a GPU or is unknown."""
    has = machine.gpu if machine is not None else said.gpu is not False
    cpu, gpu = next(each for each in reversed(framework.packages) if known >= each[0])[1:]
    if said.gpu and not has and cpu != gpu:
        notes.append(f"This machine has no GPU: {cpu} is installed in place of {gpu}.")
    taken = has if said.gpu is None else said.gpu and has
    notes += [framework.gpu_note] if taken and framework.gpu_note else []
    return taken


def _horovod(
    said: Name, framework: Framework, release: Release, exact: str, machine: Machine | None, notes: list[str]
) -> str:
    """The Horovod for it, the same for all patches of a release; empty, with a note, when there should be one and is none."""
    promised = release.version < framework.horovod if said.horovod is None else said.horovod
    if not framework.horovod or not promised:
        return ""
    if not release.horovod or version(exact)[:2] != release.version[:2]:
        known = [each.text for each in framework.releases if each.horovod]
        notes.append(
            f"Horovod is left out: none is known to build against {framework.title} {exact.removesuffix('.*')}; "
            f"the newest that has one is {known[-1]}."
        )
        return ""
    if not release.tried and not said.horovod:
        notes.append(
            f"Horovod {release.horovod}, the one of its year, is left out: it was not tried with {framework.title} {exact}. "
            "A name that ends with -horovod has it."
        )
        return ""
    if machine is not None and not machine.mpi:
        notes.append(
            f"Horovod {release.horovod} is left out: there is no Open MPI to build it with on this machine (libopenmpi-dev)."
        )
        return ""
    return release.horovod


def _joined(common: Sequence[str], own: Sequence[str]) -> list[str]:
    """Both lists; for a package in both, the release's own line."""
    given = {_package(each) for each in own}
    return [*own, *(each for each in common if _package(each) not in given)]


def _limited(requirements: Sequence[str], limits: Sequence[str]) -> list[str]:
    """The requirements with limits instead of lines that have no version; the remaining limits follow."""
    left: dict[str, str] = {}
    for limit in limits:
        left.setdefault(_package(limit), limit)  # the first is the narrowest
    lines = [left.pop(_package(each), each) if each == _package(each) else each for each in requirements]
    return [*lines, *left.values()]


def _package(requirement: str) -> str:
    found = _NAME.match(requirement)
    return found[0] if found else requirement
