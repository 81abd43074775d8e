"""Runs side by side: one row per thing, one column per run; `*` marks what differs."""

import shutil
import sys
from collections.abc import Sequence

from roost.cli import rendering, showing
from roost.domain.arguments import by_name
from roost.domain.runs import Run as RunRecord
from roost.sdk import records
from roost.sdk.runs import Run
from roost.transport.client import path_of

_KINDS = ("run", "argument", "tag", "metric")
"""What is compared, in the order in which it is shown."""


def compare(runs: Sequence[Run], every: bool, as_json: bool) -> None:
    found = {run.id: _facts(run) for run in runs}
    keys = sorted(dict.fromkeys(key for facts in found.values() for key in facts), key=lambda key: _KINDS.index(key[0]))
    if as_json:
        rendering.as_json(
            {run_id: {"/".join(key): value for key, value in facts.items()} for run_id, facts in found.items()}
        )
        return
    rows = []
    for key in keys:
        values = [facts.get(key, "") for facts in found.values()]
        differs = len(set(values)) > 1
        if differs or every:
            rows.append((f"{'*' if differs else ' '} {' '.join(key)}", *values))
    heads = _heads(list(found), max((len(row[0]) for row in rows), default=0))
    if rows:
        rendering.table(("", *heads), rows, cut=heads)
    same = len(keys) - sum(row[0].startswith("*") for row in rows)
    if same and not every:
        print(f"{rendering.count(same, 'thing')} the same in all of them: --all shows {'it' if same == 1 else 'them'}.")


def _heads(ids: list[str], taken: int) -> list[str]:
    """The runs' ids; on a terminal too narrow for them their last parts, which name them as well."""
    short = [run_id.rpartition("_")[2] for run_id in ids]
    needed = taken + sum(len(run_id) + 2 for run_id in ids)
    fits = not sys.stdout.isatty() or needed <= shutil.get_terminal_size().columns
    return ids if fits or len(set(short)) < len(ids) else short


def _facts(run: Run) -> dict[tuple[str, str], str]:
    """What can be compared of a run, as texts; in the order in which it is shown."""
    record = records.get(run._connection.client, run.id)
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
    facts |= {("metric", each["name"]): showing.last(each) for each in summary}
    return facts


def _took(record: RunRecord) -> str:
    if record.started_at is None or record.ended_at is None:
        return ""
    return rendering.duration(record.ended_at - record.started_at)
