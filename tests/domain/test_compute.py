"""When nodes come and go, whose turn it is, what may be asked for: tables of what is and what follows."""

import pytest

from roost.domain.compute import (
    Compute,
    ComputeKind,
    ComputeSpec,
    Machine,
    Node,
    NodeState,
    adjust,
    check,
    next_address,
    next_gpus,
    split_gpus,
    turns,
)
from roost.domain.errors import InvalidCompute
from roost.domain.names import compute as compute_name
from roost.domain.sizes import SIZES, beyond, find, mapping

NOW = 1000.0


def cluster(low: int = 0, high: int = 4, idle: float = 60.0) -> Compute:
    return Compute(
        workspace="vision",
        name="gpu",
        engine="local",
        kind=ComputeKind.CLUSTER,
        min_nodes=low,
        max_nodes=high,
        idle_seconds=idle,
    )


def nodes(*words: str) -> list[Node]:
    """`idle:30` for 30 seconds, `running:r1`, `leaving:r1`, `preparing`; numbered from 1."""
    found = []
    for number, word in enumerate(words, 1):
        state, _, rest = word.partition(":")
        run_id = rest if state in ("running", "leaving", "preempted") else ""
        since = NOW - float(rest or 0) if state == "idle" else NOW
        found.append(
            Node(
                id=f"gpu-{number}",
                workspace="vision",
                compute="gpu",
                address=f"127.0.2.{number}",
                state=NodeState(state),
                since=since,
                run_id=run_id,
            )
        )
    return found


@pytest.mark.parametrize(
    ("low", "high", "there", "held", "waiting", "states", "remove", "add"),
    [
        # Up: as many as runs wait, no more than the limit, never fewer than the least.
        (0, 4, [], [], 0, {}, [], 0),
        (0, 4, [], [], 2, {}, [], 2),
        (0, 4, [], [], 20, {}, [], 4),
        (2, 4, [], [], 0, {}, [], 2),
        (0, 4, ["running:a", "idle:1"], ["a"], 2, {}, [], 1),
        (0, 4, ["preparing", "preparing"], [], 2, {1: "idle", 2: "idle"}, [], 0),
        # Freed: its run has ended or is not there any more.
        (0, 4, ["running:a"], [], 0, {1: "idle"}, [], 0),
        (0, 4, ["running:a"], [], 1, {1: "idle"}, [], 0),
        # Down: idle for long enough, not needed, above the least.
        (0, 4, ["idle:59"], [], 0, {}, [], 0),
        (0, 4, ["idle:60"], [], 0, {}, [1], 0),
        (1, 4, ["idle:90", "idle:99"], [], 0, {}, [2], 0),
        (0, 4, ["idle:90", "idle:99"], [], 1, {}, [2], 0),
        (0, 4, ["running:a", "idle:90"], ["a"], 0, {}, [2], 0),
        # Taken away: it is no node any more, whatever is wanted, and goes when its run has left it.
        (0, 4, ["preempted:a", "idle:1"], ["a"], 0, {}, [], 0),
        (0, 4, ["preempted:a"], [], 1, {}, [1], 1),
        (1, 1, ["preempted"], [], 0, {}, [1], 1),
        # A lowered limit: idle ones go at once, busy ones after their runs.
        (0, 1, ["running:a", "idle:1"], ["a"], 5, {}, [2], 0),
        (0, 1, ["running:a", "running:b"], ["a", "b"], 5, {2: "leaving"}, [], 0),
        (0, 1, ["running:a", "leaving:b"], ["a", "b"], 5, {}, [], 0),
        (0, 1, ["running:a", "leaving:b"], ["a"], 5, {}, [2], 0),
        (0, 2, ["leaving:a", "leaving:b"], ["a", "b"], 0, {1: "running", 2: "running"}, [], 0),
        (0, 2, ["leaving:a"], ["a"], 3, {1: "running"}, [], 1),
    ],
)
def test_when_nodes_come_and_go(
    low: int,
    high: int,
    there: list[str],
    held: list[str],
    waiting: int,
    states: dict[int, str],
    remove: list[int],
    add: int,
) -> None:
    change = adjust(cluster(low, high), nodes(*there), held, waiting, NOW)
    assert {int(key.rpartition("-")[2]): state.value for key, state in change.states.items()} == states
    assert [int(key.rpartition("-")[2]) for key in change.remove] == remove
    assert change.add == add
    assert bool(change) == bool(states or remove or add)


