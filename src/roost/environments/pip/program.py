"""Runs uv with this machine's pip settings and the environment's options; its output is logged without any address that the user
did not write.
"""

import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import uv

from roost.environments import suggesting
from roost.environments.base import BuildFailed, Meanwhile, Private, Say
from roost.environments.pip import own_wheels
from roost.environments.pip import settings as pip_settings
from roost.environments.pip.options import Options
from roost.environments.running import Downloads, Runner, Silent, Words

_NOT_OURS = (
    "CONDA_PREFIX",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MFLAGS",
    "MPLBACKEND",
    "PYTHONBREAKPOINT",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "UV_PROJECT_ENVIRONMENT",
    "UV_PYTHON",
    "VIRTUAL_ENV",
)
_FIXED = {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "NO_COLOR": "1"}
_WOULD_INSTALL = re.compile(r"\s*\+ (\S+==\S+).*")
_NOT_FOUND = re.compile(
    r"not found in the package registry|no versions? of|cannot be used|unsatisfiable", re.IGNORECASE
)
_FAILED = re.compile(r"Failed to build `([^`]+)`")
_CLASH = re.compile(r"you require ([\w.-]+?)([=<>!~]\S*) and (?:you require )?\1([=<>!~]\S*?),? (?:we can|your)")


class Uv:
    """`environment` is added to this process's own; small files are in `scratch`; `private` is the user's input beside a lock."""

    def __init__(
        self, say: Say, meanwhile: Meanwhile, environment: Mapping[str, str], scratch: Path | None, private: Private
    ) -> None:
        self.say = say
        self.meanwhile = meanwhile
        self.private = private
        self._scratch = scratch
        self._settings = pip_settings.read()
        own = {name: value for name, value in os.environ.items() if name not in _NOT_OURS}
        self.environment = pip_settings.usable({**own, **self._settings.variables, **_FIXED, **environment})
        if "UV_NO_CACHE" in self.environment:
            say(
                "The folder of uv's cache cannot be written by this user: what is fetched is not kept (see: roost doctor)."
            )

    def run(
        self,
        arguments: Sequence[str],
        words: Words,
        options: Options,
        *,
        shown: str = "",
        variables: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> list[str]:
        """uv's output. Only addresses in the options and in `shown`, the user's own text, may appear in the log. BuildFailed."""
        allowed = "\n".join([shown, *options.kept])
        command = [uv.find_uv_bin(), *arguments, *(self._settings.flags if arguments[0] == "pip" else ())]
        given = {**options.variables, **(variables or {})}

        def scrub(text: str) -> str:
            return options.hide(self._settings.scrub(text, allowed))

        try:
            return self.start(command, words, scrub=scrub, variables=given, folder=folder)
        except BuildFailed as error:
            raise BuildFailed(error.message, hint=_refused(error.message, options) or error.hint) from None

    def start(
        self,
        command: Sequence[str],
        words: Words,
        *,
        scrub: Callable[[str], str] = str,
        variables: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> list[str]:
        """Runs any program in the same way; an empty variable is not set."""
        merged = {**self.environment, **(variables or {})}
        runner = Runner(self.say, self.meanwhile, {name: value for name, value in merged.items() if value})
        return runner.run(command, words, scrub=scrub, hint=_hint, folder=folder)

    def lock(
        self,
        lines: Sequence[str],
        python: str,
        options: Options,
        metadata: str,
        *flags: str,
        words: Words | None = None,
        limits: Sequence[str] = (),
    ) -> str:
        """Exact lines with hashes for these; `metadata` (a `uv.toml`) is what uv need not request from packages. `limits` apply
        to packages that are needed anyway, and add none."""
        with tempfile.TemporaryDirectory(prefix="resolve-", dir=self._scratch) as name:
            folder = Path(name).resolve()
            wanted, locked = folder / "requirements.in", folder / "lock.txt"
            text = "".join(f"{line}\n" for line in lines)
            wanted.write_text(own_wheels.fetched(text, folder / "own", self.private.fetch), encoding="utf-8")
            (folder / "uv.toml").write_text(metadata, encoding="utf-8")
            given = ["--generate-hashes", "--no-header", "--no-annotate", "--quiet", *options.flags, *flags]
            if limits:
                (folder / "limits.txt").write_text("".join(f"{each}\n" for each in limits), encoding="utf-8")
                given += ["--constraints", str(folder / "limits.txt")]
            arguments = ["pip", "compile", *given, "--python", python, "-o", str(locked), str(wanted)]
            self.run(arguments, words or Words("Resolving"), options, shown=text, folder=folder)
            return own_wheels.named(locked.read_text(encoding="utf-8"), folder / "own")

    def missing(self, lines: Sequence[str], python: str, options: Options, metadata: str) -> list[str]:
        """The packages that these need beside those that the interpreter has, as exact lines: `name==1.2`."""
        with tempfile.TemporaryDirectory(prefix="resolve-", dir=self._scratch) as name:
            folder = Path(name).resolve()
            wanted = folder / "requirements.in"
            text = "".join(f"{line}\n" for line in lines)
            wanted.write_text(own_wheels.fetched(text, folder / "own", self.private.fetch), encoding="utf-8")
            (folder / "uv.toml").write_text(metadata, encoding="utf-8")
            arguments = ["pip", "install", "--dry-run", "--python", python, *options.flags, "-r", str(wanted)]
            said = self.run(arguments, Silent("Resolving"), options, shown=text, folder=folder)
        return [found[1] for found in map(_WOULD_INSTALL.fullmatch, said) if found]

    def install(self, text: str, python: Path, options: Options, *flags: str) -> None:
        """Installs the lines of a lock. They are complete, so nothing is resolved again."""
        with tempfile.TemporaryDirectory(prefix="install-", dir=self._scratch) as name:
            folder = Path(name).resolve()
            wanted = folder / "lock.txt"
            wanted.write_text(own_wheels.fetched(text, folder / "own", self.private.fetch), encoding="utf-8")
            given = ["--no-deps", "--python", str(python), *options.flags, *flags]
            self.run(["pip", "install", *given, "-r", str(wanted)], Downloads("Installing"), options, shown=text)


def cache_at(folder: Path) -> dict[str, str]:
    """Variables that place uv's cache in that folder, also on a node where uv has no cache."""
    return {"UV_CACHE_DIR": str(folder), "UV_NO_CACHE": ""}


def _refused(words: str, options: Options) -> str:
    """A hint for an index that refuses access: uv treats it like an index without the package."""
    if re.search(r"\b(401|403)\b|Unauthorized|Forbidden", words) or (options.secrets and _NOT_FOUND.search(words)):
        return (
            "Check the name, and what the index is given to let you in: the password in the option, pip.conf or netrc."
        )
    return ""


def _hint(words: str) -> str:
    if "No space left on device" in words or "Disk quota exceeded" in words:
        return "The disk is full. Free some of it (roost du, roost gc, uv cache prune), and submit again."
    if re.search(r"hash mismatch", words, re.IGNORECASE):
        return "A package is not the one that was locked: it was changed or damaged on its way. Nothing of it was installed."
    if meant := suggesting.hint(words):
        return meant
    if "Failed to build" in words or "build backend" in words:
        named = _FAILED.search(words)
        return (
            f"{named[1] if named else 'A package'} has no wheel for this Python and could not be built here; "
            "ask for a version that has one, or for the Python of its years, such as python=3.8."
        )
    if clash := _CLASH.search(" ".join(words.split())):
        return f"{clash[1]}{clash[2]} and {clash[1]}{clash[3]} are both asked for; keep one of them."
    if _NOT_FOUND.search(words):
        return "Check names and versions against this Python; older packages need the Python of their years, such as python=3.8."
    if re.search(r"dns error|Failed to fetch|[Cc]onnection|timed? ?out|error sending request", words):
        return "A package index could not be reached; the indexes are those that pip is set up with on this machine."
    return ""
