"""What every store promises of the files of runs (`roost.store.base.Files`), as tests."""

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
