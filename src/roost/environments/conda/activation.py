"""The variables that activation of a conda prefix sets. Packages have scripts for it (`etc/conda/activate.d`), which name the
folder of their data or their compiler. They run once, when the prefix is made; every run then gets their variables.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from roost.environments.base import Meanwhile, Say
from roost.environments.running import Runner, Silent

_FILE = Path("conda-meta", "roost-variables.json")
_SCRIPTS = Path("etc", "conda", "activate.d")
_VARIABLES = Path("etc", "conda", "env_vars.d")
_NOT_THEIRS = ("PATH", "PWD", "OLDPWD", "SHLVL", "_", "PS1", "BASH_FUNC_which%%")
_ALL = 'for script in "$@"; do . "$script"; done >/dev/null; env -0 > "$ROOST_VARIABLES"'


def write(prefix: Path, say: Say, meanwhile: Meanwhile, environment: Mapping[str, str]) -> None:
    """Runs the scripts and stores their variables in the prefix; `environment` marks the processes of the build."""
    found: dict[str, str] = {}
    for file in sorted((prefix / _VARIABLES).glob("*.json")):
        given = json.loads(file.read_text(encoding="utf-8"))
        found |= {str(name): str(value) for name, value in given.items()}
    scripts = sorted(map(str, (prefix / _SCRIPTS).glob("*.sh")))
    if scripts:
        say(f"Activating the environment once: {', '.join(Path(each).name for each in scripts)}.")
        found |= _set_by(scripts, prefix, say, meanwhile, environment)
    (prefix / _FILE).write_text(json.dumps(found), encoding="utf-8")


def read(prefix: Path) -> dict[str, str]:
    """The variables for the processes of a run; empty for a prefix that is not conda's."""
    try:
        found = json.loads((prefix / _FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return {**found, "CONDA_PREFIX": str(prefix), "CONDA_DEFAULT_ENV": str(prefix), "CONDA_SHLVL": "1"}


def _set_by(
    scripts: Sequence[str], prefix: Path, say: Say, meanwhile: Meanwhile, environment: Mapping[str, str]
) -> dict[str, str]:
    told = prefix / _FILE.with_suffix(".env")
    before = {
        **environment,
        **{name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ},
        "PATH": os.pathsep.join([str(prefix / "bin"), os.environ.get("PATH", os.defpath)]),
        "CONDA_PREFIX": str(prefix),
        "ROOST_VARIABLES": str(told),
    }
    shell = shutil.which("bash") or "sh"
    Runner(say, meanwhile, before).run(
        [shell, "-c", _ALL, "activate", *scripts], Silent("Activating"), scrub=str, hint=_hint
    )
    after = dict(
        each.partition("=")[::2] for each in told.read_text(encoding="utf-8", errors="replace").split("\0") if each
    )
    told.unlink()
    return {name: value for name, value in after.items() if before.get(name) != value and name not in _NOT_THEIRS}


def _hint(_: str) -> str:
    return "A script that a conda package brings for its activation failed (etc/conda/activate.d in the prefix)."
