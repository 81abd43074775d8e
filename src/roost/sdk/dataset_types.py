"""The choices that tables are read by, under the names of the Azure ML SDK v1."""

from collections.abc import Sequence
from enum import Enum
from typing import Any

from roost.domain.errors import InvalidInput


class PromoteHeadersBehavior(Enum):
    """Which files of a table have a line of column names."""

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


class DataType:
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
            raise InvalidInput(f"Numbers are read with a decimal point, not with {decimal_mark!r}.")
        return DataType("float")

    @staticmethod
    def to_datetime(formats: str | Sequence[str] | None = None) -> "DataType":
        every = [formats] if isinstance(formats, str) else formats or ()
        if not isinstance(every, Sequence) or not all(isinstance(each, str) for each in every):
            raise InvalidInput(f"formats must be a text or a list of texts, got {formats!r}.", hint="'%Y-%m-%d'")
        return DataType("datetime", list(every))

    @staticmethod
    def to_stream(workspace: object = None) -> "DataType":  # noqa: ARG004 - the SDK's signature
        raise InvalidInput("Columns of streams are not in Roost.", hint="Read the paths as text, and open the files.")


_ENCODINGS = {
    FileEncoding.UTF8: "utf8",
    FileEncoding.ISO88591: "iso88591",
    FileEncoding.LATIN1: "latin1",
    FileEncoding.ASCII: "ascii",
    FileEncoding.UTF16: "utf16",
    FileEncoding.UTF8BOM: "utf8bom",
    FileEncoding.WINDOWS1252: "windows1252",
}


def header(given: object) -> str:
    """As it is stored."""
    if isinstance(given, bool):
        given = PromoteHeadersBehavior.ALL_FILES_HAVE_SAME_HEADERS if given else PromoteHeadersBehavior.NO_HEADERS
    if not isinstance(given, PromoteHeadersBehavior):
        raise InvalidInput(f"header must be True, False or a PromoteHeadersBehavior, got {given!r}.")
    return given.name.lower()


def encoding(given: object) -> str:
    known = sorted(_ENCODINGS.values())
    text = (
        _ENCODINGS.get(given, "")
        if isinstance(given, FileEncoding)
        else str(given).lower().replace("-", "").replace("_", "")
    )
    if text not in known:
        raise InvalidInput(f"encoding {given!r} is not known.", hint=f"It is one of: {', '.join(known)}.")
    return text


def column_types(given: object) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, dict) or not all(isinstance(each, DataType) for each in given.values()):
        raise InvalidInput(f"set_column_types must be a dict of DataType, got {str(given)[:200]!r}.")
    return {str(name): dict(kind._plain) for name, kind in given.items()}
