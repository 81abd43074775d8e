"""`roost run metrics`: what a run has logged, as a table with courses, and drawn: documents, tables, lists, images."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from roost.cli import rendering, session
from roost.cli.commands.runs import metric_summaries
from roost.cli.inputs import parsing
from roost.cli.inputs.parameters import AS_JSON
from roost.cli.inputs.runs import RUN, find_run
from roost.cli.rendering import documents, drawing
from roost.domain.errors import NotFound
from roost.sdk.calls import downloads
from roost.sdk.runs.runs import Run
from roost.transport.client import path_of
from roost_job.tracking.metrics import address as address_of

_DRAWN, _BUCKETS = 40, 48
_ADDRESS = address_of("", "").removesuffix("/")
_PICTURES = 6
"""Documents that are drawn below the table; of more, `--name` draws each."""
_VALUES = 50
"""Values of one metric that a terminal shows below its curve."""


def metrics(
    run_id: str = RUN,
    name: str | None = typer.Option(None, help="Only this metric: its curve and values, its table or document."),
    as_json: bool = AS_JSON,
) -> None:
    """Show a run's metrics: points, last, least, most and course; confusion matrices, accuracy tables, predictions and
    residuals are drawn. With --json documents are whole."""
    _show(find_run(session.workspace(), run_id), name, as_json)


def _show(run: Run, name: str | None, as_json: bool) -> None:
    """A line per metric and the documents; of one metric everything."""
    if as_json or name is not None:
        params = {"name": name} if name is not None else None
        found = run._connection.client.call("GET", path_of("runs", run.id, "metrics"), params=params)["metrics"]
        there = {each["name"]: each for each in metric_summaries.summaries(run)}
        if name is not None and not found:
            raise NotFound(f"Run {run.id} has logged no metric {name!r}.", hint=parsing.near(name, list(there)))
        if as_json:
            rendering.as_json({each: _whole(run, value, there.get(each, {})) for each, value in found.items()})
        else:
            for each, value in found.items():
                _print(_lines(run, there.get(each, {"name": each, "kind": ""}), value))
        return
    listed = metric_summaries.summaries(run)
    if not listed:
        print(f"Run {run.id} has logged no metrics.", file=sys.stderr)
        return
    metric_summaries.table(listed, _courses(run, listed))
    pictures = [each for each in listed if each["kind"] in documents.TITLES]
    for each in pictures[:_PICTURES]:
        value = run._connection.client.call("GET", path_of("runs", run.id, "metrics"), params={"name": each["name"]})[
            "metrics"
        ]
        print()
        _print([rendering.styled(f"{rendering.clean(each['name'])}: {metric_summaries.title(each)}", "bold")])
        _print(_lines(run, each, value.get(each["name"])))
    if len(pictures) > _PICTURES:
        print(f"\n… and {len(pictures) - _PICTURES} more documents. One of them:")
        print(f"  roost run metrics {run.id} --name {_word(pictures[_PICTURES]['name'])}")
    other = [each["name"] for each in listed if each["kind"] in ("table", "row", "list", "image")]
    if other:
        print("\nTables, lists and images are shown by name:", file=sys.stderr)
        print(f"  roost run metrics {run.id} --name {_word(other[0])}", file=sys.stderr)


def _courses(run: Run, found: list[dict[str, Any]]) -> dict[str, str]:
    """The course of each metric that has one, as a line of bars; of so many at most that asking stays quick."""
    numeric = [each["name"] for each in found if each["count"] > 1 and each["last"] is not None]
    courses = {}
    for name in numeric[:_DRAWN]:
        params = {"name": name, "buckets": _BUCKETS}
        points = run._connection.client.call("GET", path_of("runs", run.id, "metrics", "points"), params=params)
        courses[name] = rendering.sparkline(points["values"])
    return courses


# ---- one metric


def _print(lines: Iterator[str] | list[str]) -> None:
    for line in lines:
        print(line)


def _lines(run: Run, metric: Mapping[str, Any], value: Any) -> list[str]:
    """Everything that a metric holds."""
    if metric["kind"] in documents.TITLES:
        return _document(run, metric["kind"], value)
    if metric["kind"] == "image":
        return [line for each in (value if isinstance(value, list) else [value]) for line in _image(run, each)]
    if isinstance(value, dict) and "float" not in value:
        return drawing.columns(value)
    values = value if isinstance(value, list) else [value]
    curve = drawing.series(values)
    shown = values if not curve or len(values) <= _VALUES else values[-_VALUES:]
    texts = [rendering.clean(drawing.whole(each)) for each in shown]
    left = len(values) - len(shown)
    words = f"The last {len(shown)} of {len(values)} values; a pipe, a file or --json has them all."
    head = drawing.wrapped(words) if left else []
    return [*curve, *head, *texts]


def _document(run: Run, kind: str, value: Any) -> list[str]:
    """The last document of that name, drawn."""
    addresses = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
    if not addresses:
        return ["It has no document."]
    try:
        content = _content(run, addresses[-1])
        lines = drawing.document(documents.read(kind, content))
    except documents.Unreadable as error:
        return [f"It cannot be drawn: {error}.", f"Its file: {_command(run, addresses[-1])}"]
    several = [f"The last of {len(addresses)} that were logged."] if len(addresses) > 1 else []
    return [*several, *lines]


def _content(run: Run, address: str) -> bytes:
    owner, path = _parts(address)
    files = [file for file in downloads.listing(run._connection, owner, path) if file.path == path]
    if not files:
        raise documents.Unreadable("its file is not there")
    if files[0].size > documents.MAX_BYTES:
        raise documents.Unreadable(f"it has {rendering.size(files[0].size)}")
    return run._connection.client.fetch("GET", path_of("runs", owner, "files", path)).body


def _parts(address: str) -> tuple[str, str]:
    """The run and the file of an address; Unreadable for what is none."""
    owner, _, path = address.removeprefix(_ADDRESS).partition("/")
    if not address.startswith(_ADDRESS) or not path:
        raise documents.Unreadable("its address is not that of a file")
    return owner, path


def _command(run: Run, address: str) -> str:
    try:
        owner, path = _parts(address)
    except documents.Unreadable:
        return f"roost run download {run.id}"
    return f"roost run download {_word(owner)} --prefix {_word(path)}"


def _word(text: str) -> str:
    """A name that a script gave, as one word of a command that a person may paste into a shell."""
    return shlex.quote(rendering.clean(text))


def _image(run: Run, value: Any) -> list[str]:
    """An image's file: its size, and how it is fetched."""
    address = str(value)
    try:
        owner, path = _parts(address)
    except documents.Unreadable:
        return [rendering.clean(address)]
    sizes = [file.size for file in downloads.listing(run._connection, owner, path) if file.path == path]
    told = rendering.size(sizes[0]) if sizes else "its file is not there"
    return [f"{rendering.clean(path)}, {told}", f"  {_command(run, address)}"]


def _whole(run: Run, value: Any, metric: Mapping[str, Any]) -> Any:
    """A metric for JSON: of a document what it says, instead of its address."""
    if metric.get("kind") not in documents.TITLES:
        return value
    if isinstance(value, list):
        return [_whole(run, each, metric) for each in value]
    try:
        owner, path = _parts(str(value))
        content = run._connection.client.fetch("GET", path_of("runs", owner, "files", path)).body
        return json.loads(content.decode("utf-8"), parse_constant=lambda word: {"float": word})
    except (documents.Unreadable, NotFound, ValueError, RecursionError):
        return value
