"""Finds the file of a model. Python 3.6+, standard library only."""

import os
from typing import List, Sequence

from roost_job.listing import some


def every(folder: str) -> List[str]:
    """All files below a folder, in order."""
    return sorted(os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)


def one(folder: str, endings: Sequence[str], what: str) -> str:
    """The only file with such an ending; `model.…` among several; a single file of any name. RuntimeError lists the files."""
    files = every(folder)
    found = [path for path in files if path.lower().endswith(tuple(endings))]
    if not found and len(files) == 1:
        return files[0]
    if len(found) > 1:
        found = [path for path in found if os.path.splitext(os.path.basename(path))[0] == "model"] or found
    if len(found) == 1:
        return found[0]
    names = some((os.path.relpath(path, folder) for path in (found or files)), 10) or "no files"
    raise RuntimeError("There must be one %s (%s) in the model; there is %s." % (what, ", ".join(endings), names))
