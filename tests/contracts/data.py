"""What every store promises of datastores, datasets and lineage (`roost.store.base.Datastores`, `Datasets`), as tests."""

from dataclasses import replace

import pytest
from tests.contracts.store import WS, StoreContract, at_once

from roost.domain.datasets import Dataset, DataUse, Definition, Direction, Mode, Source
from roost.domain.datastores import Datastore, DatastoreKind
from roost.domain.errors import DataConflict, DataNotFound, NotFound
from roost.domain.runs import RunEvent, RunStatus
from roost.domain.workspaces import Workspace
from roost.store.base import Store

FOLDER = Datastore(
    workspace=WS, name="images", kind=DatastoreKind.FOLDER, settings={"path": "/data"}, user="ann", created_at=3.0
)
BUCKET = replace(FOLDER, name="bucket", kind=DatastoreKind.S3, settings={"bucket": "b"}, read_only=True)


def dataset(path: str, number: int = 1, **changes: object) -> Dataset:
    definition = Definition(sources=(Source(datastore="images", path=path),), steps=({"op": "take", "count": 3},))
    values: dict[str, object] = {"id": f"id-{path}-{number}", "workspace": WS, "name": "birds", "version": 0}
    return Dataset(**{**values, "definition": definition, "user": "ann", "created_at": 4.0, **changes})  # type: ignore[arg-type]


