"""What every store promises of compute targets and nodes (`roost.store.base.Computes`), as tests."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.contracts.store import WS, at_once, event, submission

from roost.domain.compute import Adjustment, Compute, ComputeKind, Node, NodeState, adjust
from roost.domain.errors import ComputeConflict, ComputeNotFound
from roost.domain.runs import Run, RunEvent, RunSpec, RunStatus
from roost.domain.workspaces import Experiment, Workspace
from roost.store.base import Load, Store

OTHER = "other"


def cluster(name: str = "gpu", **changes: object) -> Compute:
    values: dict[str, object] = {
        "workspace": WS,
        "name": name,
        "engine": "local",
        "kind": ComputeKind.CLUSTER,
        "max_nodes": 4,
        "idle_seconds": 60.0,
        "vm_size": "STANDARD_NC6",
        "tags": {"team": "vision"},
        "user": "ann",
        "created_at": 1.0,
        **changes,
    }
    return Compute(**values)  # type: ignore[arg-type]


def given(run: Run, node: Node) -> RunEvent:
    return event(RunStatus.PROVISIONING, message=f"{run.id} on {node.id}")


def deciding(at: float) -> Callable[[Compute, Load], Adjustment]:
    return lambda compute, load: adjust(compute, load.nodes, load.held, load.waiting, at)


class ComputeContract:
    @pytest.fixture
    def store(self) -> Store:
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _places(self, store: Store) -> None:
        for workspace in (WS, OTHER):
            store.workspaces.ensure(Workspace(name=workspace, user="ann", created_at=1.0))
            store.experiments.ensure(
                Experiment(id=f"id-{workspace}", workspace=workspace, name="train", user="ann", created_at=1.0)
            )

    def queue(self, store: Store, run_id: str, user: str = "ann", target: str = "gpu", workspace: str = WS) -> None:
        store.runs.create(workspace, submission(run_id, spec=RunSpec(target=target)), user=user, at=2.0)
        store.runs.apply(run_id, event(RunStatus.QUEUED))

    def grow(self, store: Store, compute: Compute, at: float = 10.0) -> None:
        """Until nothing changes any more."""
        while store.computes.adjust(compute, deciding(at), at=at):
            pass

    def claim(self, store: Store, compute: Compute) -> str | None:
        found = store.computes.claim(compute, at=11.0, event=given)
        return found and found[0].id

    def test_a_target_is_found_in_its_workspace_and_local_in_all(self, store: Store) -> None:
        local = store.computes.ensure(Compute(name="local", engine="local", max_nodes=2))
        made, new = store.computes.create(cluster())
        assert (made, new) == (cluster(), True)
        assert store.computes.get(WS, "gpu") == made
        assert store.computes.get(OTHER, "local") == local
        assert store.computes.list(WS) == [local, made]
        assert store.computes.list(OTHER) == [local]
        store.computes.create(cluster(workspace=OTHER, max_nodes=9))
        assert [(each.workspace, each.max_nodes) for each in store.computes.list()] == [("", 2), (WS, 4), (OTHER, 9)]
        with pytest.raises(ComputeNotFound, match=r"^ComputeTargetNotFound: no compute target named 'gpo'") as caught:
            store.computes.get(WS, "gpo")
        assert "Did you mean 'gpu'?" in caught.value.hint

    def test_made_twice_it_is_the_same_and_with_other_settings_refused(self, store: Store) -> None:
        store.computes.create(cluster())
        assert store.computes.create(cluster(created_at=99.0, user="bob")) == (cluster(), False)
        with pytest.raises(ComputeConflict, match="exists already, with nodes at most 4"):
            store.computes.create(cluster(max_nodes=5))
        assert store.computes.get(WS, "gpu") == cluster()

    def test_settings_change_and_nodes_stay(self, store: Store) -> None:
        store.computes.create(cluster(min_nodes=2))
        self.grow(store, cluster())
        before = store.computes.get(WS, "gpu")
        after = store.computes.update(replace(before, max_nodes=7, idle_seconds=5.0, tags={}, modified_at=20.0))
        assert (after.max_nodes, after.idle_seconds, after.tags, after.modified_at) == (7, 5.0, {}, 20.0)
        assert after.revision > before.revision
        assert store.computes.get(WS, "gpu") == after
        assert len(store.computes.load(after).nodes) == 2
        with pytest.raises(ComputeNotFound):
            store.computes.update(cluster("nothing"))

    def test_nodes_come_on_demand_with_addresses_of_their_own(self, store: Store) -> None:
        gpu, cpu = store.computes.create(cluster())[0], store.computes.create(cluster("cpu", min_nodes=1))[0]
        for i in range(3):
            self.queue(store, f"r{i}")
        assert store.computes.adjust(gpu, deciding(10.0), at=10.0)
        load = store.computes.load(gpu)
        assert [node.state for node in load.nodes] == [NodeState.PREPARING] * 3
        assert [node.id for node in load.nodes] == ["gpu-1", "gpu-2", "gpu-3"]
        assert (load.waiting, load.held) == (3, frozenset())
        assert store.computes.load(gpu, most=2).waiting == 2
        self.grow(store, gpu)
        self.grow(store, cpu)
        every = [*store.computes.load(gpu).nodes, *store.computes.load(cpu).nodes]
        assert [node.state for node in every] == [NodeState.IDLE] * 4
        assert len({node.address for node in every}) == 4
        assert store.computes.get(WS, "gpu").scaled_at == 10.0
        assert not store.computes.adjust(cluster("nothing"), deciding(10.0), at=10.0)

    def test_a_claim_binds_a_run_to_a_node_and_its_end_frees_it(self, store: Store) -> None:
        gpu = store.computes.create(cluster(max_nodes=1))[0]
        assert self.claim(store, gpu) is None
        for run_id in ("r0", "r1"):
            self.queue(store, run_id)
        assert self.claim(store, gpu) is None
        self.grow(store, gpu)
        assert self.claim(store, gpu) == "r0"
        assert self.claim(store, gpu) is None
        node = store.computes.node_of("r0")
        assert node is not None
        assert (node.id, node.state, node.run_id, node.since) == ("gpu-1", NodeState.RUNNING, "r0", 11.0)
        assert store.runs.get("r0").message == "r0 on gpu-1"
        assert store.computes.load(gpu).held == {"r0"}
        assert store.computes.node_of("r1") is None
        store.runs.apply("r0", event(RunStatus.COMPLETED))
        assert store.computes.load(gpu).held == frozenset()
        self.grow(store, gpu, at=30.0)
        (freed,) = store.computes.load(gpu).nodes
        assert (freed.state, freed.run_id, freed.since) == (NodeState.IDLE, "", 30.0)
        assert self.claim(store, gpu) == "r1"

    def test_a_node_of_a_run_that_vanished_is_free(self, store: Store) -> None:
        gpu = store.computes.create(cluster(max_nodes=1))[0]
        self.queue(store, "r0")
        self.grow(store, gpu)
        assert self.claim(store, gpu) == "r0"
        store.runs.apply("r0", event(RunStatus.FAILED))
        store.runs.delete("r0")
        self.grow(store, gpu)
        assert [node.state for node in store.computes.load(gpu).nodes] == [NodeState.IDLE]

    def test_numbers_of_nodes_are_not_given_again(self, store: Store) -> None:
        gpu = store.computes.create(cluster(min_nodes=2, max_nodes=2))[0]
        self.grow(store, gpu)
        before = store.computes.load(gpu).nodes
        store.computes.adjust(gpu, lambda *_: Adjustment(remove=("gpu-2",)), at=20.0)
        self.grow(store, gpu)
        after = store.computes.load(gpu).nodes
        assert [node.id for node in after] == ["gpu-1", "gpu-3"]
        assert after[1].address == before[1].address

    def test_the_queue_is_fair_between_users_and_in_order_within_one(self, store: Store) -> None:
        gpu = store.computes.create(cluster(max_nodes=3))[0]
        for run_id, user in (("a0", "ann"), ("a1", "ann"), ("a2", "ann"), ("b0", "bob"), ("b1", "bob")):
            self.queue(store, run_id, user)
        assert store.computes.queue(gpu) == (["a0", "b0", "a1", "b1", "a2"], 0)
        self.grow(store, gpu)
        assert [self.claim(store, gpu) for _ in range(4)] == ["a0", "b0", "a1", None]
        assert store.computes.queue(gpu) == (["b1", "a2"], 3)
        store.runs.apply("b0", event(RunStatus.COMPLETED))
        self.grow(store, gpu)
        assert self.claim(store, gpu) == "b1"

    def test_clusters_of_the_same_name_stay_apart(self, store: Store) -> None:
        mine, theirs = store.computes.create(cluster())[0], store.computes.create(cluster(workspace=OTHER))[0]
        self.queue(store, "r0")
        self.queue(store, "r1", workspace=OTHER)
        self.grow(store, mine)
        assert self.claim(store, mine) == "r0"
        assert (store.computes.load(mine).waiting, store.computes.load(theirs).waiting) == (0, 1)
        assert self.claim(store, theirs) is None
        self.grow(store, theirs)
        assert self.claim(store, theirs) == "r1"

    def test_one_with_open_runs_is_not_deleted(self, store: Store) -> None:
        gpu = store.computes.create(cluster(min_nodes=1))[0]
        self.grow(store, gpu)
        self.queue(store, "r0")
        with pytest.raises(ComputeConflict, match="'gpu' has 1 run that has not ended"):
            store.computes.delete(WS, "gpu")
        store.runs.apply("r0", event(RunStatus.CANCELED))
        store.computes.delete(WS, "gpu")
        assert store.computes.list(WS) == []
        with pytest.raises(ComputeNotFound):
            store.computes.delete(WS, "gpu")
        again = store.computes.create(cluster())[0]
        assert store.computes.load(again).nodes == ()

    def test_every_change_of_a_node_is_a_new_revision(self, store: Store) -> None:
        gpu = store.computes.create(cluster(max_nodes=1))[0]
        seen = [gpu.revision]

        def changed() -> bool:
            seen.append(store.computes.get(WS, "gpu").revision)
            return seen[-1] > seen[-2]

        assert not changed()
        self.queue(store, "r0")
        for _ in range(2):
            assert store.computes.adjust(gpu, deciding(10.0), at=10.0)
            assert changed()
        assert not store.computes.adjust(gpu, deciding(10.0), at=10.0)
        assert not changed()
        self.claim(store, gpu)
        assert changed()

    def test_many_at_once_give_no_node_and_no_run_twice(self, store: Store) -> None:
        gpu = store.computes.create(cluster(max_nodes=6))[0]
        for i in range(20):
            self.queue(store, f"r{i}")

        def work(_: int) -> list[str]:
            self.grow(store, gpu)
            return [run_id for _ in range(6) if (run_id := self.claim(store, gpu))]

        taken = [run_id for row in at_once(work, 6) for run_id in row]
        assert sorted(taken) == sorted(f"r{i}" for i in range(6))
        nodes = store.computes.load(gpu).nodes
        assert len(nodes) == 6
        assert {node.run_id for node in nodes} == set(taken)
