import json

import pytest

from roost import launch
from roost.domain.runs import RunSpec
from roost.domain.topology import LaunchKind, Topology
from roost.launch.base import Place

TWO = {"addresses": ("10.0.0.1", "10.0.0.2"), "nodes": ("a", "b"), "ports": ((41, 42, 43), (51, 52, 53))}


def _drawn(topology: Topology, nodes: int = 2) -> dict[int, dict[str, object]]:
    """By rank: its node, whether it is waited for, and what TF_CONFIG tells it."""
    spec = RunSpec(script="t.py", interpreter="/p", node_count=nodes, launch=LaunchKind.TENSORFLOW, topology=topology)
    given = {name: value[:nodes] for name, value in TWO.items()}
    found: dict[int, dict[str, object]] = {}
    for node in range(nodes):
        for process in launch.find("tensorflow")(spec, Place(node_rank=node, **given)):  # type: ignore[arg-type]
            assert process.rank not in found
            found[process.rank] = {"node": node, "waits": process.waited_for, **json.loads(process.env["TF_CONFIG"])}
    return dict(sorted(found.items()))


def _tasks(drawn: dict[int, dict[str, object]]) -> list[tuple[object, object, object, object]]:
    return [(each["node"], each["task"]["type"], each["task"]["index"], each["waits"]) for each in drawn.values()]  # type: ignore[index]


def test_workers_alone() -> None:
    drawn = _drawn(Topology(workers=2))
    assert _tasks(drawn) == [(0, "worker", 0, True), (1, "worker", 1, True)]
    assert drawn[0]["cluster"] == drawn[1]["cluster"] == {"worker": ["10.0.0.1:41", "10.0.0.2:51"]}
    assert drawn[0]["environment"] == "cloud"


def test_parameter_servers_are_not_waited_for() -> None:
    drawn = _drawn(Topology(workers=2, parameter_servers=1))
    assert _tasks(drawn) == [(0, "worker", 0, True), (1, "worker", 1, True), (0, "ps", 0, False)]
    assert drawn[2]["cluster"] == {"worker": ["10.0.0.1:41", "10.0.0.2:51"], "ps": ["10.0.0.1:42"]}


def test_a_chief_is_the_first_worker_and_the_run_goes_on_for_it_alone() -> None:
    drawn = _drawn(Topology(workers=3, parameter_servers=1, chief=True))
    assert _tasks(drawn) == [
        (0, "chief", 0, True),
        (1, "worker", 0, False),
        (0, "worker", 1, False),
        (1, "ps", 0, False),
    ]
    assert drawn[0]["cluster"] == {
        "chief": ["10.0.0.1:41"],
        "worker": ["10.0.0.2:51", "10.0.0.1:42"],
        "ps": ["10.0.0.2:52"],
    }


@pytest.mark.parametrize(("workers", "servers", "nodes"), [(1, 0, 1), (2, 1, 1), (4, 2, 2), (5, 1, 2)])
def test_no_address_is_given_twice(workers: int, servers: int, nodes: int) -> None:
    drawn = _drawn(Topology(workers=workers, parameter_servers=servers), nodes)
    addresses = [address for each in drawn[0]["cluster"].values() for address in each]  # type: ignore[union-attr]
    assert len(drawn) == len(set(addresses)) == workers + servers
