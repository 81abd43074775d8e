"""Reads the files of a table into pandas: `read` is the interface, for scripts in jobs (Python 3.6+) and for the SDK.

When the first steps of the dataset need only some columns or rows, no others are read. pandas, and pyarrow for Parquet, come from
the script's environment.
"""

import io
import json
import re
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence

from roost_job.data import columns, partitions, steps
from roost_job.exceptions import UserErrorException
from roost_job.libraries import need, refuse_parquet
from roost_job.listing import some

Frame = Any
File = Sequence[str]
"""(name in the dataset, path on this machine, full path or address of the source)"""

PATH_COLUMN = "Path"
ENCODINGS = {
    "utf8": "utf-8",
    "utf8bom": "utf-8-sig",
    "utf16": "utf-16",
    "ascii": "ascii",
    "latin1": "latin-1",
    "iso88591": "latin-1",
    "windows1252": "cp1252",
}
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zip": "zip"}
_SAME, _FIRST = "all_files_have_same_headers", "only_first_file_has_headers"
_NONE, _COMBINED = "no_headers", "combine_all_files_headers"
_SEPARATORS = ((";", ";"), ("\t", "\\t"), ("|", "|"), (",", ","))
_LINE_ENDS = ("\n", "\r", "\r\n")
"""As a separator: each line is one field."""


class Wanted(object):
    """The parts of each file that must be read."""

    def __init__(self, definition: Mapping[str, Any], strict: bool = False, bounded: bool = False) -> None:
        self.strict, self.bounded = strict, bounded
        self.place = whereabouts(definition)
        self.form: Mapping[str, Any] = definition.get("format") or {}
        self.steps: Sequence[Mapping[str, Any]] = definition.get("steps") or ()
        self.columns: Optional[Sequence[str]] = steps.wanted_columns(self.steps)
        self.limit: Optional[int] = steps.row_limit(self.steps)
        self.types: Mapping[str, Any] = self.form.get("column_types") or {}
        self.partitions: str = definition.get("partition_format") or ""
        self.infer = bool(self.form.get("infer_column_types", True))
        self.header = str(self.form.get("header") or _SAME)
        self.encoding = ENCODINGS.get(str(self.form.get("encoding") or "utf8"), "utf-8")
        self.names: Optional[List[str]] = None  # of all columns, once known, when only the first file has a header

    def wants(self, column: str) -> bool:
        return self.columns is None or column in self.columns


class FilesOnDemand(object):
    """Files that are fetched on demand: first one, then each time as many as are already here. They stay for a second read."""

    def __init__(self, items: Sequence[Any], bring: Callable[[Sequence[Any]], Iterable[File]]) -> None:
        self._items, self._bring = items, bring
        self._here: List[File] = []

    def __iter__(self) -> Iterator[File]:
        for at in range(len(self._items)):
            if at == len(self._here):
                self._here.extend(self._bring(self._items[at : 2 * at or 1]))
            yield self._here[at]


def whereabouts(definition: Mapping[str, Any]) -> str:
    """The place of its data: the first source."""
    sources = definition.get("sources") or [{}]
    url = (sources[0].get("url") or "").partition("?")[0]
    place = url or "%s/%s" % (sources[0].get("datastore") or "", sources[0].get("path") or "")
    return place + (" and %d more" % (len(sources) - 1) if len(sources) > 1 else "")


def needs_all(definition: Mapping[str, Any]) -> bool:
    """True when every file is read; else the first ones may be enough, and `FilesOnDemand` serves them."""
    return steps.row_limit(definition.get("steps") or ()) is None


def read(definition: Mapping[str, Any], files: Iterable[File], strict: bool = False, bounded: bool = False) -> Frame:
    """The table of a definition (as JSON) from these files, as one frame. Unneeded files are not requested. `strict`: a value
    that does not fit the type of its column is refused; `bounded`: so is a time that pandas cannot hold."""
    pandas = need("pandas")
    kind = (definition.get("format") or {}).get("type")
    if kind not in _READERS:
        raise UserErrorException("A table of the type %r cannot be read." % (kind,))
    wanted = Wanted(definition, strict, bounded)
    frame = _together(pandas, wanted, files, _READERS[kind])
    _check_types(wanted, frame)
    if wanted.infer and kind == "delimited":
        frame = columns.infer_times(frame, wanted.types, bounded)
    return steps.apply(frame, wanted.steps)


def _together(pandas: Any, wanted: Wanted, files: Iterable[File], reader: Any) -> Frame:
    frames = list(_frames(pandas, wanted, files, reader))
    if not frames:
        raise UserErrorException(
            "The table has no files now at %s." % wanted.place,
            hint="Look at its path or pattern, and whether its files are there.",
        )
    return frames[0] if len(frames) == 1 else pandas.concat(frames, ignore_index=True, sort=False)


