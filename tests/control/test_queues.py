"""An engine with a queue of its own: it is given every run at once, and its words on why one waits are the run's."""

from dataclasses import replace

import pytest
from tests.control.engines import ScriptedEngine
from tests.control.test_environments import use
from tests.control.test_runs import Plane
from tests.shared.contexts import ANN, Clock, submit

from roost.control.watching import LOOK_SECONDS, QUIET_SECONDS, SILENT_SECONDS
from roost.domain.compute import ComputeSpec
from roost.domain.errors import InvalidInput
from roost.domain.plans import Errand
from roost.domain.runs import Reason, Run, RunStatus
from roost.engines.base import Abilities, AgentState, Waiting
from roost.services import compute, environments, runs
from roost.services.context import Context
from roost.services.environments import Outcome
from roost.services.runs import Report

PENDING = "Slurm: PENDING (Resources)"
HELD = (RunStatus.PROVISIONING, Reason.WAITING_IN_QUEUE, PENDING)


@pytest.fixture
def plane(context: Context, engine: ScriptedEngine, clock: Clock) -> Plane:
    engine.holds = PENDING
    made = Plane(replace(context, engines={**context.engines, "slurm": Abilities(queues=True)}), engine, clock)
    compute.create(made.context, ANN, "vision", "partition", ComputeSpec(max_nodes=1, engine="slurm"))
    return made


def held(plane: Plane, **spec: object) -> Run:
    """A run that the engine's queue holds back."""
    run = submit(plane.context, target="partition", **spec)
    plane.turn()
    return plane.run(run)


def standing(plane: Plane, run: Run) -> tuple[RunStatus, Reason, str]:
    now = plane.run(run)
    return now.status, now.reason, now.message


def let_in(plane: Plane, run: Run) -> None:
    plane.engine.states[plane.run(run).handle] = AgentState.ALIVE


def look(plane: Plane) -> None:
    plane.later(LOOK_SECONDS + 1)


def test_it_is_given_every_run_at_once_and_says_why_each_waits(plane: Plane) -> None:
    queue = [submit(plane.context, target="partition") for _ in range(5)]
    plane.turn()
    assert [plan.run_id for plan in plane.engine.started] == [run.id for run in queue], "whatever max_nodes says"
    assert {standing(plane, run) for run in queue} == {HELD}
    assert runs.why(plane.context, plane.run(queue[0])) == PENDING
    status = compute.status(plane.context, ANN, "vision", "partition")
    assert (status.nodes, status.queued, status.running, status.wanted) == ((), 5, 0, 0)
    let_in(plane, queue[0])
    look(plane)
    status = compute.status(plane.context, ANN, "vision", "partition")
    assert (status.queued, status.running) == (4, 1)


def test_before_it_is_given_to_the_engine(plane: Plane) -> None:
    run = submit(plane.context, target="partition")
    runs.move(plane.context, run.id, RunStatus.QUEUED, Reason.WAITING_FOR_NODE, "")
    assert runs.why(plane.context, plane.run(run)) == "It is about to be put into the queue of engine slurm."


def test_words_that_change_are_told_and_the_same_words_once(plane: Plane) -> None:
    run = held(plane)
    plane.later(60)
    before = len(runs.events(plane.context, ANN, run.id))
    plane.engine.states[run.handle] = Waiting("Slurm: PENDING (Priority)")
    look(plane)
    plane.later(60)
    assert standing(plane, run) == (*HELD[:2], "Slurm: PENDING (Priority)")
    assert len(runs.events(plane.context, ANN, run.id)) == before + 1
    assert plane.engine.errands() == [Errand.RUN]


