"""Executes a run on its node, from the plan to the reported end. Start with `run`; each step is a file beside this one.

While the script runs, threads work for it: `orders` receives halts, `ship` sends logs and metrics, `vitals` measures, `syncing`
stores outputs, and the door answers the script's requests.
"""

import itertools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from roost.agent.door import models
from roost.agent.door.datasets import Datasets
from roost.agent.door.datastores import Datastores
from roost.agent.door.door import PATIENCE, Door
from roost.agent.finishing import outcomes, outputs
from roost.agent.finishing.finish import finish, leave
from roost.agent.finishing.outcomes import Outcome
from roost.agent.folder import Folder
from roost.agent.launching import commands, contained, launch, limits, replicas
from roost.agent.launching.commands import Commands
from roost.agent.launching.launch import Launched
from roost.agent.link import Link
from roost.agent.orders import Halt, Orders
from roost.agent.preparing import environments, inputs
from roost.agent.preparing.inputs import Teller
from roost.agent.preparing.meet import meet
from roost.agent.preparing.prepare import Prepared, prepare
from roost.agent.preparing.restoring import restore
from roost.agent.processes import POLITE_SECONDS, Running, Tree, wait
from roost.agent.shipping.held import Held
from roost.agent.shipping.masking import Masks
from roost.agent.shipping.ship import Cargo, Ship
from roost.agent.shipping.staging import Staging
from roost.agent.shipping.syncing import Syncing
from roost.agent.shipping.vitals import Vitals
from roost.domain.codec import decode
from roost.domain.errors import RoostError
from roost.domain.plans import Access, Plan
from roost.domain.runs import Reason, Run, RunStatus
from roost.environments.containers.box import Box
from roost.machine.processes import Known, known

log = logging.getLogger("roost.agent")
_PATIENCE = 30.0
"""Seconds to wait for a silent control plane once the run's folder is gone: its home may be gone, too."""


@dataclass(frozen=True)
class _Crew:
    """All objects that work for one run."""

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
    held: Held


def run(folder: Folder, keeper: Known) -> None:
    """Prepare, launch, ship, finish. Returns when the control plane has everything, or will never take it."""
    crew = _gather(folder, keeper)
    crew.orders.listen()
    try:
        outcome = _prepare(crew)
        if isinstance(outcome, Prepared):
            outcome = _script(crew, outcome)
        if crew.orders.halted is Halt.DISOWNED:
            log.error("Nobody takes what this run has made (%s).", crew.orders.halted)
            if crew.orders.halted is Halt.DISOWNED:
                leave(folder, "it was asked for a while, and refused.")
            return
        crew.data.close()
        if folder.is_gone:
            _finish_without_folder(crew, outcome)
            return
        crew.held.restore()
        finish(folder, crew.link, crew.cargo, crew.masks, outcome, crew.ship.finish)
    finally:
        crew.data.close()
        crew.orders.close()
        crew.door.close()


def _gather(folder: Folder, keeper: Known) -> _Crew:
    plan, access = folder.read_plan()
    log.info("Run %s begins.", plan.run_id)
    rank = plan.node_rank if plan.spec.node_count > 1 else None
    link = Link(folder, access, rank=rank, attempt=plan.attempt)
    orders = Orders(link)
    staging = Staging(folder)
    masks = Masks(folder)
    cargo = Cargo(folder, link, staging, masks)
    held = Held(folder)
    ship = Ship(folder, link, cargo, orders, held)
    orders.flush = ship.flush
    door = Door(folder, Link(folder, access, patience=PATIENCE, rank=rank, attempt=plan.attempt), ship, staging, masks)
    tree = Tree(folder.mark, keeper, known(os.getpid()))
    tell = Teller(folder.std_log).say
    data = Datasets(folder, plan, access, link, orders.check, tell, lambda path: door.reach(path))
    door.ops.update(data.ops)
    door.ops.update(Datastores(folder, plan.workspace, access, door, data, orders.check).ops)
    door.ops["exec"] = partial(commands.answer, link, door.link)
    door.ops.update(models.ops(door, plan.workspace))
    tree.spared = data.pids
    return _Crew(folder, plan, access, link, orders, masks, cargo, ship, door, tree, data, held)


