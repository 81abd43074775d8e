"""What every store promises of secrets (`roost.store.base.Secrets`), as tests."""

from tests.contracts.store import WS, StoreContract

from roost.domain.secrets import Secret
from roost.domain.workspaces import Workspace
from roost.store.base import Store


class SecretsContract(StoreContract):
    def test_secrets(self, store: Store) -> None:
        store.workspaces.ensure(Workspace(name="other", user="ann", created_at=1.0))
        assert not store.secrets.any_sealed()
        assert store.secrets.list(WS) == []
        store.secrets.put(WS, {"b": b"\x00one", "a": b"two"}, user="ann", at=5.0)
        store.secrets.put("other", {"a": b"three"}, user="ann", at=5.0)
        store.secrets.put(WS, {"a": b"four"}, user="bob", at=7.0)
        assert store.secrets.get(WS, ["a", "b", "c"]) == {"a": b"four", "b": b"\x00one"}
        assert store.secrets.get("other", ["a"]) == {"a": b"three"}
        assert store.secrets.list(WS) == [
            Secret(workspace=WS, name="a", user="bob", created_at=5.0, updated_at=7.0),
            Secret(workspace=WS, name="b", user="ann", created_at=5.0, updated_at=5.0),
        ]
        assert store.secrets.delete(WS, "a")
        assert not store.secrets.delete(WS, "a")
        assert store.secrets.get(WS, ["a"]) == {}
        assert store.secrets.any_sealed()
