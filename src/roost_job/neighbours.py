"""Detects another `azureml` beside Roost's. Both own the same import paths: files overwrite each other, or one hides the other,
and imports are a mixture. It looks for names of folders, which needs no import.
"""

import os
import sys
import warnings

TYPE_CHECKING = False  # type checkers know the name; importing it from `typing` would cost more than all the rest here
if TYPE_CHECKING:
    from typing import List, Optional, Sequence, Tuple

FOREIGN = ("azureml_core-", "azureml_sdk-", "azureml_defaults-", "azureml_train_core-", "azureml_mlflow-")
_INFO = ".dist-info"
_THEIRS_ALONE = ("_base_sdk_common", "_project")
"""Parts of `azureml` that Roost does not have: when they are beside ours, the two packages share one folder."""


def find(path: "Optional[Sequence[str]]" = None) -> "List[Tuple[str, str]]":
    """Foreign distributions on the path: (name and version, folder), each once."""
    found = []  # type: List[Tuple[str, str]]
    for place in sys.path if path is None else path:
        try:
            names = sorted(os.listdir(place or "."))
        except (OSError, ValueError):
            continue  # not there, or not a folder
        for name in names:
            if name.endswith(_INFO) and name.startswith(FOREIGN):
                known = (name[: -len(_INFO)].replace("_", "-"), place)
                if known not in found:
                    found.append(known)
    return found


def is_mixed(folders: "Sequence[str]") -> bool:
    """True when one of these folders of `azureml` has files of both."""
    ours = [place for place in folders if os.path.exists(os.path.join(place, "_lending.py"))]
    return any(os.path.isdir(os.path.join(place, part)) for place in ours for part in _THEIRS_ALONE)


def words(found: "Sequence[Tuple[str, str]]", mixed: bool) -> "Tuple[str, str]":
    """The problem, and the next step."""
    which = ", ".join(sorted({name for name, _ in found})) or "Another azureml"
    where = ", ".join(sorted({place for _, place in found}))
    what = (
        "their files are mixed in one folder"
        if mixed
        else "which of the two `import azureml` finds depends on the path"
    )
    packages = " ".join(sorted({name.rpartition("-")[0] for name, _ in found})) or "azureml-core"
    fact = "%s is installed beside Roost%s; %s." % (which, " (in %s)" % where if where else "", what)
    hint = "%s -m pip uninstall -y %s; then install Roost again with --force-reinstall --no-deps." % (
        sys.executable,
        packages,
    )
    return fact, hint


def tell(folders: "Sequence[str]") -> None:
    """Warns once when another `azureml` is installed. Not inside a run: there Roost's paths come first in any case."""
    if os.environ.get("ROOST_RUN_ID"):
        return
    found, mixed = find(), is_mixed(folders)
    if found or mixed:
        fact, hint = words(found, mixed)
        warnings.warn("%s hint: %s" % (fact, hint), UserWarning, stacklevel=3)
