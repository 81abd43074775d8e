"""The end of a run: sends the last data and the files, reports the end, then deletes the folder.

Shared by the agent and the salvage pass. Nothing is deleted before it has arrived.
"""

import logging
import os
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from roost.agent.finishing import outputs
from roost.agent.finishing.kept_files import find, keep, keep_together
from roost.agent.finishing.outcomes import Outcome
from roost.agent.folder import Folder
from roost.agent.launching import ranks
from roost.agent.link import Link, held_up, persist
from roost.agent.preparing.inputs import Teller
from roost.agent.shipping import shared_folders
from roost.agent.shipping.masking import Masks
from roost.agent.shipping.ship import Cargo
from roost.domain.codec import decode
from roost.domain.errors import Forbidden, NotFound, Unauthorized
from roost.domain.gangs import Member, Phase
from roost.domain.runs import Reason, RunStatus
from roost_job.mpi import shell_folder

log = logging.getLogger("roost.agent")


def finish(
    folder: Folder, link: Link, cargo: Cargo, masks: Masks, outcome: Outcome, ship: Callable[[float], None]
) -> None:
    """Sends everything of the run and reports the outcome. `ship` ends the shipping thread, which works meanwhile. Time in which
    the control plane was away or had a full disk does not count as the run's."""
    away = link.client.away + held_up()
    try:
        problems = _deliver(folder, link, outcome.at) if outcome.to is RunStatus.COMPLETED else []
        found = find(folder)
        found.losses += problems
        files = keep(folder, link, masks, found)
        ship(outcome.at)
        persist(lambda: cargo.round(last=True))
        persist(lambda: link.put_files(files))
        common = keep_together(folder, link, masks, partial(_ended_nodes, link))
        found.losses += common
        end = outcome.with_losses(found.losses, folder.root if problems else folder.work)
        log.info("The end: %s (%s).", end.to.value, end.reason.value)
        ended_at = max(outcome.at, time.time() - (link.client.away + held_up() - away))
        run = persist(lambda: link.say(end.to, end.reason, end.message, end.exit_code, at=ended_at))
        log.info("The run is %s.", run.status.value)
    except (NotFound, Forbidden, Unauthorized) as error:
        leave(folder, error.message)
        return
    if (run.status.is_terminal or run.status is RunStatus.QUEUED) and not common:
        shared_folders.remove(folder, _attempt(folder))
    if (shell := shell_folder(str(folder.ranks))) != str(folder.ranks):
        shutil.rmtree(shell, ignore_errors=True)
    if not found.losses:
        remove(folder.root)


def leave(folder: Folder, why: str) -> None:
    """Leaves the run's files in place, with an explanation beside them, since the control plane does not take them."""
    log.error("Nobody takes what this run has left; it stays in %s. %s", folder.root, why)
    words = (
        f"The control plane of {folder.home} does not know run {folder.run_id} any more: {why}\n"
        f"Nothing of it was deleted ({time.strftime('%Y-%m-%d %H:%M:%S')}). Here are:\n"
        "  work/        its working copy, with ./outputs and ./logs\n"
        "  std_log.txt  what it printed\n"
        "  spool/       what it logged\n"
        "  agent.log    what its agent did\n"
        "Delete this folder when you have what you need.\n"
    )
    try:
        folder.left.write_text(words, encoding="utf-8")
    except OSError as error:
        log.warning("%s cannot be written: %s", folder.left, error.strerror)


def _attempt(folder: Folder) -> int:
    plan = ranks.plan_of(folder)
    return plan.attempt if plan else 1


def _ended_nodes(link: Link) -> set[int]:
    """Nodes that have ended according to the control plane, including those that never started."""
    answer = persist(lambda: link.client.call("GET", link.path("agents")))
    members = [decode(Member, each) for each in answer["members"]]
    return {member.node_rank for member in members if member.phase is Phase.ENDED}


def _deliver(folder: Folder, link: Link, ended_at: float) -> list[str]:
    """Uploads the run's outputs; returns those that could not be uploaded."""
    plan, _ = folder.read_plan()
    if not plan.spec.outputs:
        return []
    persist(lambda: link.say(RunStatus.FINALIZING, Reason.SCRIPT_ENDED, at=ended_at))
    return outputs.deliver(folder, plan, link, Teller(folder.std_log).say)


def remove(root: Path) -> None:
    """Deletes the run's folder, even if the script made folders in it read-only."""

    tried: set[str] = set()

    def again(function: Callable[..., object], path: str, _: object) -> None:
        try:
            _open_up(root, os.path.dirname(path))
            _open_up(root, path)
            if function in (os.unlink, os.rmdir):
                function(path)
            elif path not in tried:  # a folder that could not be read
                tried.add(path)
                shutil.rmtree(path, onerror=again)
        except OSError as problem:
            log.warning("%s cannot be deleted: %s", path, problem.strerror)

    shutil.rmtree(root, onerror=again)


def _open_up(root: Path, path: str) -> None:
    """Restores the rights on a folder inside the root; a link's target stays unchanged. It uses a descriptor, so that the folder
    cannot be replaced by a link meanwhile."""
    try:
        folder = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except NotADirectoryError:  # deleting a file or a link needs no rights on it
        return
    try:
        held = f"/proc/self/fd/{folder}"
        if Path(os.readlink(held)).is_relative_to(os.path.realpath(root)):
            os.chmod(held, 0o700)
    finally:
        os.close(folder)
