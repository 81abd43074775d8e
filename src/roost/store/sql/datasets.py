"""Datasets: registered definitions, one row per version; and which run read or wrote which data."""

import difflib
import json
from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from roost.domain import codec, labels
from roost.domain.datasets import Dataset, DataUse, Definition, Direction, Mode
from roost.domain.errors import DataConflict, DataNotFound
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert

_D, _U = t.datasets.c, t.data_uses.c
_USES = (
    sa.select(*t.data_uses.c, t.runs.c.id.label("run_id"), _D.id.label("registered_id"))
    .join(t.runs, t.runs.c.seq == _U.run_seq)
    .outerjoin(t.datasets, sa.and_(_D.id == _U.dataset_id, _D.workspace == t.runs.c.workspace))
)


class SqlDatasets:
    def __init__(self, database: Database) -> None:
        self._database = database

    def register(self, dataset: Dataset, *, new_version: bool) -> tuple[Dataset, bool]:
        definition = rows.dumps(dataset.definition)
        versions = _versions(dataset.workspace, dataset.name)

        def work(connection: sa.Connection) -> tuple[Dataset, bool]:
            newest = connection.execute(versions.limit(1)).one_or_none()
            if newest is not None and newest.definition == definition:
                changed = _labels(dataset.description or None, _merged(newest, dataset.tags))
                connection.execute(t.datasets.update().where(_D.id == newest.id).values(changed))
                return _dataset(connection.execute(versions.where(_D.id == newest.id)).one()), False
            if newest is not None and not new_version:
                raise DataConflict(
                    f"There is already a dataset registered under name {dataset.name!r}.",
                    hint="Specify create_new_version=True to register the dataset as a new version.",
                    cli_hint="Give --new-version to register it as a new version.",
                )
            values = {
                "id": dataset.id,
                "workspace": dataset.workspace,
                "name": dataset.name,
                "version": newest.version + 1 if newest is not None else 1,
                "definition": definition,
                "user": dataset.user,
                "created_at": dataset.created_at,
                **_labels(dataset.description, dataset.tags),
            }
            connection.execute(t.datasets.insert(), values)
            return _dataset(connection.execute(versions.where(_D.id == dataset.id)).one()), True

        return self._database.write(work)

    def get(self, workspace: str, name: str, version: int | None = None) -> Dataset:
        wanted = _versions(workspace, name)
        if version is not None:
            wanted = wanted.where(_D.version == version)
        row = self._database.read(lambda connection: connection.execute(wanted.limit(1)).one_or_none())
        if row is None:
            what = f"dataset {name!r}" + (f" of version {version}" if version is not None else "")
            if version is not None and (others := self.list(workspace, name)):
                last, first = others[0].version, others[-1].version
                has = f"versions {first} to {last}" if last > first else f"version {last} only"
                raise DataNotFound(f"There is no {what} in workspace {workspace!r}.", hint=f"{name!r} has {has}.")
            near = difflib.get_close_matches(name, sorted({each.name for each in self.list(workspace)} - {name}), n=2)
            meant = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
            raise DataNotFound(
                f"There is no {what} in workspace {workspace!r}.", hint=f"{meant}List them with: roost data list"
            )
        return _dataset(row)

    def by_id(self, workspace: str, dataset_id: str) -> Dataset:
        wanted = sa.select(t.datasets).where(_D.workspace == workspace, _D.id == dataset_id)
        row = self._database.read(lambda connection: connection.execute(wanted).one_or_none())
        if row is None:
            raise _no_id(workspace, dataset_id)
        return _dataset(row)

    def list(self, workspace: str, name: str | None = None) -> Sequence[Dataset]:
        if name is not None:
            wanted = _versions(workspace, name)
        else:
            other = t.datasets.alias()
            newest = sa.select(sa.func.max(other.c.version)).where(
                other.c.workspace == _D.workspace, other.c.name == _D.name
            )
            wanted = sa.select(t.datasets).where(_D.workspace == workspace, _D.version == newest.scalar_subquery())
            wanted = wanted.order_by(_D.name)
        return self._database.read(lambda connection: [_dataset(row) for row in connection.execute(wanted)])

    def annotate(
        self,
        workspace: str,
        dataset_id: str,
        *,
        tags: Mapping[str, str] | None = None,
        remove_tags: Sequence[str] = (),
        description: str | None = None,
    ) -> Dataset:
        wanted = sa.select(t.datasets).where(_D.workspace == workspace, _D.id == dataset_id)

        def work(connection: sa.Connection) -> Dataset:
            row = connection.execute(wanted).one_or_none()
            if row is None:
                raise _no_id(workspace, dataset_id)
            changed = _labels(description, _merged(row, tags or {}, remove_tags))
            connection.execute(t.datasets.update().where(_D.id == dataset_id).values(changed))
            return _dataset(connection.execute(wanted).one())

        return self._database.write(work)

    def delete(self, workspace: str, name: str) -> int:
        gone = t.datasets.delete().where(_D.workspace == workspace, _D.name == name)
        return self._database.write(lambda connection: connection.execute(gone).rowcount)

    def note(self, uses: Sequence[DataUse]) -> None:
        def work(connection: sa.Connection) -> None:
            for use in uses:
                values = {
                    "run_seq": rows.run_seq(connection, use.run_id),
                    "direction": use.direction.value,
                    "name": use.name,
                    "mode": use.mode.value,
                    "dataset_id": use.dataset_id,
                    "definition": rows.dumps(use.definition),
                    "at": use.at,
                }
                values |= _known(connection, values["run_seq"], use.dataset_id)
                upsert = insert(connection, t.data_uses).values(values)
                keys = ["run_seq", "direction", "name"]
                changed = {key: value for key, value in values.items() if key not in keys}
                connection.execute(upsert.on_conflict_do_update(index_elements=keys, set_=changed))

        self._database.write(work)

    def uses_of_run(self, run_id: str) -> Sequence[DataUse]:
        def work(connection: sa.Connection) -> list[DataUse]:
            wanted = _USES.where(_U.run_seq == rows.run_seq(connection, run_id)).order_by(_U.direction, _U.at, _U.name)
            return [_use(row) for row in connection.execute(wanted)]

        return self._database.read(work)

    def uses_of_dataset(self, dataset_id: str, limit: int) -> Sequence[DataUse]:
        wanted = _USES.where(_U.dataset_id == dataset_id).order_by(_U.run_seq.desc(), _U.name).limit(limit)
        return self._database.read(lambda connection: [_use(row) for row in connection.execute(wanted)])


