"""The builder for conda packages: py-rattler solves and installs them, then uv installs the `pip` part into the same prefix.

It also installs a Python that this node does not have, when the channels can be reached; otherwise `pip/builder.py` uses the
nearest Python of the node, and build log and lock record it. Packages and the channels' lists of them are in
`ROOST_HOME/cache/conda`, shared by all builds: rattler locks its writes there, and checks its reads.
"""

import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from roost.domain.conda import name_of, split_channel
from roost.domain.recipes import BASICS, Recipe
from roost.environments import places, pythons
from roost.environments.archiving import channels as archived
from roost.environments.archiving.base import KeptFiles
from roost.environments.base import CONDA, BuildFailed, Lock, Meanwhile, Private, Say
from roost.environments.conda import activation as conda_activation
from roost.environments.conda import settings as conda_settings
from roost.environments.conda.from_index import FromIndex, Unreachable
from roost.environments.conda.process import Worker, distrusted, hint, nothing_fetched
from roost.environments.conda.reach import Reach
from roost.environments.conda.settings import DEFAULTS, Channel
from roost.environments.pip.builder import UvBuilder, here
from roost.environments.pip.compiling import canonical

_AT_ONCE = 16
"""Packages that are fetched together for an archive: unfinished files take room, and are lost with a killed agent."""
_PATIENCE = 60
"""Seconds to wait for a channel that is needed only for a Python."""
_EXACT = re.compile(r"\d+(\.\d+)*")


