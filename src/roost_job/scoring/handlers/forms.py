"""The forms in which a request gives a model's input, and in which the answer is written. Python 3.6+, and the model's NumPy.

    {"instances": [row, …]}        rows, a value or {name: value} each     →  {"predictions": [row, …]}
    {"inputs": array or {name: array}}                                     →  {"outputs": array or {name: array}}
    {"data": array, rows or {name: array}}                                 →  {"outputs": …}
    {name: array, …}               the inputs by name                      →  {"outputs": …}
    [row, …]                                                               →  [row, …]
    {"dataframe_split": {"columns": […], "data": […]}}, {"dataframe_records": [{…}]}, {"input_data": …}: rows, as in MLflow

An input that does not fit is refused, with the expected and the actual form.
"""

import base64
import binascii
import json
import math
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy

from roost_job.listing import some
from roost_job.scoring.handlers.fields import Field, fits, said
from roost_job.scoring.messages import Refused, Request, Response, plain

FORMS = ("instances", "inputs", "data", "dataframe_split", "dataframe_records", "input_data")
_ROWS = ("instances", "dataframe_split", "dataframe_records", "input_data")
LIST, COLUMNS = "", "columns"


def form_of(request: Request, names: Sequence[str]) -> Tuple[str, Any, Dict[str, Any]]:
    """The form of a request, its input, and its other fields."""
    given = request.json()
    if isinstance(given, list):
        return LIST, given, {}
    if not isinstance(given, dict):
        raise Refused("Expected a JSON object or a list, got %s." % shown(given))
    if len(names) > 1 and all(name in given for name in names):
        return COLUMNS, given, {}
    for form in FORMS:
        if form in given:
            return form, given[form], {name: value for name, value in given.items() if name != form}
    if any(name in given for name in names):
        return COLUMNS, given, {}
    raise Refused(
        "Expected an object with one of %s, or the inputs by name (%s), or a list of rows; got an object with %s."
        % (", ".join(FORMS), ", ".join(names) or "none are known", _names(given) or "nothing in it")
    )


def arrays_of(value: Any, fields: List[Field]) -> Dict[str, Any]:
    """The inputs as arrays, by name."""
    if len(fields) == 1 and not _is_named(value, fields):
        return {fields[0].name: array_of(value, fields[0])}
    by_name = _by_name(value, fields)
    known = [each.name for each in fields]
    wrong = [name for name in by_name if name not in known]
    missing = [name for name in known if name not in by_name]
    if wrong or missing:
        parts = ["%s missing" % ", ".join(missing)] if missing else []
        parts += ["%s not known" % ", ".join(map(str, wrong))] if wrong else []
        raise Refused("The inputs are %s; %s." % (_expected(fields), " and ".join(parts)))
    return {each.name: array_of(by_name[each.name], each) for each in fields}


def _is_named(value: Any, fields: List[Field]) -> bool:
    if isinstance(value, dict):
        return "b64" not in value
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and fields[0].name in value[0]


def _by_name(value: Any, fields: List[Field]) -> Mapping[str, Any]:
    names = [each.name for each in fields]
    if isinstance(value, dict) and isinstance(value.get("columns"), list) and "data" in value and "data" not in names:
        return _columns(value["data"], [str(name) for name in value["columns"]])
    if isinstance(value, dict):
        return value
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        for number, row in enumerate(value, 1):
            if set(row) != set(value[0]):
                raise Refused("Row %d has %s, the first has %s." % (number, _names(row), _names(value[0])))
        return {name: [row[name] for row in value] for name in value[0]}
    flat = all(each.shape is not None and len([n for n in each.shape if n != 1]) <= 1 for each in fields)
    if flat and isinstance(value, list):
        return _columns(value, names)
    raise Refused("The inputs are %s: give them by name; got %s." % (_expected(fields), shown(value)))


def _columns(rows: Any, names: List[str]) -> Mapping[str, Any]:
    if not isinstance(rows, list):
        raise Refused("Expected a list of rows, got %s." % shown(rows))
    for number, row in enumerate(rows, 1):
        if not isinstance(row, list) or len(row) != len(names):
            has = "%d values" % len(row) if isinstance(row, list) else shown(row)
            raise Refused("Row %d is %s; expected a list of %d: %s." % (number, has, len(names), ", ".join(names)))
    return {name: [row[index] for row in rows] for index, name in enumerate(names)}


def array_of(value: Any, field: Field) -> Any:
    """An input as an array of its type and shape. Refused names the expected and the actual form."""
    array = _array(value, field)
    wanted = field.shape
    if fits(array.shape, wanted):
        return array
    if wanted and wanted[-1] == 1 and array.ndim == len(wanted) - 1:
        array = array[..., None]  # a column, for a model with one value per row
        if fits(array.shape, wanted):
            return array
    more = ""
    if wanted and array.ndim == len(wanted) - 1 and fits(array.shape, wanted[1:]):
        more = " One row is a list in a list."
    raise Refused(
        "Input %r must have the shape %s (%s), and was given with the shape %s.%s"
        % (field.name, said(wanted), field.dtype or "any type", said(array.shape), more)
    )


