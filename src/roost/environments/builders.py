"""Chooses the builder: the only module that knows all of them. Each loads its libraries only when it is chosen."""

from collections.abc import Mapping
from pathlib import Path

from roost.domain.errors import InvalidInput
from roost.domain.recipes import Recipe
from roost.environments import pythons
from roost.environments.base import CONDA, IMAGE, PIP, Builder, Meanwhile, Private, Say


def kind_of(recipe: Recipe) -> str:
    """The kind of builder that resolves a recipe on this node; the lock names the builder that installs it."""
    if recipe.image:
        return IMAGE
    return CONDA if recipe.packages or not pythons.has(recipe.python) else PIP


def choose(
    kind: str,
    say: Say,
    meanwhile: Meanwhile,
    environment: Mapping[str, str],
    scratch: Path,
    home: Path,
    private: Private,
) -> Builder:
    """The builder of that kind of lock. `environment` is added to this process's own for every program it starts. Small files are
    in `scratch`, which the caller deletes; files for later builds are in `home`. `private` is the user's input beside a lock."""
    if kind == PIP:
        from roost.environments.pip.builder import UvBuilder  # noqa: PLC0415 - loaded by those who build

        return UvBuilder(say, meanwhile, environment, scratch, home, private)
    if kind == CONDA:
        from roost.environments.conda.builder import CondaBuilder  # noqa: PLC0415 - loaded by those who build

        return CondaBuilder(say, meanwhile, environment, scratch, home, private)
    if kind == IMAGE:
        from roost.environments.containers.builder import ContainerBuilder  # noqa: PLC0415 - loaded by those who build

        def native(other: str) -> Builder:
            return choose(other, say, meanwhile, environment, scratch, home, private)

        return ContainerBuilder(say, meanwhile, environment, scratch, home, private, native)
    raise InvalidInput(
        f"A lock of the kind {kind!r} is not known to this version of Roost.", hint="Upgrade Roost on this node."
    )