class CondaBuilder:
    """See `base.Builder`. `environment` is added to this process's own for every program it starts. Small files are in `scratch`,
    which the caller deletes; files for later builds are in `home`."""

    def __init__(
        self,
        say: Say,
        meanwhile: Meanwhile,
        environment: Mapping[str, str],
        scratch: Path,
        home: Path,
        private: Private | None = None,
    ) -> None:
        self._say = say
        self._meanwhile = meanwhile
        self._environment = environment
        self._scratch = scratch
        self._private = private or Private()
        self._settings = conda_settings.read()
        named = os.environ.get("RATTLER_CACHE_DIR", "")
        cache = Path(named) if named and places.can_write(named) else home / "cache" / "conda"
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._worker = Worker(self._settings, say, meanwhile, environment, scratch, cache)
        self._reach = Reach(cache)
        self._uv = UvBuilder(say, meanwhile, environment, scratch, home, private)
        self._index = FromIndex(self._uv, say, private or Private())

    def resolve(self, recipe: Recipe) -> Lock:
        if recipe.packages:
            return self._index.resolve(recipe, self._from_channels)
        if self._index.is_first and pythons.is_near(recipe.python):
            return self._uv.resolve(recipe)
        try:
            packages = self._python_alone(recipe)
        except BuildFailed as failed:
            self._say(f"Python {recipe.python} cannot be had from conda: {failed.message}")
            return self._uv.resolve(recipe)
        return self._lock(recipe, packages)

    def _from_channels(self, recipe: Recipe) -> Lock:
        """Raises `Unreachable` when none of its channels can be reached and nothing of them was fetched before."""
        channels = self._channels(recipe)
        return self._lock(recipe, self._solve_or_say(recipe, channels, self._away(channels)))

    def install(self, lock: Lock, prefix: Path) -> None:
        if lock.platform != here():
            raise BuildFailed(
                f"The lock is for {lock.platform}; this node is {here()}.",
                hint="Resolve it for this one: roost run repeat RUN --fresh, or submit without the lock.",
            )
        packages, pip = _read(lock.body)
        self._link(packages, prefix)
        if pip.strip():
            self._uv.fill(prefix, pip)
        conda_activation.write(prefix, self._say, self._meanwhile, self._environment)

    def archive(self, lock: Lock, prefix: Path, kept: KeptFiles) -> None:
        packages, pip = _read(lock.body)
        wanted = [each for each in packages if not kept.has(archived.place(each))]
        channels = {name: self._settings.by_name(name) for name in {str(each["channel"]) for each in wanted}}
        for first in range(0, len(wanted), _AT_ONCE):
            with tempfile.TemporaryDirectory(prefix="keep-", dir=self._scratch) as folder:
                some = wanted[first : first + _AT_ONCE]
                away = self._worker.fetch(some, channels, Path(folder))
                for each in some:
                    if reason := away.get(archived.place(each)):
                        kept.lacks(str(each["file"]), reason)
                    else:
                        kept.add(archived.place(each), Path(folder, archived.place(each)))
        if pip.strip():
            self._uv.keep(prefix, pip, kept)

    def _python_alone(self, recipe: Recipe) -> list[dict[str, Any]]:
        """Python from the channels; BuildFailed at once when they were unreachable a short time ago."""
        channels = self._channels(recipe)
        lately = set(self._reach.away(channels))
        asked = [each for each in channels if each.name not in lately]
        if not asked:
            raise BuildFailed(f"{self._and(lately)} could not be reached lately.")
        self._say(f"There is no Python {recipe.python} on this node; asking {self._and(each.name for each in asked)}.")
        away = {} if self._settings.offline else self._worker.away(asked)
        self._reach.note(asked, away)
        there = [each for each in asked if each.name not in away]
        if not there:
            raise BuildFailed(f"{self._and(away)} cannot be reached.")
        return self._solve(recipe, there, (), _PATIENCE)

    def _solve(
        self, recipe: Recipe, channels: Sequence[Channel], cached: Sequence[str], seconds: int | None = None
    ) -> list[dict[str, Any]]:
        specs = [self._spec(each) for each in recipe.packages]
        named = {name_of(each) for each in recipe.packages}
        if "python" not in named:
            specs.append(_python(recipe.python))
        asked = f"{len(specs)} conda package{'' if len(specs) == 1 else 's'}"
        self._say(f"Resolving {asked} from {self._and(each.name for each in channels)}.")
        beside = [each for each in BASICS if each not in named]
        packages = self._worker.solve(channels, specs, beside, cached, seconds)
        self._say(f"Locked {len(packages)} conda packages.")
        return packages

    def _lock(self, recipe: Recipe, packages: Sequence[Mapping[str, Any]]) -> Lock:
        python = next(str(each["version"]) for each in packages if each["name"] == "python")
        pip = self._pip(recipe.requirements, packages, python)
        return Lock(kind=CONDA, python=python, platform=here(), body=_write(packages, pip))

    def _pip(self, requirements: Sequence[str], packages: Sequence[Mapping[str, Any]], python: str) -> str:
        """The pip part: the packages that pip would install beside these conda packages. For this they are installed once in a
        temporary place."""
        if all(each.startswith("-") for each in requirements):
            return ""
        with tempfile.TemporaryDirectory(prefix="conda-", dir=self._scratch) as folder:
            prefix = Path(folder, "prefix")
            self._link(packages, prefix)
            return self._uv.compile_beside(requirements, str(prefix / "bin" / "python"), _present(prefix, python))

    def _link(self, packages: Sequence[Mapping[str, Any]], prefix: Path) -> None:
        if self._private.kept is not None:
            channels = archived.stand_ins(packages, self._private.kept())
        else:
            channels = {name: self._settings.by_name(name) for name in {str(each["channel"]) for each in packages}}
        self._worker.install(packages, channels, prefix)
        for mark in prefix.glob("lib/python3*/EXTERNALLY-MANAGED"):
            mark.unlink()  # the pip part is installed into this prefix on purpose

    def _channels(self, recipe: Recipe) -> list[Channel]:
        inside = [
            channel.partition("/linux-")[0].removesuffix("/noarch")
            for channel, _ in map(split_channel, recipe.packages)
        ]
        found = self._settings.resolve(recipe.channels)
        known = {channel.name for channel in found}
        found += [each for name in filter(None, inside) for each in self._settings.find(name) if each.name not in known]
        if not found:
            raise BuildFailed(
                "The environment names no conda channel, and neither does this node.",
                hint="Name one under `channels` in the conda file.",
            )
        found = list({channel.name: channel for channel in found}.values())
        self._settings.check(found)
        return found

    def _spec(self, spec: str) -> str:
        """The spec with its channel's address instead of the name, since the solver compares addresses."""
        name, rest = split_channel(spec)
        found = self._settings.find(name)[0] if name else None
        return f"{found.url or found.name}::{rest}" if found else rest

    def _and(self, names: Iterable[str]) -> str:
        """Channels in words; a part of `defaults` appears as `defaults/NAME`, since no user has named them."""
        parts = {each.name for each in self._settings.find(DEFAULTS)}
        *first, last = [f"{DEFAULTS}/{name}" if name in parts and "/" not in name else name for name in names]
        return f"{', '.join(first)} and {last}" if first else last

    def _away(self, channels: Sequence[Channel]) -> dict[str, str]:
        """The unreachable channels with the reason; only earlier downloads of them can be used. All of this is logged."""
        if self._settings.offline:
            self._say("conda is set to be offline: only what was fetched before is used.")
            return {}
        away = self._worker.away(channels)
        self._reach.note(channels, away)
        for name, reason in away.items():
            self._say(
                f"Channel {self._and([name])} cannot be reached; looking for what was fetched of it before. {reason}"
            )
        return away

    def _solve_or_say(
        self, recipe: Recipe, channels: Sequence[Channel], away: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        """The solution; when there is none because channels are unreachable, the error names these channels."""
        try:
            return self._solve(recipe, channels, list(away))
        except BuildFailed as failed:
            offline = self._settings.offline and not any(each.url.startswith("file:") for each in channels)
            if not nothing_fetched(failed) or not (away or offline):
                raise
            if offline:
                raise Unreachable(failed.message, self._and(each.name for each in channels), failed.hint) from None
            reasons = "\n".join(f"{self._and([name])}: {reason}" for name, reason in away.items())
            message = f"{self._and(away)} cannot be reached, and nothing of it was fetched before.\n{reasons}"
            step = hint(reasons) or failed.hint
            if len(away) < len(channels) or distrusted(reasons):
                raise BuildFailed(message, hint=step) from None
            raise Unreachable(message, self._and(away), step) from None


def _present(prefix: Path, python: str) -> dict[str, str]:
    """The Python packages that conda has installed there, with their versions."""
    folder = prefix / "lib" / f"python{'.'.join(python.split('.')[:2])}" / "site-packages"
    found = [(each.metadata["Name"], each.version) for each in distributions(path=[str(folder)])]
    return {canonical(name): version for name, version in found if name}


def _python(wanted: str) -> str:
    if not wanted:
        return "python"
    return f"python={wanted}" if _EXACT.fullmatch(wanted) else f"python{wanted}"


def _write(packages: Sequence[Mapping[str, Any]], pip: str) -> str:
    """A line of JSON for each conda package, then the lines of the pip part."""
    return "".join(f"{json.dumps(each)}\n" for each in packages) + pip


def _read(body: str) -> tuple[list[dict[str, Any]], str]:
    lines = body.split("\n")
    count = next((place for place, line in enumerate(lines) if not line.startswith("{")), len(lines))
    return [json.loads(line) for line in lines[:count]], "\n".join(lines[count:])
