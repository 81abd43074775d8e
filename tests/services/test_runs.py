"""Runs: what is refused before anything is made, what a repeated call finds, and why a run waits."""

import pytest
from tests.shared.contexts import ANN, Clock, submission, submit, submit_interactive

from roost.domain.errors import ComputeNotFound, Conflict, InvalidInput, NotFound
from roost.domain.runs import MARKS, Reason, RunStatus
from roost.services import people, runs
from roost.services.context import Context
from roost.services.runs import Changes, Mark, Report
from roost.services.signals import CONTROL
from roost.store.base import RunQuery


def test_a_submission_sent_twice_is_one_run(context: Context) -> None:
    asked = submission(context)
    first, new = runs.submit(context, ANN, "vision", asked)
    again, newer = runs.submit(context, ANN, "vision", asked)
    assert (new, newer) == (True, False)
    assert first == again
    assert (first.number, first.status, first.user) == (1, RunStatus.NOT_STARTED, "ann")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"script": "missing.py"}, "'missing.py' is not in the snapshot"),
        ({"script": "../train.py"}, "climbs out"),
        ({"script": "/train.py"}, "absolute"),
        ({"script": ""}, "a script or a command"),
        ({"command": ("python", "train.py")}, "a script or a command"),
        ({"script": "", "command": ("",)}, "is empty"),
        ({"snapshot": ""}, "without a snapshot"),
        ({"snapshot": "ab" * 32}, "is not here"),
        ({"snapshot": "short"}, "not the hash"),
        ({"interpreter": ""}, "absolute path of a Python"),
        ({"interpreter": "python3"}, "absolute path of a Python"),
        ({"timeout_seconds": 0.0}, "more than 0 seconds, got 0.0"),
        ({"timeout_seconds": -1.0}, "more than 0"),
        ({"timeout_seconds": float("nan")}, "more than 0"),
        ({"node_count": 0}, "1 to 1000 nodes, got 0"),
        ({"launch": "carrier-pigeon"}, "No launch named 'carrier-pigeon'"),
        ({"environment_variables": {"A=B": "1"}}, "'A=B' is not allowed"),
        ({"environment_variables": {"A": "\0"}}, "'A' is not allowed"),
        ({"arguments": ("a\0b",)}, "zero byte"),
        ({"arguments": ("x" * 200_000,)}, "longer than"),
        ({"experiment": "a/b"}, "'a/b' is not allowed"),
        ({"id": "../up"}, "is not allowed"),
        ({"tags": {"": "v"}}, "name of a tag"),
        ({"tags": {"k" * 256: "v"}}, "name of a tag"),
        ({"tags": {"k": "v" * 8193}}, "8193 characters"),
        ({"properties": {"k": "v" * 8193}}, "8193 characters"),
        ({"display_name": "x" * 256}, "display name has 256"),
        ({"description": "x" * 8193}, "description has 8193"),
    ],
)
def test_bad_submissions_are_refused_and_leave_nothing(
    context: Context, changes: dict[str, object], words: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        submit(context, **changes)
    assert words in caught.value.message
    assert list(runs.listing(context, ANN, RunQuery(workspace="vision"))) == []
    assert list(context.store.experiments.list("vision")) == []


def test_an_unknown_target_is_named_with_those_there_are(context: Context) -> None:
    with pytest.raises(ComputeNotFound) as caught:
        submit(context, target="gpu-large")
    assert caught.value.message.startswith("ComputeTargetNotFound")
    assert "'gpu-large'" in caught.value.message
    assert "local" in caught.value.hint


def test_unknown_workspace_run_and_parent(context: Context) -> None:
    with pytest.raises(NotFound):
        runs.submit(context, ANN, "nowhere", submission(context))
    with pytest.raises(NotFound):
        runs.get(context, ANN, "train_1_ffffffff")
    with pytest.raises(NotFound):
        submit(context, parent_id="train_1_ffffffff")


def test_submitting_wakes_the_control_loop(context: Context) -> None:
    with context.signals.listen(CONTROL) as listener:
        submit(context)
        assert listener.wait(0)


def test_cancel_before_it_began_ends_it(context: Context) -> None:
    run = runs.cancel(context, ANN, submit(context).id)
    assert (run.status, run.reason) == (RunStatus.CANCELED, Reason.CANCELED_BY_USER)
    assert "ann" in run.message
    assert runs.cancel(context, ANN, run.id) == run, "twice is once"


def test_cancel_while_an_agent_has_it_asks_the_agent(context: Context) -> None:
    run = submit(context)
    for status in (RunStatus.QUEUED, RunStatus.PROVISIONING):
        runs.move(context, run.id, status, Reason.NONE, "")
    assert runs.cancel(context, ANN, run.id).status is RunStatus.CANCEL_REQUESTED
    late = runs.report(context, ANN, run.id, Report(to=RunStatus.RUNNING))
    assert late.status is RunStatus.CANCEL_REQUESTED, "progress does not undo a cancel"
    assert runs.report(context, ANN, run.id, Report(to=RunStatus.CANCELED)).status is RunStatus.CANCELED


def test_cancelling_an_interactive_run_ends_it(context: Context) -> None:
    run = submit_interactive(context)
    runs.report(context, ANN, run.id, Report(to=RunStatus.RUNNING, reason=Reason.LOGGING))
    assert runs.cancel(context, ANN, run.id).status is RunStatus.CANCELED


@pytest.mark.parametrize(("to", "reason"), [(status, reason) for reason, status in MARKS.items()])
def test_a_run_is_ended_from_outside_with_the_status_that_is_wanted(
    context: Context, to: RunStatus, reason: Reason
) -> None:
    waiting = submit(context)
    assert runs.mark(context, ANN, waiting.id, Mark(to=to)).status is to
    for began in ((), (RunStatus.RUNNING,), (RunStatus.RUNNING, RunStatus.FINALIZING)):
        run = submit(context)
        for status in (RunStatus.QUEUED, RunStatus.PROVISIONING, *began):
            runs.move(context, run.id, status, Reason.NONE, "")
        told = runs.mark(context, ANN, run.id, Mark(to=to, message="E1: diverged"))
        assert (told.status, told.reason, told.message) == (RunStatus.CANCEL_REQUESTED, reason, "E1: diverged")
        assert runs.mark(context, ANN, run.id, Mark(to=RunStatus.FAILED, message="again")) == told
        assert runs.cancel(context, ANN, run.id) == told
        ended = runs.report(context, ANN, run.id, Report(to=RunStatus.CANCELED))
        assert (ended.status, ended.reason, ended.message) == (to, reason, "E1: diverged")
        assert runs.events(context, ANN, run.id)[-1].to is to
        assert runs.mark(context, ANN, run.id, Mark(to=RunStatus.FAILED)) == ended, "it has ended: it stays as it is"


def test_queued_runs_are_marked_at_once_and_nothing_else_is_a_mark(context: Context) -> None:
    run = submit(context)
    runs.move(context, run.id, RunStatus.QUEUED, Reason.WAITING_FOR_NODE, "")
    done = runs.mark(context, ANN, run.id, Mark(to=RunStatus.COMPLETED))
    assert (done.status, done.message) == (RunStatus.COMPLETED, "It was marked as Completed by ann.")
    for status in set(RunStatus) - set(MARKS.values()):
        with pytest.raises(InvalidInput, match="cannot be marked as"):
            runs.mark(context, ANN, submit(context).id, Mark(to=status))


def test_what_only_the_control_plane_decides_cannot_be_reported(context: Context) -> None:
    run = submit(context)
    for status in (RunStatus.QUEUED, RunStatus.PROVISIONING, RunStatus.CANCEL_REQUESTED, RunStatus.NOT_RESPONDING):
        with pytest.raises(Conflict):
            runs.report(context, ANN, run.id, Report(to=status))
    assert runs.get(context, ANN, run.id) == run


def test_an_end_is_said_once_and_starts_the_last_week_of_its_tokens(context: Context, clock: Clock) -> None:
    run = submit_interactive(context)
    token = people.mint_run_token(context, run.id, user="ann")
    runs.report(context, ANN, run.id, Report(to=RunStatus.RUNNING))
    ended = runs.report(context, ANN, run.id, Report(to=RunStatus.COMPLETED, exit_code=0))
    assert runs.report(context, ANN, run.id, Report(to=RunStatus.FAILED)) == ended
    with pytest.raises(Conflict):
        runs.report(context, ANN, run.id, Report(to=RunStatus.RUNNING))
    clock.pass_by(6 * 24 * 3600)
    assert people.caller(context, token).run_id == run.id
    clock.pass_by(2 * 24 * 3600)
    with pytest.raises(people.Unauthorized):
        people.caller(context, token)
    with pytest.raises(people.Unauthorized):
        people.remembered(context, token)


@pytest.mark.parametrize(
    ("at", "sender", "ended"),
    [
        (1005.6, 1018.0, 5.6),  # told 12.4 s late
        (1005.6, 1016.0, 5.6),  # the report itself has waited for 2 s, for a control plane that was about to start
        (5.6, 18.0, 5.6),  # by a clock that is far behind
        (9005.6, 9018.0, 5.6),  # or far ahead
        (1005.6, None, 5.6),  # from a sender that does not tell its time
        (9005.6, None, 18.0),  # never later than now
        (1.0, 500.0, 0.0),  # nor before the run began
        (None, None, 18.0),
        (float("nan"), 1.0, 18.0),
    ],
)
def test_what_is_told_late_has_the_time_when_it_happened(
    context: Context, clock: Clock, at: float | None, sender: float | None, ended: float
) -> None:
    clock.now = 1000.0
    run = submit_interactive(context)
    runs.report(context, ANN, run.id, Report(to=RunStatus.RUNNING, at=clock()), clock())
    clock.pass_by(18)
    done = runs.report(context, ANN, run.id, Report(to=RunStatus.COMPLETED, at=at), sender)
    assert done.ended_at is not None and done.started_at is not None
    assert done.ended_at - done.started_at == pytest.approx(ended)
    assert runs.events(context, ANN, run.id)[-1].at == done.ended_at


def test_a_long_message_keeps_its_end(context: Context) -> None:
    run = submit_interactive(context)
    ended = runs.report(context, ANN, run.id, Report(to=RunStatus.FAILED, message="x" * 50_000 + "ValueError: the end"))
    assert ended.message.endswith("ValueError: the end")
    assert len(ended.message) <= runs.MAX_MESSAGE + 1


def test_a_heartbeat_brings_a_silent_run_back_to_where_it_was(context: Context, clock: Clock) -> None:
    run = submit_interactive(context)
    runs.report(context, ANN, run.id, Report(to=RunStatus.RUNNING))
    runs.report(context, ANN, run.id, Report(to=RunStatus.FINALIZING, reason=Reason.SCRIPT_ENDED))
    runs.move(context, run.id, RunStatus.NOT_RESPONDING, Reason.SILENT, "")
    clock.pass_by(5)
    back = runs.heartbeat(context, ANN, run.id)
    assert (back.status, back.heard_at) == (RunStatus.FINALIZING, clock())


def test_labels(context: Context) -> None:
    run = submit(context, tags={"a": "1", "b": None})
    changed = runs.annotate(
        context, ANN, run.id, Changes(tags={"c": "3"}, remove_tags=("a",), properties={"p": "1"}, display_name="new")
    )
    assert (changed.tags, changed.properties, changed.display_name) == ({"b": None, "c": "3"}, {"p": "1"}, "new")
    with pytest.raises(Conflict):
        runs.annotate(context, ANN, run.id, Changes(properties={"p": "2"}))
    with pytest.raises(InvalidInput):
        runs.annotate(context, ANN, run.id, Changes(tags={"t": "v" * 9000}))


def test_listing_checks_what_it_is_asked(context: Context) -> None:
    run = submit(context)
    assert list(runs.listing(context, ANN, RunQuery(workspace="vision"))) == [run]
    for limit in (0, -1, 10_001):
        with pytest.raises(InvalidInput):
            runs.listing(context, ANN, RunQuery(workspace="vision", limit=limit))
    with pytest.raises(NotFound):
        runs.listing(context, ANN, RunQuery(workspace="vision", before="train_1_ffffffff"))


def test_why_a_run_waits(context: Context) -> None:
    queue = [submit(context) for _ in range(5)]
    for run in queue:
        runs.move(context, run.id, RunStatus.QUEUED, Reason.WAITING_FOR_NODE, "")
    assert runs.why(context, runs.get(context, ANN, queue[0].id)) == "It is next on local, which runs 2 at once."
    for run in queue[:2]:
        runs.move(context, run.id, RunStatus.PROVISIONING, Reason.NODE_GIVEN, "")
    assert runs.why(context, runs.get(context, ANN, queue[2].id)) == (
        "2 runs are ahead of it on local, which runs 2 at once. `roost run list --status Running` shows what runs."
    )
    assert runs.why(context, runs.get(context, ANN, queue[4].id)).startswith("4 runs are ahead of it")
    assert runs.why(context, runs.get(context, ANN, queue[0].id)) == "Its agent is starting on a node of local."
    runs.report(context, ANN, queue[0].id, Report(to=RunStatus.RUNNING))
    assert runs.why(context, runs.get(context, ANN, queue[0].id)) == "It is running."
    runs.report(context, ANN, queue[0].id, Report(to=RunStatus.FAILED, message="boom"))
    assert runs.why(context, runs.get(context, ANN, queue[0].id)) == "It has ended: Failed. boom"


def test_interactive_runs_take_no_node(context: Context) -> None:
    run = submit_interactive(context)
    runs.report(context, ANN, run.id, Report(to=RunStatus.RUNNING))
    assert runs.active(context, ANN) == 0
