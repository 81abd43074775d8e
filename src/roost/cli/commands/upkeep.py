"""`roost du` and `roost gc`: what takes room, and how it is freed."""

import sys
from dataclasses import replace
from typing import Any

import typer

from roost.cli import rendering, session
from roost.cli.inputs import parsing, prompts
from roost.cli.inputs.parameters import AS_JSON, YES
from roost.domain.errors import InvalidInput
from roost.domain.runs import TERMINAL, Run, RunKind, RunStatus
from roost.sdk.calls import searches
from roost.sdk.connection import discovery
from roost.sdk.operations import upkeep
from roost_job.exceptions import ServiceException
from roost_job.listing import some

_CACHE_AGE = "30d"
_LISTED = 20


def du(as_json: bool = AS_JSON) -> None:
    """Show what takes room: runs' files, models, snapshots, the database, caches."""
    connection = session.workspace()._connection
    used = upkeep.usage(connection)
    here = upkeep.folders(connection.home) if connection.home.is_dir() and not session.is_elsewhere() else {}
    if as_json:
        rendering.as_json({**used, "home": str(connection.home), "folders": here})
        return
    size = rendering.size
    rows = [
        ("files of runs", size(used["file_bytes"]), "outputs and logs, each content once"),
        ("models", size(used["model_bytes"]), "of the registry, less what is among the files of runs"),
        ("archives", size(used["archive_bytes"]), "of environments, less what is among the above: roost env archive"),
        ("snapshots", size(used["snapshot_bytes"]), "source folders and environments"),
        ("data", size(used["data_bytes"]), "files in the workspaces' own datastores"),
        ("unused", size(used["unused_bytes"]), "left by deleted runs, models and uploads: roost gc"),
        ("database", size(used["database_bytes"]), "metrics, live logs, everything else"),
    ]
    shown = [
        (name, count)
        for name, count in here.items()
        if name.endswith("/") and name not in ("blobs/", "data/") and count
    ]
    rows += [(name, size(count), f"in {connection.home}") for name, count in shown]
    rendering.table(("what", "size", ""), rows)
    if used["experiments"]:
        print()
        sizes = [(e["experiment"], e["workspace"], str(e["runs"]), size(e["bytes"])) for e in used["experiments"]]
        rendering.table(("experiment", "workspace", "runs", "files"), sizes)
    percent = 100 * used["disk_used"] / max(1, used["disk_bytes"])
    limit = f"; new runs are refused from {used['disk_limit']} %" if used["disk_limit"] else ""
    print(f"\nThe disk is {percent:.0f} % full, {size(used['disk_free'])} are free{limit}.")


