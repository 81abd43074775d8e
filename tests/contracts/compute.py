"""What every store promises of compute targets and nodes (`roost.store.base.Computes`), as tests."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from tests.contracts.store import WS, StoreContract, at_once, event, submission

from roost.domain.compute import Adjustment, Compute, ComputeKind, Node, NodeState, adjust
from roost.domain.errors import ComputeConflict, ComputeNotFound, NotFound
from roost.domain.gangs import Phase
from roost.domain.runs import Reason, Run, RunEvent, RunSpec, RunStatus
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


def given(run: Run, nodes: Sequence[Node]) -> RunEvent:
    return event(RunStatus.PROVISIONING, message=f"{run.id} on {', '.join(node.id for node in nodes)}")


def deciding(at: float) -> Callable[[Compute, Load], Adjustment]:
    return lambda compute, load: adjust(compute, load.nodes, load.held, load.asked, at)


class ComputeContract(StoreContract):
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
        (node,) = store.computes.nodes_of("r0")
        assert (node.id, node.state, node.run_id, node.since) == ("gpu-1", NodeState.RUNNING, "r0", 11.0)
        assert store.runs.get("r0").message == "r0 on gpu-1"
        assert store.computes.load(gpu).held == {"r0"}
        assert store.computes.nodes_of("r1") == []
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

    def gang(self, store: Store, run_id: str, nodes: int, user: str = "ann", priority: int = 0) -> None:
        spec = RunSpec(target="gpu", node_count=nodes, priority=priority)
        store.runs.create(WS, submission(run_id, spec=spec), user=user, at=2.0)
        store.runs.apply(run_id, event(RunStatus.QUEUED))

    def test_a_gang_gets_all_its_nodes_at_once_or_keeps_its_turn(self, store: Store) -> None:
        gpu = store.computes.create(cluster(max_nodes=4))[0]
        self.gang(store, "g0", 3)
        self.gang(store, "g1", 3)
        self.queue(store, "r0")
        self.queue(store, "b0", user="bob")
        self.grow(store, gpu)
        assert store.computes.load(gpu).asked == 8
        assert self.claim(store, gpu) == "g0"
        assert [node.id for node in store.computes.nodes_of("g0")] == ["gpu-1", "gpu-2", "gpu-3"]
        assert [(m.node_rank, m.node) for m in store.gangs.members("g0")] == [(0, "gpu-1"), (1, "gpu-2"), (2, "gpu-3")]
        assert store.runs.get("g0").message == "g0 on gpu-1, gpu-2, gpu-3"
        # Bob has no node yet and is next; then it is the second gang's turn, and nobody overtakes it.
        assert self.claim(store, gpu) == "b0"
        assert self.claim(store, gpu) is None
        store.runs.apply("b0", event(RunStatus.COMPLETED))
        self.queue(store, "b1", user="bob")
        self.grow(store, gpu)
        assert self.claim(store, gpu) is None
        assert store.computes.queue(gpu)[0][0] == "g1"
        store.runs.apply("g0", event(RunStatus.COMPLETED))
        self.grow(store, gpu)
        assert [self.claim(store, gpu) for _ in range(3)] == ["g1", "b1", None]
        assert store.gangs.members("b1") == []

    def test_the_most_urgent_is_next_even_before_a_gang_that_waits(self, store: Store) -> None:
        gpu = store.computes.create(cluster(max_nodes=2))[0]
        self.queue(store, "r0")
        self.grow(store, gpu)
        assert self.claim(store, gpu) == "r0"
        self.gang(store, "g0", 2)
        self.grow(store, gpu)
        assert self.claim(store, gpu) is None
        self.gang(store, "now", 1, priority=5)
        assert store.computes.queue(gpu)[0] == ["g0", "now"]
        assert self.claim(store, gpu) == "now"
        assert self.claim(store, gpu) is None

    def test_a_gang_that_became_too_large_lets_others_pass(self, store: Store) -> None:
        gpu = store.computes.create(cluster(max_nodes=3))[0]
        self.gang(store, "g0", 3)
        self.queue(store, "r0")
        gpu = store.computes.update(replace(gpu, max_nodes=2))
        assert store.computes.load(gpu).asked == 1
        self.grow(store, gpu)
        assert self.claim(store, gpu) == "r0"
        assert store.runs.get("g0").status is RunStatus.QUEUED

    def test_a_run_that_waits_again_has_no_nodes(self, store: Store) -> None:
        gpu = store.computes.create(cluster(max_nodes=2))[0]
        self.gang(store, "g0", 2)
        self.grow(store, gpu)
        assert self.claim(store, gpu) == "g0"
        taken = store.computes.preempt(gpu, "gpu-2", at=20.0)
        assert (taken.state, taken.run_id) == (NodeState.PREEMPTED, "g0")
        with pytest.raises(NotFound, match="no node 'gpu-9'"):
            store.computes.preempt(gpu, "gpu-9", at=20.0)
        again, _ = store.runs.apply("g0", event(RunStatus.QUEUED, reason=Reason.PREEMPTED))
        assert (again.attempt, again.status) == (2, RunStatus.QUEUED)
        assert store.computes.nodes_of("g0") == []
        assert store.gangs.members("g0") == []
        self.grow(store, gpu, at=30.0)
        assert [node.id for node in store.computes.load(gpu).nodes] == ["gpu-1", "gpu-3"]
        assert self.claim(store, gpu) == "g0"

    def test_members_speak_end_once_and_send_commands(self, store: Store) -> None:
        gpu = store.computes.create(cluster(max_nodes=2))[0]
        self.gang(store, "g0", 2)
        self.grow(store, gpu)
        assert self.claim(store, gpu) == "g0"
        one, two = store.gangs.update("g0", 1, phase=Phase.MET, ports=(5, 6), heard_at=12.0)
        assert (one.phase, two.phase, two.ports, two.heard_at) == (Phase.GIVEN, Phase.MET, (5, 6), 12.0)
        ended = {"phase": Phase.ENDED, "to": RunStatus.FAILED, "reason": Reason.EXIT_CODE, "ended_at": 13.0}
        store.gangs.update("g0", 1, message="boom", exit_code=3, **ended)
        (_, two) = store.gangs.update("g0", 1, phase=Phase.ENDED, to=RunStatus.COMPLETED, message="", heard_at=14.0)
        assert (two.to, two.message, two.exit_code, two.heard_at) == (RunStatus.FAILED, "boom", 3, 14.0)
        with pytest.raises(NotFound):
            store.gangs.update("g0", 2, heard_at=1.0)
        first = store.gangs.send("g0", 1, ["a", "b"])
        second = store.gangs.send("g0", 0, ["c"])
        store.gangs.end_command("g0", first, 7)
        assert [(c.number, c.node_rank, c.argv, c.exit_code) for c in store.gangs.commands("g0")] == [
            (first, 1, ("a", "b"), 7),
            (second, 0, ("c",), None),
        ]
        assert [c.number for c in store.gangs.commands("g0", after=first)] == [second]
        with pytest.raises(NotFound):
            store.gangs.end_command("g0", second + 1, 0)

    def test_local_has_a_place_for_each_node_and_one_that_wants_more_has_it_alone(self, store: Store) -> None:
        store.computes.ensure(Compute(name="local", engine="local", max_nodes=2))
        for run_id, nodes in (("a", 1), ("wide", 3), ("b", 1)):
            spec = RunSpec(node_count=nodes)
            store.runs.create(WS, submission(run_id, spec=spec), user="ann", at=2.0)
            store.runs.apply(run_id, event(RunStatus.QUEUED))

        def claim() -> str | None:
            found = store.runs.claim("local", 2, event=lambda _: event(RunStatus.PROVISIONING))
            return found and found.id

        assert [claim(), claim()] == ["a", None]
        store.runs.apply("a", event(RunStatus.COMPLETED))
        assert [claim(), claim()] == ["wide", None]
        members = store.gangs.members("wide")
        assert [member.node for member in members] == ["local-0", "local-1", "local-2"]
        assert len({member.address for member in members}) == 3
        store.runs.apply("wide", event(RunStatus.COMPLETED))
        assert claim() == "b"
