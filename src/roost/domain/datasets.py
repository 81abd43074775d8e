"""A dataset: a reference to data and the steps that apply when it is read. Registered by name and version. Pure.

`Definition` is the whole dataset; it is stored with the dataset and with a run's inputs, so that later registrations do not
change what a run reads. Its steps, in the order of application (F: of files, T: of tables):

    take {count} FT · skip {count} FT · sample {probability, seed} T · split {percentage, seed, part: 0 or 1} FT
    filter {expression} FT · keep_columns {columns} T · drop_columns {columns} T · timestamps {fine, coarse} T
    time_after {time, inclusive} T · time_before {time, inclusive} T · time_between {start, end, inclusive} T

Times are ISO 8601. An expression is `{"column": NAME}` (of files: Size, LastModifiedTime, CreationTime, Extension, CanSeek, or a
name of the partition format), `{"value": V}`, `{"time": ISO}`, or `{"op": OP, "args": [expression, …]}` with OP of `OPERATORS`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from roost.domain import globs, names
from roost.domain.datastores import checked_name as checked_datastore
from roost.domain.errors import InvalidInput
from roost_job.data import local_files

OPERATORS = frozenset(
    {"eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "in", "is_null", "starts_with", "ends_with", "contains"}
)
STEPS: Mapping[str, frozenset[str]] = {
    "take": frozenset({"count"}),
    "skip": frozenset({"count"}),
    "sample": frozenset({"probability", "seed"}),
    "split": frozenset({"percentage", "seed", "part"}),
    "filter": frozenset({"expression"}),
    "keep_columns": frozenset({"columns"}),
    "drop_columns": frozenset({"columns"}),
    "timestamps": frozenset({"fine", "coarse"}),
    "time_after": frozenset({"time", "inclusive"}),
    "time_before": frozenset({"time", "inclusive"}),
    "time_between": frozenset({"start", "end", "inclusive"}),
}
"""Every step, with its arguments."""
OF_FILES = frozenset({"take", "skip", "split", "filter"})
FORMATS = frozenset({"delimited", "parquet", "json_lines"})
MAX_SOURCES = 10_000
MAX_STEPS = 1000
MAX_DEFINITION = 2 * 1024 * 1024
_NAME = re.compile(r"[a-zA-Z0-9_][\w .()-]{0,254}", re.ASCII)
_CREDENTIAL = re.compile(
    r"(?:^|&)(?:sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token|x-goog-signature|x-goog-credential|"
    r"awsaccesskeyid|googleaccessid|access_token|token|api[-_]?key|password|secret)=",
    re.IGNORECASE,
)


class DatasetKind(StrEnum):
    FILE = "file"
    TABULAR = "tabular"


@dataclass(frozen=True, kw_only=True)
class Source:
    """Files of a datastore by pattern, or one address."""

    datastore: str = ""
    path: str = ""
    """Path in that datastore: a file, a folder, or a pattern with `*` and `**`."""
    url: str = ""
    """Instead of a datastore: an address that the reader fetches itself. Never holds a credential."""


@dataclass(frozen=True, kw_only=True)
class Definition:
    kind: DatasetKind = DatasetKind.FILE
    sources: tuple[Source, ...] = ()
    format: Mapping[str, Any] = field(default_factory=dict)
    """Of a table: `type` (delimited, parquet, json_lines) and its options. All have `include_path` (a column `Path` first) and
    `column_types` (`{column: {"type": "string" | "boolean" | "integer" | "float" | "datetime", "formats": […]}}`). Delimited:
    `separator`, `header` (all_files_have_same_headers, only_first_file_has_headers, combine_all_files_headers, no_headers: then
    Column1, Column2, …), `encoding`, `infer_column_types`, `support_multi_line`, `empty_as_string`. JSON lines: `encoding`,
    `invalid_lines` (error, drop)."""
    partition_format: str = ""
    steps: tuple[Mapping[str, Any], ...] = ()
    """The steps that are applied on reading, in order; each has an `op` and its arguments."""


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A registered dataset. A version never changes, except for its tags and description."""

    id: str
    workspace: str
    name: str
    version: int
    definition: Definition
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    created_at: float = 0.0


class Mode(StrEnum):
    MOUNT = "mount"
    DOWNLOAD = "download"
    DIRECT = "direct"
    """No files: the script reads the data itself."""
    UPLOAD = "upload"
    """Only for an output."""