def gc(
    older_than: str | None = typer.Option(
        None,
        metavar="AGE",
        help="Delete runs that were submitted longer ago: 12h, 30d, 8w, or before a day: 2026-11-01. m is minutes, not months.",
    ),
    experiment: str | None = typer.Option(
        None, "--experiment", "-e", metavar="NAME", help="Delete runs of this experiment only."
    ),
    tag: list[str] = typer.Option(
        [], "--tag", "-t", metavar="K=V", help="Delete runs with this tag only, k or k=v; repeated: all of them."
    ),
    status: list[str] = typer.Option(
        [], "--status", "-s", metavar="STATUS", help="Delete runs in this status only; repeated: any."
    ),
    keep_tag: list[str] = typer.Option(
        [], metavar="K=V", help="Keep runs with this tag, k or k=v; repeated: any of them."
    ),
    caches: str = typer.Option(
        _CACHE_AGE,
        metavar="AGE",
        help="Drop caches and environments of this machine not used for so long: 12h, 30d, 8w; m is minutes.",
    ),
    model_runs: bool = typer.Option(
        False, "--model-runs", help="Delete runs behind registered models too; else they are kept."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Say what would go; change nothing."),
    yes: bool = YES,
    as_json: bool = AS_JSON,
) -> None:
    """Free room: what deleted runs left, old caches, and runs chosen by age, experiment, tag or status. Runs behind registered
    models are kept: how a model was made would be lost with them."""
    chosen = bool(older_than or experiment or tag or status)
    until = None if older_than is None else parsing.moment(older_than)
    ages, tags, spared = parsing.seconds(caches), parsing.tags(tag), parsing.tags(keep_tag)
    statuses = parsing.statuses(status)
    ws, early = _workspace(ages, dry_run)
    connection = ws._connection
    going = _going(ws, until, experiment, tags, statuses, spared) if chosen else []
    families = {run.id: upkeep.family(connection, run.id) for run in going}
    behind = upkeep.runs_behind_models(connection, ws.name) if going else {}
    kept = [] if model_runs else [run for run in going if any(each in behind for each in families[run.id])]
    going = [run for run in going if run not in kept]
    deleted = [each for run in going for each in families[run.id]]
    made = {run_id: [model for each in family for model in behind.get(each, ())] for run_id, family in families.items()}
    _list(going, kept, made, "These would go:" if dry_run else "These go:")
    when = f" {parsing.submitted_before(older_than)}" if older_than else ""
    if going and not dry_run:
        words = f"{rendering.count(len(deleted), 'run')}{when}, those below others counted, will be deleted for good."
        prompts.confirm(words, yes)
        deleted = []
        with rendering.progress("deleting runs") as bar:
            for number, run in enumerate(going):
                bar(number, len(going))
                deleted += upkeep.delete_run(connection, run.id)
    with rendering.progress("sweeping"):
        swept = upkeep.sweep(connection, dry_run=dry_run, without=deleted if dry_run else ())
    old = upkeep.old_caches(connection.home, ages)
    cached = sum(size for _, size in old) if dry_run else early + upkeep.drop_caches(old)
    if as_json:
        rendering.as_json(
            {"dry_run": dry_run, "runs": deleted, "kept": [run.id for run in kept], **swept, "cache_bytes": cached}
        )
        return
    if chosen:
        print(f"{rendering.count(len(deleted), 'run')}{when} {'would be ' if dry_run else ''}deleted.")
    _told(swept, cached, dry_run)


def _workspace(ages: float, dry_run: bool) -> tuple[Any, int]:
    """The workspace, and how many bytes of caches had to go first, so that its control plane had room to start."""
    try:
        return session.workspace(), 0
    except ServiceException:
        early = (
            0 if dry_run or session.is_elsewhere() else upkeep.drop_caches(upkeep.old_caches(discovery.home(), ages))
        )
        if not early:
            raise
        return session.workspace(), early


def _going(
    ws: Any,
    until: float | None,
    experiment: str | None,
    tags: dict[str, str | None],
    status: list[RunStatus],
    spared: dict[str, str | None],
) -> list[Run]:
    """Ended runs that were chosen. A run that has no parent brings those below it along."""
    wrong = [each.value for each in status if each not in TERMINAL]
    if wrong:
        raise InvalidInput(f"Runs that are {', '.join(wrong)} cannot be deleted.", hint="Cancel them first.")
    search = searches.Search(experiment=experiment, statuses=status or sorted(TERMINAL), tags=tags, until=until)
    kinds = [None] if experiment else [None, RunKind.REPLICA]  # an experiment's are all its runs
    searched = [replace(search, kind=kind) for kind in kinds]
    found = [run for each in searched for run in searches.find(ws._connection.client, ws.name, each, page=1000)]
    return [run for run in found if not any(_has(run, key, value) for key, value in spared.items())]


def _has(run: Run, key: str, value: str | None) -> bool:
    return key in run.tags and (value is None or run.tags[key] == value)


def _list(going: list[Run], kept: list[Run], made: dict[str, list[str]], first: str) -> None:
    """Which runs go and which are kept, on stderr: it is part of the question. `made` are the models that come from each."""
    for runs, head in ((going, first), (kept, "These are kept, because registered models come from them:")):
        if runs:
            print(head, file=sys.stderr)
        for run in runs[:_LISTED]:
            print(_line(run, made[run.id]), file=sys.stderr)
        if len(runs) > _LISTED:
            print(f"  … and {len(runs) - _LISTED} more", file=sys.stderr)
    if kept:
        print("--model-runs deletes them too; the models stay.", file=sys.stderr)


def _line(run: Run, models: list[str]) -> str:
    words = f"  {run.id}  {run.status.value}, {rendering.ago(run.created_at)}  {rendering.clean(run.display_name)}"
    return words.rstrip() + (f"  made {some(models)}" if models else "")


def _told(swept: dict[str, Any], cached: int, dry_run: bool) -> None:
    size, would = rendering.size, "would be " if dry_run else ""
    print(f"{size(swept['bytes'])} in {rendering.count(swept['blobs'], 'stored file')} {would}freed.")
    if dry_run:
        print("The database would give back the room of deleted rows; how much is known afterwards.")
    else:
        print(f"{size(swept['database_bytes'])} given back by the database.")
    if swept["part_bytes"]:
        print(f"{size(swept['part_bytes'])} that broken uploads left in datastores {would}freed.")
    print(f"{size(cached)} of caches and environments {would}dropped.")
    if swept["young_bytes"]:
        young = f"{size(swept['young_bytes'])} in {rendering.count(swept['young_blobs'], 'more stored file')}"
        print(
            f"{young} spared: nothing refers to them, but they were used within\n"
            "the last hour, the grace for uploads that are under way. They go by themselves within two\n"
            "hours, or with `roost gc` once that hour is over."
        )
