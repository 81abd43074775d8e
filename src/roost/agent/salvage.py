"""The salvage pass: ships what a killed agent left behind, and reports the run's end. Safe twice."""

import logging
import time
from dataclasses import replace

from roost.agent.door import datasets, door
from roost.agent.finishing import outcomes
from roost.agent.finishing.finish import finish, leave, remove
from roost.agent.finishing.outcomes import Outcome
from roost.agent.folder import Folder
from roost.agent.launching import contained, limits, ranks, replicas
from roost.agent.link import Link, persist
from roost.agent.orders import Orders
from roost.agent.processes import Tree
from roost.agent.shipping.masking import Masks
from roost.agent.shipping.ship import Cargo
from roost.agent.shipping.staging import Staging
from roost.domain.codec import decode
from roost.domain.errors import Forbidden, NotFound, RoostError, Unauthorized
from roost.domain.runs import Reason, Run, RunStatus

log = logging.getLogger("roost.agent")
BUILD_LOST = "The agent that built its environment ended unexpectedly, twice."
_MOMENTS = 5.0
"""How long to wait for a run to end after its build agent was lost, before its folder is left to another agent."""
LOST = "The run's agent ended unexpectedly, and the script was ended with it."
LOST_BEFORE = "The run's agent ended unexpectedly, before it had reported that the script was started."
_BEGUN = (RunStatus.RUNNING, RunStatus.FINALIZING, RunStatus.NOT_RESPONDING)
LOST_LATE = (
    "The run's agent ended unexpectedly, and the script ended unseen: no process of it was left when its files were saved. Its "
    "exit code is not known."
)


def salvage(folder: Folder, why: str = "", ended: int = 0) -> None:
    """`why`: the reason for the agent's end, if its keeper found one; `ended`: how many processes the keeper ended."""
    began = time.time()
    plan, access = folder.read_plan()
    link = Link(folder, access, attempt=plan.attempt)
    for place in (folder.spool, folder.staged):
        place.mkdir(mode=0o700, exist_ok=True)
    count = Tree(folder.mark).end()  # by mark: the agent's keeper may be gone too
    was_running = bool(count or ended or folder.container.exists())  # /proc may not show a container's processes
    contained.clear(folder)
    limits.remove(folder.mark)
    datasets.clear(folder)
    door.remove(door.place(folder))
    replicas.clear(plan.spec)
    log.info("Salvage: %d processes were left.", count)
    try:
        run = persist(lambda: decode(Run, link.client.call("GET", link.path())))
    except (NotFound, Unauthorized) as error:
        leave(folder, error.message)
        return
    if plan.spec.node_count > 1 and run.status is not RunStatus.PREPARING:
        link.rank = plan.node_rank
    masks = Masks(folder)
    cargo = Cargo(folder, link, Staging(folder), masks)
    orders = Orders(link)
    orders.attend()  # heartbeats while outputs are sent, which may take long; a halt has no effect here
    try:
        outcome = _outcome(folder, run, masks, why, was_running)
        outcome = replace(outcome, at=min(outcome.at, began))  # the time of the end, not of the report
        finish(folder, link, cargo, masks, outcome, ship=lambda _: None)
    finally:
        orders.close()


def tidy(folder: Folder) -> None:
    """Cleans up after a lost build agent: removes its containers, and its folder if the run has ended or ends within moments.
    Otherwise the control plane sends another agent, which uses the folder."""
    contained.clear(folder)
    plan, access = folder.read_plan()
    if _is_over(Link(folder, access, attempt=plan.attempt)):
        log.info("The run is over: its folder goes.")
        remove(folder.root)


def _is_over(link: Link) -> bool:
    params: dict[str, float] = {}
    until = time.monotonic() + _MOMENTS
    try:
        while (left := until - time.monotonic()) > 0:
            run = decode(Run, link.client.call("GET", link.path(), params=params))
            if run.status.is_terminal:
                return True
            params = {"after": run.revision, "wait": left}
        return False
    except (NotFound, Forbidden):
        return True
    except RoostError as error:
        log.warning("Whether the run is over cannot be said: %s", error.message)
        return False


def _outcome(folder: Folder, run: Run, masks: Masks, why: str, was_running: bool) -> Outcome:
    """The script's own end if the agent recorded it; else the end of a run that lost its agent."""
    ended = outcomes.load(folder)
    if ended is not None:
        return ended
    if run.status is RunStatus.CANCEL_REQUESTED:
        return outcomes.canceled("Its agent was killed while it ended the run.")
    if run.ending:
        return outcomes.told(run.ending, words=outcomes.of_ranks(folder, masks.hide))
    if run.status is RunStatus.PREPARING:
        return outcomes.failed(Reason.AGENT_LOST, BUILD_LOST)
    if why:
        return outcomes.failed(Reason.AGENT_LOST, why)
    logs = ranks.logs(folder)
    what = LOST if was_running else LOST_LATE if run.status in _BEGUN else LOST_BEFORE
    words = "\n".join(filter(None, (outcomes.last_words(path, masks.hide) for _, path in logs[:4])))
    return outcomes.failed(Reason.AGENT_LOST, f"{what}\n{words}".strip())
