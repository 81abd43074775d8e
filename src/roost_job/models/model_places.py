"""Finds the files of a model on this machine without a request."""

import os
from typing import Optional

from roost_job.exceptions import ModelNotFoundException

FOLDER = "azureml-models"
"""The folder of `Model.get_model_path` for models, below the current folder."""
_SERVED = "AZUREML_MODEL_DIR"


def served(name: str, version: Optional[int]) -> Optional[str]:
    """In a service: the folder of its one model is `…/<name>/<version>`; with several models, the folder above has them."""
    folder = os.environ.get(_SERVED)
    if not folder:
        return None
    above, last = os.path.split(os.path.normpath(folder))
    if os.path.basename(above) == name and last.isdigit() and version in (None, int(last)):
        return _only(folder)
    return _newest(os.path.join(folder, name), version)


def local(name: str, version: Optional[int]) -> str:
    found = _newest(os.path.join(FOLDER, name), version)
    if found is not None:
        return found
    if os.path.exists(name):
        return name
    raise ModelNotFoundException(
        "ModelNotFound: Model %s not found in cache at %s or in current working directory %s."
        % (name, FOLDER, os.getcwd()),
        hint="Model(workspace, name).download() brings it here.",
    )


def _newest(folder: str, version: Optional[int]) -> Optional[str]:
    try:
        there = [int(each) for each in os.listdir(folder) if each.isdigit()]
    except OSError:
        return None
    if not there or (version is not None and version not in there):
        return None
    return _only(os.path.join(folder, str(max(there) if version is None else version)))


def _only(folder: str) -> str:
    """The only file or folder in it; the folder itself when there are several."""
    there = os.listdir(folder)
    return os.path.join(folder, there[0]) if len(there) == 1 else folder
