"""The run's way through the control plane, step by step, with an engine that does as it is told and a clock that stands still."""

import logging
from pathlib import Path

import pytest
from tests.control.engines import ScriptedEngine
from tests.shared.contexts import ANN, Clock, make_house, submit, submit_interactive

from roost.control.compute import LEAST_STARTS, START_SECONDS
from roost.control.loop import LEASE_SECONDS, Job, Loop
from roost.control.runs import NewRuns, RunsControl, parts
from roost.control.watching import LOOK_SECONDS, Finding
from roost.domain.errors import Conflict, DiskFull, Unavailable
from roost.domain.plans import Access, Errand
from roost.domain.runs import Reason, Run, RunStatus
from roost.engines.base import AgentState
from roost.services import people, runs
from roost.services.context import Context
from roost.services.runs import Report
from roost.services.signals import CONTROL
from roost.store.base import Lease


def _access(token: str) -> Access:
    return Access(url="http://127.0.0.1:1", token=token, endpoint_file="/home/server.json")


class Plane:
    """A control plane whose loop turns when the test says so; `restart` is a kill and a new one."""

    def __init__(self, context: Context, engine: ScriptedEngine, clock: Clock) -> None:
        self.context, self.engine, self.clock = context, engine, clock
        self.restart()

    def restart(self) -> None:
        self.loop = Loop(self.context.store.leases, self.context.signals, self.clock)
        self.parts = parts(self.context, dict.fromkeys(self.context.engines, self.engine), _access)

    def look(self) -> list[Job[Run, Finding]]:
        """One pass, without what the workers would do."""
        return list(self.loop.look(self.parts))

    def finish(self, job: Job[Run, Finding], finding: Finding | None = None) -> None:
        """As a worker does it; but what raises is the test's."""
        found = finding or job.noun.act(job.work)
        self.loop.release(job, job.noun.apply(job.lease, job.work, found))

    def turn(self) -> None:
        """Passes until nothing is due."""
        while jobs := self.look():
            for job in jobs:
                self.finish(job)

    def later(self, seconds: float) -> None:
        """Time passes a second at a time, as the loop's timer has it."""
        for _ in range(int(seconds)):
            self.clock.pass_by(1)
            self.turn()

    def run(self, run: Run) -> Run:
        return runs.get(self.context, ANN, run.id)


@pytest.fixture
def plane(context: Context, engine: ScriptedEngine, clock: Clock) -> Plane:
    return Plane(context, engine, clock)


def _running(plane: Plane) -> Run:
    run = submit(plane.context)
    plane.turn()
    runs.heartbeat(plane.context, ANN, run.id)
    runs.report(plane.context, ANN, run.id, Report(to=RunStatus.RUNNING, reason=Reason.SCRIPT_STARTED))
    return plane.run(run)


def test_from_submission_to_its_agent(plane: Plane) -> None:
    run = submit(plane.context)
    plane.turn()
    now = plane.run(run)
    assert (now.status, now.handle) == (RunStatus.PROVISIONING, f"{run.id}:1")
    (plan,) = plane.engine.started
    assert (plan.run_id, plan.workspace, plan.errand, plan.spec) == (run.id, "vision", Errand.RUN, run.spec)
    assert [event.to for event in runs.events(plane.context, ANN, run.id)] == [
        RunStatus.NOT_STARTED,
        RunStatus.QUEUED,
        RunStatus.PROVISIONING,
        RunStatus.PROVISIONING,
    ]
    token = plane.engine.access[0].token
    assert people.caller(plane.context, token).run_id == run.id
    assert plane.context.store.people.find_token(token) is None, "only its digest is kept"


def test_the_rest_wait_in_order_and_follow_at_once(plane: Plane) -> None:
    queue = [submit(plane.context) for _ in range(6)]
    plane.turn()
    assert [plan.run_id for plan in plane.engine.started] == [run.id for run in queue[:2]]
    for done in range(4):
        runs.report(plane.context, ANN, queue[done].id, Report(to=RunStatus.COMPLETED))
        plane.turn()
        assert [plan.run_id for plan in plane.engine.started] == [run.id for run in queue[: done + 3]]
        assert plane.context.store.runs.holding("local") == 2


def test_interactive_runs_are_never_claimed_and_hold_no_node(plane: Plane) -> None:
    for _ in range(3):
        interactive = submit_interactive(plane.context)
        runs.report(plane.context, ANN, interactive.id, Report(to=RunStatus.RUNNING))
    never_begun = submit_interactive(plane.context)
    plane.later(5)
    assert plane.engine.started == []
    assert plane.run(never_begun).status is RunStatus.NOT_STARTED
    run = submit(plane.context)
    plane.turn()
    assert plane.run(run).status is RunStatus.PROVISIONING


