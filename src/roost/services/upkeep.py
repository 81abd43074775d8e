"""Upkeep: sweeps blobs that nothing refers to, returns disk space, and refuses new runs when the disk is nearly full.

A sweep first marks: the blobs that rows refer to, and those that manifests among them list. A blob that was used within the grace
stays, and a manifest that stays keeps the blobs that it lists: clients rely on that when they ask for the manifest alone.
Manifests are deleted before content, so a manifest that a client asks for during the sweep is either gone, or stays with all its
blobs.
"""

import contextlib
import logging
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from roost.domain.errors import DiskFull
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.objects import folder
from roost.services import reserve
from roost.services.context import Context
from roost.services.datastores import DATA
from roost.services.submissions import MAX_MANIFEST
from roost.store.base import ExperimentSize

log = logging.getLogger("roost.upkeep")

GRACE_SECONDS = 3600.0
"""How long a blob is kept after its last use, so that an upload in flight is safe."""
_LISTED = re.compile(rb"^f\t[0-7]+\t\d+\t([0-9a-f]{64})\t", re.MULTILINE)
_HEADS = (b"f\t", b"l\t", b"d\t")


@dataclass(frozen=True, kw_only=True)
class Swept:
    """The result of a sweep, or of a dry run."""

    blobs: int
    bytes: int
    young_blobs: int
    """Not referred to, but used within the grace: a later sweep frees them."""
    young_bytes: int
    database_bytes: int
    """Freed by compacting the database."""
    part_bytes: int
    """Bytes of partial files that killed uploads left in the workspaces' own datastores."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Disk usage by purpose."""

    disk_bytes: int
    disk_used: int
    disk_free: int
    disk_limit: int
    """Percent at which new runs are refused; 0 for no limit."""
    database_bytes: int
    blobs: int
    file_bytes: int
    """Stored content of runs' files, each once."""
    model_bytes: int
    """Stored content of models, each once, without what is counted for runs' files."""
    archive_bytes: int
    """Stored content of archives of environments, each once, without what is counted above."""
    snapshot_bytes: int
    """Stored content of snapshots and the rest, each once, without what is counted above."""
    unused_bytes: int
    """Bytes that the next sweep frees, now or once they are old enough."""
    data_bytes: int
    """Bytes of files in the workspaces' own datastores."""
    experiments: tuple[ExperimentSize, ...]


@dataclass(frozen=True, slots=True)
class _Marked:
    kept: set[str]
    dead: list[tuple[str, int]]
    young: list[int]


def sweep(
    context: Context,
    caller: Caller,
    *,
    dry_run: bool = False,
    without: Sequence[str] = (),
    grace: float = GRACE_SECONDS,
) -> Swept:
    """Frees blobs that nothing refers to. A dry run reports what would be freed, also as if the runs `without` were deleted. One
    at a time."""
    caller.require(Action.SWEEP)
    with context.upkeep.taken():
        limit = context.clock() - grace
        marked = _mark(context, without if dry_run else (), limit)
        gone = [size for _, size in marked.dead] if dry_run else list(_discard(context, marked, limit))
        swept = Swept(
            blobs=len(gone),
            bytes=sum(gone),
            young_blobs=len(marked.young),
            young_bytes=sum(marked.young),
            part_bytes=sum(folder.left(_data(context), context.clock() - folder.LEFT_SECONDS, keep=dry_run)),
            database_bytes=0 if dry_run else _compact(context),  # last: only this needs free space first
        )
        if context.reserve is not None and not dry_run:
            context.reserve.make()
        return swept


def _compact(context: Context) -> int:
    try:
        return reserve.spend(context.reserve, context.store.upkeep.compact)
    except DiskFull as error:
        log.warning("the database gives no room back: %s", error.message)  # a later sweep tries again
        return 0


def referred(context: Context) -> list[tuple[str, int]]:
    """Every stored blob that a row or its manifest refers to, with its size, sorted by name."""
    found = context.store.upkeep.references()
    names = found.files | _with_listed(context, found.others)
    return [(name, size) for name in sorted(names) if (size := context.blobs.size(name)) is not None]


