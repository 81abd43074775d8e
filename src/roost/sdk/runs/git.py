"""The git state of a source folder, stored with a run. Collected while the snapshot is taken; a folder without git costs
nothing.
"""

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

_SECONDS = 5.0


class GitState:
    """Running git commands, as a `with` block. `properties` waits for their output."""

    def __init__(self, status: subprocess.Popen[bytes] | None, remote: subprocess.Popen[bytes] | None) -> None:
        self._status = status
        self._remote = remote

    def __enter__(self) -> "GitState":
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self._status, self._remote):
            if process is not None and process.returncode is None:
                process.kill()
                process.communicate()

    def properties(self) -> dict[str, str]:
        """The properties that the Azure ML SDK v1 stores with a run; empty where git does not answer."""
        lines = _answer(self._status).splitlines()
        heads = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# ") and " " in line[2:])
        commit = heads.get("branch.oid", "")
        if not commit:
            return {}
        facts = {
            "repository_uri": _without_password(_answer(self._remote).strip()),
            "branch": heads.get("branch.head", ""),
            "commit": commit if not commit.startswith("(") else "",
            "dirty": str(any(not line.startswith("#") for line in lines)),
        }
        named = {f"azureml.git.{name}": value for name, value in facts.items() if value}
        also = {"repository_uri": "repoURL", "branch": "branch", "commit": "commit"}
        named.update({f"mlflow.source.git.{also[name]}": facts[name] for name in also if facts[name]})
        return named


def _without_password(url: str) -> str:
    """Removes the password or token from a remote's address: a run's properties must not contain it."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])) if parts.scheme else url


def look(folder: str) -> GitState:
    """Starts the git commands; returns at once."""
    root = Path(folder).absolute()
    if not any(os.path.exists(each / ".git") for each in (root, *root.parents)):
        return GitState(None, None)
    status = _ask(root, "status", "--porcelain=v2", "--branch", "--untracked-files=no")
    return GitState(status, _ask(root, "config", "--get", "remote.origin.url"))


def _ask(folder: Path, *words: str) -> subprocess.Popen[bytes] | None:
    with suppress(OSError):  # git is not installed
        return subprocess.Popen(
            ["git", "-C", str(folder), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    return None


def _answer(process: subprocess.Popen[bytes] | None) -> str:
    if process is None:
        return ""
    try:
        out, _ = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return ""
    return out.decode("utf-8", "replace")
