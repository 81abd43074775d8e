"""`advance`, the one door: every pair of statuses against tables written by hand; events that are sent twice."""

from dataclasses import replace
from itertools import product

import pytest

from roost.domain.errors import Conflict
from roost.domain.runs import (
    MAX_ATTEMPTS,
    MOVES,
    Reason,
    Run,
    RunEvent,
    RunSpec,
    RunStatus,
    advance,
    marked,
    resumed,
)

CANCEL = RunStatus.CANCEL_REQUESTED


def run_in(status: RunStatus, **changes: object) -> Run:
    values = {"message": "old", "reason": Reason.NONE, "status": status, **changes}
    return Run(id="r", workspace="w", experiment="e", number=1, spec=RunSpec(), user="u", created_at=1.0, **values)  # type: ignore[arg-type]


# What becomes of a run in the status of a row when an event leads to the status of a column. Written by hand, not derived from
# the source: whoever changes the moves changes this table too.
#   + the event is taken     = it changes nothing     x it is refused (Conflict)
GOLDEN = """
                    NS ST PR QU PV RU FI NR CR CO FA CA
NS NotStarted        +  +  +  +  x  +  x  x  x  +  +  +
ST Starting          x  +  +  +  x  +  x  x  x  +  +  +
PR Preparing         x  x  +  +  x  x  x  x  +  +  +  +
QU Queued            x  x  x  +  +  x  x  x  x  +  +  +
PV Provisioning      x  x  x  +  +  +  +  x  +  +  +  +
RU Running           x  x  x  +  x  +  +  +  +  +  +  +
FI Finalizing        x  x  x  +  x  x  +  +  +  +  +  +
NR NotResponding     x  x  x  +  x  +  +  +  +  +  +  +
CR CancelRequested   =  =  =  =  =  =  =  =  +  +  +  +
CO Completed         x  x  x  x  x  x  x  x  x  =  =  =
FA Failed            x  x  x  x  x  x  x  x  x  =  =  =
CA Canceled          x  x  x  x  x  x  x  x  x  =  =  =
"""


def golden_moves() -> list[tuple[str, str, str]]:
    head, *rows = (line.split() for line in GOLDEN.strip().splitlines())
    names = {code: name for code, name, *_ in rows}
    return [(row[1], names[code], result) for row in rows for code, result in zip(head, row[2:], strict=True)]


@pytest.mark.parametrize(("before", "to", "result"), golden_moves())
def test_every_move(before: str, to: str, result: str) -> None:
    run = run_in(RunStatus(before))
    event = RunEvent(to=RunStatus(to), at=9.0, reason=Reason.DONE, message="new")
    if result == "x":
        with pytest.raises(Conflict, match=rf"{before}.* cannot become {to}"):
            advance(run, event)
    elif result == "=":
        assert advance(run, event) is run
    else:
        after = advance(run, event)
        assert (after.status, after.reason, after.message) == (to, Reason.DONE, "new")
        assert after.revision == run.revision + 1
        assert after.ended_at == (9.0 if to in ("Completed", "Failed", "Canceled") else None)
        assert after.started_at == (9.0 if to == "Running" else None)


def test_the_golden_table_has_every_pair_of_statuses() -> None:
    pairs = [(before, to) for before, to, _ in golden_moves()]
    assert sorted(pairs) == sorted(product(map(str, RunStatus), repeat=2))
    assert set(MOVES) == set(RunStatus)


# What a status says of its run: whether it has ended, and whether it holds a node.
PROPERTIES = """
NotStarted      going  free
Starting        going  free
Preparing       going  free
Queued          going  free
Provisioning    going  holds
Running         going  holds
Finalizing      going  holds
NotResponding   going  holds
CancelRequested going  holds
Completed       ended  free
Failed          ended  free
Canceled        ended  free
"""


def test_what_a_status_says() -> None:
    rows = [
        [str(status), "ended" if status.is_terminal else "going", "holds" if status.holds_node else "free"]
        for status in RunStatus
    ]
    assert sorted(rows) == sorted(line.split() for line in PROPERTIES.strip().splitlines())


# A run in the status of a row that its agents are told to end, and why: what becomes of the event that leads to a column.
#   as-is the event stays what it is     again the run waits for other nodes, as its next attempt
RESUMED = """
status          ending       Completed  Failed  Canceled  Running
Running         preempted    as-is      again   again     as-is
Finalizing      preempted    as-is      again   again     as-is
NotResponding   preempted    as-is      again   again     as-is
Provisioning    preempted    as-is      again   again     as-is
CancelRequested preempted    as-is      as-is   as-is     as-is
Completed       preempted    as-is      as-is   as-is     as-is
Failed          preempted    as-is      as-is   as-is     as-is
Running         node_failed  as-is      as-is   as-is     as-is
Running         nodes_done   as-is      as-is   as-is     as-is
Running         -            as-is      as-is   as-is     as-is
"""


def golden_ends() -> list[tuple[str, str, str, str]]:
    head, *rows = (line.split() for line in RESUMED.strip().splitlines())
    return [
        (row[0], row[1].strip("-"), to, result) for row in rows for to, result in zip(head[2:], row[2:], strict=True)
    ]


@pytest.mark.parametrize(("status", "ending", "to", "result"), golden_ends())
def test_a_run_that_lost_its_nodes_waits_again(status: str, ending: str, to: str, result: str) -> None:
    run = run_in(RunStatus(status), ending=Reason(ending), attempt=2, handle="h")
    event = RunEvent(to=RunStatus(to), at=9.0, reason=Reason.EXIT_CODE, message="new", exit_code=-9)
    if result == "as-is":
        assert resumed(run, event) is event
        return
    after = advance(run, resumed(run, event))
    assert (after.status, after.reason, after.attempt) == (RunStatus.QUEUED, Reason.PREEMPTED, 3)
    assert (after.ending, after.handle, after.exit_code, after.ended_at) == (Reason.NONE, "", None, None)
    last = advance(replace(run, attempt=MAX_ATTEMPTS), resumed(replace(run, attempt=MAX_ATTEMPTS), event))
    assert (last.status, last.reason, last.exit_code) == (RunStatus.FAILED, Reason.PREEMPTED, -9)


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
