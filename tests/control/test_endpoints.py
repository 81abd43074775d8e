"""Replicas of an endpoint as its loop sees them: who failed, who is slow, who is begun and when, who is forgotten."""

from dataclasses import replace

import pytest
from tests.shared.contexts import ANN, Clock, snapshot, submit

from roost.control.endpoints import EndpointsControl
from roost.control.loop import Loop
from roost.control.replicas import KEPT, Failure, Seat, Seats, group_of
from roost.domain.endpoints import Endpoint, EndpointSpec, EndpointState, Limits, Version
from roost.domain.environments import BUILD_LOG, EnvironmentUse
from roost.domain.runs import Reason, RunStatus
from roost.services import endpoints, fronts, models, replicas, runs, streams
from roost.services.context import Context
from roost.services.endpoints import Wish
from roost.services.models import NewModel
from roost.store.base import ENDPOINTS

WS = "vision"
PYTHON = {"python": {"condaDependencies": {"dependencies": ["python=3.12"]}}}


@pytest.fixture
def endpoint(context: Context) -> Endpoint:
    version = Version(snapshot=snapshot(context, score="def run(x): return x"), entry_script="score.py")
    return endpoints.put(context, ANN, WS, "birds", Wish(spec=EndpointSpec(versions=(version,))))[0]


def begun(context: Context, endpoint: Endpoint, count: int = 1, *, at_once: bool = True) -> Seats:
    seats = Seats(context, endpoint)
    seats.bring_to(endpoint.spec.versions[0], count, (), at_once=at_once)
    seats.look()
    return seats


def end(context: Context, run_id: str, to: RunStatus = RunStatus.FAILED, reason: Reason = Reason.EXIT_CODE) -> None:
    runs.move(context, run_id, to, reason, f"The end of {run_id}.")


def test_as_many_as_there_should_be(context: Context, endpoint: Endpoint, clock: Clock) -> None:
    group = group_of(endpoint.spec.versions[0])
    seats = begun(context, endpoint, 3)
    assert len(seats.serving(group)) == 3
    ready = seats.all[0].replica.socket
    clock.pass_by(1)
    seats = begun(context, endpoint, 4)
    seats.bring_to(endpoint.spec.versions[0], 2, [ready], at_once=True)
    seats.look()
    assert ready in {seat.replica.socket for seat in seats.serving(group)}  # those that are not ready go first
    assert (len(seats.serving(group)), len(seats.leaving())) == (2, 2)
    seats.dismiss_all_but([])
    seats.look()
    assert (len(seats.serving(group)), len(seats.leaving())) == (0, 4)


def test_a_replica_that_ends_by_its_own_doing_is_a_failure_and_a_lost_agent_is_not(
    context: Context, endpoint: Endpoint, clock: Clock
) -> None:
    groups = [group_of(endpoint.spec.versions[0])]
    for _ in range(3):
        (seat,) = begun(context, endpoint).living()
        end(context, seat.run.id, reason=Reason.AGENT_LOST)
        clock.pass_by(1)
    assert Seats(context, endpoint).failure(groups) is None
    (seat,) = begun(context, endpoint).living()
    end(context, seat.run.id, RunStatus.CANCELED, Reason.CANCELED_BY_USER)
    lost = Seats(context, endpoint).failure(groups)
    assert lost is not None and "4 times" in lost.why and lost.run_id == seat.run.id
    clock.pass_by(1)
    (seat,) = begun(context, endpoint).living()
    end(context, seat.run.id)
    assert Seats(context, endpoint).failure(groups) == Failure(f"The end of {seat.run.id}.", seat.run.id)
    assert Seats(context, endpoint).failure([("default", 2)]) is None


def test_one_that_keeps_ending_waits_longer_and_longer(context: Context, endpoint: Endpoint, clock: Clock) -> None:
    waited = []
    for _ in range(5):
        seconds = 0
        while not (living := begun(context, endpoint, at_once=False).living()):
            clock.pass_by(1)
            seconds += 1
        waited.append(seconds)
        end(context, living[0].run.id)
    assert waited == [0, 0, 2, 4, 8]
    clock.pass_by(700)
    assert begun(context, endpoint, at_once=False).living()


