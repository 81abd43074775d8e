"""`ModelDataCollector`: inputs and predictions that a scoring script collects, stored with the endpoint's records.

In a service the worker sends them to the front (`keep_with`), which stores them if the endpoint records; elsewhere they are
printed. Python 3.6 and later, standard library only; NumPy and pandas values are recognised by their methods.
"""

import datetime
import json
import math
import sys
import uuid
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from roost_job.exceptions import UserErrorException

MAX_BYTES = 64 * 1024
"""The limit for the rows of one call; further rows are only counted."""
CORRELATION = "$aml_dc_correlation_id"
_CORRELATIONS = (
    CORRELATION,
    "$aml_dc_scoring_timestamp",
    "$aml_workspace",
    "$aml_service_name",
    "$aml_model_name",
    "$aml_model_version",
)
"""Columns, named as in Azure's files, that connect the rows of one request."""
_DESIGNATIONS = ("default", "inputs", "predictions", "labels", "signals", "general")
_sink: Optional[Callable[[bytes], bool]] = None


def keep_with(sink: Optional[Callable[[bytes], bool]]) -> None:
    """Sets the target of collected data; `sink` returns True when it accepted the data."""
    global _sink  # noqa: PLW0603 - one worker in a process
    _sink = sink


class ModelDataCollector(object):
    """Collects rows of a model under a designation: `ModelDataCollector("net", designation="inputs").collect(data)`."""

    def __init__(
        self,
        model_name: str,
        designation: str = "default",
        feature_names: Optional[Sequence[str]] = None,
        workspace: str = "default/default/default",
        webservice_name: str = "default",
        model_version: str = "default",
        collection_name: str = "default",
        identifier: Optional[str] = None,
    ) -> None:
        """`identifier` is the older name of `designation`; Roost itself knows workspace and service better than the script."""
        if not isinstance(model_name, str) or not model_name:
            raise UserErrorException("model_name must be text that is not empty, got %.80r." % (model_name,))
        chosen = identifier if identifier is not None else designation
        if not isinstance(chosen, str) or not chosen:
            raise UserErrorException(
                "designation must be text that is not empty, got %.80r." % (chosen,),
                hint="It is one of: %s." % ", ".join(_DESIGNATIONS[1:]),
            )
        if isinstance(feature_names, str):
            raise UserErrorException("feature_names must be a list of names, got the text %.80r." % feature_names)
        self.model_name = model_name
        self.designation = chosen
        self.feature_names = None if feature_names is None else [str(each) for each in feature_names]
        self.workspace = workspace
        self.webservice_name = webservice_name
        self.model_version = model_version
        self.collection_name = collection_name

    def collect(self, input_data: Any, user_correlation_id: str = "") -> Dict[str, Any]:
        """Stores these rows: a list, a NumPy array, or a pandas frame. It never fails because of its data. Returns the values
        that `add_correlations` adds to other rows of the same request."""
        columns, rows = self._table(input_data)
        correlation_id = str(user_correlation_id or _shared_id(input_data, columns, rows) or uuid.uuid4())
        kept, size = [], 0
        for row in rows:
            size += len(json.dumps(row))
            if size > MAX_BYTES:
                break
            kept.append(row)
        record: Dict[str, Any] = {
            "model": self.model_name,
            "model_version": str(self.model_version),
            "designation": self.designation,
            "collection": str(self.collection_name),
            "correlation_id": correlation_id,
            "columns": columns,
            "rows": kept,
            "row_count": len(rows),
        }
        text = json.dumps(record)
        if _sink is None or not _sink(text.encode("utf-8")):
            print("Collected of %s, %s (not kept): %.2000s" % (self.model_name, self.designation, text))
            sys.stdout.flush()
        now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None).isoformat()
        whose = (self.workspace, self.webservice_name, self.model_name, self.model_version)
        return dict(zip(_CORRELATIONS, (correlation_id, now) + whose))

    def add_correlations(self, input_data: Any, correlations: Optional[Mapping[str, Any]]) -> Any:
        """The data with further columns, which `collect` returned for other data of the request; collect the result next. A frame
        for a frame, else a list of rows."""
        if not correlations:
            return input_data
        if callable(getattr(input_data, "assign", None)):  # a pandas frame
            return input_data.assign(**correlations)
        values = list(correlations.values())
        return _Correlated(correlations, [row + values for row in self._table(input_data)[1]])

    def _table(self, data: Any) -> Tuple[Optional[List[str]], List[List[Any]]]:
        """Columns and rows; the given names belong to the first columns."""
        names = self.feature_names or []
        columns, rows = table(data, len(names))
        if isinstance(data, _Correlated):
            columns = names + list(data.correlations) if names else None
        elif names:
            columns = names + (columns or [])[len(names) :]
        return columns, rows


class _Correlated(list):  # type: ignore[type-arg]  # of Python 3.6 too
    """Rows that end with these values."""

    def __init__(self, correlations: Mapping[str, Any], rows: Sequence[List[Any]]) -> None:
        super(_Correlated, self).__init__(rows)
        self.correlations = dict(correlations)


def _shared_id(data: Any, columns: Optional[List[str]], rows: Sequence[List[Any]]) -> str:
    """The id that was added to the data; empty for none."""
    if isinstance(data, _Correlated):
        return str(data.correlations.get(CORRELATION, ""))
    return str(rows[0][columns.index(CORRELATION)]) if columns and rows and CORRELATION in columns else ""


def table(data: Any, width: int = 0) -> Tuple[Optional[List[str]], List[List[Any]]]:
    """The names of the columns, if the data has any, and its rows as JSON values. Plain values are a row each, or one row when
    their number is `width` and more than one."""
    columns = None
    if hasattr(data, "columns") and hasattr(data, "values"):  # a pandas frame
        columns, data = [str(each) for each in data.columns], data.values
    if callable(getattr(data, "tolist", None)):
        data = data.tolist()
    if isinstance(data, Mapping):
        data = [data]
    if not isinstance(data, (list, tuple)):
        return columns, [[_plain(data)]]
    if data and all(isinstance(each, Mapping) for each in data):
        names = list(dict.fromkeys(str(name) for each in data for name in each))
        lines = [{str(name): value for name, value in each.items()} for each in data]
        return names, [[_plain(each.get(name)) for name in names] for each in lines]
    rows = [each.tolist() if callable(getattr(each, "tolist", None)) else each for each in data]
    if not any(isinstance(each, (list, tuple)) for each in rows):
        cells = [_plain(each) for each in rows]
        return columns, [cells] if 1 < width == len(cells) else [[each] for each in cells]
    return columns, [[_plain(cell) for cell in (row if isinstance(row, (list, tuple)) else [row])] for row in rows]


def _plain(value: Any) -> Any:
    """A cell as a JSON value; a value without a JSON form becomes text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if callable(getattr(value, "tolist", None)):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    return str(value)