def _finish_without_folder(crew: _Crew, outcome: Outcome) -> None:
    """Recreates the run's deleted folder from the files that are still open, and reports the run's end. Gives up when the control
    plane does not answer for `_PATIENCE`; a recreated folder then stays for a salvage pass."""
    link = Link(crew.folder, crew.access, patience=_PATIENCE, rank=crew.link.rank, attempt=crew.plan.attempt)
    try:
        if decode(Run, link.client.call("GET", link.path())).status.is_terminal:
            return  # the run was closed, and its folder deleted with it
        if not crew.held.remake(crew.plan, crew.access):
            log.error("The run's folder is gone, and cannot be made again.")
            return
        crew.held.restore()
        crew.masks.note_again()
        masks = Masks(crew.folder)
        cargo = Cargo(crew.folder, link, Staging(crew.folder), masks)
        finish(crew.folder, link, cargo, masks, outcome.without_folder(), lambda _: None)
    except (RoostError, OSError) as error:
        log.error("What was left of the run is not sent: %s", error)


def _prepare(crew: _Crew) -> Prepared | Outcome:
    """Prepares everything that the script needs; returns the run's end instead when that fails or the run is halted."""
    try:
        plan = environments.install(crew.folder, crew.plan, crew.link, crew.orders)
        prepared = prepare(crew.folder, plan, crew.access, crew.link.carrier, crew.door.path, crew.orders.check)
        if plan.spec.serving:
            served = replicas.lay_out(crew.folder, plan.spec, crew.link.carrier, crew.orders.check)
            prepared = replace(prepared, environment={**prepared.environment, **served})
        restore(crew.folder, plan, crew.link, crew.orders.check)
        prepared = _supply(crew, prepared)
    except (RoostError, OSError) as error:
        if crew.orders.halted:
            return _halted(crew, crew.orders.halted)
        return outcomes.failed(Reason.PREPARE_FAILED, f"The run could not be prepared. {error}")
    log.info("Prepared.")
    return _halted(crew, crew.orders.halted) if crew.orders.halted else prepared


def _supply(crew: _Crew, prepared: Prepared) -> Prepared:
    """Lays out the inputs, makes folders for the outputs, and puts their paths into arguments and variables."""
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
    """Ships the run's log before the script runs."""
    try:
        crew.cargo.round()
    except (RoostError, OSError) as error:
        log.warning("The run's log is not sent: %s", error)


def _script(crew: _Crew, prepared: Prepared) -> Outcome:
    """Starts the script and waits for its end; all its processes are gone when this returns."""
    try:
        crew.data.link = crew.door.link  # this link's patience is limited: a script must not wait for ever
        crew.door.listen()
        if prepared.plan.image:
            crew.data.contained = True
            crew.tree.everywhere = True
            crew.door.reach = contained.reach(contained.mounts(crew.folder, prepared.plan, prepared.environment))
        limits.make(crew.folder.mark, prepared.plan)
        place = meet(crew.link, prepared.plan, crew.orders, prepared.environment)
        start = partial(launch.start, crew.folder, prepared.plan, prepared.environment, place)
        processes = [] if crew.plan.spec.serving else start()
    except (RoostError, OSError, ValueError) as error:
        _end(crew, ())
        return (
            _halted(crew, crew.orders.halted)
            if crew.orders.halted
            else outcomes.failed(Reason.START_FAILED, str(error))
        )
    others = "its worker, again and again" if crew.plan.spec.serving else "nothing; serves the others"
    log.info("Started: %s.", ", ".join(process.running.name for process in processes) or others)
    syncing = Syncing(crew.folder, crew.link)
    if crew.plan.preemptible:
        syncing.start()
    crew.ship.serving = not crew.plan.spec.serving and not any(process.waited_for for process in processes)
    crew.ship.start()
    several = crew.plan.spec.node_count > 1
    members = partial(crew.tree.members, marks=crew.tree.everywhere)
    vitals = Vitals(crew.folder, crew.plan.node_rank, members, several=several, written=crew.ship.hurry)
    vitals.start()
    served = Commands(crew.link, partial(_command, crew, prepared, itertools.count()))
    if several:
        served.start()
    ahead = _Ahead(crew, several)
    outcome = _serve(crew, start) if crew.plan.spec.serving else _watch(crew, processes, ahead)
    served.close()
    vitals.stop()
    ahead.close(outcome)
    syncing.close()
    return outcome