@dataclass(frozen=True, kw_only=True)
class Input:
    """A dataset as a run consumes it. The run's arguments contain `token(name)`, which each node replaces by the path."""

    name: str
    """Also the variable that holds its path, and its key in `run.input_datasets`."""
    definition: Definition
    mode: Mode = Mode.MOUNT
    path_on_compute: str = ""
    dataset_id: str = ""
    """Id of the registered dataset; empty when it is not registered."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """A folder that a run fills and that becomes data: uploaded at the run's end, and registered on request."""

    name: str
    datastore: str = ""
    """Empty for the workspace's default datastore."""
    path: str = ""
    """Path in that datastore; `{run-id}` and `{output-name}` are filled in."""
    mode: Mode = Mode.UPLOAD
    overwrite: bool = True
    source: str = ""
    """The folder to upload, relative to the working copy; empty for a folder that Roost provides."""
    globs: tuple[str, ...] = ()
    """Patterns of the files to upload; none for all."""
    register_as: str = ""
    register_tags: Mapping[str, str] = field(default_factory=dict)
    register_description: str = ""
    definition: Definition = field(default_factory=Definition)
    """Steps and format of the registered dataset; its sources are filled in."""


class Direction(StrEnum):
    INPUT = "input"
    OUTPUT = "output"


@dataclass(frozen=True, kw_only=True)
class DataUse:
    """One use of data by a run, for lineage: the run read or wrote it."""

    run_id: str
    direction: Direction
    name: str
    definition: Definition
    mode: Mode = Mode.DIRECT
    dataset_id: str = ""
    """Id of the registered dataset; empty when it is not registered."""
    dataset_name: str = ""
    """Filled in by the store, like the two fields below. Name and version stay when the dataset is unregistered."""
    dataset_version: int = 0
    unregistered: bool = False
    """True when the dataset was registered and is no longer."""
    at: float = 0.0


VARIABLE = "AZUREML_DATAREFERENCE_"
"""Prefix of the variable that holds the path of an input or output; its name follows."""


def token(name: str) -> str:
    """The text that represents the path of an input or output in a run's arguments; the agent replaces it."""
    return f"DatasetConsumptionConfig:{name}"


def destination(output: Output, run_id: str) -> str:
    """The path in its datastore of an output of that run."""
    filled = (output.path or "dataset/{run-id}/{output-name}").replace("{run-id}", run_id)
    return names.path(filled.replace("{output-name}", output.name).strip("/"))


def checked_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name != name.strip():
        raise InvalidInput(
            f"Dataset name {name!r} is not allowed.",
            hint="Use 1 to 255 letters, digits, spaces or any of `_-.()`, the first a letter, digit or `_`.",
        )
    return name


def checked_url(url: object) -> str:
    """The address, checked; InvalidInput when it is not http(s) or holds a credential. The error never contains the
    credential."""
    if not isinstance(url, str):
        raise InvalidInput(f"An address must be text, got {type(url).__name__}.")
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        raise InvalidInput("An address is damaged: its host or port cannot be read.") from None
    if parts.scheme not in ("http", "https") or not host:
        here = (
            "What is here goes to a datastore first: Dataset.File.upload_directory('folder', (datastore, 'folder')). What is in "
            "one already is (datastore, 'path')."
        )
        raise InvalidInput(
            f"{masked(url)!r} is not an address that can be read.",
            hint="Give http:// or https://, or register the place as a datastore." if "://" in url else here,
        )
    if parts.username is not None or parts.password is not None or _CREDENTIAL.search(parts.query):
        raise InvalidInput(
            f"The address {masked(url)!r} has a credential in it, which everybody who sees the dataset would see.",
            hint="A container or bucket is registered as a datastore, which keeps its key. What a web server has behind a "
            "password is yours to fetch, and to upload to a datastore.",
        )
    if "*" in parts.path:
        raise InvalidInput(
            f"{masked(url)!r} is a pattern, and over HTTP files cannot be listed.",
            hint="Give a list of the addresses of all files.",
        )
    return url


SYMBOLS: Mapping[str, str] = {
    **{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="},
    **{
        "and": "and",
        "or": "or",
        "in": "in",
        "starts_with": "starts with",
        "ends_with": "ends with",
        "contains": "contains",
    },
}


def words(expression: Mapping[str, Any]) -> str:
    """An expression in readable form: `price > 3`."""
    if "column" in expression:
        return str(expression["column"])
    if "op" not in expression:
        return str(expression["time"]) if "time" in expression else repr(expression.get("value"))
    parts = [f"({words(each)})" if each.get("op") in ("and", "or") else words(each) for each in expression["args"]]
    if expression["op"] == "is_null":
        return f"{parts[0]} is missing"
    return f"not {parts[0]}" if expression["op"] == "not" else f" {SYMBOLS[expression['op']]} ".join(parts)


def masked(url: str) -> str:
    """An address without its possible secrets: no user, no password, no query."""
    head, _, _ = url.partition("?")
    scheme, mark, rest = head.partition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme}{mark}{place.rpartition('@')[2]}{slash}{path}"[:500]


