"""A frequent statement: written with SQLAlchemy, compiled once, then passed directly to the driver.

SQLAlchemy needs 30 to 100 µs from a statement to its rows, SQLite 3. Frequent operations of a run (appends, moves, heartbeats)
use this module; rare ones use `connection.execute`.
"""

from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

_Clause = sa.Select[*tuple[Any, ...]] | sa.Insert | sa.Update | sa.Delete | Any
_Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Prepared:
    sql: str
    names: Sequence[str]
    """The parameters' names, by position; empty for a driver with named parameters."""
    defaults: Mapping[str, Any]
    """Values that are part of the statement itself."""
    expansion: Mapping[str, Sequence[str]]
    """For a list in `IN (…)`: the names of its positions."""

    def parameters(self, values: Mapping[str, Any]) -> Sequence[Any] | Mapping[str, Any]:
        if self.expansion or self.defaults:
            flat = {**self.defaults, **values}
            for name, places in self.expansion.items():
                listed = flat.pop(name)
                flat.update(zip(places, (*listed, *listed[-1:] * (len(places) - len(listed))), strict=True))
            values = flat
        return [values[name] for name in self.names] if self.names else values


class Statement:
    """**Values** are plain: numbers, texts, bytes, None; a list for an expanding parameter, which must not be empty. **Rows**
    are named tuples of the driver's values: on SQLite a boolean is 0 or 1."""

    def __init__(self, clause: _Clause) -> None:
        self._clause = clause
        self._prepared: dict[_Key, _Prepared] = {}
        returned = getattr(clause, "exported_columns", None)
        columns = [column.key for column in returned] if returned is not None else []
        self._make = namedtuple("Row", columns, rename=True)._make if columns else None  # type: ignore[attr-defined]

    def all(self, connection: sa.Connection, **values: Any) -> list[Any]:
        prepared = self._prepare(connection, values)
        found = _driver(connection).execute(prepared.sql, prepared.parameters(values)).fetchall()
        return found if self._make is None else list(map(self._make, found))

    def one(self, connection: sa.Connection, **values: Any) -> Any | None:
        """The first row; None when there is none."""
        found = self.all(connection, **values)
        return found[0] if found else None

    def run(self, connection: sa.Connection, **values: Any) -> int:
        """Returns the number of changed rows."""
        prepared = self._prepare(connection, values)
        return int(_driver(connection).execute(prepared.sql, prepared.parameters(values)).rowcount)

    def many(self, connection: sa.Connection, values: Sequence[Mapping[str, Any]]) -> None:
        """Runs once per mapping; all have the same keys."""
        if values:
            prepared = self._prepare(connection, values[0])
            _driver(connection).cursor().executemany(prepared.sql, [prepared.parameters(each) for each in values])

    def _prepare(self, connection: sa.Connection, values: Mapping[str, Any]) -> _Prepared:
        lists = tuple(_places(value) for value in values.values() if type(value) is list)
        key = (connection.dialect.name, lists, *values)
        found = self._prepared.get(key)
        if found is None:
            found = self._prepared[key] = self._compile(connection, values)
        return found

    def _compile(self, connection: sa.Connection, values: Mapping[str, Any]) -> _Prepared:
        compiled = self._clause.compile(dialect=connection.dialect, column_keys=list(values))
        # Lists of any length up to the next power of two share one text, so there are few texts to prepare.
        sample = {name: [0] * _places(value) if type(value) is list else value for name, value in values.items()}
        state = compiled.construct_expanded_state(sample)
        defaults = {name: value for name, value in compiled.construct_params(sample).items() if name not in values}
        return _Prepared(state.statement, tuple(state.positiontup or ()), defaults, dict(state.parameter_expansion))


def _places(values: Sequence[Any]) -> int:
    return 1 << (len(values) - 1).bit_length()


def _driver(connection: sa.Connection) -> Any:
    return connection.connection.dbapi_connection