def _array(value: Any, field: Field) -> Any:
    kind = field.kind
    try:
        if kind == "string":
            return _texts(value, field)
        if kind == "number":
            with numpy.errstate(over="ignore"):  # values too large for 32 bits become infinite
                return numpy.array(value, dtype=field.dtype)
        array = numpy.array(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise Refused("Input %s cannot be read: %s." % (field, _uneven(value) or str(error).rstrip(".")))
    if array.dtype.kind == "O" and kind:
        raise Refused("Input %s cannot be read: %s." % (field, _uneven(value) or "its values are of several types"))
    if not kind:
        return array.astype("float32") if array.dtype.kind == "f" else array
    if array.size and (array.dtype.kind not in "iub" or (kind == "boolean" and array.dtype.kind != "b")):
        raise Refused("Input %s was given values of type %s." % (field, _said_type(array.dtype)))
    if array.size and kind == "integer":
        room = numpy.iinfo(field.dtype)
        for each in (int(array.min()), int(array.max())):
            if not room.min <= each <= room.max:
                raise Refused("Input %s was given %d; it holds %d to %d." % (field, each, room.min, room.max))
    try:
        return array.astype(field.dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise Refused("Input %s cannot be read: %s." % (field, error))


def _texts(value: Any, field: Field) -> Any:
    def text(each: Any) -> Any:
        if isinstance(each, list):
            return [text(one) for one in each]
        if isinstance(each, dict) and set(each) == {"b64"}:
            try:
                return base64.b64decode(each["b64"], validate=True)
            except (binascii.Error, ValueError, TypeError):
                raise Refused("Input %s was given a b64 that is none." % field)
        if not isinstance(each, str):
            raise Refused("Input %s was given %s, which is no text." % (field, shown(each)))
        return each

    return numpy.array(text(value), dtype=object)


def _uneven(value: Any) -> str:
    """The place where rows differ in length; empty when they do not."""
    if not isinstance(value, list) or not value:
        return ""
    first = value[0]
    for number, row in enumerate(value, 1):
        if isinstance(row, list) != isinstance(first, list):
            return "row %d is %s, the first is %s" % (number, shown(row), shown(first))
        if isinstance(row, list) and len(row) != len(first):
            return "row %d has %d values, the first has %d" % (number, len(row), len(first))
    return next(filter(None, map(_uneven, value)), "") if isinstance(first, list) else ""


def answer(form: str, outputs: Sequence[Tuple[str, Any]], key: Optional[str] = None) -> Response:
    """The outputs, by name and in order, in the form of the request; `key` is the field of the answer to `data`."""
    values = [(name, _listed(value)) for name, value in outputs]
    whole = values[0][1] if len(values) == 1 else dict(values)
    if form in _ROWS or form == LIST:
        rows = whole if len(values) == 1 else _rows(values)
        return written(rows if form == LIST else {"predictions": rows})
    return written({(key or "outputs") if form == "data" else "outputs": whole})


def written(value: Any) -> Response:
    """As JSON, which has no NaN and no infinity: null replaces both."""
    try:
        return Response(json.dumps(value, default=plain, allow_nan=False))
    except ValueError:
        return Response(json.dumps(_finite(json.loads(json.dumps(value, default=plain)))))


def _rows(values: Sequence[Tuple[str, Any]]) -> Any:
    lengths = {len(value) if isinstance(value, list) else -1 for _, value in values}
    if len(lengths) != 1 or -1 in lengths:
        return dict(values)
    return [dict(zip([name for name, _ in values], row)) for row in zip(*[value for _, value in values])]


def _listed(value: Any) -> Any:
    if isinstance(value, numpy.ndarray):
        value = value.tolist()
    elif isinstance(value, numpy.generic):
        value = value.item()
    elif hasattr(value, "to_dict") and hasattr(value, "columns"):  # a frame of pandas
        return value.to_dict(orient="records")
    elif hasattr(value, "tolist"):
        value = value.tolist()
    return _keyed(value)


def _keyed(value: Any) -> Any:
    """The value with keys that JSON can write, and bytes as text."""
    if isinstance(value, dict):
        return {str(key): _listed(each) for key, each in value.items()}
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return {"b64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], (dict, bytes, list, tuple, numpy.ndarray)):
        return [_listed(each) for each in value]
    return value


def _finite(value: Any) -> Any:
    if isinstance(value, list):
        return [_finite(each) for each in value]
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _expected(fields: Sequence[Field]) -> str:
    return ", ".join(map(str, fields))


def _names(given: Mapping[str, Any]) -> str:
    names = [str(name)[:60] for name in given]
    return some(names, 10)


def shown(value: Any) -> str:
    """A JSON value as readable text."""
    if value is None:
        return "null"
    words = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return words.get(type(value), "a number %.40r" % (value,))


def _said_type(dtype: Any) -> str:
    return {"U": "text", "f": "float", "O": "object"}.get(dtype.kind, str(dtype))
