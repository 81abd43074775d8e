"""The values that may be logged, and their stored form: the rules of `log`, `log_list`, `log_row` and `log_table`, shared by real
and offline runs.

Pure functions. Each takes the caller's value and returns plain JSON values, or raises UserErrorException before anything is
written. NumPy, PyTorch and TensorFlow values are recognised by their methods; none of these libraries is imported.
"""

import numbers
from decimal import Decimal
from typing import Any, Dict, List, Mapping, Optional

from roost_job.exceptions import UserErrorException

MAX_NAME = 1024
MAX_STEP = 2**63 - 1

_PLAIN = (float, int, bool, str, type(None))


def check_name(name: object) -> str:
    """A metric's name: any text of 1 to 1024 characters."""
    if not isinstance(name, str):
        raise UserErrorException("A metric's name must be text, got %s %.80r." % (type(name).__name__, name))
    if not name:
        raise UserErrorException("A metric's name is empty.", hint="Give 1 to %d characters." % MAX_NAME)
    if len(name) > MAX_NAME:
        raise UserErrorException(
            "A metric's name has %d characters, at most %d are allowed: %.60r…" % (len(name), MAX_NAME, name)
        )
    if "\0" in name:
        raise UserErrorException("A metric's name has a NUL character: %.80r." % name)
    return name


def text(what: str, value: object) -> str:
    """A text that describes a run, such as its display name; None empties it."""
    if value is not None and not isinstance(value, str):
        raise UserErrorException("%s must be text, got %s %.80r." % (what, type(value).__name__, value))
    return value or ""


def check_step(step: object) -> int:
    """A step as a 64-bit integer; NumPy integers and whole floats are accepted."""
    plain = _unwrap(step)
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    if not isinstance(plain, int):
        raise UserErrorException("`step` must be a whole number, got %s %.80r." % (type(step).__name__, step))
    if not -MAX_STEP <= plain <= MAX_STEP:
        raise UserErrorException("`step` must fit in 64 bits, got %d." % plain)
    return int(plain)


def scalar(name: str, value: Any) -> Any:
    """One value as float, int, bool, str or None."""
    plain = _unwrap(value)
    if type(plain) in _PLAIN:
        return plain
    if isinstance(plain, str):
        return str.__str__(plain)
    if isinstance(plain, numbers.Integral):
        return int(plain)
    if isinstance(plain, (numbers.Real, Decimal)):
        try:
            return float(plain)
        except (OverflowError, ValueError) as error:
            raise UserErrorException("Metric %r cannot hold %.80r: %s." % (name, plain, error)) from None
    raise UserErrorException(
        "Metric %r cannot hold %s %.80r: it must be one number, text or truth value." % (name, _kind(value), value),
        hint="Log several values with `log_list`, named columns with `log_row` or `log_table`.",
    )


def number(name: str, value: int) -> float:
    """An integer that does not fit in 64 bits, as the nearest float."""
    try:
        return float(value)
    except OverflowError:
        raise UserErrorException("Metric %r cannot hold an integer of %d bits." % (name, value.bit_length())) from None


def sequence(name: str, value: Any) -> List[Any]:
    """Several values: any iterable but text and mappings."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    elif hasattr(value, "numpy"):
        value = value.numpy().tolist()
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
        raise UserErrorException(
            "Metric %r needs a list of values, got %s %.80r." % (name, _kind(value), value),
            hint="Log one value with `log`.",
        )
    return [scalar(name, each) for each in value]


def row(name: str, columns: Mapping[str, Any]) -> Dict[str, Any]:
    """One row: a value for each column."""
    if not columns:
        raise UserErrorException(
            "Row %r has no columns." % name, hint="Give them as keywords: `run.log_row(%r, x=1, y=2)`." % name
        )
    return {_column(name, column): scalar(name, value) for column, value in columns.items()}


def table(name: str, columns: Any) -> Dict[str, List[Any]]:
    """Columns of equal length; a single value is a column of one."""
    if not isinstance(columns, Mapping):
        raise UserErrorException(
            "Table %r needs a dict of columns, got %s %.80r." % (name, _kind(columns), columns),
            hint="For example {'x': [1, 2, 3], 'y': [0.6, 0.7, 0.9]}.",
        )
    cells: Dict[str, List[Any]] = {}
    for column, value in columns.items():
        single = isinstance(value, str) or not (hasattr(value, "__iter__") or hasattr(value, "tolist"))
        plain = _unwrap(value)
        single = single or type(plain) in _PLAIN
        cells[_column(name, column)] = [scalar(name, plain)] if single else sequence(name, value)
    if len(set(map(len, cells.values()))) > 1:
        lengths = ", ".join("%s has %d" % (column, len(values)) for column, values in cells.items())
        raise UserErrorException("The columns of table %r are not equally long: %s." % (name, lengths))
    return cells


def kind_of(plain: Any) -> str:
    """The kind of object that a value of `scalar` is stored as, when it is not a number."""
    return "flag" if isinstance(plain, bool) else "none" if plain is None else "text"


def labels(what: str, given: Any) -> Dict[str, Optional[str]]:
    """Tags or properties: names with values, which are stored as text; None stays None."""
    if not isinstance(given, Mapping):
        raise UserErrorException("%s must be a dict, got %s %.80r." % (what, type(given).__name__, given))
    for key in given:
        if not isinstance(key, str) or not key:
            raise UserErrorException("%s need names that are text and not empty, got %.80r." % (what, key))
    return {key: value if value is None else str(value) for key, value in given.items()}


def _column(name: str, column: Any) -> str:
    if not isinstance(column, str) or not column:
        raise UserErrorException("A column of %r must have a name that is text, got %.80r." % (name, column))
    return column


def _unwrap(value: Any) -> Any:
    """The Python value inside a NumPy, PyTorch or TensorFlow scalar; the value itself when there is none."""
    if type(value) in _PLAIN:
        return value
    if not hasattr(value, "item") and hasattr(value, "numpy"):
        value = value.numpy()
    if hasattr(value, "item") and not isinstance(value, Mapping):
        try:
            return value.item()
        except (ValueError, RuntimeError, TypeError):
            return value  # more than one element: the caller raises the right error
    return value


def _kind(value: object) -> str:
    shape = getattr(value, "shape", None)
    return "%s of shape %s" % (type(value).__name__, tuple(shape)) if isinstance(shape, tuple) else type(value).__name__
