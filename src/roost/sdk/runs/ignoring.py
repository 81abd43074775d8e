"""The files that a snapshot leaves out: by the ignore file at the folder's root, and some folders and files that are never
useful.

`.amlignore` is used, else `.gitignore`, at the root only, with git's rules. An ignored folder is not entered.
"""

import os

from roost.domain.errors import InvalidInput

IGNORE_FILES = (".amlignore", ".gitignore")
ALWAYS = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".tox",
        ".venv",
        "__pycache__",
    }
)
"""Folders with these names, at any depth. A folder with `pyvenv.cfg` is a virtual environment and is left out too."""

BACKUPS = ".roost.tar"
"""Files with such a name are back-ups of Roost itself, and never part of a snapshot."""
MARK_OF_VENV = "pyvenv.cfg"


class Rules:
    """The rules of one folder, and a cache of their results, because evaluating them is slow."""

    def __init__(self, text: str, verdicts: dict[str, bool] | None = None) -> None:
        self.text = text
        self.verdicts: dict[str, bool] = verdicts if verdicts is not None else {}
        self._lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        self._spec: object | None = None

    def __bool__(self) -> bool:
        return bool(self._lines)

    def ignores(self, path: str) -> bool:
        """True when a path within the folder is left out; a folder's path ends with a slash."""
        known = self.verdicts.get(path)
        if known is None:
            known = self.verdicts[path] = self._ask(path)
        return known

    def _ask(self, path: str) -> bool:
        import pathspec  # noqa: PLC0415 - needed only for folders with rules and new names

        if self._spec is None:
            self._spec = pathspec.GitIgnoreSpec.from_lines(self._lines)
        assert isinstance(self._spec, pathspec.GitIgnoreSpec)
        return self._spec.match_file(path)


def read_rules(folder: str) -> str:
    """The text of the ignore file in use; empty when there is none."""
    for name in IGNORE_FILES:
        path = os.path.join(folder, name)
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(
                f"The ignore file {path} cannot be read: {error}.", hint="Make it a readable UTF-8 text file."
            ) from None
    return ""