@pytest.mark.parametrize(
    ("waiting", "running", "order"),
    [
        ("", {}, ""),
        ("a1 a2 a3", {}, "a1 a2 a3"),
        ("a1 a2 b1", {}, "a1 b1 a2"),
        ("a1 a2 b1 b2", {"a": 2}, "b1 b2 a1 a2"),
        ("a1 b1 c1", {"a": 1, "b": 1}, "c1 a1 b1"),
        ("b1 a1 b2 a2 a3", {"b": 1}, "a1 b1 a2 b2 a3"),
    ],
)
def test_the_one_with_the_fewest_runs_is_next_then_the_oldest(
    waiting: str, running: dict[str, int], order: str
) -> None:
    assert turns([(run, run[0]) for run in waiting.split()], running) == order.split()


@pytest.mark.parametrize(
    ("count", "max_nodes", "taken", "own"),
    [
        (0, 4, [], ()),
        (4, 4, [], (0,)),
        (4, 4, [0, 1], (2,)),
        (8, 2, [0, 1, 2, 3], (4, 5, 6, 7)),
        (1, 4, [0, 0], (0,)),
        (2, 3, [0], (1,)),
    ],
)
def test_a_new_node_gets_the_gpus_that_fewest_have(
    count: int, max_nodes: int, taken: list[int], own: tuple[int, ...]
) -> None:
    assert next_gpus(count, max_nodes, taken) == own


def test_a_replicas_size_that_the_machine_has_not_got_is_a_wish() -> None:
    machine = Machine(cores=2, memory_gb=8.0, gpus=0)
    assert beyond(2, 8, 0, machine) == ""
    there = "is a wish here: replicas share this machine (2 cores, 8 GB, no GPU)."
    assert beyond(400, 1000, 0, machine) == f"400 cores and 1000 GB {there}"
    assert beyond(0.1, 9, 0, machine) == f"9 GB {there}"
    assert beyond(0.1, 9, 2, machine) == f"9 GB and 2 GPUs {there}"


def test_logical_nodes_split_the_gpus_of_their_machine() -> None:
    assert [split_gpus(4, 2, rank) for rank in range(2)] == [(0, 1), (2, 3)]
    assert [split_gpus(2, 3, rank) for rank in range(3)] == [(0,), (0,), (1,)]
    assert split_gpus(0, 2, 0) == split_gpus(4, 1, 0) == ()


def test_each_node_has_an_address_of_its_own() -> None:
    taken: list[str] = []
    for _ in range(600):
        taken.append(next_address(taken))
    assert len(set(taken)) == 600
    assert taken[0] == "127.0.2.1"
    assert not [address for address in taken if address.rpartition(".")[2] in ("0", "255")]
    assert next_address(taken[1:]) == taken[0]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"max_nodes": 0}, "at most 1 to 1000 nodes, got 0"),
        ({"max_nodes": 4, "min_nodes": 5}, "nodes that stay when idle must be 0 to 4, the most there may be; got 5"),
        ({"max_nodes": 4, "min_nodes": -1}, "got -1"),
        ({"max_nodes": 4, "idle_seconds": -1.0}, "Idle nodes go after 0 to"),
        ({"max_nodes": 4, "idle_seconds": float("nan")}, "got nan"),
        ({"max_nodes": 4, "vm_size": "a b"}, "size 'a b' is not allowed"),
        ({"max_nodes": 4, "description": "x" * 1001}, "1001 characters"),
    ],
)
def test_what_may_be_asked_for(spec: dict[str, object], words: str) -> None:
    check(ComputeSpec(max_nodes=4, min_nodes=4, vm_size="STANDARD_NC6"))
    with pytest.raises(InvalidCompute) as caught:
        check(ComputeSpec(**spec))  # type: ignore[arg-type]
    assert words in caught.value.message


@pytest.mark.parametrize("name", ["g", "gpu-cluster", "Cpu2", "a" * 32])
def test_names_that_a_cluster_can_have(name: str) -> None:
    assert compute_name(name) == name


@pytest.mark.parametrize("name", ["", "local", "Local", "2gpu", "-a", "a-", "a_b", "a/b", "a" * 33, "gpü", None, 3])
def test_names_that_it_cannot(name: object) -> None:
    with pytest.raises(InvalidCompute):
        compute_name(name)


def test_a_size_is_a_wish_and_said_so() -> None:
    machine = Machine(cores=1, memory_gb=8.0, gpus=2)
    assert mapping("STANDARD_NC6", machine) == (
        "STANDARD_NC6 (6 cores, 56 GB, 1 GPU) is a wish here: nodes share this machine (1 core, 8 GB, 2 GPUs)."
    )
    assert mapping("Standard_Z9", machine).startswith("Standard_Z9 is a wish here")
    assert len({size.name.lower() for size in SIZES}) == len(SIZES)
    assert find("standard_d2_V2") == find("STANDARD_D2_V2") is not None