def _known(connection: sa.Connection, run_seq: object, dataset_id: str) -> dict[str, float | int | str]:
    """The registered dataset's values for a use; empty when it does not exist, so that earlier values stay."""
    if not dataset_id:
        return {}
    wanted = sa.select(_D.name, _D.version).join(t.runs, t.runs.c.workspace == _D.workspace)
    row = connection.execute(wanted.where(_D.id == dataset_id, t.runs.c.seq == run_seq)).one_or_none()
    return {} if row is None else {"dataset_name": row.name, "dataset_version": row.version}


def _versions(workspace: str, name: str) -> sa.Select[*tuple[object, ...]]:
    """The versions of one name, newest first."""
    wanted = sa.select(t.datasets).where(_D.workspace == workspace, _D.name == name)
    return wanted.order_by(_D.version.desc())


def _merged(row: rows.Row, added: Mapping[str, str], removed: Sequence[str] = ()) -> dict[str, str]:
    before, gone = json.loads(row.tags), frozenset(removed)
    after = {**{key: value for key, value in before.items() if key not in gone}, **added}
    labels.check_merged("tag", before, after)
    return after


def _labels(description: str | None, tags: Mapping[str, str]) -> dict[str, str]:
    made = {"tags": rows.dumps(tags)}
    return made if description is None else {**made, "description": description}


def _no_id(workspace: str, dataset_id: str) -> DataNotFound:
    return DataNotFound(
        f"There is no dataset with the id {dataset_id!r} in workspace {workspace!r}.",
        hint="List them with: roost data list",
    )


def _dataset(row: rows.Row) -> Dataset:
    return Dataset(
        id=row.id,
        workspace=row.workspace,
        name=row.name,
        version=row.version,
        definition=codec.decode(Definition, json.loads(row.definition)),
        description=row.description,
        tags=json.loads(row.tags),
        user=row.user,
        created_at=row.created_at,
    )


def _use(row: rows.Row) -> DataUse:
    return DataUse(
        run_id=row.run_id,
        direction=Direction(row.direction),
        name=row.name,
        definition=codec.decode(Definition, json.loads(row.definition)),
        mode=Mode(row.mode),
        dataset_id=row.dataset_id,
        dataset_name=row.dataset_name or "",
        dataset_version=row.dataset_version or 0,
        unregistered=bool(row.dataset_id) and row.registered_id is None,
        at=row.at,
    )
