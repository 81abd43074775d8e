"""Compute targets: what is refused before anything is made, what a repeated call finds, what is said of their state."""

from dataclasses import replace

import pytest
from tests.shared.contexts import ANN, Clock, submit

from roost.domain.compute import HOST_TAG, ComputeKind, ComputeSpec, Machine, Priority
from roost.domain.errors import ComputeConflict, ComputeNotFound, InvalidCompute, InvalidInput, NotFound
from roost.engines.base import Abilities
from roost.services import compute, runs
from roost.services.compute import ComputeChanges
from roost.services.context import Context
from roost.services.signals import CONTROL, compute_topic


def create(context: Context, name: str = "gpu", **spec: object) -> None:
    compute.create(context, ANN, "vision", name, ComputeSpec(**{"max_nodes": 4, **spec}))  # type: ignore[arg-type]


def test_a_cluster_is_made_with_who_and_when(context: Context, clock: Clock) -> None:
    spec = ComputeSpec(max_nodes=4, vm_size="STANDARD_NC6", priority=Priority.LOW, tags={"a": "b"}, description="ours")
    made, new = compute.create(context, ANN, "vision", "gpu", spec)
    assert new
    assert (made.user, made.created_at, made.engine, made.kind) == ("ann", clock(), "scripted", ComputeKind.CLUSTER)
    assert (made.vm_size, made.priority, made.tags, made.description) == (
        "STANDARD_NC6",
        "lowpriority",
        {"a": "b"},
        "ours",
    )
    assert compute.create(context, ANN, "vision", "gpu", spec) == (made, False)
    with pytest.raises(ComputeConflict, match="exists already"):
        create(context, max_nodes=5)


@pytest.mark.parametrize(
    ("name", "spec", "words"),
    [
        ("local", {}, "'local' is not allowed"),
        ("a/b", {}, "'a/b' is not allowed"),
        ("gpu", {"min_nodes": 5}, "nodes that stay when idle must be 0 to 4"),
        ("gpu", {"engine": "slurm"}, "no engine 'slurm'"),
        ("gpu", {"tags": {"": "x"}}, "name of a tag"),
    ],
)
def test_bad_clusters_are_refused_and_leave_nothing(
    context: Context, name: str, spec: dict[str, object], words: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        create(context, name, **spec)
    assert words in str(caught.value)
    assert [each.compute.name for each in compute.listing(context, ANN, "vision")] == ["local"]


def test_what_is_said_of_targets(context: Context) -> None:
    create(context)
    submit(context, target="gpu")
    local, gpu = compute.listing(context, ANN, "vision")
    assert (local.compute.kind, local.nodes, local.wanted) == (ComputeKind.LOCAL, (), 0)
    assert (gpu.queued, gpu.running, gpu.wanted) == (0, 0, 0), "it is not queued yet"
    assert gpu.machine == Machine(cores=2, memory_gb=8.0, gpus=0)
    assert compute.status(context, ANN, "vision", "gpu") == gpu
    with pytest.raises(NotFound, match="nowhere"):
        compute.listing(context, ANN, "nowhere")


def test_changes_are_checked_with_what_stays(context: Context, clock: Clock) -> None:
    create(context, min_nodes=2)
    clock.pass_by(5)
    changed = compute.update(context, ANN, "vision", "gpu", ComputeChanges(idle_seconds=7.0))
    assert (changed.min_nodes, changed.max_nodes, changed.idle_seconds, changed.modified_at) == (2, 4, 7.0, clock())
    with pytest.raises(InvalidCompute, match="nodes that stay when idle must be 0 to"):
        compute.update(context, ANN, "vision", "gpu", ComputeChanges(max_nodes=1))
    assert compute.status(context, ANN, "vision", "gpu").compute == changed
    with pytest.raises(InvalidCompute, match="cannot be changed"):
        compute.update(context, ANN, "vision", "local", ComputeChanges(max_nodes=1))
    with pytest.raises(ComputeNotFound):
        compute.update(context, ANN, "vision", "cpu", ComputeChanges(max_nodes=1))


def test_deleting(context: Context) -> None:
    create(context)
    run = submit(context, target="gpu")
    with pytest.raises(ComputeConflict, match="1 run that has not ended"):
        compute.delete(context, ANN, "vision", "gpu")
    runs.cancel(context, ANN, run.id)
    compute.delete(context, ANN, "vision", "gpu")
    compute.delete(context, ANN, "vision", "gpu")
    with pytest.raises(ComputeNotFound):
        submit(context, target="gpu")
    with pytest.raises(InvalidCompute, match="cannot be deleted"):
        compute.delete(context, ANN, "vision", "local")


def test_every_change_wakes_the_loop_and_those_who_wait(context: Context) -> None:
    with context.signals.listen(CONTROL) as loop, context.signals.listen(compute_topic("vision", "gpu")) as watcher:
        create(context)
        assert loop.wait(0) and watcher.wait(0)
        compute.update(context, ANN, "vision", "gpu", ComputeChanges(max_nodes=2))
        assert loop.wait(0) and watcher.wait(0)
        compute.delete(context, ANN, "vision", "gpu")
        assert loop.wait(0) and watcher.wait(0)


def test_a_target_of_one_host_is_of_one_that_is_there(context: Context) -> None:
    context = replace(context, engines={**context.engines, "hosts": Abilities(hosts=("10.0.0.2", "10.0.0.3"))})
    with pytest.raises(ComputeNotFound, match=r"file of hosts does not have '10\.0\.0\.4'"):
        create(context, engine="hosts", max_nodes=1, tags={HOST_TAG: "10.0.0.4"})
    with pytest.raises(InvalidCompute, match="one node"):
        create(context, engine="hosts", max_nodes=2, tags={HOST_TAG: "10.0.0.3"})
    create(context, engine="hosts", max_nodes=1, tags={HOST_TAG: "10.0.0.3"})
    assert compute.status(context, ANN, "vision", "gpu").compute.tags == {HOST_TAG: "10.0.0.3"}
    create(context, "other", max_nodes=1, tags={HOST_TAG: "10.0.0.2"})
    assert compute.status(context, ANN, "vision", "other").compute.engine == "hosts", "the one that has the host"
    with pytest.raises(ComputeNotFound, match=r"file of hosts does not have '10\.0\.0\.4'"):
        create(context, "third", max_nodes=1, tags={HOST_TAG: "10.0.0.4"})


def test_a_cluster_of_hosts_has_no_more_nodes_than_there_are_hosts(context: Context) -> None:
    context = replace(context, engines={**context.engines, "hosts": Abilities(hosts=("10.0.0.2", "10.0.0.3"))})
    with pytest.raises(InvalidCompute, match="has 2 hosts, and the cluster is to have up to 4 nodes"):
        create(context, engine="hosts")
    create(context, engine="hosts", max_nodes=2)
    with pytest.raises(InvalidCompute, match="has 2 hosts"):
        compute.update(context, ANN, "vision", "gpu", ComputeChanges(max_nodes=3))
