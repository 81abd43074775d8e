"""Archives of environments: the stored files of a lock, put by build agents, so that it can be installed when no index has them
any more. The files are blobs that a manifest lists; sweeps and back-ups find them by it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from roost.domain import files, names
from roost.domain.environments import Archive, EnvironmentUse
from roost.domain.errors import Conflict, InvalidInput, NotFound
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.domain.runs import Run, RunStatus
from roost.services.context import Context

MAX_MISSING = 10_000
MAX_WORDS = 1000
_HINT = "roost env archive keeps it, where its indexes and channels can be reached."


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The files that a build agent has stored so far."""

    lock: str
    manifest: str
    python: str = ""
    missing: tuple[str, ...] = ()


def is_wanted(context: Context, run: Run) -> bool:
    """True when the build agent of a run stores the files that it installs."""
    use = run.spec.environment
    return use is not None and not use.offline and (use.archive or context.archive_builds)


def check(context: Context, use: EnvironmentUse) -> None:
    """Raises unless a run can be submitted with it: for an offline install, every file must be stored."""
    if (use.archive or use.offline) and not use.lock:
        raise InvalidInput(
            f"Environment {use.name!r} names no lock, and only the files of a lock are kept.",
            hint="Build it first: roost env build NAME",
        )
    if not use.offline:
        return
    known = context.store.environments.archive(use.lock)
    if known is None:
        raise NotFound(f"Nothing is kept of environment {use.name!r} (lock {use.lock[:12]}).", hint=_HINT)
    if not known.complete:
        more = f", and {len(known.missing) - 3} more" if len(known.missing) > 3 else ""
        lacks = "; ".join(each.rstrip(".") for each in known.missing[:3])
        raise InvalidInput(
            f"The archive of environment {use.name!r} (lock {use.lock[:12]}) is not complete: {lacks}{more}.",
            hint=_HINT,
        )


def put(context: Context, caller: Caller, run_id: str, kept: Kept) -> Archive:
    """Stores the archive that the agent of a run in preparation made; it replaces the lock's earlier archive."""
    caller.require(Action.ARCHIVE_WRITE)
    run = context.store.runs.get(names.run_id(run_id))
    if run.status is not RunStatus.PREPARING or not is_wanted(context, run):
        raise Conflict(f"Run {run_id} is {run.status.value} and keeps no files of an environment.")
    if run.spec.environment and run.spec.environment.lock not in ("", kept.lock):
        raise InvalidInput(f"Run {run_id} is for the lock {run.spec.environment.lock}, not {kept.lock}.")
    for blob in (kept.lock, kept.manifest):
        if context.blobs.keep(names.blob(blob)) is None:
            raise InvalidInput(f"The blob {blob} is not here.", hint="Put it first.")
    if len(kept.missing) > MAX_MISSING:
        raise InvalidInput(f"{len(kept.missing)} files are said to be missing; at most {MAX_MISSING} are noted down.")
    entries = [
        each for each in files.read_manifest(context.blobs.get(kept.manifest)) if each.kind is files.EntryKind.FILE
    ]
    lost = context.blobs.missing(each.content for each in entries)
    if lost:
        raise InvalidInput(f"{len(lost)} of its {len(entries)} files are not here, the first is {lost[0]}.")
    archive = Archive(
        lock=kept.lock,
        manifest=kept.manifest,
        python=kept.python[:MAX_WORDS],
        files=len(entries),
        bytes=sum({each.content: each.size for each in entries}.values()),
        missing=tuple(each[:MAX_WORDS] for each in kept.missing),
        kept_at=context.clock(),
    )
    context.store.environments.put_archive(archive)
    return archive


def get(context: Context, caller: Caller, lock: str) -> Archive:
    caller.require(Action.ARCHIVE_READ)
    found = context.store.environments.archive(names.blob(lock))
    if found is None:
        raise NotFound(f"Nothing is kept of the lock {lock}.", hint=_HINT)
    return found


def listing(context: Context, caller: Caller) -> Sequence[Archive]:
    caller.require(Action.ARCHIVE_LIST)
    return context.store.environments.archives()


def drop(context: Context, caller: Caller, lock: str) -> None:
    """The next sweep frees its files, except those that something else refers to."""
    caller.require(Action.ARCHIVE_DELETE)
    if not context.store.environments.drop_archive(names.blob(lock)):
        raise NotFound(f"Nothing is kept of the lock {lock}.")
