"""Preparing: one run builds, the others wait for it; what fails, is lost or cancelled on the way."""

from pathlib import Path

import pytest
from tests.control.engines import ScriptedEngine
from tests.control.test_runs import Plane
from tests.shared.contexts import ANN, Clock, submit

from roost.domain.environments import LOCK_FILE, EnvironmentUse
from roost.domain.errors import Unavailable
from roost.domain.plans import Errand
from roost.domain.runs import Reason, Run, RunStatus
from roost.engines.base import AgentState
from roost.services import environments, runs
from roost.services.context import Context
from roost.services.environments import Outcome


def use(*packages: str) -> EnvironmentUse:
    conda = {"dependencies": ["python=3.8", {"pip": list(packages)}]}
    return EnvironmentUse(name="mine", definition={"python": {"condaDependencies": conda}})


class Builds(Plane):
    def submit(self, *packages: str) -> Run:
        return submit(self.context, environment=use(*packages))

    def built(self, run: Run, lock: str = "the lock") -> str:
        """The build agent of this run says that it is done, and goes."""
        name = self.context.blobs.put(lock.encode())
        environments.end_build(self.context, ANN, run.id, Outcome(lock=name))
        self.engine.kill(run.id)
        self.turn()
        return name

    def stands(self, run: Run) -> tuple[RunStatus, Reason]:
        now = self.run(run)
        return now.status, now.reason


@pytest.fixture
def plane(context: Context, engine: ScriptedEngine, clock: Clock) -> Builds:
    return Builds(context, engine, clock)


BUILDING = (RunStatus.PREPARING, Reason.BUILDING_ENVIRONMENT)
WAITING = (RunStatus.PREPARING, Reason.WAITING_FOR_BUILD)


def test_built_then_run_with_the_lock(plane: Builds) -> None:
    run = plane.submit("six")
    plane.turn()
    assert plane.stands(run) == BUILDING
    assert [(plan.errand, plan.lock) for plan in plane.engine.started] == [(Errand.BUILD, "")]
    assert plane.context.store.runs.holding("local") == 0, "a build holds no node"
    lock = plane.built(run)
    now = plane.run(run)
    assert (now.status, now.handle) == (RunStatus.PROVISIONING, f"{run.id}:2"), "the build agent's handle is forgotten"
    assert [(plan.errand, plan.lock) for plan in plane.engine.started[1:]] == [(Errand.RUN, lock)]
    assert plane.context.store.files.get(run.id, LOCK_FILE).blob == lock
    told = [event.to for event in runs.events(plane.context, ANN, run.id)]
    assert told[:5] == [
        RunStatus.NOT_STARTED,
        RunStatus.PREPARING,
        RunStatus.PREPARING,
        RunStatus.QUEUED,
        RunStatus.PROVISIONING,
    ]


def test_known_already_goes_to_the_queue_at_once(plane: Builds) -> None:
    first = plane.submit("six")
    plane.turn()
    lock = plane.built(first)
    second = plane.submit("six", "azureml-defaults")
    plane.turn()
    assert RunStatus.PREPARING not in [event.to for event in runs.events(plane.context, ANN, second.id)]
    assert plane.engine.started[-1].lock == lock


def test_several_wait_for_one_build(plane: Builds) -> None:
    waiting = [plane.submit("six") for _ in range(4)]
    plane.turn()
    assert [plane.stands(run) for run in waiting] == [BUILDING, WAITING, WAITING, WAITING]
    assert waiting[0].id in plane.run(waiting[1]).message
    assert len(plane.engine.started) == 1
    plane.built(waiting[0])
    assert {plane.run(run).status for run in waiting} <= {RunStatus.QUEUED, RunStatus.PROVISIONING}
    assert plane.engine.errands().count(Errand.BUILD) == 1


def test_two_builds_at_once_and_the_rest_after(plane: Builds) -> None:
    queue = [plane.submit(f"package{number}") for number in range(3)]
    plane.turn()
    assert [plane.stands(run) for run in queue] == [BUILDING, BUILDING, WAITING]
    plane.built(queue[1])
    plane.later(3)
    assert plane.stands(queue[2]) == BUILDING