def _with_listed(context: Context, names: set[str]) -> set[str]:
    return names.union(*(_listed(context, name) for name in names))


def _mark(context: Context, without: Sequence[str], limit: float) -> _Marked:
    found = context.store.upkeep.references(without=without)
    kept = found.files | _with_listed(context, found.others)
    dead: list[tuple[str, int]] = []
    young: list[int] = []
    for name, size, used_at in context.blobs.walk():
        if name in kept:
            continue
        if used_at >= limit:
            young.append(size)
            kept.update(_listed(context, name, size))
        else:
            dead.append((name, size))
    return _Marked(kept, [each for each in dead if each[0] not in kept], young)


def _discard(context: Context, marked: _Marked, limit: float) -> Iterator[int]:
    """Deletes the marked blobs; yields the size of each."""
    plain: list[str] = []
    for name, size in marked.dead:
        listed = _listed(context, name, size)
        if not listed:
            plain.append(name)
        elif (freed := context.blobs.discard(name, unless_since=limit)) is not None:
            yield freed
        else:
            marked.kept.update(listed)  # a client has just asked for it
    for name in plain:
        if name not in marked.kept and (freed := context.blobs.discard(name, unless_since=limit)) is not None:
            yield freed


def _listed(context: Context, name: str, size: int | None = None) -> list[str]:
    """The blobs that a manifest lists; none for any other blob."""
    size = context.blobs.size(name) if size is None else size
    if size is None or not 2 <= size <= MAX_MANIFEST or next(context.blobs.open(name, 0, 2), b"") not in _HEADS:
        return []
    return [each.decode() for each in _LISTED.findall(context.blobs.get(name))]


def usage(context: Context, caller: Caller) -> Usage:
    """Measures the disk usage; changes nothing."""
    caller.require(Action.USAGE_READ)
    found = context.store.upkeep.references()
    kept = _with_listed(context, found.others)
    models = _with_listed(context, found.models)
    archives = _with_listed(context, found.archives)
    blobs = file_bytes = model_bytes = archive_bytes = snapshot_bytes = unused_bytes = 0
    for name, size, _ in context.blobs.walk():
        blobs += 1
        if name in found.files:
            file_bytes += size
        elif name in models:
            model_bytes += size
        elif name in archives:
            archive_bytes += size
        elif name in kept:
            snapshot_bytes += size
        else:
            unused_bytes += size
    total, used, free = disk(context)
    return Usage(
        disk_bytes=total,
        disk_used=used,
        disk_free=free,
        disk_limit=context.disk_limit,
        database_bytes=context.store.upkeep.size(),
        blobs=blobs,
        file_bytes=file_bytes,
        model_bytes=model_bytes,
        archive_bytes=archive_bytes,
        snapshot_bytes=snapshot_bytes,
        unused_bytes=unused_bytes,
        data_bytes=sum(_sizes(_data(context))),
        experiments=tuple(context.store.upkeep.sizes()),
    )


def _data(context: Context) -> Path:
    return Path(context.facts.home) / DATA


def _sizes(folder: Path) -> Iterator[int]:
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # deleted meanwhile
                yield os.lstat(os.path.join(place, name)).st_size


def disk(context: Context) -> tuple[int, int, int]:
    """Bytes of the home's disk: total, used, free for this user."""
    found = os.statvfs(context.facts.home)
    used = (found.f_blocks - found.f_bfree) * found.f_frsize
    free = found.f_bavail * found.f_frsize
    return used + free, used, free


def require_room(context: Context) -> None:
    """Raises DiskFull when the disk is too full for a new run."""
    if not context.disk_limit:
        return
    total, used, free = disk(context)
    percent = 100 * used / total if total else 0.0
    if percent >= context.disk_limit:
        raise DiskFull(
            f"No new run is taken in: the disk of {context.facts.home} is {percent:.1f} % full, the limit is "
            f"{context.disk_limit} % ({free / 1e9:.1f} GB of {total / 1e9:.1f} GB are free).",
            hint="`roost du` shows what takes room, `roost gc` frees it; ROOST_DISK_LIMIT sets the limit. Runs that run go on.",
        )
