"""Environments: registered definitions, and one row per recipe and platform with the state of its build."""

import difflib
import json
from collections.abc import Sequence
from dataclasses import asdict

import sqlalchemy as sa

from roost.domain.environments import Archive, Build, Environment, digest
from roost.domain.errors import NotFound
from roost.domain.runs import RunStatus
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert
from roost.store.sql.statements import Statement

_E, _B = t.environments.c, t.environment_builds.c
_FIND_BUILD = Statement(
    sa.select(t.environment_builds).where(_B.key == sa.bindparam("key"), _B.platform == sa.bindparam("platform"))
)
_BUILDING = (
    sa.select(sa.func.count())
    .select_from(t.environment_builds.join(t.runs, t.runs.c.id == _B.builder))
    .where(t.runs.c.status == RunStatus.PREPARING.value)
)


class SqlEnvironments:
    def __init__(self, database: Database) -> None:
        self._database = database

    def register(self, environment: Environment) -> tuple[Environment, bool]:
        mark = digest(environment.definition)
        versions = sa.select(t.environments).where(_E.workspace == environment.workspace, _E.name == environment.name)

        def work(connection: sa.Connection) -> tuple[Environment, bool]:
            known = connection.execute(versions.order_by(_E.version.desc())).all()
            same = next((row for row in known if row.digest == mark), None)
            if same is not None:
                return _environment(same), False
            values = {
                "workspace": environment.workspace,
                "name": environment.name,
                "version": known[0].version + 1 if known else 1,
                "digest": mark,
                "definition": rows.dumps(environment.definition),
                "user": environment.user,
                "created_at": environment.created_at,
            }
            connection.execute(t.environments.insert(), values)
            return _environment(connection.execute(versions.where(_E.version == values["version"])).one()), True

        return self._database.write(work)

    def get(self, workspace: str, name: str, version: str | None = None) -> Environment:
        wanted = sa.select(t.environments).where(_E.workspace == workspace, _E.name == name)
        if version is not None:
            wanted = wanted.where(_E.version == (int(version) if version.isdecimal() and len(version) < 10 else -1))
        newest = wanted.order_by(_E.version.desc()).limit(1)
        row = self._database.read(lambda connection: connection.execute(newest).one_or_none())
        if row is None:
            what = f"environment {name!r}" + (f" of version {version!r}" if version is not None else "")
            near = difflib.get_close_matches(name, sorted({each.name for each in self.list(workspace)} - {name}), n=2)
            meant = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
            raise NotFound(
                f"There is no {what} in workspace {workspace!r}.", hint=f"{meant}List them with: roost env list"
            )
        return _environment(row)

    def list(self, workspace: str, name: str | None = None) -> Sequence[Environment]:
        wanted = sa.select(t.environments).where(_E.workspace == workspace)
        if name is not None:
            wanted = wanted.where(_E.name == name).order_by(_E.version.desc())
        else:
            other = t.environments.alias()
            newest = sa.select(sa.func.max(other.c.version)).where(
                other.c.workspace == _E.workspace, other.c.name == _E.name
            )
            wanted = wanted.where(_E.version == newest.scalar_subquery()).order_by(_E.name)
        return self._database.read(lambda connection: [_environment(row) for row in connection.execute(wanted)])

    def build(self, key: str, platform: str) -> Build:
        return self._database.read(lambda connection: _build(connection, key, platform))

    def claim_build(self, key: str, platform: str, run_id: str, limit: int, *, lost: str = "") -> Build:
        def work(connection: sa.Connection) -> Build:
            if lost and _build(connection, key, platform).lock == lost:
                _put(connection, key, platform, lock="")
            found = _build(connection, key, platform)
            if found.lock or found.builder == run_id:
                return found
            if found.builder and _is_preparing(connection, found.builder):
                return found
            if connection.execute(_BUILDING).scalar_one() >= limit:
                return found
            _put(connection, key, platform, builder=run_id)
            return _build(connection, key, platform)

        return self._database.write(work)

    def end_build(self, key: str, platform: str, *, lock: str = "", at: float = 0.0, message: str = "") -> Build:
        def work(connection: sa.Connection) -> Build:
            if lock:
                _put(connection, key, platform, lock=lock, builder="", failed_at=0.0, message="")
            else:
                _put(connection, key, platform, builder="", failed_at=at, message=message)
            return _build(connection, key, platform)

        return self._database.write(work)

    def forget_lock(self, key: str, platform: str) -> None:
        forget = t.environment_builds.update().where(_B.key == key, _B.platform == platform).values(lock="")
        self._database.write(lambda connection: connection.execute(forget))

    def archive(self, lock: str) -> Archive | None:
        wanted = sa.select(t.environment_archives).where(t.environment_archives.c.lock == lock)
        row = self._database.read(lambda connection: connection.execute(wanted).one_or_none())
        return None if row is None else _archive(row)

    def archives(self) -> Sequence[Archive]:
        wanted = sa.select(t.environment_archives).order_by(
            t.environment_archives.c.kept_at.desc(), t.environment_archives.c.lock
        )
        return self._database.read(lambda connection: [_archive(row) for row in connection.execute(wanted)])

    def put_archive(self, archive: Archive) -> None:
        values = {**asdict(archive), "missing": json.dumps(archive.missing)}

        def work(connection: sa.Connection) -> None:
            upsert = insert(connection, t.environment_archives).values(values)
            connection.execute(upsert.on_conflict_do_update(index_elements=["lock"], set_=values))

        self._database.write(work)

    def drop_archive(self, lock: str) -> bool:
        drop = t.environment_archives.delete().where(t.environment_archives.c.lock == lock)
        return self._database.write(lambda connection: connection.execute(drop).rowcount > 0)


def _archive(row: rows.Row) -> Archive:
    return Archive(**{**row._asdict(), "missing": tuple(json.loads(row.missing))})


def _environment(row: rows.Row) -> Environment:
    return Environment(
        workspace=row.workspace,
        name=row.name,
        version=str(row.version),
        definition=json.loads(row.definition),
        user=row.user,
        created_at=row.created_at,
    )


def _build(connection: sa.Connection, key: str, platform: str) -> Build:
    row = _FIND_BUILD.one(connection, key=key, platform=platform)
    return Build(key=key, platform=platform) if row is None else Build(**row._asdict())


def _put(connection: sa.Connection, key: str, platform: str, **values: object) -> None:
    empty = {"key": key, "platform": platform, "lock": "", "builder": "", "failed_at": 0.0, "message": ""}
    upsert = insert(connection, t.environment_builds).values({**empty, **values})
    connection.execute(upsert.on_conflict_do_update(index_elements=["key", "platform"], set_=values))


def _is_preparing(connection: sa.Connection, run_id: str) -> bool:
    status = sa.select(t.runs.c.status).where(t.runs.c.id == run_id)
    return connection.execute(status).scalar() == RunStatus.PREPARING.value