def _command(crew: _Crew, prepared: Prepared, numbers: Iterator[int], argv: Sequence[str]) -> Running:
    """Starts a command for another node, in the run's environment; its output goes to this node's own log."""
    name = f"command-{next(numbers)}"
    return launch.start_one(crew.folder, prepared.plan, argv, prepared.environment, crew.folder.std_log, name)


class _Ahead:
    """Reports the end of one of several nodes at once, so that the others need not wait until this one has cleaned up and shipped
    its files."""

    def __init__(self, crew: _Crew, several: bool) -> None:
        self._crew = crew
        self._several = several
        self._thread: threading.Thread | None = None

    def tell(self, outcome: Outcome) -> None:
        """Reports in a thread and returns at once: the control plane may be away."""
        if self._several and self._thread is None:
            self._thread = threading.Thread(target=self._say, args=(outcome,), name="ahead", daemon=True)
            self._thread.start()

    def close(self, outcome: Outcome) -> None:
        """Returns when the report is sent: it must not arrive after later ones."""
        if outcome.to is RunStatus.FAILED and not self._crew.orders.halted:
            self.tell(outcome)
        if self._thread is not None:
            self._thread.join()

    def _say(self, outcome: Outcome) -> None:
        failed = outcome.to is RunStatus.FAILED
        said = (outcome.reason, outcome.message, outcome.exit_code) if failed else (Reason.SCRIPT_ENDED, "", None)
        try:
            self._crew.link.say(RunStatus.FINALIZING, *said, at=outcome.at)
        except RoostError as error:
            log.warning("The end is not told ahead: %s", error.message)


def _end(crew: _Crew, processes: Sequence[Launched], polite: float = POLITE_SECONDS) -> int:
    """Ends all processes of the run and removes its containers; returns the number of processes."""
    boxes = [process.running for process in processes if isinstance(process.running, Box)]
    if boxes and not crew.tree.members():  # this machine's /proc may not show the engine's processes
        for box in boxes:
            box.end(polite)
    left = crew.tree.end(polite=polite)
    for box in boxes:
        box.end(0)
        box.remove()
    if crew.tree.everywhere and not boxes:
        contained.clear(crew.folder)
    limits.remove(crew.folder.mark)
    return left


def _watch(crew: _Crew, processes: Sequence[Launched], ahead: _Ahead) -> Outcome:
    """Waits for the script's end, or ends it on a halt or timeout; then ends its remaining processes. A failure during a halt
    counts as an effect of the halt: a rank fails when its peers have been ended."""
    limit = crew.plan.spec.timeout_seconds
    deadline = None if limit is None else time.monotonic() + limit
    in_time = True
    several = crew.plan.spec.node_count > 1
    while in_time and not crew.orders.halted and (pending := _pending(processes, several)) is not None:
        crew.ship.serving = not any(process.waited_for for process in pending)
        in_time = wait([process.running for process in pending], crew.orders.wake, deadline)
    halted = crew.orders.halted
    if halted is Halt.FOLDER_GONE:
        crew.held.adopt(crew.tree.members())
    ended = _ended(processes)
    if ended is not None and (ended[0] == 0 or (in_time and not halted)):
        outcome = _own_end(crew, *ended)
        _note(crew.folder, outcome)  # first, so that a salvage pass can report it from here on
        ahead.tell(outcome)
        left = _end(crew, processes)
        if left:
            log.info("%d processes that the script left behind were ended.", left)
        return outcome
    _end(crew, processes)
    code = next((code for process in processes if (code := process.running.exit_code())), None)
    if halted:
        outcome = _halted(crew, halted, code)
    else:
        words = f"The script ran longer than its limit of {limit:g} s and was ended."
        outcome = outcomes.failed(Reason.TIMED_OUT, words, code)
    _note(crew.folder, outcome)
    return outcome