def test_a_build_that_fails_fails_those_who_waited_and_nobody_later(plane: Builds) -> None:
    waiting = [plane.submit("nosuch") for _ in range(2)]
    plane.turn()
    plane.clock.pass_by(1)
    environments.end_build(plane.context, ANN, waiting[0].id, Outcome(message="no version of nosuch"))
    plane.engine.kill(waiting[0].id)
    plane.turn()
    for run in waiting:
        assert plane.stands(run) == (RunStatus.FAILED, Reason.ENVIRONMENT_FAILED)
        assert "no version of nosuch" in plane.run(run).message
    plane.clock.pass_by(1)
    later = plane.submit("nosuch")
    plane.turn()
    assert plane.stands(later) == BUILDING
    plane.built(later)
    assert plane.run(later).status is RunStatus.PROVISIONING


def test_a_lost_build_agent_is_sent_once_more_and_then_given_up(plane: Builds) -> None:
    run = plane.submit("six")
    plane.turn()
    plane.engine.kill(run.id)
    plane.later(9)
    assert plane.stands(run) == (RunStatus.PREPARING, Reason.BUILD_LOST)
    assert plane.engine.errands() == [Errand.BUILD, Errand.BUILD]
    plane.engine.kill(run.id)
    plane.later(9)
    assert plane.engine.errands() == [Errand.BUILD, Errand.BUILD, Errand.SALVAGE]
    plane.engine.kill(run.id)
    plane.later(12)
    assert plane.stands(run) == (RunStatus.FAILED, Reason.AGENT_LOST)


def test_cancelled_while_it_builds_another_takes_its_place(plane: Builds) -> None:
    first, second = plane.submit("six"), plane.submit("six")
    plane.turn()
    assert runs.cancel(plane.context, ANN, first.id).status is RunStatus.CANCELED
    plane.later(3)
    assert plane.stands(second) == BUILDING


def test_a_restarted_control_plane_goes_on(plane: Builds) -> None:
    run = plane.submit("six")
    plane.turn()
    plane.restart()
    plane.later(3)
    assert plane.stands(run) == BUILDING
    assert len(plane.engine.started) == 1
    plane.restart()
    plane.built(run)
    assert plane.run(run).status is RunStatus.PROVISIONING


def test_the_queue_is_reached_only_when_the_build_agent_has_left(plane: Builds) -> None:
    run = plane.submit("six")
    plane.turn()
    lock = plane.context.blobs.put(b"the lock")
    environments.end_build(plane.context, ANN, run.id, Outcome(lock=lock))
    plane.turn()
    assert plane.run(run).status is RunStatus.PREPARING
    plane.later(20)
    assert set(plane.engine.stopped) == {plane.run(run).handle}, "one that does not leave by itself is asked to"
    plane.engine.kill(run.id)
    plane.later(4)
    assert plane.run(run).status is RunStatus.PROVISIONING


def test_a_build_agent_whose_handle_was_lost_may_still_be_leaving(plane: Builds) -> None:
    run = plane.submit("six")
    plane.engine.lost_answers = 1
    with pytest.raises(KeyboardInterrupt):
        plane.turn()
    plane.restart()
    plane.later(8)
    assert (plane.run(run).status, plane.run(run).handle) == (RunStatus.PREPARING, "")
    environments.end_build(plane.context, ANN, run.id, Outcome(lock=plane.context.blobs.put(b"the lock")))
    plane.later(2)
    assert (plane.run(run).status, plane.run(run).handle) == (RunStatus.PROVISIONING, "")
    plane.engine.kill(run.id)
    plane.later(2)
    assert plane.run(run).handle == f"{run.id}:2"
    assert plane.engine.errands() == [Errand.BUILD, Errand.RUN]


def test_a_lock_whose_blob_is_gone_is_made_again(plane: Builds) -> None:
    run = plane.submit("six")
    plane.turn()
    lock = plane.built(run)
    Path(plane.context.blobs._path(lock)).unlink()  # type: ignore[attr-defined]
    again = plane.submit("six")
    plane.turn()
    assert plane.stands(again) == BUILDING


def test_a_build_agent_that_cannot_be_started(plane: Builds) -> None:
    plane.engine.failures = [Unavailable("no processes") for _ in range(4)]
    run = plane.submit("six")
    plane.later(20)
    assert plane.stands(run) == (RunStatus.FAILED, Reason.START_FAILED)


def test_the_user_s_own_packages_are_not_built(plane: Builds) -> None:
    managed = EnvironmentUse(name="mine", definition={"python": {"userManagedDependencies": True}})
    run = submit(plane.context, environment=managed)
    plane.turn()
    assert plane.run(run).status is RunStatus.PROVISIONING
    assert plane.engine.started[-1].lock == ""
    assert plane.engine.status(plane.run(run).handle) is AgentState.ALIVE
