"""The key vault: sealed at rest, bound to its place, and a lost key that says so."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.services.houses import ANN, as_run, make_house, submit

from roost.domain.errors import Conflict, Forbidden, InvalidInput, NotFound
from roost.domain.people import Caller
from roost.domain.permissions import Role
from roost.domain.workspaces import Workspace
from roost.services import secrets, vault
from roost.services.house import House


@pytest.fixture
def house(tmp_path: Path) -> House:
    return make_house(tmp_path, store=f"sqlite:///{tmp_path / 'roost.db'}")


def test_set_read_list_delete(house: House) -> None:
    assert secrets.put(house, ANN, "vision", {"db-pass": "hunter22", "short": "x", "Wide": "Schlüssel\nzwei"}) == 3
    assert secrets.read(house, ANN, "vision", ["db-pass", "nothing", "Wide"]) == {
        "db-pass": "hunter22",
        "nothing": None,
        "Wide": "Schlüssel\nzwei",
    }
    secrets.put(house, Caller(user="bob", role=Role.PERSON), "vision", {"db-pass": "other"})
    assert secrets.read(house, ANN, "vision", ["db-pass"]) == {"db-pass": "other"}
    assert [(each.name, each.user) for each in secrets.listing(house, ANN, "vision")] == [
        ("Wide", "ann"),
        ("db-pass", "bob"),
        ("short", "ann"),
    ]
    assert secrets.delete(house, ANN, "vision", "db-pass")
    assert not secrets.delete(house, ANN, "vision", "db-pass")


def test_nothing_of_a_value_is_in_the_database_and_the_key_is_the_owners(house: House, tmp_path: Path) -> None:
    secrets.put(house, ANN, "vision", {"name": "a-value-to-look-for"})
    house.store.close()
    for file in tmp_path.glob("roost.db*"):
        assert b"a-value-to-look-for" not in file.read_bytes()
    key = tmp_path / "vault.key"
    assert (key.stat().st_mode & 0o777, len(key.read_bytes())) == (0o600, 32)
    assert key.read_bytes() not in (tmp_path / "roost.db").read_bytes()


def test_rows_cannot_be_swapped(house: House, tmp_path: Path) -> None:
    house.store.workspaces.ensure(Workspace(name="other", user="ann", created_at=1.0))
    secrets.put(house, ANN, "vision", {"one": "1111", "two": "2222"})
    secrets.put(house, ANN, "other", {"one": "3333"})
    sealed = house.store.secrets.get("vision", ["one", "two"])
    for place, name in (("vision", "two"), ("other", "one")):
        house.store.secrets.put(place, {name: sealed["one"]}, user="eve", at=2.0)
        with pytest.raises(Conflict, match="is damaged"):
            secrets.read(house, ANN, place, [name])
    damaged = sealed["two"][:-1] + bytes([sealed["two"][-1] ^ 1])
    house.store.secrets.put("vision", {"two": damaged}, user="eve", at=2.0)
    with pytest.raises(Conflict, match="is damaged"):
        secrets.read(house, ANN, "vision", ["two"])


def test_a_lost_key_is_said_and_no_new_one_made_in_silence(house: House, tmp_path: Path) -> None:
    secrets.put(house, ANN, "vision", {"name": "value"})
    key = tmp_path / "vault.key"
    kept = key.read_bytes()
    key.unlink()
    for deed in (
        lambda: secrets.read(house, ANN, "vision", ["name"]),
        lambda: secrets.put(house, ANN, "vision", {"new": "value"}),
    ):
        with pytest.raises(Conflict, match=r"vault\.key, is gone or damaged") as caught:
            deed()
        assert "back-up" in caught.value.hint
    assert not key.exists()
    key.write_bytes(b"short")
    with pytest.raises(Conflict, match="gone or damaged"):
        secrets.read(house, ANN, "vision", ["name"])
    key.write_bytes(b"x" * 32)
    with pytest.raises(Conflict, match="another key"):
        secrets.read(house, ANN, "vision", ["name"])
    key.write_bytes(kept)
    assert secrets.read(house, ANN, "vision", ["name"]) == {"name": "value"}
    key.unlink()
    secrets.delete(house, ANN, "vision", "name")
    secrets.put(house, ANN, "vision", {"name": "begun anew"})
    assert secrets.read(house, ANN, "vision", ["name"]) == {"name": "begun anew"}


@pytest.mark.parametrize("name", ["", "a_b", "a b", "ä", "x" * 128, "a/b", "a\n"])
def test_names_are_azures(house: House, name: str) -> None:
    with pytest.raises(InvalidInput, match="is not allowed"):
        secrets.put(house, ANN, "vision", {"fine": "value", name: "value"})
    assert secrets.listing(house, ANN, "vision") == []


def test_values_that_are_refused_are_not_shown(house: House) -> None:
    with pytest.raises(InvalidInput, match="25001 bytes") as caught:
        secrets.put(house, ANN, "vision", {"name": "p" * 25_001})
    assert "ppp" not in str(caught.value)
    with pytest.raises(InvalidInput, match="'name' is empty"):
        secrets.put(house, ANN, "vision", {"name": ""})
    secrets.put(house, ANN, "vision", {"name": "p" * 25_000})
    with pytest.raises(NotFound):
        secrets.put(house, ANN, "nowhere", {"name": "value"})


def test_a_run_reads_its_own_workspace_and_a_browser_nothing(house: House) -> None:
    house.store.workspaces.ensure(Workspace(name="other", user="ann", created_at=1.0))
    secrets.put(house, ANN, "vision", {"mine": "value"})
    secrets.put(house, ANN, "other", {"theirs": "value"})
    run = submit(house)
    caller = as_run(run.id)
    assert secrets.read_of_run(house, caller, run.id, ["mine", "theirs"]) == {"mine": "value", "theirs": None}
    assert [each.name for each in secrets.listing_of_run(house, ANN, run.id)] == ["mine"]
    with pytest.raises(Forbidden, match="browser"):
        secrets.read_of_run(house, Caller(user="ann", role=Role.BROWSER), run.id, ["mine"])


def test_two_seals_of_one_value_differ(tmp_path: Path) -> None:
    key = tmp_path / "vault.key"
    one, two = (vault.seal(key, "ws", "n", "value", may_make_key=True) for _ in range(2))
    assert one != two
    assert vault.unseal(key, "ws", "n", one) == vault.unseal(key, "ws", "n", two) == "value"
    assert list(tmp_path.iterdir()) == [key]


def test_the_library_is_loaded_by_those_who_have_secrets() -> None:
    check = "import sys, roost.server.serving; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_the_row_as_it_lies(house: House, tmp_path: Path) -> None:
    secrets.put(house, ANN, "vision", {"name": "value"})
    house.store.close()
    connection = sqlite3.connect(tmp_path / "roost.db")
    ((workspace, name, sealed),) = connection.execute("SELECT workspace, name, sealed FROM secrets").fetchall()
    connection.close()
    assert (workspace, name, len(sealed)) == ("vision", "name", 1 + 8 + 12 + len("value") + 16)