def test_one_that_served_for_a_while_is_replaced_at_once(context: Context, endpoint: Endpoint, clock: Clock) -> None:
    for _ in range(4):
        (seat,) = begun(context, endpoint, at_once=False).living()
        clock.pass_by(100)
        end(context, seat.run.id)
    assert begun(context, endpoint, at_once=False).living()


def test_an_init_that_takes_too_long_is_said(context: Context, endpoint: Endpoint, clock: Clock) -> None:
    version = replace(endpoint.spec.versions[0], limits=Limits(start_seconds=10))
    (seat,) = begun(context, endpoint).living()
    for to in (RunStatus.QUEUED, RunStatus.PROVISIONING):
        runs.move(context, seat.run.id, to, Reason.NONE, "")
    clock.pass_by(100)  # waiting for an environment is not init()
    assert Seats(context, endpoint).slow([version], ()) is None
    runs.move(context, seat.run.id, RunStatus.RUNNING, Reason.SCRIPT_STARTED, "")
    clock.pass_by(11)
    slow = Seats(context, endpoint).slow([version], ())
    assert slow is not None and "after 10 s" in slow.why and slow.run_id == seat.run.id
    assert Seats(context, endpoint).slow([version], [seat.replica.socket]) is None


def test_those_that_ended_are_remembered_for_a_while(context: Context, endpoint: Endpoint) -> None:
    for _ in range(KEPT + 3):
        (seat,) = begun(context, endpoint).living()
        end(context, seat.run.id)
    assert len(Seats(context, endpoint).all) == KEPT
    assert len(context.store.endpoints.replicas(WS, "birds")) == KEPT
    assert "The end of" in Seats(context, endpoint).last_words([("default", 1)])


def test_a_row_without_its_run_is_passed_over_and_then_forgotten(
    context: Context, endpoint: Endpoint, clock: Clock
) -> None:
    (seat,) = begun(context, endpoint).living()
    end(context, seat.run.id)
    runs.delete(context, ANN, seat.run.id)
    assert Seats(context, endpoint).all == []
    assert context.store.endpoints.replicas(WS, "birds")
    clock.pass_by(60)
    assert Seats(context, endpoint).all == []
    assert not context.store.endpoints.replicas(WS, "birds")


def turn(context: Context, control: EndpointsControl) -> None:
    """One look at the one endpoint that is due, as a worker does it; but what raises is the test's."""
    loop = Loop(context.store.leases, context.signals, context.clock)
    (job,) = loop.look([control])
    loop.release(job, control.apply(job.lease, job.work, control.act(job.work)))