def place_of(source: Source) -> str:
    """The place of a source in words, without a credential."""
    return masked(source.url) if source.url else f"{source.datastore}/{source.path}"


def whereabouts(definition: Definition) -> str:
    """The place of the data, for an error about missing data: the first source and the steps."""
    places = [place_of(source) for source in definition.sources]
    others = f" and {len(places) - 1} more" if len(places) > 1 else ""
    steps = ", ".join(str(step.get("op")) for step in definition.steps)
    return f"{places[0] if places else 'no place'}{others}" + (f", after its steps ({steps})" if steps else "")


def nothing_there(definition: Definition) -> InvalidInput:
    """The error for a dataset that must have files now and has none."""
    return InvalidInput(
        f"There is no file at {whereabouts(definition)}.",
        hint=of_pattern(definition) + "Give validate=False for data that comes later.",
        cli_hint=of_pattern(definition).strip() or "Look at its path.",
    )


def of_pattern(definition: Definition) -> str:
    """The start of a hint about missing files, for the first path that is a pattern."""
    words = next((words for each in definition.sources if (words := local_files.of_pattern(each.path))), [])
    return "".join(f"{each} " for each in words)


def checked(definition: Definition) -> Definition:
    """The definition with normalised paths; InvalidInput names the part that is not allowed."""
    if not definition.sources:
        raise InvalidInput(
            "A dataset has at least one source, got none.", hint="Give a path, an address or a list of them."
        )
    if len(definition.sources) > MAX_SOURCES:
        raise InvalidInput(
            f"{len(definition.sources)} sources are too many.", hint=f"Give at most {MAX_SOURCES}, or a pattern."
        )
    if len(json.dumps([dict(definition.format), *map(dict, definition.steps)], default=str)) > MAX_DEFINITION:
        raise InvalidInput(f"The definition of the dataset is larger than {MAX_DEFINITION} characters.")
    if len(definition.steps) > MAX_STEPS:
        raise InvalidInput(f"{len(definition.steps)} steps are too many; a dataset has at most {MAX_STEPS}.")
    if definition.kind is DatasetKind.TABULAR and definition.format.get("type") not in FORMATS:
        raise InvalidInput(
            f"A table cannot be of the type {definition.format.get('type')!r}.", hint=f"{sorted(FORMATS)}"
        )
    for step in definition.steps:
        _check_step(step, definition.kind)
    return replace(definition, sources=tuple(_checked_source(source) for source in definition.sources))


def _checked_source(source: Source) -> Source:
    if bool(source.datastore) == bool(source.url):
        raise InvalidInput("A source is a path in a datastore or an address: one of the two.")
    if source.url:
        return Source(url=checked_url(source.url))
    return Source(datastore=checked_datastore(source.datastore), path=globs.checked(source.path))


def _check_step(step: Mapping[str, Any], kind: DatasetKind) -> None:
    op = step.get("op")
    if not isinstance(op, str) or op not in STEPS or set(step) - {"op"} != STEPS[op]:
        raise InvalidInput(
            f"{str(dict(step))[:200]} is not a step of a dataset.", hint=f"Steps are: {', '.join(STEPS)}."
        )
    if kind is DatasetKind.FILE and op not in OF_FILES:
        raise InvalidInput(f"The step {op!r} is for tables; a dataset of files has: {', '.join(sorted(OF_FILES))}.")
    if op == "filter":
        _check_expression(step["expression"], 0)


def _check_expression(expression: Any, depth: int) -> None:
    if isinstance(expression, Mapping) and depth < 100:
        if set(expression) in ({"column"}, {"time"}) and isinstance(next(iter(expression.values())), str):
            return
        if set(expression) == {"value"}:
            return
        args = expression.get("args")
        if set(expression) == {"op", "args"} and expression["op"] in OPERATORS and isinstance(args, list | tuple):
            for each in args:
                _check_expression(each, depth + 1)
            return
    raise InvalidInput(f"{str(expression)[:200]} is not an expression that a dataset can be filtered by.")
