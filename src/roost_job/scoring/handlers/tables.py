"""Rows with named columns: the input of models that were fitted to tables. Python 3.6+, NumPy, pandas if installed."""

import importlib
from typing import Any, Dict, List, Optional, Tuple

import numpy

from roost_job.scoring.handlers import forms
from roost_job.scoring.handlers.fields import Field
from roost_job.scoring.messages import Refused, Request

pandas: Any = None
try:
    pandas = importlib.import_module("pandas")
except ImportError:  # an environment without it: rows are arrays
    pass


class Columns(object):
    """The required columns of a table: `names` and `count` if known; `types` (NumPy's) by name if known."""

    def __init__(
        self, names: Optional[List[str]] = None, count: Optional[int] = None, types: Optional[Dict[str, str]] = None
    ) -> None:
        self.names = names or []
        self.count = len(self.names) if names else count
        self.types = types or {}

    def field(self) -> Field:
        return Field("data", "" if self.names else "float64", (None, self.count))

    def schema(self) -> Dict[str, Any]:
        """The schema of the rows."""
        if not self.names:
            return self.field().schema()
        properties = {name: _schema(self.types.get(name, "")) for name in self.names}
        row = {"type": "object", "properties": properties, "required": list(self.names)}
        return {"type": "array", "items": row}

    def example(self) -> Any:
        if not self.names:
            return Field("data", "float64", (None, self.count)).example() if self.count else None
        return [{name: Field("", self.types.get(name, "float64"), ()).example() for name in self.names}]

    def read(self, request: Request) -> Tuple[str, Any, Dict[str, Any]]:
        """The form of the request, its rows (a frame when the columns have names, else an array), and its other fields."""
        form, value, rest = forms.form_of(request, self.names)
        rows, given = _rows(value)
        if given is not None:
            return form, self._frame(rows, given), rest
        if self.names:
            return form, self._frame(rows, None), rest
        array = forms.array_of(rows, Field("data", "", None) if self._mixed(rows) else self.field())
        return form, array, rest

    @staticmethod
    def _mixed(rows: Any) -> bool:
        """True when the first row has text: then values are not converted."""
        first = rows[0] if isinstance(rows, list) and rows else None
        return isinstance(first, str) or (isinstance(first, list) and any(isinstance(each, str) for each in first))

    def _frame(self, rows: List[Any], given: Optional[List[str]]) -> Any:
        names = self.names or given or []
        by_name = {}
        for number, row in enumerate(rows, 1):
            if not isinstance(row, list) or len(row) != len(given or names):
                has = "%d values" % len(row) if isinstance(row, list) else "no list"
                raise Refused("Row %d has %s; expected %d: %s." % (number, has, len(names), ", ".join(given or names)))
        for index, name in enumerate(given or names):
            by_name[name] = [row[index] for row in rows]
        missing = [name for name in names if name not in by_name]
        unknown = [name for name in by_name if name not in names]
        if missing or unknown:
            raise Refused(
                "The columns are %s; given were %s." % (", ".join(names), ", ".join(map(str, given or [])) or "none")
            )
        columns = {name: self._column(name, by_name[name]) for name in names}
        if pandas is not None:
            return pandas.DataFrame(columns, columns=names)
        try:
            return numpy.array([columns[name] for name in names]).T
        except ValueError as error:
            raise Refused("The rows cannot be read: %s." % error)

    def _column(self, name: str, values: List[Any]) -> Any:
        kind = self.types.get(name)
        if not kind:
            return values
        return forms.array_of(values, Field(name, kind, (None,)))


def _rows(value: Any) -> Tuple[List[Any], Optional[List[str]]]:
    """Rows as lists, and the names of their columns if given."""
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        names = value.get("columns")
        return value["data"], [str(name) for name in names] if isinstance(names, list) else None
    if isinstance(value, dict):
        lengths = {len(each) if isinstance(each, list) else -1 for each in value.values()}
        if len(lengths) != 1 or -1 in lengths:
            raise Refused("Columns by name must be lists of one length; got %s." % forms.shown(value))
        return [list(row) for row in zip(*value.values())], [str(name) for name in value]
    if not isinstance(value, list):
        raise Refused("Expected a list of rows, got %s." % forms.shown(value))
    if value and isinstance(value[0], dict):
        names = list(value[0])
        for number, row in enumerate(value, 1):
            if not isinstance(row, dict) or set(row) != set(names):
                raise Refused("Row %d has not the columns of the first: %s." % (number, ", ".join(map(str, names))))
        return [[row[name] for name in names] for row in value], [str(name) for name in names]
    return value, None


def _schema(kind: str) -> Dict[str, Any]:
    return Field("", kind, ()).schema()
