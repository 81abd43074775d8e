"""What every store promises of workspaces and experiments (`roost.store.base`), as tests."""

import pytest
from tests.contracts.store import WS, StoreContract, event

from roost.domain.compute import Compute
from roost.domain.errors import ComputeNotFound, Conflict, NotFound
from roost.domain.runs import RunKind, RunSpec, RunStatus
from roost.domain.workspaces import Experiment, Workspace
from roost.store.base import Store


class WorkspacesContract(StoreContract):
    def test_a_workspace_stays_as_it_was_first_made(self, store: Store) -> None:
        first = Workspace(name="vision", user="ann", created_at=1.0, resource_group="rg")
        assert store.workspaces.ensure(first) == first
        assert store.workspaces.ensure(Workspace(name="vision", user="bob", created_at=9.0)) == first
        assert store.workspaces.get("vision") == first
        assert [w.name for w in store.workspaces.list()] == [WS, "vision"]
        with pytest.raises(NotFound, match="nowhere"):
            store.workspaces.get("nowhere")

    def test_an_experiment_is_found_by_workspace_and_name(self, store: Store) -> None:
        found = store.experiments.ensure(
            Experiment(id="another", workspace=WS, name="train", user="bob", created_at=9.0)
        )
        assert found.id == "id-train"
        assert store.experiments.get(WS, "train") == found
        assert [e.name for e in store.experiments.list(WS)] == ["other", "train"]
        with pytest.raises(NotFound, match="missing"):
            store.experiments.get(WS, "missing")
        with pytest.raises(NotFound, match="nowhere"):
            store.experiments.ensure(Experiment(id="x", workspace="nowhere", name="e", user="a", created_at=1.0))
        with pytest.raises(NotFound, match="nowhere"):
            store.experiments.list("nowhere")

    def test_an_experiment_of_replicas_alone_is_listed_to_those_who_ask_for_it(self, store: Store) -> None:
        def listed(**which: bool) -> list[str]:
            return [each.name for each in store.experiments.list(WS, **which)]

        self.make(store, "a", experiment="other", spec=RunSpec(kind=RunKind.REPLICA))
        self.make(store, "b", experiment="other", spec=RunSpec(kind=RunKind.REPLICA))
        assert (listed(), listed(replicas=True)) == (["train"], ["other", "train"])
        assert store.experiments.get(WS, "other").name == "other"
        for run_id in ("a", "b"):
            store.runs.apply(run_id, event(RunStatus.CANCELED))
            store.runs.delete(run_id)
        assert listed() == ["train"]  # it does not come up for being empty
        self.make(store, "c", experiment="other")
        self.make(store, "d", experiment="other", spec=RunSpec(kind=RunKind.REPLICA))
        assert listed() == ["other", "train"]

    def test_experiments_are_tagged_put_away_and_deleted(self, store: Store) -> None:
        assert store.experiments.annotate(WS, "train", tags={"a": "1", "b": None, "ü": "é"}).tags["ü"] == "é"
        after = store.experiments.annotate(WS, "train", tags={"a": "2"}, remove_tags=["b", "nothing"])
        assert after == store.experiments.get(WS, "train")
        assert after.tags == {"a": "2", "ü": "é"}
        assert store.experiments.archive(WS, "train", 5.0).archived_at == 5.0
        assert [e.archived_at for e in store.experiments.list(WS)] == [None, 5.0]
        assert store.experiments.archive(WS, "train", None) == after
        self.make(store, "r1")
        with pytest.raises(Conflict, match="has runs"):
            store.experiments.delete(WS, "train")
        store.experiments.delete(WS, "other")
        assert [e.name for e in store.experiments.list(WS)] == ["train"]
        for name in ("other", "missing"):
            with pytest.raises(NotFound, match=name):
                store.experiments.delete(WS, name)
            with pytest.raises(NotFound, match=name):
                store.experiments.annotate(WS, name, tags={"a": "1"})
            with pytest.raises(NotFound, match=name):
                store.experiments.archive(WS, name, 1.0)

    def test_the_limit_of_a_compute_changes(self, store: Store) -> None:
        store.computes.ensure(Compute(name="local", engine="local", max_nodes=2))
        assert store.computes.ensure(Compute(name="local", engine="local", max_nodes=5)).max_nodes == 5
        assert store.computes.get(WS, "local").max_nodes == 5
        with pytest.raises(ComputeNotFound, match=r"^ComputeTargetNotFound"):
            store.computes.get(WS, "gpu")

    def test_what_is_kept_of_a_workspace(self, store: Store) -> None:
        made = Workspace(
            name="whole", user="ann", created_at=1.0, location="here", sku="Basic", friendly_name="W", tags={"k": "v"}
        )
        assert store.workspaces.ensure(made) == store.workspaces.get("whole") == made
        assert made in store.workspaces.list()
