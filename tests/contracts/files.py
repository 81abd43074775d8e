"""What every store promises of the files of runs (`roost.store.base.Files`), as tests."""

from collections.abc import Mapping

import pytest
from tests.contracts.store import StoreContract

from roost.domain.errors import NotFound
from roost.domain.files import RunFile
from roost.store.base import Store


class FilesContract(StoreContract):
    def test_files_by_path_and_folder(self, store: Store) -> None:
        self.make(store, "r1")
        paths = ["outputs/a", "outputs/b/c", "outputs2/a", "outputs", "outputs-x", "logs/ü", "Outputs/z"]
        store.files.put("r1", [RunFile(path=p, blob="0" * 64, size=1, modified_at=1.0) for p in paths])
        assert [f.path for f in store.files.list("r1")] == sorted(paths)
        for prefix in ("outputs", "outputs/"):
            assert [f.path for f in store.files.list("r1", prefix)] == ["outputs", "outputs/a", "outputs/b/c"]
        assert [f.path for f in store.files.list("r1", "outputs/b/c")] == ["outputs/b/c"]
        assert store.files.list("r1", "out") == []
        assert store.files.list("r1", "%") == []
        newer = RunFile(path="outputs/a", blob="1" * 64, size=2, modified_at=2.0)
        store.files.put("r1", [newer])
        assert store.files.get("r1", "outputs/a") == newer
        assert len(store.files.list("r1")) == len(paths)
        with pytest.raises(NotFound, match="outputs/nothing"):
            store.files.get("r1", "outputs/nothing")
        store.files.put("r1", [])

    def test_files_of_several_nodes_stand_side_by_side(self, store: Store) -> None:
        self.make(store, "r1")

        def file(path: str, content: str) -> RunFile:
            return RunFile(path=path, blob=content * 64, size=1, modified_at=1.0)

        assert store.files.put("r1", [file("a", "1"), file("b", "2")], node_rank=1) == {}
        assert store.files.put("r1", [file("a", "3"), file("b", "2")], node_rank=0) == {"a": "a.node1"}
        assert store.files.put("r1", [file("a", "4"), file("b", "2")], node_rank=2) == {"a": "a.node2"}
        assert store.files.put("r1", [file("a", "5")], node_rank=0) == {}
        found = {each.path: each.blob[0] for each in store.files.list("r1")}
        assert found == {"a": "5", "a.node1": "1", "a.node2": "4", "b": "2"}
        assert store.files.put("r1", [file("a", "6")], node_rank=1) == {}, "that there are two was said before"
        assert store.files.get("r1", "a.node1").blob[0] == "6"

    def test_a_node_that_has_the_first_ones_file_again_has_none_of_its_own(self, store: Store) -> None:
        self.make(store, "r1")

        def put(content: str, node_rank: int) -> Mapping[str, str]:
            file = RunFile(path="ckpt", blob=content * 64, size=1, modified_at=1.0)
            return store.files.put("r1", [file], node_rank=node_rank)

        own = RunFile(path="ckpt.node2", blob="f" * 64, size=1, modified_at=1.0)
        store.files.put("r1", [own])
        put("5", 0)
        assert put("6", 1) == {"ckpt": "ckpt.node1"}
        for epoch in "78":
            put(epoch, 0)
            put(epoch, 1)
            put(epoch, 2)
        found = {each.path: each.blob[0] for each in store.files.list("r1")}
        assert found == {"ckpt": "8", "ckpt.node2": "f"}, "a file that the script itself called so stays"

    def test_files_get_another_path(self, store: Store) -> None:
        self.make(store, "r1")
        files = [RunFile(path=path, blob=path * 64, size=1, modified_at=1.0) for path in "abc"]
        store.files.put("r1", files)
        store.files.rename("r1", {"a": "x/a", "b": "c", "nothing": "y"})
        assert {file.path: file.blob[0] for file in store.files.list("r1")} == {"c": "b", "x/a": "a"}
