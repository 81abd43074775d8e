"""What every store promises of models (`roost.store.base.Models`), as tests."""

from dataclasses import replace

import pytest
from tests.contracts.store import WS, StoreContract, at_once, submission

from roost.domain.errors import ModelConflict, ModelNotFound, NotFound
from roost.domain.models import Model, Resources
from roost.domain.runs import RunEvent, RunStatus
from roost.domain.workspaces import Workspace
from roost.store.base import Store

NET = Model(
    workspace=WS,
    name="net",
    version=0,
    manifest="ab" * 32,
    path="outputs",
    size=3_000_000_000,
    framework="Onnx",
    framework_version="1.2",
    description="Größe",
    tags={"stage": "test", "empty": ""},
    properties={"p": "1"},
    run_id="train_1_a",
    experiment="train",
    parent="old:1",
    datasets=(("training data", "id-1"), ("test data", "id-2")),
    sample_input="id-3",
    resources=Resources(cpu=0.5, memory_gb=1.5),
    user="ann",
    created_at=4.0,
    modified_at=4.0,
)


def add(store: Store, key: str, **changes: object) -> Model:
    return store.models.register(replace(NET, **changes), key)[0]  # type: ignore[arg-type]


class ModelsContract(StoreContract):
    def test_versions_count_up_and_read_back_whole(self, store: Store) -> None:
        made, new = store.models.register(NET, "k1")
        assert new and made == replace(NET, version=1)
        assert store.models.get(WS, "net") == made == store.models.get(WS, "net", 1)
        second = add(store, "k2", framework="Custom", tags={}, resources=Resources())
        assert second.version == 2 and store.models.get(WS, "net") == second
        assert add(store, "k3", name="other").version == 1

    def test_the_same_key_is_the_same_version(self, store: Store) -> None:
        first = add(store, "k1")
        again, new = store.models.register(replace(NET, description="repeated"), "k1")
        assert (again, new) == (first, False)
        store.workspaces.ensure(Workspace(name="else", user="ann", created_at=1.0))
        assert add(store, "k1", workspace="else").version == 1

    def test_of_many_at_once_each_gets_its_own_version(self, store: Store) -> None:
        made = at_once(lambda i: add(store, f"k{i}").version, 8)
        assert sorted(made) == list(range(1, 9))

    def test_a_version_is_never_given_again(self, store: Store) -> None:
        add(store, "k1"), add(store, "k2")
        assert store.models.delete(WS, "net", 2) and not store.models.delete(WS, "net", 2)
        assert store.models.get(WS, "net").version == 1
        assert add(store, "k3").version == 3
        store.models.delete(WS, "net", 1), store.models.delete(WS, "net", 3)
        assert add(store, "k4").version == 4

    def test_what_is_not_there(self, store: Store) -> None:
        add(store, "k1")
        with pytest.raises(ModelNotFound, match="ModelNotFound: Model 'nets' is not in") as missing:
            store.models.get(WS, "nets")
        assert "'net'" in missing.value.hint
        with pytest.raises(ModelNotFound, match="version 2") as missing:
            store.models.get(WS, "net", 2)
        assert "1" in missing.value.hint
        with pytest.raises(ModelNotFound):
            store.models.change(WS, "net", 2, lambda model: model)

    def test_listing(self, store: Store) -> None:
        add(store, "k1", created_at=1.0)
        add(store, "k2", created_at=2.0, framework="Custom", run_id="")
        add(store, "k3", created_at=3.0, name="other")

        def ids(**wanted: object) -> list[str]:
            return [model.id for model in store.models.list(WS, **wanted)]  # type: ignore[arg-type]

        assert ids() == ["other:1", "net:2", "net:1"]
        assert ids(latest=True) == ["other:1", "net:2"]
        assert ids(name="net") == ["net:2", "net:1"]
        assert ids(run_id="train_1_a") == ["other:1", "net:1"]
        assert ids(framework="Custom") == ["net:2"]
        assert ids(name="net", framework="Onnx", latest=True) == []
        assert store.models.list("else") == []

    def test_a_change_is_whole_or_none(self, store: Store) -> None:
        made = add(store, "k1")
        changed = store.models.change(WS, "net", 1, lambda model: replace(model, tags={"a": "1"}, modified_at=9.0))
        assert changed == replace(made, tags={"a": "1"}, modified_at=9.0) == store.models.get(WS, "net", 1)

        def refuse(model: Model) -> Model:
            raise ModelConflict(model.id)

        with pytest.raises(ModelConflict):
            store.models.change(WS, "net", 1, refuse)
        assert store.models.get(WS, "net", 1) == changed
        at_once(lambda i: store.models.change(WS, "net", 1, lambda m: replace(m, tags={**m.tags, f"t{i}": ""})), 6)
        assert len(store.models.get(WS, "net", 1).tags) == 7

    def test_who_used_it(self, store: Store) -> None:
        for run_id in ("train_1_b", "train_1_c"):
            store.runs.create(WS, submission(run_id), user="ann", at=1.0)
        add(store, "k1")
        store.models.note_use("train_1_b", "net:1", 5.0)
        store.models.note_use("train_1_c", "net:1", 6.0)
        store.models.note_use("train_1_c", "net:1", 7.0)
        store.models.note_use("train_1_c", "other:1", 8.0)
        assert store.models.users(WS, "net:1", 10) == ["train_1_c", "train_1_b"]
        assert store.models.users(WS, "net:1", 1) == ["train_1_c"] and store.models.users("else", "net:1", 9) == []
        assert store.models.used_by_run("train_1_c") == ["net:1", "other:1"]
        with pytest.raises(NotFound):
            store.models.note_use("train_1_zz", "net:1", 5.0)
        store.runs.apply("train_1_c", RunEvent(to=RunStatus.CANCELED, at=9.0))
        store.runs.delete("train_1_c")
        assert store.models.users(WS, "net:1", 10) == ["train_1_b"]

    def test_its_manifest_is_referred_to(self, store: Store) -> None:
        add(store, "k1")
        found = store.upkeep.references()
        assert NET.manifest in found.models and NET.manifest in found.others
        store.models.delete(WS, "net", 1)
        found = store.upkeep.references()
        assert NET.manifest not in found.models | found.others
