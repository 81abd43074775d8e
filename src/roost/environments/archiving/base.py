"""The stored files of one lock, by path, each stored once, and the list of missing ones. Builders fill it (`Builder.archive`);
the caller stores the files.

pip/wheels/             wheels from the index
pip/sources/            source distributions
pip/built/              wheels that were built from these
pip/compiled/<key>/     wheels that were compiled by rules for this environment
pip/own/<blob>/         the user's own wheels
conda/<channel>/<subdir>/   conda packages, the interpreter among them
image/                  the engine's export of an image, layer by layer
"""

from collections.abc import Callable
from pathlib import Path

from roost.domain import names
from roost.domain.errors import InvalidInput

PIP, CONDA, IMAGE = "pip", "conda", "image"
WHEELS, SOURCES, BUILT, COMPILED, OWN = (f"{PIP}/{each}" for each in ("wheels", "sources", "built", "compiled", "own"))

Put = Callable[[str, Path], None]
"""Stores a file under a path."""


class KeptFiles:
    """The files of one lock. `known` are the paths that are stored already: files of an earlier attempt are not fetched again."""

    def __init__(self, known: set[str], put: Put) -> None:
        self._known = set(known)
        self._put = put
        self.missing: dict[str, str] = {}
        """The files that cannot be stored, with the reason."""

    def has(self, path: str) -> bool:
        return path in self._known

    def below(self, folder: str, package: str = "") -> str:
        """A stored path in a folder or below it, of that package if one is named; empty for none."""
        found = (each for each in sorted(self._known) if each.startswith(f"{folder}/"))
        return next((each for each in found if not package or package_of(each) == package), "")

    def add(self, path: str, file: Path) -> None:
        """Stores a file. InvalidInput for a path that leads outside: locks come from outside."""
        self._put(names.path(path), file)
        self._known.add(path)

    def lacks(self, name: str, reason: str) -> None:
        self.missing[name] = " ".join(reason.split())


def package_of(path: str) -> str:
    """The package of a wheel or source distribution, by its file name."""
    name = path.rpartition("/")[2]
    stem = name.split("-")[0] if name.endswith(".whl") else name.rpartition("-")[0]
    return stem.lower().replace("_", "-").replace(".", "-")


def safe_name(text: str) -> str:
    """The file name in an address or a lock; InvalidInput when it is no file name."""
    if "/" in text or text in ("", ".", ".."):
        raise InvalidInput(f"{text!r} is no name of a file.")
    return names.path(text)
