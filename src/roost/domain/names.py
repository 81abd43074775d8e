"""Names and paths from outside. Everything that becomes a file name or a row's key is checked here first."""

import os
import re
import unicodedata
from collections.abc import Sequence
from urllib.parse import unquote_to_bytes

from roost.domain.errors import InvalidCompute, InvalidInput

_EXPERIMENT = re.compile(r"[a-zA-Z0-9][\w-]{0,254}", re.ASCII)
_WORKSPACE = re.compile(r"[a-zA-Z0-9][\w-]{2,32}", re.ASCII)
_RUN = re.compile(r"[a-zA-Z0-9][\w-]{0,299}", re.ASCII)
_COMPUTE = re.compile(r"[a-zA-Z]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?", re.ASCII)
_SPOOL = re.compile(r"[a-zA-Z0-9][\w.-]{0,127}", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{64}")
PART = ".roost-part-"
"""Prefix of files that are still being written to a folder. They are never shown, old ones are deleted, and no other file may
have such a name."""
MAX_PATH = 1024
MAX_PART = 255
_NAMED = 5


def experiment(name: object) -> str:
    if not isinstance(name, str) or not _EXPERIMENT.fullmatch(name):
        raise InvalidInput(
            f"Experiment name {name!r} is not allowed.",
            hint="Use 1 to 255 letters, digits, `_` or `-`, the first a letter or digit.",
        )
    return name


def workspace(name: object) -> str:
    if not isinstance(name, str) or not _WORKSPACE.fullmatch(name):
        raise InvalidInput(
            f"Workspace name {name!r} is not allowed.",
            hint="Use 3 to 33 letters, digits, `_` or `-`, the first a letter or digit.",
        )
    return name


def compute(name: object) -> str:
    """The name of a new cluster."""
    if not isinstance(name, str) or not _COMPUTE.fullmatch(name) or name.lower() == "local":
        raise InvalidCompute(
            f"Compute target name {name!r} is not allowed.",
            hint="Use 1 to 32 letters, digits or `-`, the first a letter, the last no `-`; `local` is this machine.",
        )
    return name


def run_id(name: object) -> str:
    if not isinstance(name, str) or not _RUN.fullmatch(name):
        raise InvalidInput(f"Run id {name!r} is not allowed.", hint="Run ids look like `train_1700000000_1a2b3c4d`.")
    return name


def spool(name: object) -> str:
    if not isinstance(name, str) or not _SPOOL.fullmatch(name):
        raise InvalidInput(f"Spool name {name!r} is not allowed.")
    return name


def blob(name: object) -> str:
    if not isinstance(name, str) or not _HASH.fullmatch(name):
        raise InvalidInput(f"{name!r} is not the hash of a blob.", hint="64 lower-case hexadecimal digits are.")
    return name


def new_run_id(experiment_name: str, now: float) -> str:
    """`<experiment>_<epoch seconds>_<8 hex>`; the caller makes it, so that a repeated submission is the same run."""
    return f"{experiment_name}_{int(now)}_{os.urandom(4).hex()}"


def path(name: object) -> str:
    """A relative path with forward slashes that stays inside any folder it is joined to, or InvalidInput.

    The one function for every path from outside: names of artefacts, entries of manifests, scripts. Leading `./`, doubled and
    trailing slashes are removed; everything else that is odd is refused, not repaired.
    """
    if not isinstance(name, str):
        raise InvalidInput(f"A path must be text, got {type(name).__name__} {name!r}.")
    if wrong := problem(name):
        raise InvalidInput(
            f"Path '{printable(name[:200])}' is not allowed: {wrong}.",
            hint="Give a relative path with forward slashes, such as `outputs/model.pt`.",
        )
    return "/".join(part for part in name.split("/") if part not in ("", "."))


_BACKSLASH, _NOT_TEXT, _CONTROL = "it has a backslash", "it is not UTF-8", "it has a control character"
_BEING_WRITTEN = f"names that begin with `{PART}` are for files that are being written"
ODD = (_BACKSLASH, _NOT_TEXT, _CONTROL, _BEING_WRITTEN)
"""Problems that files in a folder can have, so that they are skipped; every other problem is the caller's mistake."""


def problem(name: str) -> str:
    """Why `path` refuses the name; empty when it is allowed."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/"):
        return "it is absolute"
    if not parts:
        return "it is empty"
    if ".." in parts:
        return "it climbs out with `..`"
    if "\\" in name:
        return _BACKSLASH
    if parts[0][1:2] == ":":
        return "it begins with a drive letter"
    if PART in name and any(part.startswith(PART) for part in parts):
        return _BEING_WRITTEN
    odd = () if name.isprintable() else {unicodedata.category(c) for c in name}
    if "Cs" in odd:
        return _NOT_TEXT
    if "Cc" in odd:
        return _CONTROL
    if len(name) > MAX_PATH or any(len(p.encode("utf-8")) > MAX_PART for p in parts):
        return f"it is too long ({MAX_PATH} characters, {MAX_PART} bytes a part)"
    return ""


def address_problem(path: bytes, query: bytes) -> str:
    """Why no request may have this path and query, as they were sent; empty when it may. The framework reads all bytes that are
    not UTF-8 as the same character and drops a final line break, so two addresses would mean one file."""
    if b"%" in path or b"%" in query:
        try:
            text = unquote_to_bytes(path).decode()
            unquote_to_bytes(query).decode()
        except UnicodeDecodeError:
            return _NOT_TEXT
        if not text.isprintable() and any(unicodedata.category(letter) == "Cc" for letter in text):
            return _CONTROL
    return ""


def printable(name: str) -> str:
    """A name that can be shown and sent: bytes that are not UTF-8 become `\\xe9`, as shells show them."""

    def letter(each: str) -> str:
        code = ord(each)
        if 0xDC80 <= code <= 0xDCFF:  # Python's stand-in for such a byte
            return f"\\x{code - 0xDC00:02x}"
        return each if unicodedata.category(each) not in ("Cc", "Cs") else each.encode("unicode_escape").decode()

    return name if name.isprintable() else "".join(map(letter, name))


def left_out(odd: Sequence[str]) -> str:
    """The sentence about files that are skipped because `path` refuses their names; empty when there are none."""
    if not odd:
        return ""
    named = ", ".join(f"`{printable(name[:200])}` ({problem(name)})" for name in odd[:_NAMED])
    more = f" and {len(odd) - _NAMED} more" if len(odd) > _NAMED else ""
    what = ("1 file is", "its name is", "it") if len(odd) == 1 else (f"{len(odd)} files are", "their names are", "them")
    return f"{what[0]} left out, since {what[1]} not allowed: {named}{more}. Rename {what[2]} to have {what[2]}."


def link(at: str, target: object) -> str:
    """The target of a symbolic link at path `at`, which must stay inside the same folder; InvalidInput otherwise.

    `..` may only come first: after a name that is itself a link, it would lead to the parent of that link's target.
    """
    if isinstance(target, str) and target and not target.startswith("/") and "\\" not in target and "\0" not in target:
        parts = [part for part in target.split("/") if part not in ("", ".")]
        climbs = parts.count("..")
        if climbs <= at.count("/") and ".." not in parts[climbs:]:
            return target
    raise InvalidInput(
        f"Link {at!r} to {str(target)[:200]!r} is not allowed: it leads outside its folder.",
        hint="Give a relative target inside the folder, with `..` only at its beginning.",
    )
