"""Folders and files that variables of the shell name. They may be another user's, for `su` and old shells keep variables: what
cannot be read is passed over wherever one of these is looked into, and `roost doctor` names it (`closed`).
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
"""Variables that name several places, with what stands between them."""


def closed(own: Mapping[str, str] = os.environ) -> dict[str, list[str]]:
    """Variables, with those of their places that are passed over because this user may not use them. One that is not there at
    all is no matter."""
    found = {name: [own[name]] for name in READ if own.get(name) and is_closed(own[name])}
    found |= {name: [own[name]] for name in WRITTEN if own.get(name) and not can_write(own[name])}
    for name, separator in LISTS.items():
        parts = [local(part) for part in re.split(separator, own.get(name, "")) if part]
        if shut := [part for part in dict.fromkeys(parts) if part and is_closed(part)]:
            found[name] = shut
    return found


def is_closed(path: str) -> bool:
    """Whether it is there, or may be, and this user may not read it."""
    try:
        mode = os.stat(path).st_mode
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return not os.access(path, os.R_OK | os.X_OK if stat.S_ISDIR(mode) else os.R_OK)


def is_open(address: str) -> bool:
    """Whether nothing keeps this user from it: an address elsewhere is open, and so is what is not there."""
    return not is_closed(local(address))


def can_write(path: str) -> bool:
    """Whether this user may write there, or make it."""
    place = os.path.abspath(path)
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    return os.access(place, os.W_OK | os.X_OK)


def local(address: str) -> str:
    """The path of a `file:` address or of a bare path; empty for an address elsewhere."""
    parts = urlsplit(address)
    if parts.scheme == "file":
        return unquote(parts.path)
    return "" if parts.scheme else address
