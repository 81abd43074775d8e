"""Which files of a run are kept, and their way into the run's history: `./outputs`, `./logs`, the log, the agent's own log.

A symbolic link that leads outside the working copy is never followed: it could name any file of the machine.
"""

import errno
import logging
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from roost.agent.folder import Folder
from roost.agent.launching import ranks
from roost.agent.link import Link, persist
from roost.agent.preparing import snapshot_files
from roost.agent.shipping import shared_folders
from roost.agent.shipping.masking import Masks
from roost.agent.shipping.shared_folders import Together
from roost.domain import names
from roost.domain.environments import BUILD_LOG
from roost.domain.errors import InvalidInput, RoostError
from roost.domain.files import RunFile

_AT_ONCE = 500
_PATIENCE = 600.0  # seconds for a full disk to be freed; what is not kept then is named, and stays on the node
log = logging.getLogger("roost.agent")
Carry = Callable[[Sequence[tuple[str, Path]], list[str]], Iterator[RunFile]]
"""Stores files as blobs; what fails is added to the losses."""


@dataclass
class Found:
    files: list[tuple[str, Path]] = field(default_factory=list)
    """Name in the run's history, and where it is."""
    losses: list[str] = field(default_factory=list)
    """What cannot be kept, in words; it changes the run's end."""


def find(folder: Folder) -> Found:
    """What there is to keep. Things that are no files (links outside, sockets) are passed over and named in the agent's log."""
    found = Found()
    found.files += ranks.logs(folder)
    if folder.build_log.exists():  # of a build that was lost
        found.files.append((BUILD_LOG, folder.build_log))
    made = _made(folder)
    laid = snapshot_files.load(folder)
    found.files += [(name, path) for name, path in made.files if not snapshot_files.is_stale(laid, name, path)]
    found.losses += made.losses
    return found


def note_laid(folder: Folder) -> None:
    """What stands in `./outputs` and `./logs` before the script starts."""
    snapshot_files.note(folder, _made(folder).files)


def _made(folder: Folder) -> Found:
    """Of this node alone."""
    found = Found()
    for top in ("logs", "outputs"):
        if not shared_folders.is_shared(folder, top):
            _look(folder.work / top, top, (folder.work.resolve(),), (), found)
    return found


def made_together(folder: Folder, there: Together, tops: Sequence[str] = shared_folders.TOPS) -> Found:
    """Of all nodes of this machine, less what came with the snapshot."""
    made, laid = Found(), there.laid
    for top in tops:
        _look(there.root / top, top, (folder.work.resolve(), there.root.resolve()), (), made)
    fresh = [(name, path) for name, path in made.files if not snapshot_files.is_stale(laid, name, path)]
    return Found(files=fresh, losses=made.losses)


def note_laid_together(there: Together) -> None:
    """What stands in the folders that the nodes share before the script starts; with the lock held."""
    made = Found()
    for top in shared_folders.TOPS:
        _look(there.root / top, top, (there.root.resolve(),), (), made)
    there.note("laid.json", {name: snapshot_files.signature(path) for name, path in made.files})


def keep_together(folder: Folder, link: Link, masks: Masks, others: Callable[[], set[int]]) -> list[str]:
    """Keeps what the nodes of this machine have made in the folders that they share; what of it could not be, in words. Each node
    does it at its end, and what another has kept is left alone. Logs are kept by the last, for until then they grow, and losses
    are the last one's: a node that still runs may write or remove a file meanwhile. `others` are the nodes that have left
    without a word. Safe twice."""
    there, plan = shared_folders.of(folder), ranks.plan_of(folder)
    if there is None or plan is None:
        return []
    with there.alone():
        left = there.leave(plan.node_rank) | others()
        last = left >= set(range(plan.spec.node_count))
        found = made_together(folder, there, shared_folders.TOPS if last else ("outputs",))
        put_together(there, link, found, partial(_carry, link, masks))
        return found.losses if last else []


def put_together(there: Together, link: Link, found: Found, carry: Carry) -> int:
    """Makes those of the files that no node has kept yet files of the run; how many. With the lock held."""
    fresh = there.fresh(found.files)
    for start in range(0, len(fresh), _AT_ONCE):
        batch = fresh[start : start + _AT_ONCE]
        kept = list(carry([(name, path) for name, path, _ in batch], found.losses))
        persist(partial(link.put_files, kept, of_all=True))
        names_kept = {file.path for file in kept}
        there.note("kept.json", {name: sign for name, _, sign in batch if name in names_kept})
    return len(fresh)


def _look(path: Path, name: str, inside: tuple[Path, ...], above: tuple[Path, ...], found: Found) -> None:
    try:
        if path.is_symlink():
            target = Path(os.path.realpath(path))  # `resolve` raises RuntimeError for a link that leads to itself
            goes_round = target in above or path.parent.resolve().is_relative_to(target)
            if goes_round or not any(target.is_relative_to(each) for each in inside):
                log.warning("%r is a link to %s and is not followed.", name, target)
                return
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            for entry in _entries(path):
                _look(path / entry, f"{name}/{entry}", inside, (*above, path.resolve()), found)
        elif not stat.S_ISREG(mode):
            log.warning("%r is not a file and is not kept.", name)
        elif not os.access(path, os.R_OK):
            found.losses.append(f"{name!r} (it may not be read)")
        else:
            found.files.append((names.path(name), path))
    except InvalidInput as error:
        found.losses.append(error.message.rstrip("."))
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ELOOP):
            found.losses.append(f"{name!r} ({error.strerror})")
        elif path.is_symlink():
            log.warning("%r is a link to nothing and is not kept.", name)


def _entries(path: Path) -> list[str]:
    with os.scandir(path) as entries:
        return sorted(entry.name for entry in entries)


def keep(folder: Folder, link: Link, masks: Masks, found: Found) -> list[RunFile]:
    """Moves the files' content to the control plane. What fails is added to the losses, and the rest is kept."""
    kept: list[RunFile] = []
    for start in range(0, len(found.files), _AT_ONCE):
        kept += _carry(link, masks, found.files[start : start + _AT_ONCE], found.losses)
    if folder.agent_log.exists():
        data = folder.agent_log.read_bytes()  # it still grows: what is read here is what is kept
        blob = persist(lambda: link.carrier.put(data))
        name = ranks.agent_log(folder)
        kept.append(RunFile(path=name, blob=blob, size=len(data), modified_at=folder.agent_log.stat().st_mtime))
    return kept


def _shown(masks: Masks, name: str, path: Path) -> Path:
    """Logs are kept without the secrets that the run has read; what it made on purpose is kept as it is."""
    return masks.sealed(name, path) if name.startswith(("user_logs/", "logs/")) else path


def _carry(link: Link, masks: Masks, files: Sequence[tuple[str, Path]], losses: list[str]) -> Iterator[RunFile]:
    """All at once; where that fails, one by one, so that the one at fault is known."""
    try:
        shown = [_shown(masks, name, path) for name, path in files]
        times = [path.stat().st_mtime for _, path in files]
        carried = persist(lambda: link.carrier.carry(shown), seconds=_PATIENCE)
    except (RoostError, OSError) as error:
        if len(files) == 1:
            losses.append(f"{files[0][0]!r} ({error.strerror if isinstance(error, OSError) else error.args[0]})")
            return
        for file in files:
            yield from _carry(link, masks, [file], losses)
        return
    for (name, _), (blob, size), modified in zip(files, carried, times, strict=True):
        yield RunFile(path=name, blob=blob, size=size, modified_at=modified)
