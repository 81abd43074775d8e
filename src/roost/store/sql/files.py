"""A run's files: a path and the blob that holds its bytes."""

from collections.abc import Sequence

import sqlalchemy as sa

from roost.domain.errors import NotFound
from roost.domain.files import RunFile
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert

_COLUMNS = [t.files.c[name] for name in ("path", "blob", "size", "modified_at")]


class SqlFiles:
    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, run_id: str, files: Sequence[RunFile]) -> None:
        def work(connection: sa.Connection) -> None:
            seq = rows.run_seq(connection, run_id)
            upsert = insert(connection, t.files)
            new = {name: upsert.excluded[name] for name in ("blob", "size", "modified_at")}
            values = [
                {"run_seq": seq, "path": f.path, "blob": f.blob, "size": f.size, "modified_at": f.modified_at}
                for f in files
            ]
            if values:
                connection.execute(upsert.on_conflict_do_update(index_elements=["run_seq", "path"], set_=new), values)

        self._database.write(work)

    def get(self, run_id: str, path: str) -> RunFile:
        def work(connection: sa.Connection) -> rows.Row | None:
            seq = rows.run_seq(connection, run_id)
            wanted = sa.select(*_COLUMNS).where(t.files.c.run_seq == seq, t.files.c.path == path)
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
