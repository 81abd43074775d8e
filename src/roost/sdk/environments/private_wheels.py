"""A user's own wheel that no index has: stored as a blob, named in an environment's packages, downloaded by each node."""

import os
import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from roost.domain.errors import Conflict, InvalidInput
from roost.sdk import late

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace

SCHEME = "roost-blob:"
_WHEEL = re.compile(r"([A-Za-z0-9][\w.]*)-([\w.!+]+)(-\d[\w.]*)?-[\w.]+-[\w.]+-[\w.]+\.whl")


def add(workspace: "Workspace", file_path: str | os.PathLike[str], exist_ok: bool = False) -> str:
    """Uploads it; returns its line for the pip packages. Raises Conflict when it exists and `exist_ok` is not set."""
    path = Path(file_path)
    found = _WHEEL.fullmatch(path.name)
    if not path.is_file() or found is None or not zipfile.is_zipfile(path):
        raise InvalidInput(
            f"{os.fspath(file_path)!r} is not a wheel.",
            hint="Give the path of a .whl file, such as `pip wheel .` makes.",
        )
    # Imported here: only uploads need hashing.
    connection = workspace._connection
    name = late.hashing.hash_file(path)
    if not exist_ok and connection.bytes.has(name):
        raise Conflict(f"The wheel {path.name} is there already.", hint="Give exist_ok=True to use it.")
    ((blob, _),) = connection.bytes.carry([path])
    return f"{found[1].replace('_', '-')} @ {SCHEME}{blob}/{path.name}"
