"""Charts that are documents: confusion matrix, accuracy table, predictions, residuals. Each is JSON with `schema_type` and
`data`, stored as a file of the run and read back as its address. This module checks them; `metrics.py` stores them.
"""

import json
import os
from typing import Any, Dict, List, Mapping, Tuple, Union

from roost_job.exceptions import UserErrorException
from roost_job.tracking import values

FIELDS: Dict[str, Tuple[str, ...]] = {
    "confusion_matrix": ("class_labels", "matrix"),
    "accuracy_table": (
        "probability_tables",
        "percentile_tables",
        "probability_thresholds",
        "percentile_thresholds",
        "class_labels",
    ),
    "predictions": ("bin_averages", "bin_errors", "bin_counts", "bin_edges"),
    "residuals": ("bin_edges", "bin_counts"),
}
"""The required fields of `data`, by schema type; each is a list."""
DEFAULT_VERSIONS = {"accuracy_table": "1.0.1"}


def text(schema_type: str, name: str, value: Union[str, Mapping[str, Any], Any]) -> str:
    """The document in its stored form. UserErrorException names the problem."""
    document = dict(_given(schema_type, name, value))
    stated = document.get("schema_type")
    if stated != schema_type:
        raise UserErrorException(
            "%s %r needs 'schema_type': %r, got %.80r." % (_title(schema_type), name, schema_type, stated)
        )
    document.setdefault("schema_version", DEFAULT_VERSIONS.get(schema_type, "1.0.0"))
    data = document.get("data")
    if not isinstance(data, Mapping):
        raise UserErrorException("%s %r has no 'data', or it is no dict." % (_title(schema_type), name))
    for field in FIELDS[schema_type]:
        if not isinstance(_plain(data.get(field)), list):
            raise UserErrorException(
                "'data' of %s %r needs a list %r." % (_title(schema_type).lower(), name, field),
                hint="It has: %s." % (", ".join(sorted(map(str, data))) or "nothing"),
            )
    _check_shape(schema_type, name, {field: _plain(data[field]) for field in FIELDS[schema_type]})
    try:
        return json.dumps(document, default=_plain)
    except (TypeError, ValueError) as error:
        raise UserErrorException("%s %r cannot be written as JSON: %s." % (_title(schema_type), name, error)) from None


def _given(schema_type: str, name: str, value: Any) -> Mapping[str, Any]:
    """A dict unchanged; for text, its JSON or the JSON file that it names."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, (str, os.PathLike)):
        raise UserErrorException(
            "%s %r needs a dict, JSON or the path of a JSON file, got %s."
            % (_title(schema_type), name, type(value).__name__)
        )
    content = str(value)
    try:
        if not content.lstrip().startswith("{"):
            with open(os.fspath(value), "rb") as file:
                content = file.read().decode("utf-8")
        found = json.loads(content)
    except OSError as error:
        raise UserErrorException("The file %s of %r cannot be read: %s." % (value, name, error.strerror)) from None
    except ValueError as error:
        raise UserErrorException("%s %r is not JSON: %s." % (_title(schema_type), name, error)) from None
    if not isinstance(found, dict):
        raise UserErrorException(
            "%s %r must be a JSON object, got %s." % (_title(schema_type), name, type(found).__name__)
        )
    return found


def _check_shape(schema_type: str, name: str, data: Mapping[str, List[Any]]) -> None:
    if schema_type == "confusion_matrix":
        labels, rows = len(data["class_labels"]), [_plain(row) for row in data["matrix"]]
        if len(rows) != labels or any(not isinstance(row, list) or len(row) != labels for row in rows):
            raise UserErrorException(
                "The matrix of %r must have %d rows of %d numbers, one for each class label." % (name, labels, labels)
            )
    elif "bin_edges" in data and len(data["bin_edges"]) != len(data["bin_counts"]) + 1:
        raise UserErrorException(
            "%s %r has %d bin edges for %d bin counts; there must be one more edge than counts."
            % (_title(schema_type), name, len(data["bin_edges"]), len(data["bin_counts"]))
        )


def _plain(value: Any) -> Any:
    """NumPy's arrays as lists, its scalars as numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, (list, Mapping)) or value is None:
        return value
    return values.scalar("data", value)


def _title(schema_type: str) -> str:
    return schema_type.replace("_", " ").capitalize()
