"""Conda packages from a package index: used when no channel can be reached, or when the control plane is set to prefer it. Start
with `FromIndex.resolve`; `translating.py` has the requirement for each package.
"""

from collections.abc import Callable
from dataclasses import replace

from roost.domain.conda import CHANNELS_ONLY, INDEX_FIRST
from roost.domain.recipes import Recipe
from roost.environments import suggesting
from roost.environments.base import INDEX, BuildFailed, Lock, Private, Say
from roost.environments.conda import translating
from roost.environments.pip.builder import UvBuilder

SETTING = "ROOST_CONDA_PACKAGES"


class Unreachable(BuildFailed):
    """None of the channels can be reached, and nothing of them was fetched before."""

    def __init__(self, message: str, channels: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.channels = channels
        """Their names, in words."""


class FromIndex:
    def __init__(self, uv: UvBuilder, say: Say, private: Private) -> None:
        self._uv = uv
        self._say = say
        self._private = private

    @property
    def is_first(self) -> bool:
        return self._private.conda_packages == INDEX_FIRST

    def resolve(self, recipe: Recipe, from_channels: Callable[[Recipe], Lock]) -> Lock:
        """A lock from a source that the setting allows. `from_channels` raises Unreachable. An image of the user's own needs the
        Python that only channels have."""
        if self.is_first and (recipe.image is None or recipe.image.plain):
            return self._index_first(recipe, from_channels)
        try:
            return from_channels(recipe)
        except Unreachable as failed:
            if self._private.conda_packages == CHANNELS_ONLY:
                raise BuildFailed(
                    f"{failed.message}\n{SETTING} is {CHANNELS_ONLY}: the package index is not asked for conda packages.",
                    hint=failed.hint,
                ) from None
            self._say(f"{failed.channels} cannot be reached; the conda packages are looked for in the package index.")
            return self._again() or self._unreached(recipe, failed)

    def _index_first(self, recipe: Recipe, from_channels: Callable[[Recipe], Lock]) -> Lock:
        self._say(f"The conda packages are looked for in the package index ({SETTING} is {INDEX_FIRST}).")
        try:
            return self._resolve(recipe, f"as {SETTING} says")
        except BuildFailed as missing:
            self._say("The package index has not got all of it; the channels are asked.")
            try:
                return from_channels(recipe)
            except Unreachable as failed:
                raise _neither(failed, missing) from None

    def _unreached(self, recipe: Recipe, failed: Unreachable) -> Lock:
        try:
            return self._resolve(recipe, f"as {failed.channels} could not be reached")
        except BuildFailed as missing:
            raise _neither(failed, missing) from None

    def _again(self) -> Lock | None:
        """The earlier lock from the index: a recipe is resolved once."""
        known = self._private.index_lock()
        if known is None or known.source != INDEX:  # packages that the index lacked may have come from channels
            return None
        self._say("The same packages as the last time, from the lock that was made then.")
        return known

    def _resolve(self, recipe: Recipe, reason: str) -> Lock:
        made = translating.translate(recipe)
        for spec, line in made.replaced.items():
            self._say(f"  {spec} → {line}")
        if made.limits:
            self._say(f"  {', '.join(made.limits)}: packages of these years need it")
        for name in made.left_out:
            self._say(f"  {name} is left out: it is no Python package")
        lock = self._uv.resolve(made.recipe, made.limits)
        notes = []
        if made.replaced:
            notes.append(f"From the package index instead of conda, {reason}: {translating.in_words(made.replaced)}.")
        if made.left_out:
            notes.append(f"Left out, as a package index has Python packages only: {', '.join(made.left_out)}.")
        for note in notes:
            self._say(note)
        return replace(lock, source=INDEX, notes=(*lock.notes, *notes))


def _neither(failed: Unreachable, missing: BuildFailed) -> BuildFailed:
    words = f"{failed.message}\nThe package index cannot stand in for the channels: {missing.message}"
    meant = suggesting.hint(missing.message)
    return BuildFailed(words, hint=meant or failed.hint or missing.hint)
