"""A node's size, held by control groups: what is written where, what is told, and what happens where there are none."""

import logging
import subprocess
import sys

import pytest

from roost.agent.launching import limits
from roost.domain.plans import Plan
from roost.domain.runs import RunSpec

PLAN = Plan(run_id="r", workspace="w", experiment="e", spec=RunSpec(), cores=2, memory=7 * 2**30)


def fake(root, *names, mark="m"):
    """A group as the kernel would make it, with these files."""
    (root / mark).mkdir(parents=True)
    for name in names:
        (root / mark / name).touch()
    return {"ROOST_CGROUP": str(root)}


def test_version_two(tmp_path):
    own = fake(tmp_path, "memory.max", "memory.swap.max", "cpu.max", "cgroup.procs")
    (tmp_path / "cgroup.subtree_control").touch()
    limits.make("m", PLAN, own)
    group = limits.group("m", own)
    assert (group / "memory.max").read_text() == str(7 * 2**30)
    assert (group / "memory.swap.max").read_text() == "0"
    assert (group / "cpu.max").read_text() == "200000 100000"
    (group / "memory.events").write_text("low 0\noom 1\noom_kill 2\n")
    assert limits.memory_words("m", PLAN.memory, own) == (
        "The node ran out of memory: its limit is 7 GiB, and the kernel ended 2 of its processes."
    )


def test_version_one_has_memory_alone(tmp_path):
    own = fake(tmp_path, "memory.limit_in_bytes", "cgroup.procs")
    limits.make("m", PLAN, own)
    assert (tmp_path / "m" / "memory.limit_in_bytes").read_text() == str(7 * 2**30)
    (tmp_path / "m" / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    assert "the kernel ended one of its processes" in limits.memory_words("m", PLAN.memory, own)
    (tmp_path / "m" / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 0\n")
    assert limits.memory_words("m", PLAN.memory, own) == ""


def test_a_program_is_in_its_group_from_the_start(tmp_path):
    own = fake(tmp_path, "cgroup.procs")
    argv = [sys.executable, "-c", "import os, sys; print(os.getpid(), *sys.argv[1:])", "a b", "$HOME"]
    held = limits.inside(limits.group("m", own), argv, "")
    said = subprocess.run(held, capture_output=True, text=True, check=True).stdout.split(maxsplit=1)
    assert said == [(tmp_path / "m" / "cgroup.procs").read_text().strip(), "a b $HOME\n"]
    assert limits.inside(limits.group("m", own), ["no-such-program"], "/bin") == ["no-such-program"]
    assert limits.inside(None, argv, "") == argv


@pytest.mark.parametrize(
    ("own", "words"),
    [({}, "is a wish: ROOST_CGROUP names no control group"), ({"ROOST_CGROUP": "{}/x"}, "cannot be held: ")],
    ids=["none", "no group"],
)
def test_where_it_cannot_be_held_the_run_goes_on(tmp_path, own, words, caplog):
    own = {name: value.format(tmp_path) for name, value in own.items()}
    with caplog.at_level(logging.INFO, "roost.agent"):
        limits.make("m", PLAN, own)
    assert words in caplog.text
    assert "2 cores, 7 GiB" in caplog.text
    assert limits.group("m", own) is None
    assert limits.memory_words("m", PLAN.memory, own) == ""
    limits.remove("m", own)


def test_a_node_without_a_size_has_no_group(tmp_path, caplog):
    with caplog.at_level(logging.INFO, "roost.agent"):
        limits.make(
            "m", Plan(run_id="r", workspace="w", experiment="e", spec=RunSpec()), {"ROOST_CGROUP": str(tmp_path)}
        )
    assert caplog.text == ""
    assert list(tmp_path.iterdir()) == []
