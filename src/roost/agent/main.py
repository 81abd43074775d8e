"""The story of a run on its node, from the plan to the reported end. Start with `run`; each step is a file beside this one.

While the script runs three threads work for it: `orders` listens, `ship` sends, `vitals` measures; and the door is open.
"""

import logging
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from roost.agent import contained, environments, inputs, launch, outcomes, outputs
from roost.agent.datasets import Datasets
from roost.agent.door import PATIENCE, Door
from roost.agent.finish import finish
from roost.agent.folder import Folder
from roost.agent.inputs import Teller
from roost.agent.link import Link
from roost.agent.masking import Masks
from roost.agent.orders import Halt, Orders
from roost.agent.outcomes import Outcome
from roost.agent.prepare import Prepared, prepare
from roost.agent.processes import POLITE_SECONDS, Known, Running, Tree, known, wait
from roost.agent.ship import Cargo, Ship
from roost.agent.staging import Staging
from roost.agent.vitals import Vitals
from roost.domain.errors import RoostError
from roost.domain.plans import Access, Plan
from roost.domain.runs import Reason
from roost.environments.containers.box import Box

log = logging.getLogger("roost.agent")


@dataclass(frozen=True)
class _Crew:
    """Everyone who works for one run."""

    folder: Folder
    plan: Plan
    access: Access
    link: Link
    orders: Orders
    masks: Masks
    cargo: Cargo
    ship: Ship
    door: Door
    tree: Tree
    data: Datasets


def run(folder: Folder, keeper: Known) -> None:
    """Prepare, launch, ship, finish. Returns when the control plane has everything, or when nobody wants it any more."""
    crew = _gather(folder, keeper)
    crew.orders.listen()
    try:
        outcome = _prepare(crew)
        if isinstance(outcome, Prepared):
            outcome = _script(crew, outcome)
        if crew.orders.halted in (Halt.FOLDER_GONE, Halt.DISOWNED):
            log.error("Nobody takes what this run has made (%s).", crew.orders.halted)
            return
        crew.data.close()
        finish(folder, crew.link, crew.cargo, crew.masks, outcome, crew.ship.finish)
    finally:
        crew.data.close()
        crew.orders.close()
        crew.door.close()


def _gather(folder: Folder, keeper: Known) -> _Crew:
    plan, access = folder.read_plan()
    log.info("Run %s begins.", plan.run_id)
    link = Link(folder, access)
    orders = Orders(link)
    staging = Staging(folder)
    masks = Masks(folder)
    cargo = Cargo(folder, link, staging, masks)
    ship = Ship(folder, link, cargo, orders)
    door = Door(folder, Link(folder, access, patience=PATIENCE), ship, staging, masks)
    tree = Tree(folder.mark, keeper, known(os.getpid()))
    tell = Teller(folder.std_log).say
    data = Datasets(folder, plan, access, link, orders.check, tell, lambda path: door.reach(path))
    door.ops.update(data.ops)
    tree.spared = data.pids
    return _Crew(folder, plan, access, link, orders, masks, cargo, ship, door, tree, data)


def _prepare(crew: _Crew) -> Prepared | Outcome:
    """What the script needs; or the run's end, when that cannot be had or is not wanted any more."""
    try:
        plan = environments.install(crew.folder, crew.plan, crew.link, crew.orders)
        prepared = prepare(crew.folder, plan, crew.access, crew.link.carrier, crew.door.path, crew.orders.check)
        prepared = _supply(crew, prepared)
    except (RoostError, OSError) as error:
        if crew.orders.halted:
            return _halted(crew.orders.halted, None)
        return outcomes.failed(Reason.PREPARE_FAILED, f"The run could not be prepared. {error}")
    log.info("Prepared.")
    return _halted(crew.orders.halted, None) if crew.orders.halted else prepared


