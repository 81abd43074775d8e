"""What came with the snapshot under `./outputs` and `./logs`. The run may read it; it is no result of the run unless the run has
changed it. Noted when the working copy is laid out, in the run's folder, so that a salvage pass knows it too.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from roost.agent.folder import Folder
from roost.machine.files import write

Laid = Mapping[str, Sequence[int]]
"""Name in the run's history → what the file was when it was laid out."""


def note(folder: Folder, files: Iterable[tuple[str, Path]]) -> None:
    laid = {name: signature(path) for name, path in files}
    if laid:
        write(folder.laid, json.dumps(laid).encode())


def load(folder: Folder) -> Laid:
    """Nothing where nothing was noted: then everything counts as the run's own."""
    try:
        laid = json.loads(folder.laid.read_bytes())
    except (OSError, ValueError):
        return {}
    return laid if isinstance(laid, dict) else {}


def is_stale(laid: Laid, name: str, path: Path) -> bool:
    """Whether a file is still the very one that was laid out. A change of content or place shows in its inode or its ctime,
    which no program can set back."""
    before = laid.get(name)
    try:
        return before is not None and list(before) == signature(path)
    except OSError:
        return False


def signature(path: Path) -> list[int]:
    """What shows in it when a file becomes another."""
    own, real = os.lstat(path), os.stat(path)  # a link, and what it leads to
    return [own.st_ino, own.st_ctime_ns, real.st_ino, real.st_size, real.st_ctime_ns]
