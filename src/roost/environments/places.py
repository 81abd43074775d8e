"""Folders and files that variables of the shell name. They may belong to another user, since `su` and old shells keep variables.
So unreadable ones are skipped everywhere, and `roost doctor` names them (`closed`).
"""

import os
import re
import stat
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

READ = (
    "CONDARC",
    "CONDA_EXE",
    "CONDA_PREFIX",
    "CONDA_ROOT",
    "CURL_CA_BUNDLE",
    "MAMBARC",
    "MAMBA_ROOT_PREFIX",
    "PIP_CERT",
    "PIP_CLIENT_CERT",
    "PIP_CONFIG_FILE",
    "PYENV_ROOT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "UV_CONFIG_FILE",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
)
WRITTEN = ("PIP_CACHE_DIR", "RATTLER_CACHE_DIR", "TMPDIR", "UV_CACHE_DIR", "XDG_CACHE_HOME")
LISTS = {"PATH": ":", "XDG_CONFIG_DIRS": ":", "PYTHONPATH": ":", "PIP_FIND_LINKS": r"\s+", "UV_FIND_LINKS": r"[\s,]+"}
"""Variables that name several paths, with their separator."""


def closed(own: Mapping[str, str] = os.environ) -> dict[str, list[str]]:
    """Variables, with those of their paths that are skipped because this user may not use them. A path that does not exist is
    ignored."""
    found = {name: [own[name]] for name in READ if own.get(name) and is_closed(own[name])}
    found |= {name: [own[name]] for name in WRITTEN if own.get(name) and not can_write(own[name])}
    for name, separator in LISTS.items():
        parts = [local(part) for part in re.split(separator, own.get(name, "")) if part]
        if shut := [part for part in dict.fromkeys(parts) if part and is_closed(part)]:
            found[name] = shut
    return found


def is_closed(path: str) -> bool:
    """True when the path exists, or may exist, and this user may not read it."""
    try:
        mode = os.stat(path).st_mode
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return not os.access(path, os.R_OK | os.X_OK if stat.S_ISDIR(mode) else os.R_OK)


def is_open(address: str) -> bool:
    """True when this user may use it: a remote address and a path that does not exist count as open."""
    return not is_closed(local(address))


def can_write(path: str) -> bool:
    """True when this user may write or create the path."""
    place = os.path.abspath(path)
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    return os.access(place, os.W_OK | os.X_OK)


def local(address: str) -> str:
    """The path of a `file:` address or of a bare path; empty for a remote address."""
    parts = urlsplit(address)
    if parts.scheme == "file":
        return unquote(parts.path)
    return "" if parts.scheme else address
