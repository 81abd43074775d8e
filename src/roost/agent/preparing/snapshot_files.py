"""The snapshot's files under `./outputs` and `./logs`. They are results of the run only if the run has changed them. They are
recorded in the run's folder when the working copy is laid out, so that a salvage pass can read the list.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from roost.agent.folder import Folder
from roost.machine.files import write

Laid = Mapping[str, Sequence[int]]
"""Name in the run's history → signature of the file when it was laid out."""


def note(folder: Folder, files: Iterable[tuple[str, Path]]) -> None:
    laid = {name: signature(path) for name, path in files}
    if laid:
        write(folder.laid, json.dumps(laid).encode())


def load(folder: Folder) -> Laid:
    """The recorded files; empty without a record: then every file counts as the run's own."""
    try:
        laid = json.loads(folder.laid.read_bytes())
    except (OSError, ValueError):
        return {}
    return laid if isinstance(laid, dict) else {}


def is_stale(laid: Laid, name: str, path: Path) -> bool:
    """True when a file is still exactly the one that was laid out. A change of content or place changes its inode or its ctime,
    which no program can set back."""
    before = laid.get(name)
    try:
        return before is not None and list(before) == signature(path)
    except OSError:
        return False


def signature(path: Path) -> list[int]:
    """Numbers that change when the file is changed or replaced."""
    own, real = os.lstat(path), os.stat(path)  # a link and its target
    return [own.st_ino, own.st_ctime_ns, real.st_ino, real.st_size, real.st_ctime_ns]
