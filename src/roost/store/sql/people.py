"""Tokens, by their digest."""

from collections.abc import Sequence

import sqlalchemy as sa

from roost.domain.errors import Conflict
from roost.domain.people import Token, TokenKind
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert

_FIND = sa.select(t.tokens).where(t.tokens.c.digest == sa.bindparam("digest"))


class SqlPeople:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add_token(self, token: Token) -> None:
        values = {
            "digest": token.digest,
            "user": token.user,
            "run_id": token.run_id,
            "created_at": token.created_at,
            "expires_at": token.expires_at,
            "kind": token.kind.value,
        }

        def work(connection: sa.Connection) -> None:
            connection.execute(insert(connection, t.tokens).on_conflict_do_nothing(), values)
            if _find(connection, token.digest) != token:
                raise Conflict("That token belongs to someone else already.")

        self._database.write(work)

    def find_token(self, digest: str) -> Token | None:
        return self._database.read(lambda connection: _find(connection, digest))

    def take_token(self, digest: str) -> Token | None:
        def work(connection: sa.Connection) -> Token | None:
            found = _find(connection, digest)
            gone = connection.execute(t.tokens.delete().where(t.tokens.c.digest == digest)).rowcount
            return found if gone else None

        return self._database.write(work)

    def forget_expired(self, kinds: Sequence[TokenKind], at: float) -> None:
        these = t.tokens.c.kind.in_([kind.value for kind in kinds])
        statement = t.tokens.delete().where(these, t.tokens.c.expires_at < at)
        self._database.write(lambda connection: connection.execute(statement).close())

    def expire_run_tokens(self, run_id: str, at: float) -> None:
        statement = t.tokens.update().where(t.tokens.c.run_id == run_id).values(expires_at=at)
        if run_id:  # an empty id would match the tokens of people
            self._database.write(lambda connection: connection.execute(statement).close())


def _find(connection: sa.Connection, digest: str) -> Token | None:
    row = connection.execute(_FIND, {"digest": digest}).one_or_none()
    return None if row is None else Token(**{**row._mapping, "kind": TokenKind(row.kind)})
