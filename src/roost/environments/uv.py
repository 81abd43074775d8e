"""The builder for pip packages: uv resolves to exact versions with hashes, and installs them into a virtual environment."""

import contextlib
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import uv

from roost.domain.recipes import Recipe
from roost.environments import pip_settings, pythons
from roost.environments.base import BuildFailed, Lock, Meanwhile, Say

_PAUSE = 0.1
_LAST_LINES = 30
_NOT_FOUND = re.compile(
    r"not found in the package registry|no versions? of|cannot be used|unsatisfiable", re.IGNORECASE
)


class UvBuilder:
    """See `base.Builder`. `environment` is added to this process's own for whatever is started; small
    files are in `scratch`, which goes with whoever gave it."""

    def __init__(
        self,
        say: Say,
        meanwhile: Meanwhile,
        environment: Mapping[str, str] | None = None,
        scratch: Path | None = None,
    ) -> None:
        self._say = say
        self._meanwhile = meanwhile
        self._scratch = scratch
        self._settings = pip_settings.read()
        self._environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if name not in ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")
            },
            **self._settings.variables,
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_NO_PROGRESS": "1",
            "NO_COLOR": "1",
            **(environment or {}),
        }

    def resolve(self, recipe: Recipe) -> Lock:
        chosen = pythons.choose(recipe.python)
        note = pythons.note(chosen, recipe.python)
        self._say(note or f"Python {chosen.text}.")
        body = self.compile(recipe.requirements, chosen.path)
        return Lock(python=chosen.text, platform=here(), notes=(note,) if note else (), body=body)

    def compile(self, requirements: Sequence[str], python: str, *flags: str) -> str:
        """The lines as exact versions with hashes for that interpreter, options first."""
        options = [line for line in requirements if line.startswith("-")]
        with tempfile.TemporaryDirectory(prefix="resolve-", dir=self._scratch) as folder:
            wanted, locked = Path(folder, "requirements.in"), Path(folder, "lock.txt")
            wanted.write_text("\n".join(requirements) + "\n", encoding="utf-8")
            given = ["--generate-hashes", "--no-header", "--no-annotate", "--quiet", *flags]
            given += ["--prerelease", "allow"] if "--pre" in options else []
            self._say(f"Resolving {len(requirements) - len(options)} requirements.")
            self._run(["pip", "compile", *given, "--python", python, "-o", str(locked), str(wanted)], requirements)
            body = locked.read_text(encoding="utf-8")
        packages = sum(1 for line in body.splitlines() if line[:1].isalnum())
        self._say(f"Locked {packages} packages.")
        return "".join(f"{option}\n" for option in options if option != "--pre") + body

    def install(self, lock: Lock, prefix: Path) -> None:
        chosen = pythons.choose(lock.python)
        self._run(["venv", "--quiet", "--no-project", "--python", chosen.path, str(prefix)])
        self.fill(prefix, lock.body)

    def fill(self, prefix: Path, body: str) -> None:
        """Installs what a body names into a prefix that has its Python."""
        with tempfile.TemporaryDirectory(prefix="install-", dir=self._scratch) as folder:
            wanted = Path(folder, "lock.txt")
            wanted.write_text(body, encoding="utf-8")
            # A lock names all there is, so nothing is resolved again; `install` and not `sync`, which knows no options in files.
            flags = ["--no-deps", "--python", str(prefix / "bin" / "python")]
            self._run(["pip", "install", *flags, "-r", str(wanted)], (body,))

    def _run(self, arguments: Sequence[str], allowed: Sequence[str] = ()) -> list[str]:
        """Runs uv, its words in the log, and returned; BuildFailed with the last of them when it fails."""
        given = "\n".join(allowed)
        command = [uv.find_uv_bin(), "--no-progress", *arguments]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environment,
            start_new_session=True,
        )
        said: list[str] = []
        reader = threading.Thread(target=self._listen, args=(process, said, given), name="uv", daemon=True)
        reader.start()
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_PAUSE)
                    break
                self._meanwhile()
        finally:
            _end(process)
            reader.join()
        if process.returncode:
            words = "\n".join(said[-_LAST_LINES:]).strip() or f"uv ended with {process.returncode} and said nothing."
            raise BuildFailed(words, hint=_hint(words))
        return said

    def _listen(self, process: "subprocess.Popen[bytes]", said: list[str], given: str) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                text = self._settings.scrub(line.decode("utf-8", "replace").rstrip(), given)
                said.append(text)
                self._say(text)


def here() -> str:
    """This node's platform."""
    return f"{sys.platform}-{platform.machine()}"


def _end(process: "subprocess.Popen[bytes]") -> None:
    """uv and whatever it started."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _hint(words: str) -> str:
    if "Failed to build" in words or "build backend" in words:
        return "A package has no wheel for this Python and could not be built here; ask for a version that has one."
    if _NOT_FOUND.search(words):
        return "Check names and versions against this Python; older packages need the Python of their years, such as python=3.8."
    if "dns error" in words or "Failed to fetch" in words or "Connection" in words:
        return "A package index could not be reached; the indexes are those that pip is set up with on this machine."
    return ""
