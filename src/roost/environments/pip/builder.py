"""The builder for pip packages: uv resolves to exact versions with hashes, and installs them into a virtual environment.

Other builders also use `compile` (the lines of a lock for an interpreter) and `fill` (installs them into a prefix). Packages that
are known to need it are compiled here (`compiling.py`, `wheels.py`), after all others are installed.
"""

import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence, Sized
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from roost.domain.recipes import BASICS, Recipe
from roost.environments import caches, notes, pythons
from roost.environments.archiving import offline
from roost.environments.archiving.base import COMPILED, KeptFiles
from roost.environments.archiving.packages import Packages
from roost.environments.base import BuildFailed, Lock, Meanwhile, Private, Say
from roost.environments.curated import machine
from roost.environments.pip import compiling, wheels
from roost.environments.pip import options as pip_options
from roost.environments.pip.options import Options
from roost.environments.pip.program import Uv
from roost.environments.running import Silent, Words


class UvBuilder:
    """See `base.Builder`. `environment` is added to this process's own for every program it starts. Small files are in `scratch`,
    which the caller deletes; compiled wheels are in `home`; `private` is the user's input beside a lock."""

    def __init__(
        self,
        say: Say,
        meanwhile: Meanwhile,
        environment: Mapping[str, str] | None = None,
        scratch: Path | None = None,
        home: Path | None = None,
        private: Private | None = None,
    ) -> None:
        self._say = say
        self._scratch = scratch
        self._home = home or Path(os.environ.get("ROOST_HOME") or "~/.roost").expanduser()
        self._uv = Uv(say, meanwhile, environment or {}, scratch, private or Private())
        cache = os.environ.get("ROOST_WHEEL_CACHE") or self._home / caches.WHEELS
        self._compiler = wheels.Compiler(Path(cache), self._uv, scratch)

    def resolve(self, recipe: Recipe, limits: Sequence[str] = ()) -> Lock:
        """`limits` apply to packages that are needed anyway, and add none."""
        chosen = pythons.choose(recipe.python)
        note = pythons.note(chosen, recipe.python)
        self._say(note or f"Python {chosen.text}.")
        body = self.compile(recipe.requirements, chosen.path, limits=limits)
        return Lock(python=chosen.text, platform=here(), notes=(note,) if note else (), body=body)

    def compile(
        self,
        requirements: Sequence[str],
        python: str,
        *flags: str,
        present: Mapping[str, str] | None = None,
        limits: Sequence[str] = (),
    ) -> str:
        """The lines as exact versions with hashes for that interpreter, options first. `present` are installed packages with
        versions: a package may be compiled against one of them."""
        given, lines = pip_options.split(requirements)
        options = pip_options.read(given, self._uv.environment, lines=lines)
        asked = [line for line in lines if line not in BASICS] or lines
        self._say(f"Resolving {_count(asked, 'requirement')}.")
        body = self._uv.lock(lines, python, options, self._rules.metadata(), *flags, limits=limits)
        self._say(f"Locked {_count(compiling.pins(body), 'package')}.")
        plans = self._plans(body, python, options, present or {})
        kept = [option for option in options.kept if option != "--pre"]
        return "".join(f"{line}\n" for line in kept) + body + "".join(f"{plan.line}\n" for plan in plans)

    def compile_beside(self, requirements: Sequence[str], python: str, present: Mapping[str, str]) -> str:
        """As `compile`, without packages that the interpreter already has in a fitting version, which pip would leave too."""
        given, lines = pip_options.split(requirements)
        options = pip_options.read(given, self._uv.environment, lines=lines)
        missing = self._uv.missing(lines, python, options, self._rules.metadata())
        direct = {_named(each): each for each in lines if "@" in each}
        pins = [direct.get(_named(each), each) for each in missing]
        return self.compile([*given, *pins], python, "--no-deps", present=present) if pins else ""

    def install(self, lock: Lock, prefix: Path) -> None:
        if lock.platform != here():
            raise BuildFailed(
                f"The lock is for {lock.platform}; this node is {here()}.",
                hint="Resolve it for this one: roost run repeat RUN --fresh, or submit without the lock.",
            )
        chosen = pythons.choose(lock.python)
        note = pythons.note(chosen, lock.python)
        if note:
            self._say(note)
        arguments = ["venv", "--quiet", "--no-project", "--python", chosen.path, str(prefix)]
        self._uv.run(arguments, Words("Making the environment"), Options())
        notes.add(prefix, [note] if note else [])
        self.fill(prefix, lock.body)

    def archive(self, lock: Lock, prefix: Path, kept: KeptFiles) -> None:
        self.keep(prefix, lock.body, kept)

    def keep(self, prefix: Path, body: str, kept: KeptFiles) -> None:
        """Stores the files of a body's packages, which are in that prefix."""
        python = prefix / "bin" / "python"
        options, text, plans = self._read(body)
        site = wheels.Site(python, text, self._uv.environment, machine.has_gpu())
        packages = Packages(self._uv, python, options, self._rules.metadata(), self._scratch)
        compiled = [plan.package for plan in plans]
        packages.keep(compiling.without(text, compiled), kept)
        packages.keep_sources("".join(f"{compiling.entry(text, each)}\n" for each in compiled), kept)
        for plan in plans:
            if kept.below(COMPILED, plan.package):
                continue
            try:  # it is in the cache, unless the cache was emptied since
                self._compiler.check(plan, site)
                wheel = self._compiler.ensure(plan, site, options)
            except BuildFailed as failed:
                kept.lacks(plan.name, failed.message)
                continue
            kept.add(f"{COMPILED}/{wheels.key(plan, site)}/{wheel.name}", wheel)

    def fill(self, prefix: Path, body: str) -> None:
        """Installs the packages of a body into a prefix that has its Python."""
        python = prefix / "bin" / "python"
        options, text, plans = self._read(body)
        if self._uv.private.kept is not None:
            offline.fill(self._uv, python, text, plans, self._uv.private.kept())
            return
        site = wheels.Site(python, text, self._uv.environment, machine.has_gpu())
        for plan in plans:
            self._compiler.check(plan, site)
        self._uv.install(compiling.without(text, [plan.package for plan in plans]), python, options)
        for plan in plans:
            wheel = self._compiler.ensure(plan, site, options)
            arguments = ["pip", "install", "--no-deps", "--python", str(python), str(wheel)]
            self._uv.run(arguments, Words("Installing"), options)

    def _read(self, body: str) -> tuple[Options, str, list[compiling.Plan]]:
        """The options of a lock's body with their passwords, its other lines, and the plans for compiling."""
        kept, lines = pip_options.split(body.splitlines())
        known, _ = pip_options.split(self._uv.private.requirements)
        options = pip_options.read(pip_options.with_secrets(kept, known), self._uv.environment, lines=lines)
        text = "".join(f"{line}\n" for line in lines)
        return options, text, compiling.plans(text)

    @cached_property
    def _rules(self) -> compiling.Rules:
        return compiling.load(Path(os.environ.get("ROOST_BUILD_RULES") or self._home / compiling.OWN_RULES))

    def _plans(self, body: str, python: str, options: Options, present: Mapping[str, str]) -> list[compiling.Plan]:
        """The plans for packages that must be compiled; the packages that a build needs are locked as well."""
        pins = compiling.pins(body)
        found = []
        for package in sorted(set(pins) & set(self._rules.packages)):
            if not pins[package] or self._has_wheel(package, pins[package], python, options):
                continue
            plan = self._rules.plan(package, {**present, **pins})
            build = self._uv.lock(plan.build, python, options, "").splitlines() if plan.build else ()
            found.append(replace(plan, build=tuple(build)))
            against = f" for {' and '.join(plan.against)}" if plan.against else ""
            self._say(f"{plan.name} is compiled on the node{against}.")
        return found

    def _has_wheel(self, package: str, version: str, python: str, options: Options) -> bool:
        """True when an index has a wheel that is used instead of compiling."""
        if {package, ":all:"} & set(options.only_binary):
            return True
        if not self._rules.takes_wheels(package):
            return False
        try:
            flags = ("--no-deps", "--only-binary", package)
            self._uv.lock([f"{package}=={version}"], python, options, "", *flags, words=Silent("Looking for wheels"))
        except BuildFailed:
            return False
        return True


def _named(line: str) -> str:
    """The package of a requirement."""
    return compiling.canonical(re.split(r"[\s\[@=<>!~;]", line, maxsplit=1)[0])


def _count(things: Sized, word: str) -> str:
    return f"{len(things)} {word}{'' if len(things) == 1 else 's'}"


def here() -> str:
    """This node's platform."""
    return f"{sys.platform}-{platform.machine()}"
