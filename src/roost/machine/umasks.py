"""Whose eyes files are for. What the control plane and agents keep in the home is for its owner alone: they close their umask
when they begin. What they write in folders of the user's, and what the user's programs write, follows the user's own umask.
"""

import os
from pathlib import Path

_PRIVATE = 0o077
_kept: int | None = None
"""The user's umask, once this process has closed its own; a fork inherits it."""


def close() -> None:
    """From now on files of this process are for its owner alone. Safe twice."""
    global _kept
    before = os.umask(_PRIVATE)
    if _kept is None:
        _kept = before


def users() -> int:
    """The user's umask: that of their programs and of files in their folders."""
    if _kept is not None:
        return _kept
    for line in (
        Path("/proc/self/status").read_text().splitlines()
    ):  # to ask the kernel by setting it would race with threads
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o022


def open_up(place: int | str | os.PathLike[str], mode: int) -> None:
    """Gives a file or folder that was just made in a folder of the user's the mode that it would have without `close`."""
    if _kept is not None and mode & ~_kept & _PRIVATE:
        os.chmod(place, mode & ~_kept)


def make_folder(folder: Path, *, private: bool) -> None:
    """With those above it that are missing; each for the owner alone, or for whom the user's umask says."""
    every = [folder, *folder.parents]
    for place in reversed(every[: next(number for number, place in enumerate(every) if place.is_dir())]):
        place.mkdir(mode=0o700 if private else 0o777, exist_ok=True)
        if not private:
            open_up(place, 0o777)


def make_file(path: str | Path, *, private: bool, folder: int | None = None) -> int:
    """A new file, open for writing: for the owner alone, or for whom the user's umask says."""
    made = os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 if private else 0o666, dir_fd=folder
    )
    if not private:
        open_up(made, 0o666)
    return made