def test_an_agent_that_is_let_in_has_started(plane: Plane) -> None:
    run = held(plane)
    let_in(plane, run)
    look(plane)
    assert standing(plane, run) == (RunStatus.PROVISIONING, Reason.AGENT_STARTED, "Its agent has started.")
    runs.heartbeat(plane.context, ANN, run.id)
    runs.report(plane.context, ANN, run.id, Report(to=RunStatus.RUNNING, reason=Reason.SCRIPT_STARTED))
    plane.engine.kill(run.id)
    plane.later(QUIET_SECONDS + LOOK_SECONDS + 1)
    assert plane.engine.errands() == [Errand.RUN, Errand.SALVAGE], "from here it is a run as any other"


def test_an_agent_that_is_quicker_than_the_look_keeps_its_word(plane: Plane) -> None:
    run = held(plane)
    plane.clock.pass_by(LOOK_SECONDS + 1)
    [job] = plane.look()
    finding = job.noun.act(job.work)
    let_in(plane, run)
    runs.report(plane.context, ANN, run.id, Report(to=RunStatus.RUNNING, reason=Reason.SCRIPT_STARTED))
    plane.finish(job, finding)
    assert plane.run(run).status is RunStatus.RUNNING


def test_one_that_is_cancelled_in_the_queue_leaves_it_at_once(plane: Plane) -> None:
    run = held(plane)
    runs.cancel(plane.context, ANN, run.id)
    plane.later(2)
    assert plane.run(run).status is RunStatus.CANCELED
    assert (plane.engine.stopped, plane.engine.errands()) == ([run.handle], [Errand.RUN]), "there is nothing to save"


def test_one_that_somebody_else_takes_out_of_the_queue_fails(plane: Plane) -> None:
    run = held(plane)
    plane.engine.kill(run.id)
    look(plane)
    status, reason, message = standing(plane, run)
    assert (status, reason) == (RunStatus.FAILED, Reason.AGENT_LOST)
    assert message == "It left the queue of its engine before its agent started."
    assert plane.engine.errands() == [Errand.RUN]


def test_a_service_that_does_not_answer_changes_nothing(plane: Plane) -> None:
    run = held(plane)
    plane.engine.states[run.handle] = AgentState.UNKNOWN
    plane.later(600)
    assert standing(plane, run) == HELD


def test_another_control_plane_finds_it_in_the_queue(plane: Plane) -> None:
    plane.engine.lost_answers = 1
    run = submit(plane.context, target="partition")
    with pytest.raises(KeyboardInterrupt):
        plane.turn()
    assert plane.run(run).handle == ""
    plane.clock.pass_by(10)
    plane.restart()
    plane.turn()
    assert standing(plane, run) == HELD
    assert (plane.run(run).handle, len(plane.engine.started)) == (f"{run.id}:1", 1)


def test_a_build_waits_with_the_queue_s_words(plane: Plane) -> None:
    run = held(plane, environment=use("six"))
    assert standing(plane, run) == (RunStatus.PREPARING, *HELD[1:])
    assert plane.engine.errands() == [Errand.BUILD]
    let_in(plane, run)
    look(plane)
    assert standing(plane, run) == (
        RunStatus.PREPARING,
        Reason.BUILDING_ENVIRONMENT,
        "Its environment is being built.",
    )


def test_a_build_that_is_lost_is_queued_once_more_and_no_more(plane: Plane) -> None:
    run = held(plane, environment=use("six"))
    for number in (1, 2):
        let_in(plane, run)
        runs.heartbeat(plane.context, ANN, run.id)
        look(plane)
        assert len(plane.engine.started) == number
        plane.engine.kill(run.id)
        plane.later(QUIET_SECONDS + LOOK_SECONDS + 1)
    assert plane.engine.errands() == [Errand.BUILD, Errand.BUILD, Errand.SALVAGE]


def test_a_build_that_is_taken_out_of_the_queue_fails_its_run(plane: Plane) -> None:
    run = held(plane, environment=use("six"))
    plane.engine.kill(run.id)
    look(plane)
    assert plane.run(run).status is RunStatus.FAILED
    assert plane.engine.errands() == [Errand.BUILD]


