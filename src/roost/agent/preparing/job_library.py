"""The job library on this node: copies of `roost_job` and `azureml` in a folder named by their content, on the user process's
path. It is outside every environment, so that a new Roost invalidates none and users' pins never conflict with ours.
"""

import hashlib
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

PACKAGES = ("roost_job", "azureml")


@cache
def content() -> Mapping[str, bytes]:
    """Every file of the packages by its path. Read once, in the warm process, so that two versions never mix."""
    found: dict[str, bytes] = {}
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)  # found, not imported: only its files are needed
        for root in (spec.submodule_search_locations or ()) if spec else ():
            for path in sorted(Path(root).rglob("*.py")):
                found[f"{package}/{path.relative_to(root).as_posix()}"] = path.read_bytes()
    return found


@cache
def name() -> str:
    digest = hashlib.sha256()
    for path, data in sorted(content().items()):
        digest.update(f"{path}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()[:32]


def ensure(home: Path) -> Path:
    """The folder, made if necessary. Any number of agents may call this at once."""
    folder = home / "cache" / "job" / name()
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{name()}.", dir=folder.parent))
    try:
        for path, data in content().items():
            file = part / path
            # Otherwise a script's interpreter would make the folder for byte code, with the rights of the script's umask.
            (file.parent / "__pycache__").mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        part.chmod(0o700)
        os.rename(part, folder)
    except OSError:
        if not folder.is_dir():  # else another agent was faster; its copy is identical
            raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder
