"""Endpoints: the requested spec, the serving spec, and the replicas of each."""

import difflib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from roost.domain import codec
from roost.domain.endpoints import Endpoint, EndpointSpec, EndpointState, Replica
from roost.domain.errors import EndpointConflict, EndpointNotFound
from roost.store.base import ENDPOINTS, Lease, Standing
from roost.store.sql import leases, rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert

_E = t.endpoints.c
_R = t.endpoint_replicas.c


class SqlEndpoints:
    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, endpoint: Endpoint, sealed: bytes, *, generations: int) -> Endpoint:
        values: dict[str, Any] = {
            "workspace": endpoint.workspace,
            "name": endpoint.name,
            "spec": rows.dumps(endpoint.spec),
            "good": "",
            "state": endpoint.state.value,
            "error": endpoint.error,
            "failed_replica": endpoint.failed_replica,
            "port": endpoint.port,
            "generations": generations,
            "user": endpoint.user,
            "created_at": endpoint.created_at,
            "updated_at": endpoint.updated_at,
            "revision": endpoint.revision,
            "asked": 1,
            "deleting": False,
            "sealed": sealed,
        }

        def work(connection: sa.Connection) -> Endpoint:
            upsert = insert(connection, t.endpoints).values(values).on_conflict_do_nothing().returning(_E.name)
            if connection.execute(upsert).first() is not None:
                leases.add(connection, ENDPOINTS, endpoint.id)
                return endpoint
            found = connection.execute(_of(endpoint.workspace, endpoint.name)).one_or_none()
            if found is not None:
                raise _there(found)
            raise EndpointConflict(f"Port {endpoint.port} is another endpoint's.", hint="Give another, or none.")

        return self._database.write(work)

    def get(self, workspace: str, name: str) -> Endpoint:
        standing = self.standing(workspace, name)
        if standing.deleting:
            raise _missing(workspace, name, [])
        return standing.endpoint

    def standing(self, workspace: str, name: str) -> Standing:
        row = self._database.read(lambda connection: connection.execute(_of(workspace, name)).one_or_none())
        if row is None:
            raise _missing(workspace, name, [each.name for each in self.list(workspace)])
        return _standing(row)

    def list(self, workspace: str | None = None) -> Sequence[Endpoint]:
        statement = sa.select(t.endpoints).where(_E.deleting.is_(False)).order_by(_E.workspace, _E.name)
        if workspace is not None:
            statement = statement.where(_E.workspace == workspace)
        return self._database.read(lambda connection: [_endpoint(row) for row in connection.execute(statement)])

    def ports(self) -> frozenset[int]:
        return self._database.read(lambda connection: frozenset(connection.execute(sa.select(_E.port)).scalars()))

    def using(self, workspace: str, model_id: str) -> Sequence[str]:
        statement = sa.select(t.endpoints).where(_E.workspace == workspace).order_by(_E.name)
        found = self._database.read(lambda connection: [_standing(row) for row in connection.execute(statement)])
        return [each.endpoint.name for each in found if model_id in _models(each)]

    def ask(self, workspace: str, name: str, spec: EndpointSpec, *, seen: int, generations: int, at: float) -> Endpoint:
        def work(connection: sa.Connection) -> Endpoint:
            row = _present(connection, workspace, name)
            if row.asked != seen:
                raise EndpointConflict(
                    f"Endpoint {name!r} was changed by somebody else a moment ago.", hint="Look at it, and try again."
                )
            changed = {
                "spec": rows.dumps(spec),
                "state": EndpointState.TRANSITIONING.value,
                "error": "",
                "failed_replica": "",
                "generations": generations,
                "updated_at": at,
                "revision": row.revision + 1,
                "asked": row.asked + 1,
            }
            return _changed(connection, row, changed)

        return self._database.write(work)

    def annotate(self, workspace: str, name: str, change: Callable[[bytes], bytes]) -> Endpoint:
        def work(connection: sa.Connection) -> Endpoint:
            row = _present(connection, workspace, name)
            changed = {"sealed": change(bytes(row.sealed)), "revision": row.revision + 1}
            return _changed(connection, row, changed)

        return self._database.write(work)

    def retire(self, workspace: str, name: str, *, at: float) -> None:
        def work(connection: sa.Connection) -> None:
            row = _present(connection, workspace, name)
            changed = {"deleting": True, "updated_at": at, "revision": row.revision + 1, "asked": row.asked + 1}
            _changed(connection, row, changed)

        self._database.write(work)

    def settle(self, before: Standing, after: Standing, *, lease: Lease) -> bool:
        if after == before:
            return True
        workspace, name = before.endpoint.workspace, before.endpoint.name

        def work(connection: sa.Connection) -> bool:
            row = connection.execute(_of(workspace, name).with_for_update()).one_or_none()
            leases.require(connection, lease)
            if row is None or row.asked != before.asked:
                return False
            changed = {
                "spec": rows.dumps(after.endpoint.spec),
                "good": rows.dumps(after.good) if after.good else "",
                "state": after.endpoint.state.value,
                "error": after.endpoint.error,
                "failed_replica": after.endpoint.failed_replica,
                "port": after.endpoint.port,
                "revision": row.revision + 1,
            }
            connection.execute(_this(workspace, name).values(changed))
            return True

        return self._database.write(work)

    def remove(self, workspace: str, name: str, *, lease: Lease) -> bool:
        def work(connection: sa.Connection) -> bool:
            row = connection.execute(_of(workspace, name).with_for_update()).one_or_none()
            leases.require(connection, lease)
            if row is None or not row.deleting:
                return False
            connection.execute(t.endpoint_replicas.delete().where(_R.workspace == workspace, _R.endpoint == name))
            connection.execute(t.endpoints.delete().where(_E.workspace == workspace, _E.name == name))
            leases.remove(connection, lease.noun, lease.key)
            return True

        return self._database.write(work)

    def replicas(self, workspace: str, name: str) -> Sequence[Replica]:
        statement = (
            sa.select(t.endpoint_replicas)
            .where(_R.workspace == workspace, _R.endpoint == name)
            .order_by(_R.created_at, _R.run_id)
        )
        return self._database.read(lambda connection: [_replica(row) for row in connection.execute(statement)])

    def add_replica(self, workspace: str, name: str, replica: Replica) -> None:
        values: dict[str, Any] = {
            "workspace": workspace,
            "endpoint": name,
            "run_id": replica.run_id,
            "version": replica.version,
            "generation": replica.generation,
            "socket": replica.socket,
            "leaving": replica.leaving,
            "created_at": replica.created_at,
        }
        self._database.write(lambda connection: connection.execute(t.endpoint_replicas.insert().values(values)))

    def dismiss(self, run_ids: Sequence[str]) -> None:
        statement = t.endpoint_replicas.update().where(_R.run_id.in_(list(run_ids))).values(leaving=True)
        self._database.write(lambda connection: connection.execute(statement))

    def forget(self, run_ids: Sequence[str]) -> None:
        statement = t.endpoint_replicas.delete().where(_R.run_id.in_(list(run_ids)))
        self._database.write(lambda connection: connection.execute(statement))

    def any_sealed(self) -> bool:
        statement = sa.select(_E.name).limit(1)
        return self._database.read(lambda connection: connection.execute(statement).first() is not None)