def test_a_start_that_is_refused_fails_the_run_with_the_reason(plane: Plane) -> None:
    plane.engine.failures = [DiskFull("No room in /scratch.")]
    run = submit(plane.context)
    plane.turn()
    now = plane.run(run)
    assert (now.status, now.reason) == (RunStatus.FAILED, Reason.START_FAILED)
    assert "No room in /scratch." in now.message


def test_an_obstacle_that_passes_is_waited_for(plane: Plane) -> None:
    plane.engine.failures = [Unavailable("fork: EAGAIN"), OSError(11, "try again")]
    run = submit(plane.context)
    plane.later(10)
    assert plane.run(run).handle == f"{run.id}:1"


def test_an_obstacle_that_stays_fails_the_run(plane: Plane) -> None:
    plane.engine.failures = [Unavailable("fork: EAGAIN")] * 10
    run = submit(plane.context)
    plane.later(30)
    assert (plane.run(run).status, plane.run(run).reason) == (RunStatus.FAILED, Reason.START_FAILED)
    assert len(plane.engine.failures) == 6, "tried four times"


def test_a_fast_agent_that_is_running_before_its_handle_is_written(plane: Plane) -> None:
    run = submit(plane.context)
    while not (jobs := plane.look()):
        pass
    (job,) = jobs
    finding = job.noun.act(job.work)
    runs.report(plane.context, ANN, run.id, Report(to=RunStatus.RUNNING, reason=Reason.SCRIPT_STARTED))
    plane.finish(job, finding)
    now = plane.run(run)
    assert (now.status, now.reason, now.handle) == (RunStatus.RUNNING, Reason.SCRIPT_STARTED, f"{run.id}:1")


@pytest.mark.parametrize("asked_first", [True, False])
def test_a_cancel_while_the_agent_is_started(plane: Plane, asked_first: bool) -> None:
    run = submit(plane.context)
    (job,) = plane.look()
    finding = job.noun.act(job.work)
    if asked_first:
        runs.cancel(plane.context, ANN, run.id)
    else:  # a cancel that saw the run Queued, and came after it was claimed
        runs.move(plane.context, run.id, RunStatus.CANCELED, Reason.CANCELED_BY_USER, "")
    plane.finish(job, finding)
    if asked_first:
        assert plane.run(run).status is RunStatus.CANCEL_REQUESTED
        assert plane.run(run).handle == f"{run.id}:1"
    else:
        assert plane.run(run).status is RunStatus.CANCELED
        assert plane.engine.stopped == [f"{run.id}:1"]


def test_an_agent_that_is_heard_is_left_alone(plane: Plane) -> None:
    run = _running(plane)
    for _ in range(40):
        plane.later(5)
        runs.heartbeat(plane.context, ANN, run.id)
    assert plane.run(run).status is RunStatus.RUNNING
    assert plane.engine.errands() == [Errand.RUN]


def test_silence_alone_fails_no_run(plane: Plane) -> None:
    run = _running(plane)
    plane.later(50)
    assert plane.run(run).status is RunStatus.RUNNING
    plane.later(20)
    assert (plane.run(run).status, plane.run(run).reason) == (RunStatus.NOT_RESPONDING, Reason.SILENT)
    plane.later(120)
    assert plane.run(run).status is RunStatus.NOT_RESPONDING
    assert runs.heartbeat(plane.context, ANN, run.id).status is RunStatus.RUNNING


def test_an_agent_that_ships_is_heard_without_a_heartbeat(plane: Plane) -> None:
    run = _running(plane)
    for _ in range(20):
        plane.later(5)
        plane.context.heard.put(run.id, plane.clock())
    assert plane.run(run).status is RunStatus.RUNNING


def test_a_few_runs_start_at_once(tmp_path: Path, engine: ScriptedEngine, clock: Clock) -> None:
    plane = Plane(make_house(tmp_path, clock=clock, slots=50), engine, clock)
    made = [submit(plane.context) for _ in range(20)]
    plane.turn()
    assert len(engine.errands()) == LEAST_STARTS
    runs.report(plane.context, ANN, made[0].id, Report(to=RunStatus.RUNNING, reason=Reason.SCRIPT_STARTED))
    plane.turn()
    assert len(engine.errands()) == LEAST_STARTS + 1
    for each in made:  # those that started live, and take their time: they keep nobody back for ever
        plane.context.heard.put(each.id, clock() + 60)
    plane.later(START_SECONDS * 3)
    assert len(engine.errands()) == len(made)
    plane.context.store.close()


