"""`roost run compare`: one row per thing and one column per run, `*` marks what differs; many runs as rows, to fit a terminal."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import typer

from roost.cli import rendering, session
from roost.cli.commands.runs import metric_summaries
from roost.cli.inputs.parameters import AS_JSON
from roost.cli.inputs.runs import RUNS, find_run
from roost.domain.arguments import by_name
from roost.domain.errors import InvalidInput
from roost.domain.runs import Run as RunRecord
from roost.sdk.calls import run_records
from roost.sdk.runs.runs import Run
from roost.transport.client import path_of

_KINDS = ("run", "argument", "tag", "metric")
"""What is compared, in the order in which it is shown."""
_PLAIN = ("run", "argument", "metric")
"""Kinds whose names say enough at the head of a column."""
_LEAST, _WIDEST = 12, 32
"""Characters that a run's column needs, and that a thing's column takes at most."""

Key: TypeAlias = tuple[str, str]
Found: TypeAlias = Mapping[str, Mapping[Key, str]]


def compare(
    run_ids: list[str] = RUNS,
    every: bool = typer.Option(False, "--all", "-a", help="What is the same in all of them too."),
    as_json: bool = AS_JSON,
) -> None:
    """Set runs side by side: arguments, tags, metrics. What differs is marked with *; many runs are shown as rows."""
    if len(run_ids) < 2:
        raise InvalidInput("One run cannot be compared.", hint="roost run compare ID ID …")
    ws = session.workspace()
    _compare([find_run(ws, each) for each in run_ids], every, as_json)


def _compare(runs: Sequence[Run], every: bool, as_json: bool) -> None:
    found = {run.id: _facts(run) for run in runs}
    keys = sorted(dict.fromkeys(key for facts in found.values() for key in facts), key=lambda key: _KINDS.index(key[0]))
    if as_json:
        rendering.as_json(
            {run_id: {"/".join(key): value for key, value in facts.items()} for run_id, facts in found.items()}
        )
        return
    differing = [key for key in keys if len({facts.get(key, "") for facts in found.values()}) > 1]
    shown = keys if every else differing
    if shown and _fits_beside(shown, found):
        _side_by_side(shown, differing, found)
    elif shown:
        _by_run(shown, differing if every else [], found)
    same = len(keys) - len(differing)
    if same and not every:
        print(f"{rendering.count(same, 'thing')} the same in all of them: --all shows {'it' if same == 1 else 'them'}.")


def _fits_beside(keys: Sequence[Key], found: Found) -> bool:
    """Whether each run has room for a column, in a terminal."""
    labels = max(rendering.wide(" ".join(key)) for key in keys) + 2
    return not sys.stdout.isatty() or labels + len(found) * (_LEAST + 2) <= shutil.get_terminal_size().columns


def _side_by_side(keys: Sequence[Key], differing: Sequence[Key], found: Found) -> None:
    """A row for each thing, a column for each run."""
    rows = [
        (f"{'*' if key in differing else ' '} {' '.join(key)}", *(facts.get(key, "") for facts in found.values()))
        for key in keys
    ]
    heads = _heads(list(found), max(len(row[0]) for row in rows))
    rendering.table(("", *heads), rows, cut=heads)


def _by_run(keys: Sequence[Key], marked: Sequence[Key], found: Found) -> None:
    """A row for each run, a column for each thing; as many tables below each other as the terminal's width asks for."""
    room = shutil.get_terminal_size().columns
    ids = _heads(list(found), room)
    taken = max(map(len, ids))
    texts = {key: [rendering.clean(facts.get(key, "")) for facts in found.values()] for key in keys}
    names = {key: rendering.clean(key[1] if key[0] in _PLAIN else " ".join(key)) for key in keys}
    heads = {key: ("* " if key in marked else "") + name for key, name in names.items()}
    pages: list[list[Key]] = [[]]
    used = taken
    for key in keys:
        width = min(_WIDEST, max(map(rendering.wide, [heads[key], *texts[key]])))
        if pages[-1] and used + 2 + width > room:
            pages.append([])
            used = taken
        pages[-1].append(key)
        used += 2 + width
    for number, page in enumerate(pages):
        if number:
            print()
        rows = [[run, *(rendering.clipped(texts[key][at], _WIDEST) for key in page)] for at, run in enumerate(ids)]
        rendering.table(["run", *(rendering.clipped(heads[key], _WIDEST) for key in page)], rows)


def _heads(ids: list[str], taken: int) -> list[str]:
    """The runs' ids; on a terminal too narrow for them their last parts, which name them as well."""
    short = [run_id.rpartition("_")[2] for run_id in ids]
    needed = taken + sum(len(run_id) + 2 for run_id in ids)
    fits = not sys.stdout.isatty() or needed <= shutil.get_terminal_size().columns
    return ids if fits or len(set(short)) < len(ids) else short


def _facts(run: Run) -> dict[tuple[str, str], str]:
    """What can be compared of a run, as texts; in the order in which it is shown."""
    record = run_records.get(run._connection.client, run.id)
    summary = run._connection.client.call("GET", path_of("runs", run.id, "metrics", "summary"))["metrics"]
    facts: dict[tuple[str, str], str] = {
        ("run", "status"): record.status.value,
        ("run", "experiment"): record.experiment,
        ("run", "name"): record.display_name,
        ("run", "script"): record.spec.script or " ".join(record.spec.command),
        ("run", "target"): record.spec.target,
        ("run", "snapshot"): record.spec.snapshot[:12],
        ("run", "took"): _took(record),
    }
    facts |= {("argument", key): value for key, value in by_name(record.spec.arguments).items()}
    facts |= {("tag", key): "set" if value is None else value for key, value in sorted(record.tags.items())}
    facts |= {("metric", each["name"]): metric_summaries.last(each) for each in summary}
    return facts


def _took(record: RunRecord) -> str:
    if record.started_at is None or record.ended_at is None:
        return ""
    return rendering.duration(record.ended_at - record.started_at)