def _frames(pandas: Any, wanted: Wanted, files: Iterable[File], reader: Any) -> Iterator[Frame]:
    left, first = wanted.limit, None
    values = partitions.reader(wanted.partitions) if wanted.partitions else None
    for name, path, source in files:
        try:
            frame = reader(pandas, wanted, name, path, left)
        except (
            ValueError,
            TypeError,
            KeyError,
            OSError,
            EOFError,
        ) as error:  # UnicodeError and pandas' own are ValueErrors
            raise UserErrorException(
                "%s of the dataset cannot be read: %s" % (name, _words(error)), hint=_hint(wanted, name, path, error)
            ) from None
        if left is not None:
            frame = frame.iloc[:left]
            left -= len(frame)
        if first is None:
            first = frame.iloc[:0]
        elif wanted.header == _SAME and wanted.form["type"] == "delimited":
            _check_same(name, first, frame)
        frame = _with_places(frame, wanted, name, source, values)
        yield columns.convert(frame, wanted.types, wanted.strict, wanted.bounded)
        if left is not None and left <= 0:
            return


def _check_types(wanted: Wanted, frame: Frame) -> None:
    """Refuses a type for a missing column as a mistake in its name. In JSON lines, and in files with different columns, rows that
    were not read may have it."""
    if wanted.form["type"] == "json_lines" or wanted.header == _COMBINED and wanted.limit is not None:
        return
    there = list(frame.columns)
    for name in wanted.types:
        if there and wanted.columns is None and name not in there:
            raise UserErrorException(
                "set_column_types names column %r, which the table does not have." % (name,),
                hint="It has: %s." % some((repr(str(each)) for each in there), 20),
            )


def _check_same(name: str, first: Frame, frame: Frame) -> None:
    if set(first.columns) != set(frame.columns):
        differ = sorted(str(each) for each in set(first.columns) ^ set(frame.columns))
        raise UserErrorException(
            "%s of the dataset has other columns than its first file; they differ in: %s." % (name, some(differ, 10)),
            hint="Give header=PromoteHeadersBehavior.COMBINE_ALL_FILES_HEADERS to have the columns of all files.",
        )


def _with_places(frame: Frame, wanted: Wanted, name: str, source: str, values: Any) -> Frame:
    """Adds the columns from the file's place: its path first, those of the partition format last."""
    if values is not None:
        found = values(source or name)
        if found is None:
            raise UserErrorException(
                "%s of the dataset does not fit its partition format %r." % (name, wanted.partitions),
                hint="The format stands for the end of the path, from the first column it names.",
            )
        frame = frame.assign(**{key: value for key, value in found.items() if wanted.wants(key)})
    if wanted.form.get("include_path") and wanted.wants(PATH_COLUMN):
        others = [each for each in frame.columns if each != PATH_COLUMN]
        frame = frame.assign(**{PATH_COLUMN: "/" + name})[[PATH_COLUMN] + others]
    return frame


# ---- one file


def _delimited(pandas: Any, wanted: Wanted, name: str, path: str, left: Optional[int]) -> Frame:
    form = wanted.form
    headless = wanted.header == _NONE or wanted.names is not None
    separator = str(form.get("separator") or ",")
    given: Dict[str, Any] = {
        "sep": separator,
        "header": None if headless else 0,
        "encoding": wanted.encoding,
        "compression": _compression(name),
        "nrows": left,
        "keep_default_na": False,
        "na_values": _empty(form, wanted.infer),
        "skip_blank_lines": True,
        "low_memory": False,  # one type per column, whatever the size of the file
    }
    if not wanted.infer:
        given["dtype"] = str
    else:
        texts = [column for column, kind in wanted.types.items() if kind["type"] in ("string", "datetime")]
        given["dtype"] = dict.fromkeys(texts, str) or None
    opened: Callable[[], Any] = lambda: path  # noqa: E731 - beside the other way to open it
    if separator in _LINE_ENDS:
        text = _lines_as_fields(name, path, wanted.encoding)
        given.update(sep=",", compression=None)
        opened = lambda: io.StringIO(text)  # noqa: E731
    elif len(separator.encode("utf-8")) > 1:  # pandas' fast engine supports only separators of one byte
        given.update(engine="python", sep=re.escape(separator) if len(separator) > 1 else separator)
        given.pop("low_memory")
    try:
        if wanted.header != _NONE:
            given.update(_which(pandas, wanted, opened, given))
        frame = pandas.read_csv(opened(), **given)
    except pandas.errors.EmptyDataError:
        return pandas.DataFrame()
    if wanted.header == _NONE:
        frame.columns = ["Column%d" % (number + 1) for number in range(len(frame.columns))]
    elif wanted.columns is not None:
        frame = frame[[each for each in frame.columns if wanted.wants(each)]]
    return frame


def _lines_as_fields(name: str, path: str, encoding: str) -> str:
    """Each line of a file as one quoted field, so that pandas infers its type as usual; empty lines are left out."""
    lines = (line.rstrip("\r\n") for line in _lines(name, path, encoding))
    return "".join('"%s"\n' % line.replace('"', '""') for line in lines if line.strip())