def _serve(crew: _Crew, start: Callable[[], Sequence[Launched]]) -> Outcome:
    """Restarts a replica's worker until the run is halted or fails."""
    serving = crew.plan.spec.serving
    assert serving is not None
    members = partial(crew.tree.members, marks=crew.tree.everywhere)
    tell = Teller(crew.folder.std_log).say
    supervisor = replicas.Supervisor(serving, crew.orders, members, tell, crew.masks.hide)
    try:
        outcome = supervisor.run(start, partial(_end, crew))
    except (RoostError, OSError) as error:
        _end(crew, ())
        outcome = outcomes.failed(Reason.START_FAILED, str(error))
    finally:
        replicas.clear(crew.plan.spec)
    if outcome is None and crew.orders.halted:
        outcome = _halted(crew, crew.orders.halted, None)
    assert outcome is not None
    _note(crew.folder, outcome)
    return outcome


def _pending(processes: Sequence[Launched], several: bool) -> list[Launched] | None:
    """The processes that still run; None when one has failed, or all that are waited for have ended. With several nodes, a node
    without such processes, or with others still running (parameter servers), continues until it is halted."""
    codes = [(process, process.running.exit_code()) for process in processes]
    waited = [code for process, code in codes if process.waited_for]
    left = [process for process, code in codes if code is None]
    if any(code for _, code in codes) or (waited and None not in waited and not (several and left)):
        return None
    return left


def _ended(processes: Sequence[Launched]) -> tuple[int, Launched] | None:
    """The common exit code and its process: the first failure, else 0; None while they run."""
    codes = [(process.running.exit_code(), process) for process in processes]
    failed = [(code, process) for code, process in codes if code]
    if failed:
        return failed[0]
    waited = [(code, process) for code, process in codes if process.waited_for]
    return (0, waited[0][1]) if waited and all(code == 0 for code, _ in waited) else None


def _own_end(crew: _Crew, code: int, process: Launched) -> Outcome:
    log.info("The script ended with %d.", code)
    memory = (
        contained.memory_words(process.running)
        if isinstance(process.running, Box)
        else limits.memory_words(crew.folder.mark, crew.plan.memory)
    )
    who = f"Rank {process.rank}" if process.log != crew.folder.std_log else "The script"
    outcome = outcomes.of_exit(code, process.log, crew.masks.hide, memory, who)
    if code == 0:
        return outcome
    spec = crew.plan.spec
    message = "\n".join(filter(None, [outcome.message, outcomes.of_ranks(crew.folder, crew.masks.hide)]))
    hint = outcomes.missing_module(message, spec)
    return replace(outcome, message="\n".join(filter(None, [message, launch.advise(spec), hint])))


def _halted(crew: _Crew, why: Halt, code: int | None = None) -> Outcome:
    if why is Halt.TERMINATED:
        return outcomes.canceled("The agent was told to stop (SIGTERM).", code)
    if why is Halt.FOLDER_GONE:
        return outcomes.failed(Reason.FOLDER_GONE, outcomes.FOLDER_GONE, code)
    if why in (Halt.NODE_FAILED, Halt.NODES_DONE, Halt.PREEMPTED):
        return outcomes.told(Reason(why.value), code, outcomes.of_ranks(crew.folder, crew.masks.hide))
    return outcomes.canceled("", code)


def _note(folder: Folder, outcome: Outcome) -> None:
    try:
        outcomes.save(folder, outcome)
    except OSError as error:
        log.warning("The outcome cannot be noted: %s", error.strerror)