def test_new_runs_are_queued_in_their_order_however_many(tmp_path: Path, engine: ScriptedEngine, clock: Clock) -> None:
    plane = Plane(make_house(tmp_path, clock=clock), engine, clock)
    made = [submit(plane.context) for _ in range(NewRuns.limit + 5)]
    with plane.context.signals.listen(CONTROL) as listener:
        plane.look()
        assert listener.wait(0), "the rest is looked at without waiting for a timer"
    assert [plane.run(each).status for each in made[2 : NewRuns.limit]] == [RunStatus.QUEUED] * (NewRuns.limit - 2)
    plane.turn()
    assert {plane.run(each).status for each in made[2:]} == {RunStatus.QUEUED}
    plane.context.store.close()


def test_an_agent_whose_heartbeat_waits_is_heard_until_its_connection_breaks(plane: Plane) -> None:
    run = _running(plane)
    with plane.context.present.at(run.id):
        plane.engine.kill(run.id)  # the engine is not asked: the open connection says more
        for _ in range(20):
            plane.later(5)
        assert plane.engine.errands() == [Errand.RUN]
    runs.missed(plane.context, plane.run(run))
    plane.later(10)
    assert plane.engine.errands() == [Errand.RUN, Errand.SALVAGE], "no need to wait for the next look"


def test_an_engine_that_cannot_tell_is_asked_again(plane: Plane) -> None:
    run = _running(plane)
    plane.engine.states[plane.run(run).handle] = AgentState.UNKNOWN
    plane.later(60)
    assert plane.run(run).status is RunStatus.RUNNING
    assert plane.engine.errands() == [Errand.RUN]


def test_a_lost_agent_is_salvaged_once_and_the_salvage_reports(plane: Plane) -> None:
    run = _running(plane)
    plane.engine.kill(run.id)
    plane.later(10)
    assert plane.engine.errands() == [Errand.RUN, Errand.SALVAGE]
    now = plane.run(run)
    assert (now.status, now.reason, now.handle) == (RunStatus.RUNNING, Reason.AGENT_LOST, f"{run.id}:2")
    plane.later(30)
    assert plane.engine.errands() == [Errand.RUN, Errand.SALVAGE], "the salvage lives: it may take its time"
    runs.report(plane.context, ANN, run.id, Report(to=RunStatus.FAILED, reason=Reason.AGENT_LOST))
    assert plane.run(run).status is RunStatus.FAILED


@pytest.mark.parametrize("restarted", [False, True])
def test_a_lost_salvage_ends_the_run_within_thirty_seconds(plane: Plane, restarted: bool) -> None:
    run = _running(plane)
    plane.engine.kill(run.id)
    plane.later(9)
    plane.engine.kill(run.id)
    if restarted:
        plane.restart()
    plane.later(15)
    now = plane.run(run)
    assert (now.status, now.reason) == (RunStatus.FAILED, Reason.AGENT_LOST)
    assert plane.engine.errands() == [Errand.RUN, Errand.SALVAGE]


def test_a_salvage_that_cannot_be_started_ends_the_run(plane: Plane) -> None:
    run = _running(plane)
    plane.engine.kill(run.id)
    plane.engine.failures = [DiskFull("No room.")]
    plane.later(10)
    now = plane.run(run)
    assert (now.status, now.reason) == (RunStatus.FAILED, Reason.AGENT_LOST)
    assert "No room." in now.message


def test_an_agent_that_ended_its_run_between_lease_and_look_is_not_lost(plane: Plane) -> None:
    run = _running(plane)
    plane.clock.pass_by(10)
    (job,) = plane.look()
    plane.engine.kill(run.id)
    runs.report(plane.context, ANN, run.id, Report(to=RunStatus.COMPLETED, exit_code=0))
    plane.finish(job)
    assert plane.run(run).status is RunStatus.COMPLETED
    assert plane.engine.errands() == [Errand.RUN]


def test_a_cancel_that_is_not_heard_stops_the_agent(plane: Plane) -> None:
    run = _running(plane)
    runs.cancel(plane.context, ANN, run.id)
    plane.later(10)
    assert plane.engine.stopped == []
    plane.later(4)
    assert f"{run.id}:1" in plane.engine.stopped
    plane.engine.kill(run.id)
    plane.later(10)
    assert plane.engine.errands() == [Errand.RUN, Errand.SALVAGE]
    plane.engine.kill(run.id)
    plane.later(12)
    assert (plane.run(run).status, plane.run(run).reason) == (RunStatus.CANCELED, Reason.CANCELED_BY_USER)


def test_a_cancel_between_claim_and_start_ends_the_run(plane: Plane) -> None:
    run = submit(plane.context)
    plane.look()
    runs.cancel(plane.context, ANN, run.id)
    plane.clock.pass_by(6)  # the loop that had the lease was killed before it started the agent
    plane.restart()
    plane.later(10)
    assert plane.engine.started == []
    now = plane.run(run)
    assert (now.status, now.message) == (RunStatus.CANCELED, "It was ended before its script started.")


