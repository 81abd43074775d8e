"""The key vault: sealed at rest, bound to its place, and a lost key that says so."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.shared.contexts import ANN, as_run, make_house, submit

from roost.domain.errors import Conflict, Forbidden, InvalidInput, NotFound
from roost.domain.people import Caller
from roost.domain.permissions import Role
from roost.domain.workspaces import Workspace
from roost.services import secrets, vault
from roost.services.context import Context


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return make_house(tmp_path, store=f"sqlite:///{tmp_path / 'roost.db'}")


def test_set_read_list_delete(context: Context) -> None:
    assert secrets.put(context, ANN, "vision", {"db-pass": "hunter22", "short": "x", "Wide": "Schlüssel\nzwei"}) == 3
    assert secrets.read(context, ANN, "vision", ["db-pass", "nothing", "Wide"]) == {
        "db-pass": "hunter22",
        "nothing": None,
        "Wide": "Schlüssel\nzwei",
    }
    secrets.put(context, Caller(user="bob", role=Role.PERSON), "vision", {"db-pass": "other"})
    assert secrets.read(context, ANN, "vision", ["db-pass"]) == {"db-pass": "other"}
    assert [(each.name, each.user) for each in secrets.listing(context, ANN, "vision")] == [
        ("Wide", "ann"),
        ("db-pass", "bob"),
        ("short", "ann"),
    ]
    assert secrets.delete(context, ANN, "vision", "db-pass")
    assert not secrets.delete(context, ANN, "vision", "db-pass")


def test_nothing_of_a_value_is_in_the_database_and_the_key_is_the_owners(context: Context, tmp_path: Path) -> None:
    secrets.put(context, ANN, "vision", {"a-name-to-find": "a-value-to-look-for"})
    context.store.close()
    files = list(tmp_path.glob("roost.db*"))
    assert any(b"a-name-to-find" in file.read_bytes() for file in files)
    for file in files:
        assert b"a-value-to-look-for" not in file.read_bytes()
    key = tmp_path / "vault.key"
    assert (key.stat().st_mode & 0o777, len(key.read_bytes())) == (0o600, 32)
    assert key.read_bytes() not in (tmp_path / "roost.db").read_bytes()


def test_rows_cannot_be_swapped(context: Context, tmp_path: Path) -> None:
    context.store.workspaces.ensure(Workspace(name="other", user="ann", created_at=1.0))
    secrets.put(context, ANN, "vision", {"one": "1111", "two": "2222"})
    secrets.put(context, ANN, "other", {"one": "3333"})
    sealed = context.store.secrets.get("vision", ["one", "two"])
    for place, name in (("vision", "two"), ("other", "one")):
        context.store.secrets.put(place, {name: sealed["one"]}, user="eve", at=2.0)
        with pytest.raises(Conflict, match="is damaged"):
            secrets.read(context, ANN, place, [name])
    damaged = sealed["two"][:-1] + bytes([sealed["two"][-1] ^ 1])
    context.store.secrets.put("vision", {"two": damaged}, user="eve", at=2.0)
    with pytest.raises(Conflict, match="is damaged"):
        secrets.read(context, ANN, "vision", ["two"])


def test_a_lost_key_is_said_and_no_new_one_made_in_silence(context: Context, tmp_path: Path) -> None:
    secrets.put(context, ANN, "vision", {"name": "value"})
    key = tmp_path / "vault.key"
    kept = key.read_bytes()
    key.unlink()
    for deed in (
        lambda: secrets.read(context, ANN, "vision", ["name"]),
        lambda: secrets.put(context, ANN, "vision", {"new": "value"}),
    ):
        with pytest.raises(Conflict, match=r"vault\.key, is gone or damaged") as caught:
            deed()
        assert "back-up" in caught.value.hint
    assert not key.exists()
    key.write_bytes(b"short")
    with pytest.raises(Conflict, match="gone or damaged"):
        secrets.read(context, ANN, "vision", ["name"])
    key.write_bytes(b"x" * 32)
    with pytest.raises(Conflict, match="another key"):
        secrets.read(context, ANN, "vision", ["name"])
    key.write_bytes(kept)
    assert secrets.read(context, ANN, "vision", ["name"]) == {"name": "value"}
    key.unlink()
    secrets.delete(context, ANN, "vision", "name")
    secrets.put(context, ANN, "vision", {"name": "begun anew"})
    assert secrets.read(context, ANN, "vision", ["name"]) == {"name": "begun anew"}


@pytest.mark.parametrize("name", ["", "a_b", "a b", "ä", "x" * 128, "a/b", "a\n"])
def test_names_are_azures(context: Context, name: str) -> None:
    with pytest.raises(InvalidInput, match="is not allowed"):
        secrets.put(context, ANN, "vision", {"fine": "value", name: "value"})
    assert secrets.listing(context, ANN, "vision") == []


def test_values_that_are_refused_are_not_shown(context: Context) -> None:
    with pytest.raises(InvalidInput, match="25001 bytes") as caught:
        secrets.put(context, ANN, "vision", {"name": "p" * 25_001})
    assert "ppp" not in str(caught.value)
    with pytest.raises(InvalidInput, match="'name' is empty"):
        secrets.put(context, ANN, "vision", {"name": ""})
    secrets.put(context, ANN, "vision", {"name": "p" * 25_000})
    with pytest.raises(NotFound):
        secrets.put(context, ANN, "nowhere", {"name": "value"})


def test_a_run_reads_its_own_workspace_and_a_browser_nothing(context: Context) -> None:
    context.store.workspaces.ensure(Workspace(name="other", user="ann", created_at=1.0))
    secrets.put(context, ANN, "vision", {"mine": "value"})
    secrets.put(context, ANN, "other", {"theirs": "value"})
    run = submit(context)
    caller = as_run(run.id)
    assert secrets.read_of_run(context, caller, run.id, ["mine", "theirs"]) == {"mine": "value", "theirs": None}
    assert [each.name for each in secrets.listing_of_run(context, ANN, run.id)] == ["mine"]
    with pytest.raises(Forbidden, match="browser"):
        secrets.read_of_run(context, Caller(user="ann", role=Role.BROWSER), run.id, ["mine"])


def test_two_seals_of_one_value_differ(tmp_path: Path) -> None:
    key = tmp_path / "vault.key"
    one, two = (vault.seal(key, "ws", "n", "value", may_make_key=True) for _ in range(2))
    assert one != two
    assert vault.unseal(key, "ws", "n", one) == vault.unseal(key, "ws", "n", two) == "value"
    assert list(tmp_path.iterdir()) == [key]


def test_the_library_is_loaded_by_those_who_have_secrets() -> None:
    check = "import sys, roost.server.serving; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_the_row_as_it_lies(context: Context, tmp_path: Path) -> None:
    secrets.put(context, ANN, "vision", {"name": "value"})
    context.store.close()
    connection = sqlite3.connect(tmp_path / "roost.db")
    ((workspace, name, sealed),) = connection.execute("SELECT workspace, name, sealed FROM secrets").fetchall()
    connection.close()
    assert (workspace, name, len(sealed)) == ("vision", "name", 1 + 8 + 12 + len("value") + 16)
