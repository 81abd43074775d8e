"""The options for reading tables, under the names of the Azure ML SDK v1, and their form in a definition. The same in jobs and
outside, so that a dataset of a job can be read everywhere.
"""

import datetime
import hashlib
import json
import re
from enum import Enum
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from roost_job.exceptions import UserErrorException

_SAVED = "_saved_"
_SAVED_NAME = re.compile(_SAVED + "[0-9a-f]{32}")


def is_saved(name: str) -> bool:
    """True for the name of an unregistered dataset that was saved because something refers to it, such as a model: it is found by
    its id only."""
    return _SAVED_NAME.fullmatch(name) is not None


def saved_name(definition: Mapping[str, Any]) -> str:
    """The name under which a definition (as JSON) is saved: equal definitions are the same dataset."""
    return _SAVED + hashlib.sha256(json.dumps(definition, sort_keys=True).encode("utf-8")).hexdigest()[:32]


class PromoteHeadersBehavior(Enum):
    """Which files of a table have a header line."""

    NO_HEADERS = 0
    ONLY_FIRST_FILE_HAS_HEADERS = 1
    COMBINE_ALL_FILES_HEADERS = 2
    ALL_FILES_HAVE_SAME_HEADERS = 3


class FileEncoding(Enum):
    UTF8 = 0
    ISO88591 = 1
    LATIN1 = 2
    ASCII = 3
    UTF16 = 4
    UTF8BOM = 6
    WINDOWS1252 = 7


class DataType(object):
    """The type of a column: `set_column_types={'day': DataType.to_datetime('%Y-%m-%d')}`."""

    def __init__(self, kind: str, formats: Sequence[str] = ()) -> None:
        self._plain = {"type": kind, "formats": list(formats)}

    @staticmethod
    def to_string() -> "DataType":
        return DataType("string")

    @staticmethod
    def to_bool() -> "DataType":
        return DataType("boolean")

    @staticmethod
    def to_long() -> "DataType":
        return DataType("integer")

    @staticmethod
    def to_float(decimal_mark: str = ".") -> "DataType":
        if decimal_mark != ".":
            raise UserErrorException("Numbers are read with a decimal point, not with %r." % (decimal_mark,))
        return DataType("float")

    @staticmethod
    def to_datetime(formats: Union[str, Sequence[str], None] = None) -> "DataType":
        every = [formats] if isinstance(formats, str) else formats or ()
        if not isinstance(every, (list, tuple)) or not all(isinstance(each, str) for each in every):
            raise UserErrorException(
                "formats must be a text or a list of texts, got %r." % (formats,), hint="'%Y-%m-%d'"
            )
        for each in every:
            _check_format(each)
        return DataType("datetime", list(every))

    @staticmethod
    def to_stream(workspace: object = None) -> "DataType":  # noqa: ARG004 - the SDK's signature
        raise UserErrorException(
            "Columns of streams are not in Roost.", hint="Read the paths as text, and open the files."
        )


def _check_format(form: str) -> None:
    try:
        datetime.datetime.strptime("", form)
    except ValueError as error:
        if "directive" in str(error) or "stray" in str(error):
            raise UserErrorException("%r is no format of times: %s." % (form, error), hint="'%Y-%m-%d'") from None


_ENCODINGS = {
    FileEncoding.UTF8: "utf8",
    FileEncoding.ISO88591: "iso88591",
    FileEncoding.LATIN1: "latin1",
    FileEncoding.ASCII: "ascii",
    FileEncoding.UTF16: "utf16",
    FileEncoding.UTF8BOM: "utf8bom",
    FileEncoding.WINDOWS1252: "windows1252",
}


def header(given: Any) -> str:
    """The stored form."""
    if isinstance(given, bool):
        given = PromoteHeadersBehavior.ALL_FILES_HAVE_SAME_HEADERS if given else PromoteHeadersBehavior.NO_HEADERS
    if not isinstance(given, PromoteHeadersBehavior):
        raise UserErrorException("header must be True, False or a PromoteHeadersBehavior, got %r." % (given,))
    return given.name.lower()


def encoding(given: Any) -> str:
    known = sorted(_ENCODINGS.values())
    text = (
        _ENCODINGS.get(given, "")
        if isinstance(given, FileEncoding)
        else str(given).lower().replace("-", "").replace("_", "")
    )
    if text not in known:
        raise UserErrorException("encoding %r is not known." % (given,), hint="It is one of: %s." % ", ".join(known))
    return text


def column_types(given: Any) -> Dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, dict) or not all(isinstance(each, DataType) for each in given.values()):
        raise UserErrorException("set_column_types must be a dict of DataType, got %r." % str(given)[:200])
    return {str(name): dict(kind._plain) for name, kind in given.items()}


def partition_format(given: Any) -> str:
    if given is not None and (not isinstance(given, str) or "{" not in given):
        raise UserErrorException(
            "partition_format names parts of paths in braces, got %r." % (given,), hint="'{year}/{month}/*.csv'"
        )
    return given or ""


def delimited(
    separator: Any, header_is: Any, encoding_is: Any, infer: Any, support_multi_line: Any, empty_as_string: Any
) -> Dict[str, Any]:
    """The options for CSV and similar formats."""
    if not isinstance(separator, str) or not separator:
        raise UserErrorException("separator must be text, got %r." % (separator,))
    return {
        "type": "delimited",
        "separator": separator,
        "header": header(header_is),
        "encoding": encoding(encoding_is),
        "infer_column_types": bool(infer),
        "support_multi_line": bool(support_multi_line),
        "empty_as_string": bool(empty_as_string),
    }


def json_lines(invalid_lines: Any, encoding_is: Any) -> Dict[str, Any]:
    if invalid_lines not in ("error", "drop"):
        raise UserErrorException("invalid_lines must be 'error' or 'drop', got %r." % (invalid_lines,))
    return {"type": "json_lines", "invalid_lines": invalid_lines, "encoding": encoding(encoding_is)}


def table(form: Mapping[str, Any], include_path: Any, types: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """The options that every table has in addition."""
    return dict(form, include_path=bool(include_path), column_types=column_types(types))


def failing(**choices: Any) -> List[bool]:
    """For options about values that do not fit: True for each that must fail: `failing(on_error='null')`."""
    for name, choice in choices.items():
        if choice not in ("null", "fail"):
            raise UserErrorException("%s must be 'null' or 'fail', got %r." % (name, choice))
    return [choice == "fail" for choice in choices.values()]
