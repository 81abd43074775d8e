"""The user's own wheels, which are blobs: `NAME @ roost-blob:<hash>/<file.whl>` in requirements and locks. A node fetches them
into a folder and gives them to uv as files; the lock keeps the original line, with the file's hash.
"""

import re
from pathlib import Path

from roost.domain import names
from roost.environments.base import Fetch

_BLOB = re.compile(r"roost-blob:([0-9a-f]{64})/([A-Za-z0-9][\w.+!-]*\.whl)")


def fetched(text: str, folder: Path, fetch: Fetch) -> str:
    """The lines with files in that folder instead of blobs."""

    def replace(found: re.Match[str]) -> str:
        place = folder / names.blob(found[1]) / found[2]
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            fetch(found[1], place)
        return place.as_uri()

    return _BLOB.sub(replace, text)


def blob_of(line: str) -> tuple[str, str] | None:
    """The blob and the file of a line that names one; None for any other."""
    found = _BLOB.search(line)
    return (names.blob(found[1]), found[2]) if found else None


def named(text: str, folder: Path) -> str:
    """The lines with blobs again instead of files in that folder."""
    return text.replace(f"{folder.as_uri()}/", "roost-blob:")
