"""Deletes a run with all runs below it, or none. The rows of a run are deleted with it (foreign keys cascade)."""

from collections.abc import Sequence

import sqlalchemy as sa

from roost.domain.errors import Conflict
from roost.domain.runs import RunStatus
from roost.store.sql import rows
from roost.store.sql import tables as t

_AT_ONCE = 500


def delete_tree(connection: sa.Connection, root: rows.Row) -> Sequence[str]:
    """The ids of the deleted runs: the run itself first."""
    found = [root, *_below(connection, root)]
    going = [row for row in found if not RunStatus(row.status).is_terminal]
    if going:
        first = going[0]
        which = f"Run {first.id}" if first is root else f"Run {first.id}, which is below {root.id},"
        raise Conflict(
            f"{which} has not ended ({first.status}); only runs that have ended can be deleted.",
            hint=f"Cancel it first: roost run cancel {first.id}",
        )
    for start in range(0, len(found), _AT_ONCE):
        some = found[start : start + _AT_ONCE]
        connection.execute(t.runs.delete().where(t.runs.c.seq.in_([row.seq for row in some])))
        connection.execute(t.tokens.delete().where(t.tokens.c.run_id.in_([row.id for row in some])))
    return [row.id for row in found]


def _below(connection: sa.Connection, root: rows.Row) -> list[rows.Row]:
    wanted = sa.select(t.runs.c.seq, t.runs.c.id, t.runs.c.status).where(
        t.runs.c.workspace == root.workspace, t.is_work
    )
    found: list[rows.Row] = []
    parents = [root.id]
    while parents:
        some, parents = parents[:_AT_ONCE], parents[_AT_ONCE:]
        children = list(connection.execute(wanted.where(t.runs.c.parent_id.in_(some))))
        found += children
        parents += [row.id for row in children]
    return found
