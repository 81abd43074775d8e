"""`advance`, the one door: every pair of statuses, said once or twice."""

from itertools import product

import pytest

from roost.domain.errors import Conflict
from roost.domain.runs import HOLDS_NODE, MOVES, TERMINAL, Reason, Run, RunEvent, RunSpec, RunStatus, advance, marked

CANCEL = RunStatus.CANCEL_REQUESTED


def run_in(status: RunStatus, **changes: object) -> Run:
    values = {"message": "old", "reason": Reason.NONE, "status": status, **changes}
    return Run(id="r", workspace="w", experiment="e", number=1, spec=RunSpec(), user="u", created_at=1.0, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(("before", "to"), list(product(RunStatus, RunStatus)))
def test_every_move(before: RunStatus, to: RunStatus) -> None:
    run = run_in(before)
    event = RunEvent(to=to, at=9.0, reason=Reason.DONE, message="new")
    if (before.is_terminal and to.is_terminal) or (before is CANCEL and not to.is_terminal and to is not CANCEL):
        assert advance(run, event) is run
    elif to is before or to in MOVES[before]:
        after = advance(run, event)
        assert (after.status, after.reason, after.message) == (to, Reason.DONE, "new")
        assert after.revision == run.revision + 1
        assert after.ended_at == (9.0 if to.is_terminal else None)
        assert after.started_at == (9.0 if to is RunStatus.RUNNING else None)
    else:
        with pytest.raises(Conflict, match=rf"{before.value}.* cannot become {to.value}"):
            advance(run, event)


def test_the_table_is_whole() -> None:
    assert set(MOVES) == set(RunStatus)
    for status in RunStatus:
        assert status not in MOVES[status]
        assert bool(MOVES[status]) is not status.is_terminal
        if not status.is_terminal:
            assert RunStatus.CANCELED in MOVES[status]
            assert RunStatus.FAILED in MOVES[status]
    assert not TERMINAL & HOLDS_NODE
    assert {s for s in RunStatus if s.holds_node} == HOLDS_NODE


def test_said_twice_is_said_once() -> None:
    first = advance(run_in(RunStatus.PROVISIONING), RunEvent(to=RunStatus.RUNNING, at=5.0, message="m", handle="h"))
    assert advance(first, RunEvent(to=RunStatus.RUNNING, at=6.0, message="m", handle="h")) is first
    assert advance(first, RunEvent(to=RunStatus.RUNNING, at=6.0, message="m")) is first
    told = advance(first, RunEvent(to=RunStatus.RUNNING, at=6.0, message="step 2"))
    assert (told.message, told.started_at, told.handle) == ("step 2", 5.0, "h")


def test_a_new_handle_is_news_by_itself() -> None:
    run = run_in(RunStatus.PROVISIONING, handle="old")
    after = advance(run, RunEvent(to=RunStatus.PROVISIONING, at=6.0, message="old", handle="new"))
    assert (after.handle, after.revision) == ("new", run.revision + 1)


def test_the_first_end_stays() -> None:
    ended = advance(
        run_in(RunStatus.RUNNING), RunEvent(to=RunStatus.FAILED, at=5.0, exit_code=3, reason=Reason.EXIT_CODE)
    )
    assert advance(ended, RunEvent(to=RunStatus.COMPLETED, at=6.0, exit_code=0)) is ended
    assert (ended.ended_at, ended.exit_code) == (5.0, 3)
    with pytest.raises(Conflict, match="has ended"):
        advance(ended, RunEvent(to=RunStatus.RUNNING, at=7.0))


def test_progress_does_not_undo_a_cancel() -> None:
    run = advance(run_in(RunStatus.RUNNING), RunEvent(to=CANCEL, at=5.0, reason=Reason.CANCELED_BY_USER))
    for status in (RunStatus.RUNNING, RunStatus.FINALIZING, RunStatus.QUEUED, RunStatus.NOT_RESPONDING):
        assert advance(run, RunEvent(to=status, at=6.0)) is run
    assert advance(run, RunEvent(to=RunStatus.CANCELED, at=7.0)).status is RunStatus.CANCELED


def asked(reason: Reason, words: str) -> RunEvent:
    return RunEvent(to=CANCEL, at=5.0, reason=reason, message=words)


def test_a_run_that_a_person_has_marked_ends_so_whatever_its_script_does() -> None:
    running = run_in(RunStatus.RUNNING)
    for reason, status in ((Reason.MARKED_FAILED, RunStatus.FAILED), (Reason.MARKED_COMPLETED, RunStatus.COMPLETED)):
        run = advance(running, asked(reason, "diverged"))
        assert (run.status, run.ending, run.message) == (CANCEL, reason, "diverged")
        for end in (RunStatus.CANCELED, RunStatus.COMPLETED, RunStatus.FAILED):
            event = marked(run, RunEvent(to=end, at=9.0, message="own words", exit_code=-15))
            after = advance(run, event)
            assert (after.status, after.reason) == (status, reason)
            assert after.message == ("diverged\nown words" if end is RunStatus.CANCELED else "diverged")
            assert after.exit_code == (-15 if status is RunStatus.FAILED else None)
        assert marked(running, event) is event


def test_of_several_requests_to_end_a_run_the_first_counts() -> None:
    first = advance(run_in(RunStatus.RUNNING), asked(Reason.MARKED_FAILED, "diverged"))
    for reason in (Reason.CANCELED_BY_USER, Reason.MARKED_COMPLETED, Reason.MARKED_FAILED):
        assert advance(first, asked(reason, "other words")) is first
    salvage = RunEvent(to=CANCEL, at=6.0, reason=Reason.AGENT_LOST, message="Its agent is gone.", handle="new")
    lost = advance(first, salvage)
    assert (lost.handle, lost.ending, lost.message) == ("new", Reason.MARKED_FAILED, "diverged")
    canceled = advance(run_in(RunStatus.RUNNING), asked(Reason.CANCELED_BY_USER, "by ann"))
    assert advance(canceled, asked(Reason.MARKED_FAILED, "late")) is canceled
