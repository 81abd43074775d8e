"""What may be asked of several processes, which of them have logs of their own, and the names of seats."""

import pytest

from roost.domain.errors import InvalidInput
from roost.domain.files import of_attempt, speaker
from roost.domain.plans import run_of, seat
from roost.domain.topology import LaunchKind, Topology, by_rank, check, ports_on_a_node, ranks_on


@pytest.mark.parametrize(
    ("launch", "nodes", "topology", "words"),
    [
        ("carrier-pigeon", 1, Topology(), "No launch named 'carrier-pigeon'"),
        ("single", 0, Topology(), "1 to 1000 nodes, got 0"),
        ("single", 1001, Topology(), "got 1001"),
        ("mpi", 1, Topology(processes_per_node=0), "1 to 1024 processes, got 0"),
        ("tensorflow", 1, Topology(), "at least one worker"),
        ("tensorflow", 1, Topology(workers=1, parameter_servers=-1), "got 1 and -1"),
        ("tensorflow", 1, Topology(workers=5000), "5000 workers are too many for 1 nodes"),
        ("single", 1, Topology(processes_per_node=2), "launched singly"),
    ],
)
def test_what_is_refused(launch: str, nodes: int, topology: Topology, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check(launch, nodes, topology)
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("launch", "nodes", "topology", "apart", "ports"),
    [
        ("single", 1, Topology(), False, 2),
        ("single", 2, Topology(), True, 2),
        ("mpi", 1, Topology(), True, 2),
        ("pytorch", 1, Topology(), False, 2),
        ("pytorch", 1, Topology(processes_per_node=4), True, 5),
        ("tensorflow", 1, Topology(workers=1), False, 2),
        ("tensorflow", 2, Topology(workers=2, parameter_servers=1), True, 3),
    ],
)
def test_logs_and_ports(launch: str, nodes: int, topology: Topology, apart: bool, ports: int) -> None:
    check(launch, nodes, topology)
    assert by_rank(launch, nodes, topology) is apart
    assert ports_on_a_node(launch, nodes, topology) == ports


def test_a_seat_names_run_node_and_attempt() -> None:
    assert [seat("r"), seat("r", 2), seat("r", 0, 3), seat("r", 2, 3)] == ["r", "r+2", "r~3", "r+2~3"]
    assert {run_of(each) for each in ("r", "r+2", "r~3", "r+2~3")} == {"r"}


def test_whose_log_it_is() -> None:
    assert speaker("user_logs/std_log_process_12.txt") == "12"
    assert speaker("user_logs/std_log_node_1.txt") == "node 1"
    assert speaker("user_logs/std_log.txt") == speaker("outputs/std_log_process_1.txt") == ""
    assert of_attempt("user_logs/std_log.txt", 2) == "user_logs/attempt_2/std_log.txt"
    assert of_attempt("outputs/model.pt", 2) == "outputs/model.pt"


@pytest.mark.parametrize(
    ("launch", "nodes", "topology", "words"),
    [
        (LaunchKind.PYTORCH, 2, Topology(processes_per_node=2), ["0-1", "2-3"]),
        (LaunchKind.MPI, 2, Topology(), ["0", "1"]),
        (LaunchKind.TENSORFLOW, 2, Topology(workers=2, parameter_servers=1), ["0, 2", "1"]),
        (LaunchKind.SINGLE, 2, Topology(), ["0", "1"]),
    ],
)
def test_which_processes_a_node_has(launch: LaunchKind, nodes: int, topology: Topology, words: list[str]) -> None:
    assert [ranks_on(launch, nodes, topology, rank) for rank in range(nodes)] == words
