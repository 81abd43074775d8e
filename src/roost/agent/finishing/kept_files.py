"""Finds the files of a run that are kept, and stores them in its history: `./outputs`, `./logs`, the log, the agent's own log.

A symbolic link that leads outside the working copy is never followed: it could lead to any file of the machine.
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
_PATIENCE = 600.0  # seconds to wait for a full disk; files not kept by then are reported, and stay on the node
log = logging.getLogger("roost.agent")
Carry = Callable[[Sequence[tuple[str, Path]], list[str]], Iterator[RunFile]]
"""Stores files as blobs; adds failures to the losses."""


@dataclass
class Found:
    files: list[tuple[str, Path]] = field(default_factory=list)
    """Name in the run's history, and path."""
    losses: list[str] = field(default_factory=list)
    """Descriptions of files that cannot be kept; they change the run's end."""


def find(folder: Folder) -> Found:
    """The files to keep. Entries that are not files (links outside, sockets) are skipped, and listed in the agent's log."""
    found = Found()
    found.files += ranks.logs(folder)
    if folder.build_log.exists():  # left by a lost build agent
        found.files.append((BUILD_LOG, folder.build_log))
    made = _made(folder)
    laid = snapshot_files.load(folder)
    found.files += [(name, path) for name, path in made.files if not snapshot_files.is_stale(laid, name, path)]
    found.losses += made.losses
    return found


def note_laid(folder: Folder) -> None:
    """Records the files in `./outputs` and `./logs` before the script starts."""
    snapshot_files.note(folder, _made(folder).files)


def _made(folder: Folder) -> Found:
    """The files in this node's own folders."""
    found = Found()
    for top in ("logs", "outputs"):
        if not shared_folders.is_shared(folder, top):
            _look(folder.work / top, top, (folder.work.resolve(),), (), found)
    return found


def made_together(folder: Folder, there: Together, tops: Sequence[str] = shared_folders.TOPS) -> Found:
    """The files in the shared folders of this machine's nodes, without unchanged ones of the snapshot."""
    made, laid = Found(), there.laid
    for top in tops:
        _look(there.root / top, top, (folder.work.resolve(), there.root.resolve()), (), made)
    fresh = [(name, path) for name, path in made.files if not snapshot_files.is_stale(laid, name, path)]
    return Found(files=fresh, losses=made.losses)


def note_laid_together(there: Together) -> None:
    """Records the files in the shared folders before the script starts; with the lock held."""
    made = Found()
    for top in shared_folders.TOPS:
        _look(there.root / top, top, (there.root.resolve(),), (), made)
    there.note("laid.json", {name: snapshot_files.signature(path) for name, path in made.files})


def keep_together(folder: Folder, link: Link, masks: Masks, others: Callable[[], set[int]]) -> list[str]:
    """Keeps the files in the shared folders of this machine's nodes; returns losses as text. Each node does this at its end, and
    skips files that another has kept. Only the last node keeps logs, since they grow until then, and returns losses, since a
    running node may still write or remove files. `others` returns nodes that have ended, even without `leave`. Safe twice."""
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
    """Adds the files that no node has kept yet to the run; returns their number. With the lock held."""
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
            target = Path(os.path.realpath(path))  # `resolve` raises RuntimeError for a link to itself
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
    """Sends the files' content to the control plane. Failures are added to the losses, and the rest is kept."""
    kept: list[RunFile] = []
    for start in range(0, len(found.files), _AT_ONCE):
        kept += _carry(link, masks, found.files[start : start + _AT_ONCE], found.losses)
    if folder.agent_log.exists():
        data = folder.agent_log.read_bytes()  # read once, since it still grows
        blob = persist(lambda: link.carrier.put(data))
        name = ranks.agent_log(folder)
        kept.append(RunFile(path=name, blob=blob, size=len(data), modified_at=folder.agent_log.stat().st_mtime))
    return kept


def _shown(masks: Masks, name: str, path: Path) -> Path:
    """The file to store: for logs the masked copy, for outputs the file itself."""
    return masks.sealed(name, path) if name.startswith(("user_logs/", "logs/")) else path


def _carry(link: Link, masks: Masks, files: Sequence[tuple[str, Path]], losses: list[str]) -> Iterator[RunFile]:
    """Stores all files together; if that fails, one by one, to find the file at fault."""
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
