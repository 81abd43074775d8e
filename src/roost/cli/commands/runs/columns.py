"""Columns of `roost run list`: fields of a run, its arguments, metrics and tags, by names that people type. Pure but for
`resolve`, which asks the control plane what there is."""

import difflib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from roost.cli import rendering
from roost.cli.commands.runs import metric_summaries
from roost.domain.arguments import parameters
from roost.domain.errors import InvalidInput
from roost.domain.runs import Run, RunStatus
from roost.sdk.calls import searches
from roost.sdk.core.workspaces import Workspace
from roost_job.listing import some

_OTHER_NAMES = {
    "run": "id",
    "took": "duration",
    "time": "duration",
    "submitted": "created",
    "age": "created",
    "display_name": "name",
    "compute": "target",
    "args": "arguments",
}


@dataclass(frozen=True)
class Column:
    """One column: what it is, and the head that it was asked for by."""

    kind: str
    """`field`, `params`, `metrics` or `tags`."""
    name: str
    head: str

    @property
    def path(self) -> str:
        return self.name if self.kind == "field" else f"{self.kind}.{self.name}"

    def text(self, row: searches.Row) -> str:
        if self.kind == "field":
            return FIELDS[self.name](row.run)
        if self.kind == "params":
            return params_of(row.run).get(self.name, "")
        if self.kind == "tags":
            value = row.run.tags.get(self.name, "")
            return "yes" if value is None else value
        return metric_summaries.last(row.metrics[self.name]) if self.name in row.metrics else ""


def names(text: str) -> list[str]:
    """`id,status,lr` as its names, each once, `lr` for `--lr` too; InvalidInput for none."""
    found = [name for part in text.split(",") if (name := part.strip().lstrip("-"))]
    if not found:
        raise InvalidInput("--columns names no column.", hint="--columns id,status,lr,val_acc")
    return list(dict.fromkeys(found))


def resolve(ws: Workspace, search: searches.Search, asked: Sequence[str]) -> list[Column]:
    """The columns of these names. One that is no field is looked for among what the runs of the selection have."""
    fields = {name: _field(name) for name in asked}
    rest = [name for name, column in fields.items() if column is None]
    there = searches.columns(ws._connection.client, ws.name, search) if rest else {}
    return [fields[name] or _find(name, there) for name in asked]


def _field(name: str) -> Column | None:
    field = _OTHER_NAMES.get(name.lower(), name.lower())
    return Column("field", field, name) if field in FIELDS else None


def _find(name: str, there: Mapping[str, Sequence[str]]) -> Column:
    kind, dot, rest = name.partition(".")
    if dot and kind in there and rest in there[kind]:
        return Column(kind, rest, name)
    plain = name.lstrip("-")
    kinds = [kind for kind in ("metrics", "params", "tags") if plain in there.get(kind, ())]
    if len(kinds) > 1:
        raise InvalidInput(
            f"{plain!r} is the name of several things.",
            hint=f"Say which: {' or '.join(f'{k}.{plain}' for k in kinds)}.",
        )
    if kinds:
        return Column(kinds[0], plain, plain)
    known = {
        **{each: each for each in FIELDS},
        **{each: f"{kind}.{each}" for kind, some_names in there.items() for each in some_names},
    }
    near = difflib.get_close_matches(rest or name, known, n=3, cutoff=0.6)
    meant = f"Did you mean {' or '.join(known[each] for each in near)}? " if near else ""
    has = [f"{title}: {some(there[kind], 8)}." for kind, title in _TITLES.items() if there.get(kind)]
    has.append(f"Fields: {', '.join(FIELDS)}.")
    raise InvalidInput(f"No run of this list has a column {name!r}.", hint=f"{meant}{' '.join(has)}")


def params_of(run: Run) -> dict[str, str]:
    """A run's arguments by name."""
    return parameters(run.spec.arguments, run.spec.command, run.spec.shell)


def took(run: Run) -> str:
    if run.started_at is None:
        return ""
    # One that is silent has gone on until it was last heard, as far as anybody knows.
    now = run.heard_at if run.status is RunStatus.NOT_RESPONDING else time.time()
    end = run.ended_at if run.ended_at is not None else now
    return rendering.duration(max(0.0, end - run.started_at)) if end is not None else ""


def _script(run: Run) -> str:
    return run.spec.script or " ".join(run.spec.command)


_TITLES = {"params": "Arguments", "metrics": "Metrics", "tags": "Tags"}
FIELDS: dict[str, Callable[[Run], str]] = {
    "id": lambda run: run.id,
    "status": lambda run: run.status.value,
    "duration": took,
    "created": lambda run: rendering.ago(run.created_at),
    "started": lambda run: rendering.ago(run.started_at),
    "ended": lambda run: rendering.ago(run.ended_at),
    "name": lambda run: run.display_name,
    "description": lambda run: run.description,
    "experiment": lambda run: run.experiment,
    "number": lambda run: str(run.number),
    "target": lambda run: run.spec.target if run.spec.script or run.spec.command else "",
    "script": _script,
    "arguments": lambda run: " ".join(run.spec.arguments),
    "user": lambda run: run.user,
    "tags": lambda run: rendering.labels(run.tags),
}
"""Fields of a run, as texts."""


def as_json(row: searches.Row) -> dict[str, Any]:
    """A run's arguments and last metrics by name, for the JSON of a list."""
    metrics = {
        name: each["last"] if each["kind"] == "scalar" else each.get("text") for name, each in row.metrics.items()
    }
    return {"params": params_of(row.run), "metrics": metrics}