def test_restart_before_the_start_starts_it_once(plane: Plane) -> None:
    run = submit(plane.context)
    plane.look()
    plane.restart()
    plane.later(8)
    assert plane.run(run).handle == f"{run.id}:1"
    assert plane.engine.errands() == [Errand.RUN]


def test_restart_after_a_start_whose_answer_was_lost(plane: Plane) -> None:
    """The agent is there, its handle is not known: it goes on, and is salvaged when it is lost later."""
    run = submit(plane.context)
    plane.engine.lost_answers = 1
    with pytest.raises(KeyboardInterrupt):  # the kill
        plane.turn()
    plane.restart()
    plane.later(6)
    assert plane.run(run).status is RunStatus.PROVISIONING
    for _ in range(5):
        runs.heartbeat(plane.context, ANN, run.id)
        plane.later(5)
    runs.report(plane.context, ANN, run.id, Report(to=RunStatus.RUNNING))
    plane.later(30)
    assert plane.engine.errands() == [Errand.RUN], "the node refused a second one"
    assert plane.run(run).status is RunStatus.RUNNING
    plane.engine.kill(run.id)
    plane.later(15)
    assert plane.engine.errands() == [Errand.RUN, Errand.SALVAGE]


def test_restart_lets_agents_find_the_way_back(plane: Plane) -> None:
    run = _running(plane)
    plane.clock.pass_by(3600)  # the control plane was away for an hour
    plane.restart()
    plane.engine.kill(run.id)
    plane.later(6)
    assert plane.engine.errands() == [Errand.RUN], "silence counts from the control plane's own start"
    plane.later(4)
    assert plane.engine.errands() == [Errand.RUN, Errand.SALVAGE]


def test_a_silent_notebook_is_not_responding_and_comes_back(plane: Plane) -> None:
    run = submit_interactive(plane.context)
    runs.report(plane.context, ANN, run.id, Report(to=RunStatus.RUNNING))
    runs.heartbeat(plane.context, ANN, run.id)
    plane.later(200)
    assert plane.run(run).status is RunStatus.NOT_RESPONDING
    assert runs.heartbeat(plane.context, ANN, run.id).status is RunStatus.RUNNING


def test_a_lease_that_is_renewed_keeps_others_away(plane: Plane) -> None:
    submit(plane.context)
    (job,) = plane.look()
    other = Plane(plane.context, plane.engine, plane.clock)
    for _ in range(5):
        plane.clock.pass_by(4)
        assert plane.context.store.leases.renew([job.lease], until=plane.clock() + LEASE_SECONDS) == []
        assert other.look() == []
    plane.clock.pass_by(6)
    (taken,) = other.look()
    with pytest.raises(Conflict):
        plane.finish(job)
    other.finish(taken)
    assert plane.engine.errands() == [Errand.RUN], "the node had refused the second start"


def test_a_run_on_a_target_that_is_gone_waits_for_it(plane: Plane) -> None:
    run = _running(plane)
    without = RunsControl(plane.context, {}, _access)
    plane.clock.pass_by(20)
    (work,) = without.load([run.id]).values()
    assert without.act(work) == Finding(seconds=LOOK_SECONDS)
    assert plane.run(run).status is RunStatus.RUNNING


def test_a_node_that_cannot_be_asked_for_is_not_responding_and_given_up_when_the_run_is_to_end(plane: Plane) -> None:
    run = _running(plane)
    plane.engine.states[plane.run(run).handle] = AgentState.UNKNOWN
    plane.later(61)
    now = plane.run(run)
    assert (now.status, now.reason) == (RunStatus.NOT_RESPONDING, Reason.SILENT)
    assert "cannot be asked about" in now.message
    runs.cancel(plane.context, ANN, run.id)
    plane.later(50)
    assert plane.run(run).status is RunStatus.CANCEL_REQUESTED
    plane.later(20)
    assert plane.run(run).status is RunStatus.CANCELED
    assert "may still exist there" in plane.run(run).message


def test_a_run_that_ends_while_it_is_looked_at_is_no_error(plane: Plane, caplog: pytest.LogCaptureFixture) -> None:
    run = _running(plane)
    plane.clock.pass_by(60)
    [job] = plane.look()

    class Ends(RunsControl):
        def __init__(self) -> None: ...

        def act(self, _: Run) -> Finding:
            runs.report(plane.context, ANN, run.id, Report(to=RunStatus.COMPLETED))
            return Finding(seconds=0, to=RunStatus.FAILED, reason=Reason.AGENT_LOST)

        def apply(self, lease: Lease, work: Run, finding: Finding) -> float | None:
            return job.noun.apply(lease, work, finding)

    with caplog.at_level(logging.WARNING, "roost.control"):
        plane.loop.work(Job(Ends(), job.lease, job.work))
    assert plane.run(run).status is RunStatus.COMPLETED
    assert caplog.text == ""