class Stage:
    """An endpoint that serves with one replica, and a front that says what the test wants."""

    def __init__(self, context: Context, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
        self.context = context
        self.control = EndpointsControl(context)
        self.status: dict[str, object] = {"ready": {}}
        self.stopped, self.killed = True, False
        monkeypatch.setattr("roost.control.endpoints.is_alive", lambda _: True)
        for name, act in {
            "status": lambda _: self.status,
            "tell": lambda *_: None,
            "wait": lambda *_: None,
            "stop": lambda _: self.stopped,
            "kill": lambda _: setattr(self, "killed", True),
        }.items():
            monkeypatch.setattr(fronts, name, act)
        self.look()
        self.is_ready(*Seats(context, endpoint).living())
        assert self.look().state is EndpointState.HEALTHY

    def look(self) -> Endpoint:
        self.context.store.leases.touch(ENDPOINTS, f"{WS}/birds")
        turn(self.context, self.control)
        return self.context.store.endpoints.standing(WS, "birds").endpoint

    def is_ready(self, *seats: Seat) -> None:
        self.status = {"ready": {seat.replica.socket: 1 for seat in seats}}

    def ask(self, **limits: float) -> Endpoint:
        (version,) = endpoints.get(self.context, ANN, WS, "birds").spec.versions
        spec = EndpointSpec(versions=(replace(version, limits=replace(version.limits, **limits)),))  # type: ignore[arg-type]
        return endpoints.put(self.context, ANN, WS, "birds", Wish(spec=spec, update=True))[0]


@pytest.fixture
def stage(context: Context, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(context, endpoint, monkeypatch)


def test_more_replicas_that_cannot_start_are_a_change_that_failed(stage: Stage, clock: Clock) -> None:
    clock.pass_by(1)
    assert stage.ask(min_replicas=3, max_replicas=3).state is EndpointState.TRANSITIONING
    assert stage.look().state is EndpointState.TRANSITIONING
    first, second, _ = Seats(stage.context, stage.look()).living()
    end(stage.context, second.run.id)
    after = stage.look()
    assert (after.state, after.spec.versions[0].limits.min_replicas) == (EndpointState.HEALTHY, 1)
    assert f"The end of {second.run.id}." in after.error
    assert after.failed_replica == second.run.id
    clock.pass_by(1)
    stage.ask(min_replicas=2, max_replicas=2)  # tried anew: what failed before does not count
    stage.look()
    last = Seats(stage.context, after).living()[-1]
    assert last.run.id not in (first.run.id, second.run.id) and stage.look().state is EndpointState.TRANSITIONING
    stage.is_ready(*Seats(stage.context, after).living())
    after = stage.look()
    assert (after.state, after.spec.versions[0].limits.min_replicas) == (EndpointState.HEALTHY, 2)
    assert (after.error, after.failed_replica) == ("", "")


def test_more_replicas_that_take_too_long_are_a_change_that_failed(stage: Stage, clock: Clock) -> None:
    clock.pass_by(1)
    stage.ask(min_replicas=2, max_replicas=2)
    second = Seats(stage.context, stage.look()).living()[-1]
    for to in (RunStatus.QUEUED, RunStatus.PROVISIONING, RunStatus.RUNNING):
        runs.move(stage.context, second.run.id, to, Reason.NONE, "")
    assert stage.look().state is EndpointState.TRANSITIONING
    clock.pass_by(Limits().start_seconds + 1)
    assert "init() has not returned" in stage.look().error


def test_a_change_that_needs_nobody_more_waits_for_nobody(stage: Stage) -> None:
    stage.ask(min_replicas=2, max_replicas=2)
    stage.look()
    both = Seats(stage.context, stage.look()).living()
    stage.is_ready(*both)
    assert stage.look().state is EndpointState.HEALTHY
    stage.is_ready(both[0])  # the other one is gone for a while
    stage.ask(timeout_seconds=7)
    assert stage.look().state is EndpointState.HEALTHY


def test_those_who_leave_are_remembered_until_they_are_gone_whatever_other_endpoints_do(
    stage: Stage, clock: Clock
) -> None:
    (leaving,) = Seats(stage.context, endpoints.get(stage.context, ANN, WS, "birds")).living()
    stage.status = {"ready": {}, "draining": [leaving.replica.socket]}
    stage.context.store.endpoints.dismiss([leaving.run.id])
    stage.control._dismissed["vision/other"] = {"other_run": clock()}
    stage.look()
    clock.pass_by(10_000)
    stage.look()
    assert runs.get(stage.context, ANN, leaving.run.id).status is RunStatus.CANCELED
    assert stage.control._dismissed["vision/other"]
    stage.look()
    assert list(stage.control._dismissed) == ["vision/other"]


def test_replicas_answer_until_the_front_of_a_deleted_one_is_gone(stage: Stage, clock: Clock) -> None:
    (seat,) = Seats(stage.context, endpoints.get(stage.context, ANN, WS, "birds")).living()
    endpoints.delete(stage.context, ANN, WS, "birds")
    stage.stopped = False
    stage.look()
    clock.pass_by(Limits().timeout_seconds)
    stage.look()
    assert not runs.get(stage.context, ANN, seat.run.id).status.is_terminal and not stage.killed
    clock.pass_by(1000)
    stage.look()
    assert runs.get(stage.context, ANN, seat.run.id).status is RunStatus.CANCELED and stage.killed


def test_a_failed_one_rests_and_a_deleted_one_is_removed(context: Context, endpoint: Endpoint) -> None:
    control = EndpointsControl(context)
    (seat,) = begun(context, endpoint).living()
    (lease,) = context.store.leases.take(ENDPOINTS, at=context.clock(), seconds=5, limit=2)
    failed = replace(endpoint, state=EndpointState.FAILED, error="no")
    standing = context.store.endpoints.standing(WS, "birds")
    context.store.endpoints.settle(standing, replace(standing, endpoint=failed), lease=lease)
    context.store.leases.release(lease, due=0)
    turn(context, control)
    assert runs.get(context, ANN, seat.run.id).status is RunStatus.CANCELED
    endpoints.delete(context, ANN, WS, "birds")
    turn(context, control)
    assert endpoints.is_gone(context, ANN, WS, "birds")
    assert not context.store.endpoints.replicas(WS, "birds")


@pytest.mark.parametrize("environment", ["", "birds-env"])
def test_a_package_that_is_missing_is_told_with_where_it_ran_and_what_the_models_run_had(
    context: Context, endpoint: Endpoint, environment: str
) -> None:
    made = submit(context, environment=EnvironmentUse(name="sk-env", definition=PYTHON))
    models.register(
        context, ANN, WS, NewModel(name="net", key="registered", manifest=snapshot(context, net="1"), run_id=made.id)
    )
    use = EnvironmentUse(name=environment) if environment else None
    version = replace(
        endpoint.spec.versions[0], models=("net:1",), environment=use, interpreter="/usr/bin/python3", generation=2
    )
    why = "score.py could not be imported: ModuleNotFoundError: No module named 'joblib'\nTraceback …"
    said = replicas.explained(context, WS, [version], why)
    assert said.startswith(why)
    if environment:
        assert said.endswith("\nIt ran in environment 'birds-env': add the package that has 'joblib' to it.")
    else:
        assert "It ran in /usr/bin/python3, as there was no environment." in said
        assert said.endswith("such as that of the model's run: 'sk-env'.")
    assert replicas.explained(context, WS, [version], "init() raised OSError") == "init() raised OSError"


def test_a_module_that_this_version_has_not_got_is_told_as_that(context: Context) -> None:
    about = {"framework": "ScikitLearn", "framework_version": "0.20.3"}
    models.register(
        context, ANN, WS, NewModel(name="net", key="registered", manifest=snapshot(context, net="1"), **about)
    )
    version = Version(models=("net:1",), environment=EnvironmentUse(name="birds-env"))
    missing = "init() raised ModuleNotFoundError: No module named {!r}"
    said = replicas.explained(context, WS, [version], missing.format("sklearn.linear_model.ridge"))
    assert said.endswith(
        "\nIt ran in environment 'birds-env', whose 'sklearn' has no 'sklearn.linear_model.ridge': what is loaded was made with "
        "another version of scikit-learn. Install that version there. "
        "Model net:1 is registered with ScikitLearn 0.20.3."
    )
    said = replicas.explained(context, WS, [version], missing.format("azure.storage"))
    assert said.endswith("add the package that has 'azure.storage' to it."), "a name that packages share"
    alone = Version(interpreter="/usr/bin/python3")
    assert "It ran in /usr/bin/python3, whose 'mine'" in replicas.explained(
        context, WS, [alone], missing.format("mine.part")
    )


def test_a_file_that_another_version_saved_is_told_with_the_one_it_is_registered_with(context: Context) -> None:
    about = {"framework": "ScikitLearn", "framework_version": "0.22.2"}
    models.register(
        context, ANN, WS, NewModel(name="net", key="registered", manifest=snapshot(context, net="1"), **about)
    )
    version = Version(models=("net:1",), handler="sklearn")
    why = "The model could not be loaded with scikit-learn 0.22.2 on Python 3.6.15: KeyError: 87"
    assert replicas.explained(context, WS, [version], why) == (
        f"{why}\nModel net:1 is registered with ScikitLearn 0.22.2. "
        "If another version saved it, register it with that version."
    )


def test_while_the_environment_is_built_its_log_is_the_endpoints(context: Context) -> None:
    version = Version(
        snapshot=snapshot(context, score="def run(x): return x"),
        entry_script="score.py",
        environment=EnvironmentUse(name="sk-env", definition=PYTHON),
    )
    endpoint = endpoints.put(context, ANN, WS, "birds", Wish(spec=EndpointSpec(versions=(version,))))[0]
    (seat,) = begun(context, endpoint).living()
    runs.move(context, seat.run.id, RunStatus.PREPARING, Reason.BUILDING_ENVIRONMENT, "Its environment is being built.")
    assert endpoints.logs(context, ANN, WS, "birds", lines=10).text == "Building environment 'sk-env'."
    streams.append(context, ANN, seat.run.id, BUILD_LOG, 0, b"Resolving\nInstalling\n")
    assert endpoints.logs(context, ANN, WS, "birds", lines=10).text.splitlines()[1:] == ["Resolving", "Installing"]
    (replica,) = endpoints.replicas_of(context, ANN, WS, "birds")
    assert replica.message == "Building environment 'sk-env'."