class DataContract(StoreContract):
    def test_datastores(self, store: Store) -> None:
        assert store.datastores.list(WS) == [] and not store.datastores.any_sealed()
        assert store.datastores.put(FOLDER, None, overwrite=False) == FOLDER
        sealed = replace(BUCKET, has_credential=True)
        assert store.datastores.put(BUCKET, b"\x00sealed", overwrite=False) == sealed
        assert store.datastores.get(WS, "bucket") == sealed
        assert store.datastores.list(WS) == [sealed, FOLDER]
        assert store.datastores.sealed(WS, "bucket") == b"\x00sealed"
        assert store.datastores.sealed(WS, "images") is None and store.datastores.sealed(WS, "none") is None
        assert store.datastores.any_sealed()

    def test_a_datastore_is_replaced_when_that_is_meant(self, store: Store) -> None:
        store.datastores.put(BUCKET, b"one", overwrite=False)
        with pytest.raises(DataConflict, match="'bucket'"):
            store.datastores.put(FOLDER.__class__(**{**vars(FOLDER), "name": "bucket"}), None, overwrite=False)
        assert store.datastores.sealed(WS, "bucket") == b"one"
        changed = replace(FOLDER, name="bucket", user="bob")
        assert store.datastores.put(changed, None, overwrite=True) == changed
        assert not store.datastores.any_sealed()
        assert store.datastores.delete(WS, "bucket") and not store.datastores.delete(WS, "bucket")
        with pytest.raises(DataNotFound, match="'bucket'"):
            store.datastores.get(WS, "bucket")

    def test_the_default_datastore(self, store: Store) -> None:
        store.workspaces.ensure(Workspace(name="other", user="ann", created_at=1.0))
        assert store.datastores.default(WS) == ""
        store.datastores.put(FOLDER, None, overwrite=False)
        store.datastores.set_default(WS, "bucket")
        store.datastores.set_default(WS, "images")
        assert (store.datastores.default(WS), store.datastores.default("other")) == ("images", "")
        store.datastores.delete(WS, "images")
        assert store.datastores.default(WS) == ""

    def test_versions_of_a_dataset(self, store: Store) -> None:
        first, new = store.datasets.register(dataset("a", description="one", tags={"k": "v"}), new_version=False)
        assert new and (first.version, first.definition.steps) == (1, ({"op": "take", "count": 3},))
        again, new = store.datasets.register(dataset("a", 2, tags={"l": "w"}), new_version=True)
        assert not new and again == replace(first, tags={"k": "v", "l": "w"})
        with pytest.raises(DataConflict, match="already a dataset registered under name 'birds'"):
            store.datasets.register(dataset("b"), new_version=False)
        second, _ = store.datasets.register(dataset("b"), new_version=True)
        assert second.version == 2
        assert store.datasets.get(WS, "birds") == second == store.datasets.by_id(WS, "id-b-1")
        assert store.datasets.get(WS, "birds", 1) == again
        assert store.datasets.list(WS) == [second] and store.datasets.list(WS, "birds") == [second, again]
        store.datasets.register(replace(dataset("c"), name="my birds"), new_version=False)
        with pytest.raises(DataNotFound, match="of version 3") as caught:
            store.datasets.get(WS, "birds", 3)
        assert caught.value.hint == "'birds' has versions 1 to 2.", "not another name that is near"
        with pytest.raises(DataNotFound, match="of version 3") as caught:
            store.datasets.get(WS, "my birds", 3)
        assert caught.value.hint == "'my birds' has version 1 only."
        with pytest.raises(DataNotFound):
            store.datasets.by_id(WS, "none")

    def test_labels_and_end_of_a_dataset(self, store: Store) -> None:
        made, _ = store.datasets.register(dataset("a", tags={"k": "v", "l": "w"}), new_version=False)
        changed = store.datasets.annotate(WS, made.id, tags={"m": "x"}, remove_tags=["k"], description="new")
        assert (changed.tags, changed.description) == ({"l": "w", "m": "x"}, "new")
        assert store.datasets.annotate(WS, made.id, tags={"m": "y"}).description == "new"
        store.datasets.register(dataset("b"), new_version=True)
        assert (store.datasets.delete(WS, "birds"), store.datasets.delete(WS, "birds")) == (2, 0)
        with pytest.raises(DataNotFound):
            store.datasets.annotate(WS, made.id, tags={})

    def test_many_register_at_once(self, store: Store) -> None:
        made = at_once(lambda i: store.datasets.register(dataset(str(i)), new_version=True)[0].version, 8)
        assert sorted(made) == list(range(1, 9))

    def test_lineage(self, store: Store) -> None:
        made, _ = store.datasets.register(dataset("a"), new_version=False)
        for run_id in ("r1", "r2"):
            self.make(store, run_id)
        read = DataUse(
            run_id="r1", direction=Direction.INPUT, name="x", definition=made.definition, dataset_id=made.id, at=1.0
        )
        wrote = replace(read, direction=Direction.OUTPUT, mode=Mode.UPLOAD, dataset_id="", at=0.5)
        store.datasets.note([wrote, read])
        store.datasets.note([replace(read, run_id="r2", at=2.0)])
        store.datasets.note([replace(read, mode=Mode.MOUNT)])
        told = replace(read, mode=Mode.MOUNT, dataset_name="birds", dataset_version=1)
        assert store.datasets.uses_of_run("r1") == [told, wrote]
        assert [use.run_id for use in store.datasets.uses_of_dataset(made.id, 10)] == ["r2", "r1"]
        assert len(store.datasets.uses_of_dataset(made.id, 1)) == 1
        with pytest.raises(NotFound):
            store.datasets.note([replace(read, run_id="r9")])
        store.datasets.delete(WS, "birds")
        assert store.datasets.uses_of_run("r1") == [replace(told, unregistered=True), wrote]
        assert [use.dataset_name for use in store.datasets.uses_of_dataset(made.id, 10)] == ["birds", "birds"]
        store.datasets.note([replace(read, mode=Mode.MOUNT)])  # sent twice, the second time after it was unregistered
        assert store.datasets.uses_of_run("r1") == [replace(told, unregistered=True), wrote]
        store.runs.apply("r1", RunEvent(to=RunStatus.CANCELED, at=9.0))
        store.runs.delete("r1")
        assert [use.run_id for use in store.datasets.uses_of_dataset(made.id, 10)] == ["r2"]
