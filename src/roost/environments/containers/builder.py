"""The builder for environments in an image. The image is found, fetched or built; the packages are installed beside it, in a
prefix that the image's own Python makes inside a container and that is mounted into the containers of runs.

An image of Azure's only means a plain Linux: where it is not available, the packages are installed natively, and log and lock
record it.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from roost.domain.recipes import Image, Recipe, satisfies
from roost.environments import caches, notes, pythons
from roost.environments.archiving import offline
from roost.environments.archiving.base import KeptFiles
from roost.environments.archiving.packages import Packages
from roost.environments.base import CONDA, IMAGE, PIP, Builder, BuildFailed, Lock, Meanwhile, Private, Say
from roost.environments.containers import engine as container_engine
from roost.environments.containers import facts as container_facts
from roost.environments.containers.box import Mount
from roost.environments.containers.engine import Engine, NoEngine
from roost.environments.containers.facts import Facts
from roost.environments.containers.images import Images, OutOfReach
from roost.environments.containers.workshop import BoxedUv, Workshop
from roost.environments.pip import compiling
from roost.environments.pip import options as pip_options
from roost.environments.pip.builder import here
from roost.environments.pip.options import Options
from roost.environments.running import Silent, Words

_CONDA_BODY = "# conda\n"
_OLDEST = (3, 6)
_NAMES = ("python", "python3", *(f"python3.{minor}" for minor in range(20, 5, -1)))
_USUAL = ("/opt/conda/bin/python", "/opt/miniconda/bin/python", "/usr/local/bin/python3", "/usr/bin/python3")
_ASK = "import sys; print('python %d.%d.%d %s' % (sys.version_info[:3] + (sys.executable,)))"
_LOOK = f"""
for name in "$@"; do
  path=$(command -v "$name" 2>/dev/null) && "$path" -I -S -c "{_ASK}" 2>/dev/null
done
true
"""
_FOUND = re.compile(r"python (\d+)\.(\d+)\.(\d+) (/.+)")

Native = Callable[[str], Builder]
"""The builder of another kind of lock, for packages that are installed outside the image."""


class _NoPython(BuildFailed):
    """The image does not have the requested Python."""


class _FromIndex(BuildFailed):
    """Its conda packages come from a package index, without a channel's Python, which would run in any image."""

    lock: Lock


class _Compiled(BuildFailed):
    """A package must be compiled by its rules, which are for this machine and not for an image."""


