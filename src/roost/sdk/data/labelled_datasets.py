"""Labelled data: tables from an export of labels (JSON lines), with a column of places such as
`AmlDatastore://images/a/1.jpg`. `with_files` gets the files and puts their paths into that column.
"""

import atexit
import os
import re
import tempfile
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roost.domain import names
from roost.domain.errors import InvalidInput
from roost.sdk import late
from roost.sdk.data import datastore_files
from roost.sdk.data.datastores import Datastore

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace

_PLACE = re.compile(r"(?:AmlDatastore://(?P<old>[^/]+)/|azureml://.*?datastores/(?P<new>[^/]+)/paths/)(?P<path>.+)")


class FileHandlingOption(Enum):
    """How to get the files that a column names."""

    DOWNLOAD = 1
    MOUNT = 2


class LabeledDatasetTask(Enum):
    """The purpose of the labels."""

    IMAGE_CLASSIFICATION = "ImageClassification"
    IMAGE_MULTI_LABEL_CLASSIFICATION = "ImageMultiLabelClassification"
    OBJECT_DETECTION = "ObjectDetection"
    IMAGE_INSTANCE_SEGMENTATION = "ImageInstanceSegmentation"
    TEXT_CLASSIFICATION = "TextClassification"
    TEXT_MULTI_LABEL = "TextMultiLabel"


def with_files(workspace: "Workspace", frame: Any, option: object, target_path: str | None, overwrite: bool) -> Any:
    """The frame with local paths in each column whose values are places in datastores."""
    name = getattr(option, "name", str(option)).upper()
    if name not in FileHandlingOption.__members__:
        raise InvalidInput(
            f"file_handling_option must be FileHandlingOption.DOWNLOAD or MOUNT, got {option!r}.",
            hint="from azureml.contrib.dataset import FileHandlingOption",
        )
    columns = {column: places for column in frame.columns if (places := _places(frame[column]))}
    if not columns:
        raise InvalidInput(
            "The table has no column of files.",
            hint="Labelled data has one of places such as AmlDatastore://images/1.jpg.",
        )
    wanted: dict[str, set[str]] = {}
    for places in columns.values():
        for store, path in places.values():
            wanted.setdefault(store, set()).add(path)
    root = Path(os.path.abspath(os.path.expanduser(target_path or tempfile.mkdtemp(prefix="roost-labelled-"))))
    bring = _download if name == "DOWNLOAD" else _mount
    apart = name == "MOUNT" or len(wanted) > 1  # two datastores may have the same path
    here = {
        (store, path): place
        for store, paths in wanted.items()
        for path, place in bring(
            Datastore.get(workspace, store), paths, root / store if apart else root, overwrite
        ).items()
    }
    made = {
        column: frame[column].map({text: here[place] for text, place in places.items()})
        for column, places in columns.items()
    }
    return frame.assign(**made)


def _places(column: Any) -> dict[str, tuple[str, str]]:
    """Datastore and path by the text that names them; empty when any text is something else."""
    found = {}
    for text in column.dropna().unique():
        match = _PLACE.fullmatch(text) if isinstance(text, str) else None
        if match is None or names.problem(match["path"]):
            return {}
        found[text] = (match["old"] or match["new"], match["path"])
    return found


def _download(store: Datastore, paths: set[str], root: Path, overwrite: bool) -> Mapping[str, str]:
    items = [item for item in datastore_files.listing(store, _base(paths)) if item.name in paths]
    _require_all(store, paths, {item.name for item in items})
    wanted = [item for item in items if overwrite or not (root / item.name).exists()]
    datastore_files.bring(store, wanted, root, lambda: wanted, False)
    return {path: str(root / path) for path in paths}


def _mount(store: Datastore, paths: set[str], root: Path, overwrite: bool) -> Mapping[str, str]:  # noqa: ARG001 - as above
    base = _base(paths)
    mounted = late.Dataset.File.from_files((store, base)).mount(str(root))
    mounted.start()
    atexit.register(mounted.stop)
    found = {path: os.path.join(mounted.mount_point, path[len(base) :].lstrip("/")) for path in paths}
    _require_all(store, paths, {path for path, place in found.items() if os.path.exists(place)})
    return found


def _base(paths: set[str]) -> str:
    """The folder that contains all of them; empty for the whole datastore."""
    folders = [os.path.dirname(path) for path in paths]
    return os.path.commonpath(folders) if all(folders) else ""


def _require_all(store: Datastore, paths: set[str], there: set[str]) -> None:
    if missing := sorted(paths - there):
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InvalidInput(
            f"Datastore {store.name!r} does not have {missing[0]!r}{more}, which the table names.",
            hint="Put them there, or filter the rows that name them out of the table.",
        )
