"""The story of a run on its node, from the plan to the reported end. Start with `run`; each step is a file beside this one.

While the script runs three threads work for it: `orders` listens, `ship` sends, `vitals` measures; and the door is open.
"""

import logging
import os
import time
from collections.abc import Sequence

from roost.agent import launch, outcomes
from roost.agent.door import PATIENCE, Door
from roost.agent.finish import finish
from roost.agent.folder import Folder
from roost.agent.link import Link
from roost.agent.orders import Halt, Orders
from roost.agent.outcomes import Outcome
from roost.agent.prepare import prepare
from roost.agent.processes import Known, Started, Tree, known, wait
from roost.agent.ship import Cargo, Ship
from roost.agent.staging import Staging
from roost.agent.vitals import Vitals
from roost.domain.errors import RoostError
from roost.domain.plans import Access, Plan
from roost.domain.runs import Reason

log = logging.getLogger("roost.agent")


def run(folder: Folder) -> None:
    """Prepare, launch, ship, finish. Returns when the control plane has everything, or when nobody wants it any more."""
    plan, access = folder.read_plan()
    log.info("Run %s begins.", plan.run_id)
    link = Link(folder, access)
    orders = Orders(link)
    orders.listen()
    staging = Staging(folder)
    cargo = Cargo(folder, link, staging)
    ship = Ship(folder, link, cargo, orders)
    door = Door(folder, Link(folder, access, patience=PATIENCE), ship, staging)
    try:
        outcome = _script(folder, plan, access, link, orders, ship, door)
        if orders.halted in (Halt.FOLDER_GONE, Halt.DISOWNED):
            log.error("Nobody takes what this run has made (%s).", orders.halted)
            return
        finish(folder, link, cargo, outcome, ship.finish)
    finally:
        orders.close()
        door.close()


def _script(folder: Folder, plan: Plan, access: Access, link: Link, orders: Orders, ship: Ship, door: Door) -> Outcome:
    """Everything around the script's processes, which are all gone when this returns."""
    try:
        prepared = prepare(folder, plan, access, link.carrier, door.path)
    except (RoostError, OSError) as error:
        return outcomes.failed(Reason.PREPARE_FAILED, f"The run could not be prepared. {error}")
    if orders.halted:
        return _halted(orders.halted, None)
    log.info("Prepared.")
    tree = Tree(plan.run_id, _parent())
    door.listen()
    try:
        processes = launch.start(folder, plan, prepared.environment)
    except RoostError as error:
        tree.end()
        return outcomes.failed(Reason.START_FAILED, str(error))
    log.info("Started: %s.", ", ".join(f"pid {process.pid}" for process in processes))
    ship.start()
    vitals = Vitals(folder, plan.node_rank, lambda: tree.members(marks=False))
    vitals.start()
    outcome = _watch(folder, plan, processes, orders, tree)
    vitals.stop()
    return outcome


def _watch(folder: Folder, plan: Plan, processes: Sequence[Started], orders: Orders, tree: Tree) -> Outcome:
    """Waits for the script's end, or brings it about; then ends whatever it left behind."""
    limit = plan.spec.timeout_seconds
    deadline = None if limit is None else time.monotonic() + limit
    in_time = True
    while in_time and not orders.halted and _all_well(processes):
        in_time = wait(processes, orders.wake, deadline)
    code = _exit_code(processes)
    if code is not None:
        outcome = outcomes.of_exit(code, folder.std_log)
        log.info("The script ended with %d.", code)
        _note(folder, outcome)  # before anything else: from here on a salvage pass can tell it
        left = tree.end()
        if left:
            log.info("%d processes that the script left behind were ended.", left)
        return outcome
    tree.end()
    code = _exit_code(processes)
    if orders.halted:
        outcome = _halted(orders.halted, code)
    else:
        words = f"The script ran longer than its limit of {limit:g} s and was ended."
        outcome = outcomes.failed(Reason.TIMED_OUT, words, code)
    _note(folder, outcome)
    return outcome


def _all_well(processes: Sequence[Started]) -> bool:
    """Some still run, and none has failed."""
    codes = [process.exit_code() for process in processes]
    return None in codes and not any(codes)


def _exit_code(processes: Sequence[Started]) -> int | None:
    """Of all together: the first failure, else 0; None while they run."""
    codes = [process.exit_code() for process in processes]
    return next((code for code in codes if code), None if None in codes else 0)


def _halted(why: Halt, code: int | None) -> Outcome:
    if why is Halt.TERMINATED:
        return outcomes.canceled("The agent was told to stop (SIGTERM).", code)
    return outcomes.canceled("", code)


def _note(folder: Folder, outcome: Outcome) -> None:
    try:
        outcomes.save(folder, outcome)
    except OSError as error:
        log.warning("The outcome cannot be noted: %s", error.strerror)


def _parent() -> Known:
    return known(os.getppid()) or Known(0, 0)