def _supply(crew: _Crew, prepared: Prepared) -> Prepared:
    """With its inputs laid out and folders for its outputs, their paths in its arguments and variables."""
    spec = prepared.plan.spec
    if not spec.inputs and not spec.outputs:
        return prepared
    crew.data.contained = bool(prepared.plan.image)
    teller = Teller(crew.folder.std_log, lambda: _show(crew))
    paths = {
        **inputs.lay_out(crew.folder, spec, crew.data, teller),
        **outputs.lay_out(crew.folder, spec),
    }
    plan = replace(prepared.plan, spec=inputs.filled(spec, paths))
    return Prepared({**prepared.environment, **inputs.variables(paths)}, plan)


def _show(crew: _Crew) -> None:
    """Ships the run's log while no script runs yet."""
    try:
        crew.cargo.round()
    except (RoostError, OSError) as error:
        log.warning("The run's log is not sent: %s", error)


def _script(crew: _Crew, prepared: Prepared) -> Outcome:
    """From the script's start to its end; all its processes are gone when this returns."""
    try:
        crew.data.link = crew.door.link  # a script does not wait for ever
        crew.door.listen()
        if prepared.plan.image:
            crew.data.contained = True
            crew.tree.everywhere = True
            crew.door.reach = contained.reach(contained.mounts(crew.folder, prepared.plan, prepared.environment))
        processes = launch.start(crew.folder, prepared.plan, prepared.environment)
    except (RoostError, OSError) as error:
        _end(crew, ())
        return outcomes.failed(Reason.START_FAILED, str(error))
    log.info("Started: %s.", ", ".join(process.name for process in processes))
    crew.ship.start()
    vitals = Vitals(crew.folder, crew.plan.node_rank, lambda: crew.tree.members(marks=crew.tree.everywhere))
    vitals.start()
    outcome = _watch(crew, processes)
    vitals.stop()
    return outcome


def _end(crew: _Crew, processes: Sequence[Running]) -> int:
    """Ends all that there is of the run, and takes its containers away; how many processes there were."""
    boxes = [process for process in processes if isinstance(process, Box)]
    if boxes and not crew.tree.members():  # the engine has them where this machine's /proc does not show them
        for box in boxes:
            box.end(POLITE_SECONDS)
    left = crew.tree.end()
    for box in boxes:
        box.end(0)
        box.remove()
    if crew.tree.everywhere and not boxes:
        contained.clear(crew.folder)
    return left


def _watch(crew: _Crew, processes: Sequence[Running]) -> Outcome:
    """Waits for the script's end, or brings it about; then ends whatever it left behind."""
    limit = crew.plan.spec.timeout_seconds
    deadline = None if limit is None else time.monotonic() + limit
    in_time = True
    while in_time and not crew.orders.halted and _all_well(processes):
        in_time = wait(processes, crew.orders.wake, deadline)
    code = _exit_code(processes)
    if code is not None:
        log.info("The script ended with %d.", code)
        memory = next(filter(None, (contained.memory_words(each) for each in processes if isinstance(each, Box))), "")
        outcome = outcomes.of_exit(code, crew.folder.std_log, crew.masks.hide, memory)
        _note(crew.folder, outcome)  # before anything else: from here on a salvage pass can tell it
        left = _end(crew, processes)
        if left:
            log.info("%d processes that the script left behind were ended.", left)
        return outcome
    _end(crew, processes)
    code = _exit_code(processes)
    if crew.orders.halted:
        outcome = _halted(crew.orders.halted, code)
    else:
        words = f"The script ran longer than its limit of {limit:g} s and was ended."
        outcome = outcomes.failed(Reason.TIMED_OUT, words, code)
    _note(crew.folder, outcome)
    return outcome


def _all_well(processes: Sequence[Running]) -> bool:
    """Some still run, and none has failed."""
    codes = [process.exit_code() for process in processes]
    return None in codes and not any(codes)


def _exit_code(processes: Sequence[Running]) -> int | None:
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
