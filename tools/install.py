"""Installs this folder into a virtual environment, as `make` does: `python tools/install.py .venv '.[dev]'`. Any Python of 3.11
or newer runs it, with the standard library alone.

uv installs in a fraction of pip's time, and is got with pip where it is not there; it is told what pip is set up with, as
Roost itself tells it. pip installs where uv cannot be had or fails. Safe to repeat after it was killed.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from roost.environments.pip import settings  # noqa: E402 - of this folder, which is not installed yet; standard library

CONSTRAINTS = ("--constraint", str(ROOT / "constraints.txt"))


def main(venv: Path, what: str) -> int:
    python = venv / "bin" / "python"
    if not _works([str(python), "-c", ""]):
        if other := _others(venv):
            print(f"{venv} is no virtual environment, it has {other[0]}: name another folder", file=sys.stderr)
            return 1
        print(f"Making {venv} with {sys.executable}", flush=True)
        # pip comes with the packages, from the index: unpacking the bundled one takes longer than all of them.
        subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(venv)], check=True)
    uv = _uv(python)
    if uv and not _run([uv, "pip", "install", *settings.read().flags, *_words(python, what)], _for_uv()):
        return 0
    print("uv cannot be had or failed here: installing with pip", flush=True)
    if not _has_pip(python) and _run([str(python), "-m", "ensurepip"], os.environ):
        print(f"There is no pip for {python}: install Debian's python3-venv, or uv", file=sys.stderr)
        return 1
    return _run([str(python), "-m", "pip", "install", "--quiet", *CONSTRAINTS, "--editable", what], os.environ)


def _others(venv: Path) -> list[str]:
    """What would be lost if an environment were made there in the place of what is: nothing of an environment counts, nor of
    one that was killed while it was made."""
    if not venv.is_dir() or (venv / "pyvenv.cfg").exists():
        return []
    return sorted(each.name for each in venv.iterdir() if each.name not in ("bin", "include", "lib", "lib64"))


def _words(python: Path, what: str) -> list[str]:
    return ["--quiet", "--python", str(python), *CONSTRAINTS, "pip", "--editable", what]


def _uv(python: Path) -> str:
    """The path of a uv that works: the environment's, the machine's, else one that pip brings; empty for none."""
    own = python.with_name("uv")
    for found in (str(own), shutil.which("uv") or ""):
        if found and _works([found, "--version"]):
            return found
    words = ["install", "--quiet", "--no-compile", *CONSTRAINTS, "uv"]
    if _has_pip(python):
        _run([str(python), "-m", "pip", *words], os.environ)
    elif not _has_pip(Path(sys.executable)) or _run(
        [sys.executable, "-m", "pip", "--python", str(python), *words], os.environ
    ):
        if _run([str(python), "-m", "ensurepip"], os.environ):
            return ""
        _run([str(python), "-m", "pip", *words], os.environ)
    return str(own) if _works([str(own), "--version"]) else ""


def _for_uv() -> Mapping[str, str]:
    own = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "UV_PYTHON")}
    return settings.usable({**own, **settings.read().variables, "UV_NO_PROGRESS": "1"})


def _has_pip(python: Path) -> bool:
    return _works([str(python), "-c", "import pip"])


def _works(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python tools/install.py VENV REQUIREMENT")
    sys.exit(main(Path(sys.argv[1]).absolute(), sys.argv[2]))
