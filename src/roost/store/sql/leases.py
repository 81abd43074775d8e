"""Leases in one table. Other nouns call the functions at the end within their own transactions: a lease's row is added and
removed with the record it belongs to, and a guarded write checks the lease in its own transaction.
"""

import secrets
from collections.abc import Sequence

import sqlalchemy as sa

from roost.store.base import Lease, LeaseLost
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert
from roost.store.sql.statements import Statement

_L = t.leases.c
DUE = (
    sa.select(t.leases)
    .where(_L.noun == sa.bindparam("of_noun"), _L.due <= sa.bindparam("at"), _L.until <= sa.bindparam("at"))
    .order_by(_L.due, _L.seq)
    .limit(sa.bindparam("most"))
)
_LOOK = Statement(DUE)
_LOCK_DUE = Statement(DUE.with_for_update(skip_locked=True))
_TAKE = Statement(
    t.leases.update()
    .where(_L.seq.in_(sa.bindparam("rows", expanding=True)))
    .values(token=sa.bindparam("by"), until=sa.bindparam("end"), due=sa.bindparam("end"))
)
_THIS = sa.and_(_L.noun == sa.bindparam("of_noun"), _L.key == sa.bindparam("of_key"))
_HELD = sa.and_(_THIS, _L.token == sa.bindparam("by"))
# A touch while the lease was held sets 0, which must stay.
_DUE_UNLESS_TOUCHED = sa.case((_L.due == 0.0, 0.0), else_=sa.bindparam("end"))
_RENEW = Statement(t.leases.update().where(_HELD).values(until=sa.bindparam("end"), due=_DUE_UNLESS_TOUCHED))
_RELEASE = Statement(t.leases.update().where(_HELD).values(token="", until=0.0, due=_DUE_UNLESS_TOUCHED))
_DROP = Statement(t.leases.delete().where(_HELD))
_INHERIT = Statement(t.leases.update().where(_L.token != "").values(token="", until=0.0, due=0.0))
_TOUCH = Statement(t.leases.update().where(_THIS).values(due=0.0))
_ADD = Statement(sa.insert(t.leases))
_MOVE = Statement(t.leases.update().where(_THIS).values(noun=sa.bindparam("to_noun"), token="", until=0.0, due=0.0))
_REMOVE = Statement(t.leases.delete().where(_THIS))
_HOLDER = Statement(sa.select(_L.token).where(_THIS).with_for_update())


class SqlLeases:
    """Implements `roost.store.base.Leases`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, noun: str, key: str, *, due: float = 0.0) -> None:
        values = {**_row(noun, key), "due": due}
        self._database.write(
            lambda connection: connection.execute(
                insert(connection, t.leases).values(values).on_conflict_do_nothing(index_elements=["noun", "key"])
            )
        )

    def take(self, noun: str, *, at: float, seconds: float, limit: int) -> Sequence[Lease]:
        # Most checks find nothing, so the check itself does not queue behind the writer.
        if not self._database.read(lambda connection: _LOOK.all(connection, of_noun=noun, at=at, most=1)):
            return []
        token, until = secrets.token_hex(16), at + seconds

        def work(connection: sa.Connection) -> list[Lease]:
            due = _LOCK_DUE.all(connection, of_noun=noun, at=at, most=limit)
            if due:
                _TAKE.run(connection, rows=[row.seq for row in due], by=token, end=until)
            return [Lease(noun=noun, key=row.key, token=token, until=until) for row in due]

        return self._database.write(work)

    def renew(self, leases: Sequence[Lease], *, until: float) -> Sequence[Lease]:
        return self._database.write(
            lambda connection: [lease for lease in leases if not _RENEW.run(connection, **_of(lease), end=until)]
        )

    def release(self, lease: Lease, *, due: float) -> None:
        self._database.write(lambda connection: _RELEASE.run(connection, **_of(lease), end=due))

    def drop(self, lease: Lease) -> None:
        self._database.write(lambda connection: _DROP.run(connection, **_of(lease)))

    def touch(self, noun: str, key: str) -> None:
        self._database.write(lambda connection: touch(connection, noun, key))

    def inherit(self) -> None:
        self._database.write(_INHERIT.run)


def add(connection: sa.Connection, noun: str, key: str) -> None:
    """Adds work for a loop, due at once."""
    _ADD.run(connection, **_row(noun, key))


def touch(connection: sa.Connection, noun: str, key: str) -> None:
    _TOUCH.run(connection, of_noun=noun, of_key=key)


def remove(connection: sa.Connection, noun: str, key: str) -> None:
    _REMOVE.run(connection, of_noun=noun, of_key=key)


def hand_over(connection: sa.Connection, key: str, before: str, after: str) -> None:
    """Moves work to another noun's loop, due at once; an empty noun removes it. An existing lease is lost."""
    if before == after:
        return
    if not before:
        add(connection, after, key)
    elif not after:
        remove(connection, before, key)
    else:
        _MOVE.run(connection, of_noun=before, of_key=key, to_noun=after)


def require(connection: sa.Connection, lease: Lease) -> None:
    """Raises LeaseLost when it is lost; otherwise it stays held until this transaction ends."""
    row = _HOLDER.one(connection, of_noun=lease.noun, of_key=lease.key)
    if row is None or row.token != lease.token:
        raise LeaseLost(
            f"The lease on {lease.key} ({lease.noun}) is lost: another control loop took it, or it is over."
        )


def _row(noun: str, key: str) -> dict[str, object]:
    return {"noun": noun, "key": key, "due": 0.0, "token": "", "until": 0.0}


def _of(lease: Lease) -> dict[str, str]:
    return {"of_noun": lease.noun, "of_key": lease.key, "by": lease.token}