class ContainerBuilder:
    """See `base.Builder`. `environment` is set in every container that it starts, `scratch` is the run's folder."""

    def __init__(
        self,
        say: Say,
        meanwhile: Meanwhile,
        environment: Mapping[str, str],
        scratch: Path,
        home: Path,
        private: Private,
        native: Native,
    ) -> None:
        self._say = say
        self._meanwhile = meanwhile
        self._scratch = scratch
        self._home = home
        self._private = private
        self._native = native
        self._workshop = Workshop(say, meanwhile, environment, scratch)

    def resolve(self, recipe: Recipe) -> Lock:
        assert recipe.image is not None
        try:
            return self._resolve(recipe, recipe.image)
        except (NoEngine, OutOfReach, _NoPython, _FromIndex, _Compiled) as error:
            if not recipe.image.plain:
                name = f"the image {recipe.image.reference}" if recipe.image.reference else "a Dockerfile's image"
                raise type(error)(f"The environment needs {name}. {error.message}", hint=_way_out(error)) from error
            note = f"Installed natively instead of in the image {recipe.image.reference}: {error.message}"
            self._say(note)
            plain = replace(recipe, image=None)
            kind = CONDA if plain.packages or not pythons.has(plain.python) else PIP
            lock = error.lock if isinstance(error, _FromIndex) else self._native(kind).resolve(plain)
            return replace(lock, notes=(*lock.notes, " ".join(note.split())))

    def install(self, lock: Lock, prefix: Path) -> None:
        held = container_facts.hold(self._home)
        try:
            self._install(lock, prefix)
        finally:
            os.close(held)

    def archive(self, lock: Lock, prefix: Path, kept: KeptFiles) -> None:
        facts, body = container_facts.split(lock)
        engine = container_engine.find()
        self._images(engine).keep(facts, kept, self._scratch)
        if body.startswith(_CONDA_BODY):
            self._native(CONDA).archive(replace(lock, kind=CONDA, body=body.removeprefix(_CONDA_BODY)), prefix, kept)
        elif facts.prefix:
            uv, options, text = self._read(engine, facts, prefix, body)
            Packages(uv, prefix / "bin" / "python", options, "", self._workshop.folder).keep(text, kept)

    def _install(self, lock: Lock, prefix: Path) -> None:
        facts, body = container_facts.split(lock)
        engine = container_engine.find()
        facts, changes = self._image(engine, facts, lock)
        if body.startswith(_CONDA_BODY):
            inner = replace(lock, kind=CONDA, body=body.removeprefix(_CONDA_BODY))
            self._native(CONDA).install(inner, prefix)
            command = [f"{prefix}/bin/python", "-c", ""]
            self._workshop.run(engine, facts.id, command, [Mount(prefix)], words=Words("Trying it in the image"))
        else:
            prefix.mkdir(parents=True)
            if facts.prefix:
                self._fill(engine, facts, prefix, body)
        container_facts.write(prefix, facts)
        notes.add(prefix, changes)

    def _image(self, engine: Engine, facts: Facts, lock: Lock) -> tuple[Facts, tuple[str, ...]]:
        """The image of a lock on this engine. An image of a Dockerfile that is gone, and in no registry or archive, is built
        again; the differences from the lock are reported."""
        images = self._images(engine)
        recipe = self._private.recipe
        dockerfile = recipe.image if recipe and recipe.image and recipe.image.dockerfile else None
        is_elsewhere = bool(facts.digest or facts.archive or self._private.kept is not None)
        if recipe is None or dockerfile is None or is_elsewhere or engine.has(facts.id):
            images.restore(facts, self._scratch)
            return facts, ()
        self._say(f"The image {facts.id[:19]} of a Dockerfile is not on this node any more; it is built again.")
        made = images.obtain(dockerfile, recipe.key, self._home)
        if made.id == facts.id:
            return facts, ()
        version = self._python(engine, made.id, "", facts.python)[0] if facts.python else lock.python
        if version.split(".")[:2] != lock.python.split(".")[:2]:
            raise BuildFailed(
                f"Its Dockerfile was built again, and makes an image with Python {version} instead of {lock.python}.",
                hint="Resolve the environment anew: roost run repeat RUN --fresh, or roost env build NAME --fresh.",
            )
        other = "" if version == lock.python else f", with Python {version} instead of {lock.python}"
        note = f"The image {made.id[:19]}, built again from its Dockerfile{other}: the locked {facts.id[:19]} is gone."
        self._say(note)
        return replace(facts, id=made.id), (note,)

    def _fill(self, engine: Engine, facts: Facts, prefix: Path, body: str) -> None:
        """Makes a virtual environment of the image's Python, with the packages of the body."""
        uv, options, text = self._read(engine, facts, prefix, body)
        arguments = ["venv", "--quiet", "--no-project", "--python", facts.python, str(prefix)]
        uv.run(arguments, Words("Making the environment"), options)
        python = prefix / "bin" / "python"
        if self._private.kept is not None:
            offline.fill(uv, python, text, (), self._private.kept())
        else:
            uv.install(text, python, options)

    def _read(self, engine: Engine, facts: Facts, prefix: Path, body: str) -> tuple[BoxedUv, Options, str]:
        """uv in the image, with the options of a lock's body and its other lines."""
        uv = self._uv(engine, facts.id)
        uv.prefix = prefix
        kept, lines = pip_options.split(body.splitlines())
        known, _ = pip_options.split(self._private.requirements)
        options = pip_options.read(pip_options.with_secrets(kept, known), uv.environment, lines=lines)
        return uv, options, "".join(f"{line}\n" for line in lines)

    def _resolve(self, recipe: Recipe, image: Image) -> Lock:
        engine = container_engine.find()
        self._say(f"The container engine is {engine.name} {engine.version}.")
        images = self._images(engine)
        container_facts.hold(self._home)  # until this process ends: the result is installed next
        facts = images.obtain(image, recipe.key, self._home)
        notes: tuple[str, ...] = ()
        body, path = "", ""
        if image.own_python:
            version, path = self._python(engine, facts.id, "", image.interpreter)
        elif recipe.packages:
            inner = self._conda(recipe)
            version, body, notes = inner.python, _CONDA_BODY + inner.body, inner.notes
        else:
            version, path = self._python(engine, facts.id, recipe.python)
            notes = _nearest(version, recipe.python)
            body = self._compile(engine, facts.id, recipe, path)
        self._say(f"Python {version}{f' ({path})' if path else ''}.")
        for note in notes:
            self._say(note)
        facts = images.share(replace(facts, python=path, prefix=bool(body)), self._scratch)
        text = container_facts.body(facts, body)
        return Lock(kind=IMAGE, python=version, platform=here(), notes=notes, body=text)

    def _python(self, engine: Engine, image: str, wanted: str, named: str = "") -> tuple[str, str]:
        """Version and path of a Python in the image."""
        names = [named] if named else [*_NAMES, *_USUAL]
        lines = self._workshop.run(engine, image, ["/bin/sh", "-c", _LOOK, "look", *names], words=Silent("Looking"))
        found = [match for line in lines if (match := _FOUND.fullmatch(line))]
        for each in found:
            version = (int(each[1]), int(each[2]), int(each[3]))
            if version >= _OLDEST and satisfies(version, wanted):
                return ".".join(each.groups()[:3]), each[4]
        there = ", ".join(dict.fromkeys(".".join(each.groups()[:3]) for each in found)) or "none"
        asked = f"Python {wanted}" if wanted else repr(named) if named else "Python from 3.6 on"
        raise _NoPython(
            f"There is no {asked} in it; the Pythons there: {there}.",
            hint="Ask for one of those, or take another image.",
        )

    def _conda(self, recipe: Recipe) -> Lock:
        """A prefix with its own Python from conda's channels: it runs in any image with a C library of its years."""
        lock = self._native(CONDA).resolve(replace(recipe, notes=()))
        if lock.kind != CONDA:
            failed = _FromIndex(
                "Its conda packages come from the package index, without a Python.",
                hint="Write them as pip packages: they are then installed for the image's own Python.",
            )
            failed.lock = lock
            raise failed
        return lock

    def _compile(self, engine: Engine, image: str, recipe: Recipe, python: str) -> str:
        uv = self._uv(engine, image)
        given, lines = pip_options.split(recipe.requirements)
        options = pip_options.read(given, uv.environment, lines=lines)
        compiled = [each for each in compiling.load().always(lines) if each not in options.only_binary]
        if compiled:
            raise _Compiled(
                f"{' and '.join(compiled)} has to be compiled, which Roost does outside of images only.",
                hint="Take an image that has it, with python.user_managed_dependencies = True.",
            )
        self._say(f"Resolving {len(lines)} requirements inside the image.")
        body = uv.lock(lines, python, options, "")
        self._say(f"Locked {sum(1 for line in body.splitlines() if line[:1].isalnum())} packages.")
        return "".join(f"{option}\n" for option in options.kept if option != "--pre") + body

    def _uv(self, engine: Engine, image: str) -> BoxedUv:
        return BoxedUv(self._workshop, engine, image, self._home / caches.UV, self._private, self._say)

    def _images(self, engine: Engine) -> Images:
        return Images(engine, self._say, self._meanwhile, self._private)


def _nearest(version: str, wanted: str) -> tuple[str, ...]:
    """The lock's note when the image has another patch of the named Python."""
    exact = re.fullmatch(r"\d+\.\d+\.\d+", wanted) is not None
    return (f"Python {version}, the image's own, instead of {wanted}.",) if exact and version != wanted else ()


def _way_out(error: BuildFailed) -> str:
    return f"{error.hint} Or do without an image: the packages are then installed natively.".strip()
