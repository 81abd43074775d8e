"""Endpoints: what each should be, what serves, which replicas it has; leased by the loop that brings the one to the other."""

import difflib
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from roost.domain import codec
from roost.domain.endpoints import Endpoint, EndpointSpec, EndpointState, Replica
from roost.domain.errors import EndpointConflict, EndpointNotFound
from roost.store.base import EndpointLease, Standing
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert

_E = t.endpoints.c
_R = t.endpoint_replicas.c
_FREE = sa.or_(_E.lease_token == "", _E.lease_until <= sa.bindparam("at"))
_DUE = sa.and_(_E.due_at <= sa.bindparam("at"), _FREE)


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
            "lease_token": "",
            "lease_until": 0.0,
            "due_at": 0.0,
        }

        def work(connection: sa.Connection) -> Endpoint:
            upsert = insert(connection, t.endpoints).values(values).on_conflict_do_nothing().returning(_E.name)
            if connection.execute(upsert).first() is not None:
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
                "due_at": 0.0,
            }
            connection.execute(_this(workspace, name).values(changed))
            return _endpoint(connection.execute(_of(workspace, name)).one())

        return self._database.write(work)

    def annotate(self, workspace: str, name: str, change: Callable[[bytes], bytes]) -> Endpoint:
        def work(connection: sa.Connection) -> Endpoint:
            row = _present(connection, workspace, name)
            changed = {"sealed": change(bytes(row.sealed)), "revision": row.revision + 1, "due_at": 0.0}
            connection.execute(_this(workspace, name).values(changed))
            return _endpoint(connection.execute(_of(workspace, name)).one())

        return self._database.write(work)

    def retire(self, workspace: str, name: str, *, at: float) -> None:
        def work(connection: sa.Connection) -> None:
            row = _present(connection, workspace, name)
            changed = {"deleting": True, "updated_at": at, "revision": row.revision + 1, "asked": row.asked + 1}
            connection.execute(_this(workspace, name).values(due_at=0.0, **changed))

        self._database.write(work)

    def touch(self, workspace: str, name: str) -> None:
        self._database.write(lambda connection: connection.execute(_this(workspace, name).values(due_at=0.0)))

    def lease(self, *, at: float, seconds: float, limit: int) -> Sequence[EndpointLease]:
        look = sa.select(_E.name).where(_DUE).limit(1)
        if self._database.read(lambda connection: connection.execute(look, {"at": at}).first()) is None:
            return []
        until = at + seconds

        def work(connection: sa.Connection) -> list[EndpointLease]:
            due = sa.select(t.endpoints).where(_DUE).order_by(_E.due_at).limit(limit).with_for_update()
            taken = []
            for row in connection.execute(due, {"at": at}).all():
                token = secrets.token_hex(16)
                held = {"lease_token": token, "lease_until": until, "due_at": until}
                connection.execute(_this(row.workspace, row.name).values(held))
                taken.append(EndpointLease(standing=_standing(row), token=token))
            return taken

        return self._database.write(work)

    def renew(self, lease: EndpointLease, *, until: float) -> bool:
        # What became due meanwhile stays due: who holds the lease gives it back, and then it is looked at again.
        statement = _held(lease).values(lease_until=until)
        return self._database.write(lambda connection: connection.execute(statement).rowcount > 0)

    def release(self, lease: EndpointLease, *, due_at: float) -> None:
        def work(connection: sa.Connection) -> None:
            row = connection.execute(_of(*_names(lease))).one_or_none()
            if row is None or row.lease_token != lease.token:
                return
            # Asked for something while the lease was held: due at once.
            due = 0.0 if row.due_at == 0.0 else due_at
            connection.execute(_held(lease).values(lease_token="", lease_until=0.0, due_at=due))

        self._database.write(work)

    def inherit(self) -> None:
        statement = t.endpoints.update().values(lease_token="", lease_until=0.0, due_at=0.0)
        self._database.write(lambda connection: connection.execute(statement))

    def settle(self, lease: EndpointLease, after: Standing) -> bool:
        before = lease.standing
        if after == before:
            return True

        def work(connection: sa.Connection) -> bool:
            row = connection.execute(_of(*_names(lease))).one_or_none()
            if row is None or row.lease_token != lease.token or row.asked != before.asked:
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
            connection.execute(_held(lease).values(changed))
            return True

        return self._database.write(work)

    def remove(self, lease: EndpointLease) -> bool:
        def work(connection: sa.Connection) -> bool:
            row = connection.execute(_of(*_names(lease))).one_or_none()
            if row is None or row.lease_token != lease.token or not row.deleting:
                return False
            workspace, name = _names(lease)
            connection.execute(t.endpoint_replicas.delete().where(_R.workspace == workspace, _R.endpoint == name))
            connection.execute(t.endpoints.delete().where(_E.workspace == workspace, _E.name == name))
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


def _held(lease: EndpointLease) -> sa.Update:
    return _this(*_names(lease)).where(_E.lease_token == lease.token)


def _names(lease: EndpointLease) -> tuple[str, str]:
    return lease.standing.endpoint.workspace, lease.standing.endpoint.name


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
