import pytest

from roost import launch
from roost.domain.runs import RunSpec
from roost.domain.topology import LaunchKind, Topology
from roost.launch.base import Place

PLACE = {"addresses": ("10.0.0.1", "10.0.0.2"), "nodes": ("a", "b"), "ports": ((4000, 4001, 4002), (5000, 5001, 5002))}


def _spec(processes: int = 1, **more: object) -> RunSpec:
    given = {"script": "train.py", "interpreter": "/p", "node_count": 2, "launch": LaunchKind.PYTORCH, **more}
    return RunSpec(topology=Topology(processes_per_node=processes), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("processes", "node", "local", "expected"),
    [
        (1, 0, 0, {"RANK": "0", "LOCAL_RANK": "0", "NODE_RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1"}),
        (1, 1, 0, {"RANK": "1", "LOCAL_RANK": "0", "NODE_RANK": "1", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1"}),
        (2, 0, 1, {"RANK": "1", "LOCAL_RANK": "1", "NODE_RANK": "0", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}),
        (2, 1, 0, {"RANK": "2", "LOCAL_RANK": "0", "NODE_RANK": "1", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}),
        (2, 1, 1, {"RANK": "3", "LOCAL_RANK": "1", "NODE_RANK": "1", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}),
    ],
)
def test_who_each_process_is(processes: int, node: int, local: int, expected: dict[str, str]) -> None:
    drawn = launch.find("pytorch")(_spec(processes), Place(node_rank=node, **PLACE))
    assert len(drawn) == processes
    process = drawn[local]
    assert process.rank == int(expected["RANK"])
    assert process.argv == ("/p", "-u", "train.py")
    assert {name: process.env[name] for name in expected} == expected
    assert process.env["AZ_BATCHAI_TASK_INDEX"] == expected["RANK"]
    assert (process.env["MASTER_ADDR"], process.env["MASTER_PORT"]) == ("10.0.0.1", "4000")


@pytest.mark.parametrize(
    ("shared", "expected"), [("", "tcp://10.0.0.1:4001"), ("/share/run", "file:///share/run/pytorch-init")]
)
def test_where_they_meet_by_the_older_variable(shared: str, expected: str) -> None:
    for node in range(2):
        (process,) = launch.find("pytorch")(_spec(), Place(node_rank=node, shared=shared, **PLACE))
        assert process.env["AZ_BATCHAI_PYTORCH_INIT_METHOD"] == expected


def test_logical_nodes_reach_each_other_over_the_loopback() -> None:
    place = Place(addresses=("127.0.2.1", "127.0.2.2"), nodes=("a", "b"), ports=((1, 2), (3, 4)))
    assert launch.find("pytorch")(_spec(), place)[0].env["GLOO_SOCKET_IFNAME"] == "lo"
    assert "GLOO_SOCKET_IFNAME" not in launch.find("pytorch")(_spec(), Place(**PLACE))[0].env
    named = Place(addresses=("host-a", "host-b"), nodes=("a", "b"), ports=((1, 2), (3, 4)))
    assert "GLOO_SOCKET_IFNAME" not in launch.find("pytorch")(_spec(), named)[0].env


def test_what_a_person_set_stays() -> None:
    own = _spec(environment_variables={"MASTER_PORT": "7777", "GLOO_SOCKET_IFNAME": "eth0"})
    (process,) = launch.find("pytorch")(own, Place(**PLACE))
    assert "MASTER_PORT" not in process.env
    assert "GLOO_SOCKET_IFNAME" not in process.env


def test_a_command_has_the_same_variables_and_a_shell_expands_them() -> None:
    text = "torchrun --node_rank $NODE_RANK --master_addr $MASTER_ADDR train.py"
    (process,) = launch.find("pytorch")(_spec(script="", command=(text,), shell=True), Place(node_rank=1, **PLACE))
    assert process.argv == ("bash", "-c", text)
    assert not process.expands
    assert process.env["NODE_RANK"] == "1"