def _which(pandas: Any, wanted: Wanted, opened: Callable[[], Any], given: Mapping[str, Any]) -> Dict[str, Any]:
    """The columns to read of a file, as arguments of pandas. A first row with more fields than the header is refused: pandas
    would use its first field as the row's name and shift the others. For later rows pandas itself raises."""
    names = wanted.names
    top = pandas.read_csv(opened(), **dict(given, header=None, nrows=2 if names is None else 1, dtype=str))
    found = len(top.columns)
    if not isinstance(top.index, pandas.RangeIndex):  # an older pandas, with a separator of several letters
        raise ValueError("Expected %d fields in line 2, saw %d" % (found, found + top.index.nlevels))
    if names is not None and found > len(names):
        raise ValueError("Expected %d fields in line 1, saw %d" % (len(names), found))
    made: Dict[str, Any] = {} if names is None else {"names": names}
    if names is None and (wanted.header == _FIRST or wanted.columns is not None):
        names = list(pandas.read_csv(opened(), **dict(given, nrows=0)).columns)
    if wanted.header == _FIRST:
        wanted.names = names
    if names is not None and wanted.columns is not None:
        kept = [each for each in names if wanted.wants(each)] or names[:1]  # at least one, since it has the rows
        made["usecols"] = lambda name: name in kept
    return made


def _empty(form: Mapping[str, Any], infer: bool) -> List[str]:
    """The texts that mean an empty value. NA is a text: it may be Namibia's code."""
    if form.get("empty_as_string"):
        return []
    return ["", "NaN", "nan"] if infer else [""]


def _parquet(pandas: Any, wanted: Wanted, name: str, path: str, left: Any) -> Frame:  # noqa: ARG001 - as the others
    try:
        if wanted.columns is None:
            return _unindexed(pandas.read_parquet(path))
        inside = [each for each in wanted.columns if each in _parquet_columns(path, wanted.columns)]
        frame = _unindexed(pandas.read_parquet(path, columns=inside))
        return frame[[each for each in frame.columns if wanted.wants(each)]]
    except ImportError:
        refuse_parquet("read")


def _unindexed(frame: Frame) -> Frame:
    """Turns the index that pandas wrote into the table's last columns; an index without a name only numbered the rows and is
    dropped."""
    there = list(frame.columns)
    names = [each for each in frame.index.names if each is not None and each not in there]
    if names:
        frame = frame.reset_index(level=names)[there + names]
    return frame.reset_index(drop=True)


def _parquet_columns(path: str, otherwise: Sequence[str]) -> Sequence[str]:
    """The columns of the file; without pyarrow, all are assumed to exist."""
    try:
        parquet = need("pyarrow.parquet")
    except UserErrorException:
        return otherwise
    return list(parquet.ParquetFile(path).schema.to_arrow_schema().names)


def _json_lines(pandas: Any, wanted: Wanted, name: str, path: str, left: Optional[int]) -> Frame:
    drop = wanted.form.get("invalid_lines") == "drop"
    records: List[Dict[str, Any]] = []
    for number, line in enumerate(_lines(name, path, wanted.encoding), 1):
        if left is not None and len(records) >= left:
            break
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                raise ValueError("it is no object")
        except ValueError as error:
            if drop:
                continue
            raise UserErrorException(
                "Line %d of %s is not a JSON object: %s." % (number, name, error),
                hint="Give invalid_lines='drop' to pass over such lines.",
            ) from None
        if wanted.columns is not None:
            record = {key: value for key, value in record.items() if key in wanted.columns}
        records.append(record)
    names = list({key: None for record in records for key in record})
    if not names:
        return pandas.DataFrame(index=range(len(records)))  # the rows count: the requested columns come from the path
    return pandas.DataFrame.from_records(records, columns=names)


def _lines(name: str, path: str, encoding: str) -> Iterator[str]:
    import bz2  # here and below: for those who read JSON lines
    import gzip
    import lzma

    openers: Dict[str, Any] = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}
    opener = openers.get(str(_compression(name)), open)
    with opener(path, "rt", encoding=encoding) as lines:
        for line in lines:
            yield line


def _compression(name: str) -> Optional[str]:
    """By the file's name in the dataset, since cached files have other names."""
    dot = name.rfind(".")
    return _COMPRESSIONS.get(name[dot:].lower()) if dot >= 0 else None


_READERS = {"delimited": _delimited, "parquet": _parquet, "json_lines": _json_lines}


def _hint(wanted: Wanted, name: str, path: str, error: Exception) -> str:
    """A better option for reading the file, if its first line shows one."""
    if isinstance(error, UnicodeError):
        return (
            "It is not written in %s: give its encoding, such as encoding='iso88591' or 'windows1252'."
            % wanted.encoding
        )
    if wanted.form.get("type") != "delimited" or "fields in line" not in str(error):
        return ""
    used = wanted.form.get("separator") or ","
    try:
        first = next(_lines(name, path, wanted.encoding), "")
    except (ValueError, OSError, EOFError):
        return ""
    found, shown = max(_SEPARATORS, key=lambda each: first.count(each[0]))
    if found == used or not first.count(found):
        return ""
    return "Its first line has `%s` between the words: give separator='%s'." % (shown, shown)


def _words(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if text.endswith(".") else text + "."
