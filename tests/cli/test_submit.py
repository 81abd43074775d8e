"""`roost submit` over several nodes: what its options mean, and what `roost run show` tells of the nodes."""

import json
from pathlib import Path

import pytest
from tests.cli.test_cli import roost
from tests.journeys.test_distributed import MEET
from tests.shared.folders import tree

from roost.cli.commands.submit import _distributed
from roost.domain.errors import InvalidInput
from roost.sdk.runs.distributed import MpiConfiguration, PyTorchConfiguration, TensorflowConfiguration


def test_what_options_mean() -> None:
    assert _distributed("", 2, 1, 0) is None
    pytorch, mpi, tensorflow = (
        _distributed("pytorch", 2, 3, 0),
        _distributed("mpi", 2, 3, 0),
        _distributed("tensorflow", 2, 1, 1),
    )
    assert isinstance(pytorch, PyTorchConfiguration)
    assert (pytorch.process_count, pytorch.node_count, pytorch._asked) == (6, 2, False)
    assert isinstance(mpi, MpiConfiguration)
    assert (mpi.process_count_per_node, mpi.node_count) == (3, 2)
    assert isinstance(tensorflow, TensorflowConfiguration)
    assert (tensorflow.worker_count, tensorflow.parameter_server_count) == (2, 1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("", 1, 2, 0), "2 processes on a node have to be started somehow"),
        (("ray", 1, 1, 0), "There is no launch 'ray'"),
        (("mpi", 0, 1, 0), "--nodes must be at least 1, got 0"),
        (("mpi", 1, 0, 0), "--processes-per-node must be at least 1"),
        (("pytorch", 1, 1, 1), "--parameter-servers are TensorFlow's"),
        (("tensorflow", 2, 2, 0), "each node has one worker"),
    ],
)
def test_what_they_cannot_mean(given: tuple[str, int, int, int], words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        _distributed(*given)
    assert words in str(caught.value)


@pytest.mark.slow
def test_ranks_of_two_nodes_and_what_is_shown_of_them(home: Path, tmp_path: Path) -> None:
    tree(tmp_path, {"train.py": MEET, "name.py": "import os; print('on', os.environ['ROOST_NODE'])"})
    roost("submit", "--nodes", "2", "--processes-per-node", "2", "--launch", "pytorch", "train.py")
    (run,) = json.loads(roost("run", "list", "--json"))
    said = roost("run", "show", run["id"])
    table = [line.split() for line in said[said.index("Nodes") :].splitlines()[1:4]]
    assert table[0] == ["node", "rank", "processes", "address", "state", "exit", "code"]
    assert [row[:3] + row[4:] for row in table[1:]] == [
        ["local-0", "0", "0-1", "Completed", "0"],
        ["local-1", "1", "2-3", "Completed", "0"],
    ]
    shown = json.loads(roost("run", "show", run["id"], "--json"))
    assert [(each["node"], each["phase"], each["to"]) for each in shown["nodes"]] == [
        ("local-0", "ended", "Completed"),
        ("local-1", "ended", "Completed"),
    ]
    assert "[1] on local-1" in roost("submit", "--nodes", "2", "name.py")