def _of(workspace: str, name: str) -> sa.Select[*tuple[Any, ...]]:
    return sa.select(t.endpoints).where(_E.workspace == workspace, _E.name == name)


def _this(workspace: str, name: str) -> sa.Update:
    return t.endpoints.update().where(_E.workspace == workspace, _E.name == name)


def _changed(connection: sa.Connection, row: rows.Row, values: dict[str, Any]) -> Endpoint:
    """Writes the values, and makes the endpoint due at once for its loop."""
    connection.execute(_this(row.workspace, row.name).values(values))
    endpoint = _endpoint(connection.execute(_of(row.workspace, row.name)).one())
    leases.touch(connection, ENDPOINTS, endpoint.id)
    return endpoint


def _present(connection: sa.Connection, workspace: str, name: str) -> rows.Row:
    row = connection.execute(_of(workspace, name).with_for_update()).one_or_none()
    if row is None or row.deleting:
        raise _missing(workspace, name, [])
    return row


def _there(row: rows.Row) -> EndpointConflict:
    if row.deleting:
        return EndpointConflict(f"Endpoint {row.name!r} is being deleted.", hint="Try again when it is gone.")
    return EndpointConflict(
        f"There is an endpoint {row.name!r} in workspace {row.workspace!r} already.",
        hint="Give overwrite=True to replace it, or another name.",
        cli_hint="Give --overwrite to replace it, or another name.",
    )


def _missing(workspace: str, name: str, known: Sequence[str]) -> EndpointNotFound:
    near = difflib.get_close_matches(name, known, n=2)
    meant = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
    return EndpointNotFound(
        f"There is no endpoint {name!r} in workspace {workspace!r}.", hint=f"{meant}List them with: roost endpoint list"
    )


def _models(standing: Standing) -> set[str]:
    specs = [standing.endpoint.spec, *([standing.good] if standing.good else [])]
    return {model for spec in specs for version in spec.versions for model in version.models}


def _spec(text: str) -> EndpointSpec:
    return codec.decode(EndpointSpec, json.loads(text))


def _endpoint(row: rows.Row) -> Endpoint:
    return Endpoint(
        workspace=row.workspace,
        name=row.name,
        spec=_spec(row.spec),
        state=EndpointState(row.state),
        error=row.error,
        failed_replica=row.failed_replica or "",
        port=row.port,
        user=row.user,
        created_at=row.created_at,
        updated_at=row.updated_at,
        revision=row.revision,
    )


def _standing(row: rows.Row) -> Standing:
    return Standing(
        endpoint=_endpoint(row),
        good=_spec(row.good) if row.good else None,
        generations=row.generations,
        asked=row.asked,
        deleting=bool(row.deleting),
        sealed=bytes(row.sealed),
    )


def _replica(row: rows.Row) -> Replica:
    known = Replica(run_id=row.run_id, version=row.version, generation=row.generation, socket=row.socket)
    return replace(known, leaving=bool(row.leaving), created_at=row.created_at)
