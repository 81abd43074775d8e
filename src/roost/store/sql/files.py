"""A run's files: a path and the blob that holds its bytes."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from roost.domain.errors import NotFound
from roost.domain.files import RunFile, beside
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert

_AT_ONCE = 500
_COLUMNS = [t.files.c[name] for name in ("path", "blob", "size", "modified_at")]


class SqlFiles:
    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, run_id: str, files: Sequence[RunFile], *, node_rank: int = 0) -> Mapping[str, str]:
        def work(connection: sa.Connection) -> dict[str, str]:
            seq = rows.run_seq(connection, run_id)
            upsert = insert(connection, t.files)
            new = {name: upsert.excluded[name] for name in ("blob", "size", "modified_at", "node_rank")}
            values = [
                {
                    "run_seq": seq,
                    "path": f.path,
                    "blob": f.blob,
                    "size": f.size,
                    "modified_at": f.modified_at,
                    "node_rank": node_rank,
                }
                for f in files
            ]
            aside = _make_room(connection, values)
            if values:
                connection.execute(upsert.on_conflict_do_update(index_elements=["run_seq", "path"], set_=new), values)
            return aside

        return self._database.write(work)

    def rename(self, run_id: str, paths: Mapping[str, str]) -> None:
        def work(connection: sa.Connection) -> None:
            seq = rows.run_seq(connection, run_id)
            for path, new in paths.items():
                connection.execute(t.files.delete().where(*_at(seq, new)))
                connection.execute(t.files.update().where(*_at(seq, path)).values(path=new))

        self._database.write(work)

    def get(self, run_id: str, path: str) -> RunFile:
        def work(connection: sa.Connection) -> rows.Row | None:
            seq = rows.run_seq(connection, run_id)
            wanted = sa.select(*_COLUMNS).where(*_at(seq, path))
            return connection.execute(wanted).one_or_none()

        row = self._database.read(work)
        if row is None:
            raise NotFound(
                f"Run {run_id} has no file {path!r}.",
                hint="`run.get_file_names()` lists what it has.",
                cli_hint=f"`roost run show {run_id}` lists what it has.",
            )
        return RunFile(**row._mapping)

    def list(self, run_id: str, prefix: str = "") -> Sequence[RunFile]:
        folder = prefix.rstrip("/")

        def work(connection: sa.Connection) -> list[RunFile]:
            wanted = sa.select(*_COLUMNS).where(t.files.c.run_seq == rows.run_seq(connection, run_id))
            if folder:
                # "0" follows "/": everything between begins with the folder's name and a slash.
                inside = sa.and_(t.files.c.path > f"{folder}/", t.files.c.path < f"{folder}0")
                wanted = wanted.where(sa.or_(t.files.c.path == folder, inside))
            return [RunFile(**row._mapping) for row in connection.execute(wanted.order_by(t.files.c.path))]

        return self._database.read(work)


def _at(seq: int, path: str) -> tuple[sa.ColumnElement[bool], sa.ColumnElement[bool]]:
    return t.files.c.run_seq == seq, t.files.c.path == path


def _make_room(connection: sa.Connection, values: list[dict[str, Any]]) -> dict[str, str]:
    """Handles files that two nodes stored under the same path with different content: the later node's file gets a separate
    path, until both are equal again. Changes `values` when that is the new file; returns the newly moved paths, by original
    path."""
    aside: dict[str, str] = {}
    paths = [each["path"] for each in values]
    for start in range(0, len(paths), _AT_ONCE):
        there = sa.select(t.files).where(
            t.files.c.run_seq == values[0]["run_seq"],
            t.files.c.path.in_(paths[start : start + _AT_ONCE]),
            sa.func.coalesce(t.files.c.node_rank, 0) != values[0]["node_rank"],
        )
        for row in connection.execute(there):
            own = next(each for each in values if each["path"] == row.path)
            first, later = sorted((row.node_rank or 0, own["node_rank"]))
            place = beside(row.path, later)
            if row.blob == own["blob"]:
                own["node_rank"] = first
                connection.execute(t.files.delete().where(*_at(row.run_seq, place), t.files.c.node_rank == later))
                continue
            if connection.execute(sa.select(t.files.c.path).where(*_at(row.run_seq, place))).first() is None:
                aside[row.path] = place
            if later == own["node_rank"]:
                own["path"] = place
            else:
                _place(connection, {**row._mapping, "path": place})
    return aside


def _place(connection: sa.Connection, value: dict[str, Any]) -> None:
    upsert = insert(connection, t.files)
    new = {name: upsert.excluded[name] for name in ("blob", "size", "modified_at", "node_rank")}
    connection.execute(upsert.on_conflict_do_update(index_elements=["run_seq", "path"], set_=new), value)
