"""Revisions, tables and HEAD say the same; a database is opened, migrated or refused by its revision."""

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from tests.store.older import LEASES, NAMES_IN_LINEAGE, before_leases, before_names_in_lineage, leases_of, put

from roost.domain.errors import Incompatible, InvalidInput
from roost.store import migrations, open_store
from roost.store.migrations.upgrade import config, upgrade
from roost.store.sql.engine import SqliteDatabase
from roost.store.sql.tables import metadata


def shape(connection: sa.Connection) -> dict[str, set[str]]:
    """Every table and index, as words: order of lines and quoting aside."""
    found = connection.exec_driver_sql(
        "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name != 'alembic_version'"
    )
    # A column that was added later stands on the line of the one before it.
    parts = {name: re.split(r"\n|, (?=\w+ (?:TEXT|VARCHAR|INTEGER|BIGINT|BOOLEAN)\b)", sql) for name, sql in found}
    return {name: {each.strip(" ,\t").replace('"', "") for each in lines} for name, lines in parts.items()}


def made(work) -> tuple[dict[str, set[str]], list[object]]:  # type: ignore[no-untyped-def]
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        work(connection)
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
        found = shape(connection), differences
    engine.dispose()
    return found


def test_head_is_the_last_revision() -> None:
    scripts = ScriptDirectory.from_config(config())
    assert scripts.get_heads() == [migrations.HEAD]
    assert tuple(script.revision for script in reversed(list(scripts.walk_revisions()))) == migrations.REVISIONS


def test_migrating_and_making_give_the_same_tables() -> None:
    migrated, differences = made(upgrade)
    created, _ = made(metadata.create_all)
    assert migrated == created
    assert differences == []


def test_a_new_store_is_at_head(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path / 'a.db'}").close()
    assert revision(tmp_path / "a.db") == [(migrations.HEAD,)]


def revision(path: Path) -> list[tuple[str]]:
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    connection.close()
    return found


def change(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


def test_a_migrated_store_is_used_as_it_is(tmp_path: Path) -> None:
    database = SqliteDatabase(str(tmp_path / "a.db"))
    database.write(upgrade)
    database.close()
    assert revision(tmp_path / "a.db") == [(migrations.HEAD,)]
    store = open_store(f"sqlite:///{tmp_path / 'a.db'}")
    assert store.workspaces.list() == []
    store.close()


def test_a_store_of_the_first_revision_is_migrated(tmp_path: Path) -> None:
    database = SqliteDatabase(str(tmp_path / "a.db"))
    database.write(lambda connection: upgrade(connection, "0001"))
    database.close()
    change(
        tmp_path / "a.db",
        "INSERT INTO runs VALUES (1, 'r1', 'w', 'e', 1, 'u', 'script', 'local', '', '{}', 'd', 1.0, 'Completed', 'done', '', '', "
        "NULL, NULL, 0, '{\"late\": \"x\"}', '{}', 1, '', NULL, 0.0, '', 0.0)",
    )
    store = open_store(f"sqlite:///{tmp_path / 'a.db'}")
    run = store.runs.get("r1")
    assert (run.tags, run.given_tags) == ({"late": "x"}, {})
    store.close()
    assert revision(tmp_path / "a.db") == [(migrations.HEAD,)]


def test_runs_keep_the_names_of_what_they_used_before(tmp_path: Path) -> None:
    database = SqliteDatabase(str(tmp_path / "a.db"))
    database.write(before_names_in_lineage)
    database.close()
    store = open_store(f"sqlite:///{tmp_path / 'a.db'}")
    store.datasets.delete("w", "birds")
    uses = store.datasets.uses_of_run("r1")
    assert {use.name: (use.dataset_name, use.dataset_version, use.unregistered) for use in uses} == NAMES_IN_LINEAGE
    store.close()


def test_leases_of_runs_and_endpoints_are_kept(tmp_path: Path) -> None:
    database = SqliteDatabase(str(tmp_path / "a.db"))
    database.write(before_leases)
    database.close()
    store = open_store(f"sqlite:///{tmp_path / 'a.db'}")
    assert leases_of(store) == LEASES
    assert [event.to for event in store.runs.events("running")] == ["Running"], "what belongs to a run is still there"
    store.close()


def test_a_newer_store_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    open_store(f"sqlite:///{path}").close()
    change(path, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(Incompatible, match="newer Roost") as caught:
        open_store(f"sqlite:///{path}")
    assert "Upgrade" in caught.value.hint
    assert revision(path) == [("9999",)]


def test_somebody_elses_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    change(path, "CREATE TABLE theirs (x INTEGER)")
    with pytest.raises(Incompatible, match="not Roost's"):
        open_store(f"sqlite:///{path}")
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
    connection.close()


@pytest.mark.parametrize("url", ["mysql://x", "sqlite:a.db", "sqlite:///", "", "sqlite://a.db"])
def test_an_unknown_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        open_store(url)


def test_opening_needs_no_alembic(tmp_path: Path) -> None:
    program = """
import sys
from roost.store import open_store
for _ in range(2):
    open_store(sys.argv[1]).close()
sys.exit("alembic" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program, f"sqlite:///{tmp_path / 'a.db'}"], check=True)


def test_experiments_of_replicas_alone_are_known_after_the_migration() -> None:
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        upgrade(connection, "0006")
        for name, kinds in {
            "train": ["script"],
            "endpoint-a": ["replica"] * 2,
            "b": ["replica", "script"],
            "c": [],
        }.items():
            given = {"id": name, "workspace": "ws", "name": name, "user": "ann", "created_at": 1.0, "tags": "{}"}
            old = sa.table("experiments", *map(sa.column, [*given, "run_count"]))
            connection.execute(old.insert().values(**given, run_count=len(kinds)))
            for number, kind in enumerate(kinds):
                row = {"id": f"{name}{number}", "workspace": "ws", "experiment": name, "number": number, "kind": kind}
                put(connection, "runs", **row)
        upgrade(connection)
        hidden = connection.exec_driver_sql("SELECT name FROM experiments WHERE only_replicas").scalars().all()
    engine.dispose()
    assert hidden == ["endpoint-a"]
