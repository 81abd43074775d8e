"""When the members of a gang have to end, and how their run ended; as tables."""

import pytest

from roost.domain.gangs import Member, Phase, all_met, end, ending, may_deliver
from roost.domain.runs import Reason, RunStatus

ENDS = {
    "done": (RunStatus.COMPLETED, Reason.DONE),
    "echo": (RunStatus.FAILED, Reason.NODE_FAILED),
    "told": (RunStatus.COMPLETED, Reason.NODES_DONE),
    "failed": (RunStatus.FAILED, Reason.EXIT_CODE),
    "lost": (RunStatus.FAILED, Reason.AGENT_LOST),
    "late": (RunStatus.FAILED, Reason.TIMED_OUT),
    "cancelled": (RunStatus.CANCELED, Reason.CANCELED_BY_USER),
    "preempted": (RunStatus.FAILED, Reason.PREEMPTED),
}


def gang(words: str) -> list[Member]:
    """`running failed:3` is one that runs and one that failed at second 3; `failing:3` has failed and still ships. Those that
    were ever ready have a port, one that is `absent` failed before."""
    members = []
    for rank, word in enumerate(words.split()):
        state, _, at = word.partition(":")
        common = {"run_id": "r", "node_rank": rank, "node": f"n-{rank}", "address": "", "given_at": 0.0}
        if state == "failing":
            given = {"phase": Phase.FINALIZING, "to": RunStatus.FAILED, "reason": Reason.EXIT_CODE, "message": "boom"}
        elif state == "absent":
            given = {"phase": Phase.ENDED, "to": RunStatus.FAILED, "reason": Reason.PREPARE_FAILED, "ports": ()}
        elif state in ENDS:
            to, reason = ENDS[state]
            given = {"phase": Phase.ENDED, "to": to, "reason": reason, "message": state}
        else:
            given = {"phase": Phase(state)}
        ports = () if state in ("given", "preparing") else (20000,)
        members.append(Member(**{"ports": ports, **common, **given}, ended_at=float(at) if at else None))  # type: ignore[arg-type]
    return members


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("running running", None),
        ("running done", None),
        ("met preparing", None),
        ("running failed:3", Reason.NODE_FAILED),
        ("running failing:3", Reason.NODE_FAILED),
        ("running lost:3", Reason.NODE_FAILED),
        ("running preempted", None),
        ("running cancelled", Reason.NODE_FAILED),
        ("met absent", Reason.NODE_FAILED),
        ("done serving", Reason.NODES_DONE),
        ("finalizing serving", Reason.NODES_DONE),
        ("running serving", None),
        ("running serving serving", None),
        ("serving serving", Reason.NODES_DONE),
        ("done failed:1", None),
    ],
)
def test_when_the_others_have_to_end(words: str, reason: Reason | None) -> None:
    found = ending(gang(words))
    assert (found.reason if found else None) is reason


@pytest.mark.parametrize(
    ("words", "to", "reason", "begins"),
    [
        ("done done", RunStatus.COMPLETED, Reason.DONE, ""),
        ("done told", RunStatus.COMPLETED, Reason.DONE, ""),
        (
            "echo failed:3",
            RunStatus.FAILED,
            Reason.EXIT_CODE,
            "On node 1 (n-1): failed\nOn node 0 (n-0): echo\nIt was ended on node 0 (n-0) too.",
        ),
        ("failed:3 late:9", RunStatus.FAILED, Reason.TIMED_OUT, "On node 1 (n-1): late"),
        ("echo echo", RunStatus.FAILED, Reason.NODE_FAILED, "On node 0 (n-0): echo"),
        ("done echo", RunStatus.FAILED, Reason.NODE_FAILED, "On node 1 (n-1): echo"),
        ("failed:4 lost:3", RunStatus.FAILED, Reason.AGENT_LOST, "On node 1 (n-1): lost"),
        ("cancelled done", RunStatus.CANCELED, Reason.CANCELED_BY_USER, "cancelled"),
        ("cancelled failed:9", RunStatus.FAILED, Reason.EXIT_CODE, "On node 1"),
        ("preempted preempted", RunStatus.FAILED, Reason.PREEMPTED, "Its nodes"),
        ("preempted done", RunStatus.FAILED, Reason.PREEMPTED, "Its nodes"),
    ],
)
def test_how_the_run_ended(words: str, to: RunStatus, reason: Reason, begins: str) -> None:
    found = end(gang(words))
    assert found is not None
    assert (found.to, found.reason) == (to, reason)
    assert found.message.startswith(begins)


@pytest.mark.parametrize(
    ("words", "to", "message"),
    [
        ("cancelled cancelled", RunStatus.CANCELED, "cancelled"),
        ("cancelled failed:9", RunStatus.CANCELED, "cancelled"),
        ("failed:3 failed:9", RunStatus.CANCELED, ""),
        ("preempted preempted", RunStatus.CANCELED, ""),
        ("echo late:9", RunStatus.CANCELED, ""),
        ("done done", RunStatus.COMPLETED, ""),
    ],
)
def test_how_a_run_ended_that_a_person_cancelled(words: str, to: RunStatus, message: str) -> None:
    found = end(gang(words), canceled=True)
    assert found is not None
    assert (found.to, found.message) == (to, message)


def test_nothing_has_ended_before_all_have() -> None:
    assert end(gang("done running")) is None
    assert end(gang("failed:1 failing:2")) is None
    assert end(gang("cancelled running"), canceled=True) is None


def test_all_have_met_when_none_is_on_the_way() -> None:
    assert all_met(gang("met met"))
    assert all_met(gang("met running"))
    assert not all_met(gang("met preparing"))
    assert not all_met(gang("given met"))


def test_one_that_ended_before_it_was_ready_has_not_met_the_others() -> None:
    assert not all_met(gang("met absent"))
    assert all_met(gang("met done")), "it was ready, ran and ended before the last heard of it"


@pytest.mark.parametrize(
    ("words", "rank", "may"),
    [
        ("finalizing running", 0, None),
        ("finalizing finalizing", 0, True),
        ("finalizing serving", 0, True),
        ("finalizing finalizing", 1, None),
        ("done:1 finalizing", 1, True),
        ("done:1 finalizing running", 1, None),
        ("finalizing failing:3", 0, False),
        ("finalizing cancelled:3", 0, False),
        ("failed:1 finalizing", 1, False),
    ],
)
def test_when_data_is_delivered(words: str, rank: int, may: bool | None) -> None:
    assert may_deliver(gang(words), rank) is may
