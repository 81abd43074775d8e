"""`roost compute` from outside: what it prints, its JSON, its errors."""

import json
from pathlib import Path

import pytest
from tests.cli.test_cli import roost
from tests.shared.folders import tree


def test_help(home: Path) -> None:
    assert {"list", "show", "nodes", "create", "update", "preempt", "delete"} <= set(roost("compute", "--help").split())
    roost("compute", "create", code=2)
    assert not home.exists()


def test_what_is_wrong_starts_nothing(home: Path) -> None:
    assert "error: The nodes that stay when idle must be 0 to 2, the most there may be; got 3" in roost(
        "compute", "create", "gpu", "--min", "3", "--max", "2", code=1
    )
    assert "error: There is nothing to change." in roost("compute", "update", "gpu", code=1)
    assert not home.exists()


@pytest.mark.slow
def test_a_cluster_from_the_shell(home: Path, tmp_path: Path) -> None:
    tree(tmp_path, {"train.py": "import os; print('on', os.environ['ROOST_NODE'])"})
    assert roost("compute", "list").splitlines()[1].split()[:2] == ["local", "local"]
    made = roost(
        "compute", "create", "gpu", "--max", "2", "--min", "1", "--size", "STANDARD_NC6", "--tag", "team=vision"
    )
    assert made.splitlines() == [
        "Cluster gpu is there: 1 to 2 nodes.",
        "Run on it: roost submit --target gpu SCRIPT",
    ]
    said = roost("submit", "--target", "gpu", "train.py")
    assert "on gpu-1" in said
    row = roost("compute", "list").splitlines()[2].split()
    assert row == ["gpu", "cluster", "1", "of", "1-2", "0", "0", "STANDARD_NC6", "local"]
    shown = roost("compute", "show", "gpu")
    assert "  tag          team = vision" in shown
    assert "nodes share this machine" in shown
    assert "gpu-1" in roost("compute", "nodes", "gpu")
    assert json.loads(roost("compute", "nodes", "gpu", "--json"))[0]["address"] == "127.0.2.1"
    assert json.loads(roost("compute", "show", "gpu", "--json"))["compute"]["tags"] == {"team": "vision"}
    assert [each["compute"]["name"] for each in json.loads(roost("compute", "list", "--json"))] == ["local", "gpu"]
    changed = json.loads(roost("compute", "update", "gpu", "--max", "3", "--idle", "5", "--json"))
    assert (changed["compute"]["max_nodes"], changed["compute"]["idle_seconds"]) == (3, 5.0)
    assert "are dedicated: nobody takes them away" in roost("compute", "preempt", "gpu", "gpu-1", code=1)
    roost("compute", "create", "low", "--min", "1", "--max", "1", "--priority", "lowpriority")
    assert "hint: Its nodes are: low-1." in roost("compute", "preempt", "low", "low-7", code=1)
    assert roost("compute", "preempt", "low", "low-1").startswith("Node low-1 was taken away;")
    assert "at once" in roost("compute", "show", "local")
    assert "local has no nodes" in roost("compute", "nodes", "local")
    assert "is this machine, no cluster" in roost("compute", "delete", "local", code=1)
    assert "hint: Did you mean 'gpu'?" in roost("compute", "show", "gpuu", code=1)
    assert "hint: Did you mean 'gpu'?" in roost("submit", "--target", "gpuu", "train.py", code=1)
    refused = roost("compute", "delete", "gpu", code=1)
    assert refused.startswith("error: Cluster gpu")
    assert "will be deleted; its runs stay. Nobody is here to say yes." in refused
    assert roost("compute", "delete", "gpu", "--yes") == "Cluster gpu was deleted.\n"
    assert "error: ComputeTargetNotFound" in roost("compute", "delete", "gpu", code=1)