def test_a_run_that_was_built_and_leaves_the_queue_has_nothing_to_save(plane: Plane) -> None:
    run = held(plane, environment=use("six"))
    let_in(plane, run)
    runs.heartbeat(plane.context, ANN, run.id)
    look(plane)
    environments.end_build(plane.context, ANN, run.id, Outcome(lock=plane.context.blobs.put(b"the lock")))
    plane.engine.kill(run.id)
    plane.clock.pass_by(1)
    plane.turn()
    assert standing(plane, run) == HELD
    plane.engine.kill(run.id)
    look(plane)
    assert plane.run(run).status is RunStatus.FAILED
    assert plane.engine.errands() == [Errand.BUILD, Errand.RUN]


def test_agents_that_do_not_share_the_disk_are_told_no_path(plane: Plane) -> None:
    at_home = submit(plane.context)
    away = held(plane)
    told = dict(zip([plan.run_id for plan in plane.engine.started], plane.engine.access, strict=True))
    assert (told[at_home.id].endpoint_file, told[away.id].endpoint_file) == ("/home/server.json", "")


def test_several_nodes_are_refused(plane: Plane) -> None:
    compute.update(plane.context, ANN, "vision", "partition", compute.ComputeChanges(max_nodes=4))
    with pytest.raises(InvalidInput, match="asks for 2 nodes, and engine 'slurm' of cluster 'partition'"):
        submit(plane.context, target="partition", node_count=2)


def test_one_that_is_cancelled_when_its_handle_was_lost_leaves_the_queue(plane: Plane) -> None:
    plane.engine.lost_answers = 1
    run = submit(plane.context, target="partition")
    with pytest.raises(KeyboardInterrupt):
        plane.turn()
    runs.cancel(plane.context, ANN, run.id)
    plane.clock.pass_by(10)
    plane.restart()
    plane.later(QUIET_SECONDS + LOOK_SECONDS + 1)
    assert plane.run(run).status is RunStatus.CANCELED
    assert plane.engine.states == {f"{run.id}:1": AgentState.GONE}, "nobody is left in the queue"


def test_a_cancelled_run_whose_agent_is_there_and_never_said_a_word_ends(plane: Plane) -> None:
    plane.engine.lost_answers = 1
    run = submit(plane.context, target="partition")
    with pytest.raises(KeyboardInterrupt):
        plane.turn()
    plane.engine.states[f"{run.id}:1"] = AgentState.ALIVE
    runs.cancel(plane.context, ANN, run.id)
    plane.clock.pass_by(10)
    plane.restart()
    plane.later(QUIET_SECONDS + LOOK_SECONDS + 1)
    assert plane.run(run).status is RunStatus.CANCELED


def test_a_build_that_is_cancelled_in_the_queue_leaves_it(plane: Plane) -> None:
    run = held(plane, environment=use("six"))
    other = held(plane, environment=use("six"))
    runs.cancel(plane.context, ANN, run.id)
    plane.later(2)
    assert plane.run(run).status is RunStatus.CANCELED
    assert plane.engine.stopped == [run.handle]
    plane.later(LOOK_SECONDS + 1)
    assert [plan.run_id for plan in plane.engine.started] == [run.id, other.id], "another one builds it"


def test_a_run_whose_engine_is_not_there_any_more_waits_and_can_be_cancelled(plane: Plane) -> None:
    run = held(plane)
    let_in(plane, run)
    look(plane)
    runs.report(plane.context, ANN, run.id, Report(to=RunStatus.RUNNING, reason=Reason.SCRIPT_STARTED))
    without = {name: each for name, each in plane.context.engines.items() if name != "slurm"}
    plane = Plane(replace(plane.context, engines=without), plane.engine, plane.clock)
    plane.later(SILENT_SECONDS + LOOK_SECONDS + 1)
    assert plane.run(run).status is RunStatus.NOT_RESPONDING
    runs.cancel(plane.context, ANN, run.id)
    plane.later(SILENT_SECONDS + LOOK_SECONDS + 1)
    assert plane.run(run).status is RunStatus.CANCELED
    assert "may still exist there" in plane.run(run).message
