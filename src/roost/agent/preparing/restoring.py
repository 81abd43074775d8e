"""Restores the last stored `./outputs`, with checkpoints, of a run that starts again after its nodes were taken away.

The nodes of one machine share them; otherwise each node has its own, and `beside` names the files of nodes that had different
content under one path. A restored file that does not change counts as stored.
"""

import logging
import os
import shutil
from pathlib import Path

from roost.agent.finishing.kept_files import note_laid, note_laid_together
from roost.agent.folder import Folder
from roost.agent.link import Link
from roost.agent.shipping import shared_folders
from roost.agent.shipping.shared_folders import Together
from roost.domain import names
from roost.domain.codec import decode
from roost.domain.files import RunFile, beside
from roost.domain.plans import Plan
from roost.transport.carrying import Meanwhile

log = logging.getLogger("roost.agent")


def restore(folder: Folder, plan: Plan, link: Link, meanwhile: Meanwhile) -> int:
    """Returns the number of restored files; 0 at the first attempt. Raises RoostError or OSError, or what `meanwhile` raises."""
    if plan.attempt == 1:
        return 0
    there = shared_folders.of(folder)
    if there is None:
        return _restore(folder, plan, link, meanwhile)
    with shared_folders.once(there, "restored") as first:  # the nodes of this machine share one folder
        count = _restore(folder, plan, link, meanwhile, there) if first else 0
        if first:
            note_laid_together(there)
    return count


def _restore(folder: Folder, plan: Plan, link: Link, meanwhile: Meanwhile, there: Together | None = None) -> int:
    answer = link.client.call("GET", link.path("files"), params={"prefix": "outputs"})
    files = {file.path: file for file in (decode(RunFile, each) for each in answer["files"]) if file.blob}
    own = files if there else _own(files, plan)
    roots = [os.path.realpath(root) for root in (folder.work, *([there.root] if there else []))]
    for path, file in own.items():
        meanwhile()
        target = folder.work / names.path(path)
        parent = Path(os.path.realpath(target.parent))
        if not any(parent.is_relative_to(root) for root in roots):  # a link of the snapshot
            log.warning("%r would be written to %s, outside the run's folder, and is not restored.", path, parent)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        _clear(target)
        link.carrier.fetch(file.blob, target)
    if there is None:
        note_laid(folder)
    log.info("Attempt %d goes on with %d files of ./outputs.", plan.attempt, len(own))
    return len(own)


def _own(files: dict[str, RunFile], plan: Plan) -> dict[str, RunFile]:
    """This node's files by their original paths."""
    apart = {
        beside(path, rank): (path, rank) for path in files for rank in range(1, plan.spec.node_count)
    }  # names under which later nodes' files may be stored
    own = {path: file for path, file in files.items() if path not in apart}
    for path, (before, rank) in apart.items():
        if path in files and rank == plan.node_rank:
            own[before] = files[path]
    return own


def _clear(target: Path) -> None:
    """Removes what the snapshot has at this path."""
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)
