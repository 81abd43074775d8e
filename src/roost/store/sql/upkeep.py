"""Upkeep of the database: referenced blobs, disk usage, freeing space, copying it while in use."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import sqlalchemy as sa

from roost.store.base import ExperimentSize, References
from roost.store.sql import tables as t
from roost.store.sql.engine import Database

_NAME = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_LENGTH = 64


class SqlUpkeep:
    def __init__(self, database: Database) -> None:
        self._database = database

    def references(self, *, without: Sequence[str] = ()) -> References:
        return self._database.read(lambda connection: _references(connection, set(without)))

    def sizes(self) -> Sequence[ExperimentSize]:
        columns = (t.runs.c.workspace, t.runs.c.experiment)
        total = sa.func.coalesce(sa.func.sum(t.files.c.size), 0)
        wanted = (
            sa.select(*columns, sa.func.count(t.runs.c.seq.distinct()).label("runs"), total.label("bytes"))
            .select_from(t.runs.outerjoin(t.files, t.files.c.run_seq == t.runs.c.seq))
            .group_by(*columns)
            .order_by(total.desc(), *columns)
        )
        return self._database.read(
            lambda connection: [ExperimentSize(**row._mapping) for row in connection.execute(wanted)]
        )

    def size(self) -> int:
        return self._database.size()

    def compact(self) -> int:
        before = self._database.size()
        self._database.shrink()
        return max(0, before - self._database.size())

    def copy_to(self, path: Path) -> None:
        self._database.copy_to(path)


def _references(connection: sa.Connection, without: set[str]) -> References:
    gone = (
        set(connection.execute(sa.select(t.runs.c.seq).where(t.runs.c.id.in_(without))).scalars()) if without else set()
    )
    of_runs = (t.files.c.blob, t.stream_files.c.blob)
    files = {name for column in of_runs for name in _in_column(connection, column, gone)}
    models = set(_in_column(connection, t.models.c.manifest, gone))
    archives = set(_in_column(connection, t.environment_archives.c.manifest, gone))
    columns = [column for table in t.metadata.sorted_tables for column in table.c if column not in of_runs]
    texts = [column for column in columns if isinstance(column.type, sa.String)]
    others = {name for column in texts for name in _in_column(connection, column, gone)}
    return References(files, models, archives, others)


def _in_column(connection: sa.Connection, column: sa.Column[str], gone: set[int]) -> Iterator[str]:
    """Every text that looks like a name: a blob kept unnecessarily costs space, a lost blob costs a run."""
    owner = column.table.c.get("seq" if column.table is t.runs else "run_seq") if gone else None
    wanted = sa.select(column, sa.null() if owner is None else owner).where(sa.func.length(column) >= _LENGTH)
    for text, run in connection.execute(wanted.distinct() if owner is None else wanted):
        if run not in gone:
            yield from _NAME.findall(text)
