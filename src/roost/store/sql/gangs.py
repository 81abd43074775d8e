"""The agents of runs on several nodes, and the commands that they send each other."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from roost.domain.compute import NodeState, next_address
from roost.domain.errors import Conflict, NotFound
from roost.domain.gangs import ECHOES, Member, Phase
from roost.domain.runs import Reason, RunStatus
from roost.store.base import RUNS, Command
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database
from roost.store.sql.statements import Statement

_MEMBERS = Statement(
    sa.select(t.gang_members)
    .join(t.runs, t.runs.c.seq == t.gang_members.c.run_seq)
    .where(t.runs.c.id == sa.bindparam("run_id"))
    .order_by(t.gang_members.c.node_rank)
)
_LOCK = Statement(
    sa.select(t.runs.c.seq, t.runs.c.attempt).where(t.runs.c.id == sa.bindparam("run_id")).with_for_update()
)
_SEAT = Statement(sa.insert(t.gang_members))
_MEMBER = sa.and_(t.gang_members.c.run_seq == sa.bindparam("seq"), t.gang_members.c.node_rank == sa.bindparam("which"))
_SET = Statement(t.gang_members.update().where(_MEMBER))
_LEAVE = Statement(t.gang_members.delete().where(t.gang_members.c.run_seq == sa.bindparam("seq")))
_FORGET = Statement(t.gang_commands.delete().where(t.gang_commands.c.run_seq == sa.bindparam("seq")))
_NODES_OF = t.nodes.update().where(t.nodes.c.run_id == sa.bindparam("run"))
_STAYING = (NodeState.LEAVING.value, NodeState.PREEMPTED.value)
_FREE_IDLE = Statement(
    _NODES_OF.where(t.nodes.c.state.not_in(_STAYING)).values(
        state=NodeState.IDLE.value, since=sa.bindparam("at"), run_id=""
    )
)
_FREE_OTHERS = Statement(_NODES_OF.values(since=sa.bindparam("at"), run_id=""))
_COMMANDS = Statement(
    sa.select(t.gang_commands)
    .join(t.runs, t.runs.c.seq == t.gang_commands.c.run_seq)
    .where(t.runs.c.id == sa.bindparam("run_id"), t.gang_commands.c.id > sa.bindparam("after"))
    .order_by(t.gang_commands.c.id)
)
_KNOWN = Statement(
    sa.select(t.gang_commands.c.id).where(
        t.gang_commands.c.run_seq == sa.bindparam("seq"),
        t.gang_commands.c.node_rank == sa.bindparam("which"),
        t.gang_commands.c.argv == sa.bindparam("text"),
    )
)
_ADD_COMMAND = Statement(sa.insert(t.gang_commands).returning(t.gang_commands.c.id))
_END_COMMAND = Statement(
    t.gang_commands.update()
    .where(t.gang_commands.c.id == sa.bindparam("number"), t.gang_commands.c.run_seq == sa.bindparam("seq"))
    .values(exit_code=sa.bindparam("code"))
)
# Selected by the leases of living runs, because members of ended runs stay.
LIVING = (
    sa.select(t.gang_members.c.address)
    .select_from(
        t.leases.join(t.runs, t.runs.c.id == t.leases.c.key).join(
            t.gang_members, t.gang_members.c.run_seq == t.runs.c.seq
        )
    )
    .where(
        t.leases.c.noun == RUNS,
        t.runs.c.status.in_(sorted(status.value for status in RunStatus if status.holds_node)),
    )
)


class SqlGangs:
    """Implements `roost.store.base.Gangs`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def members(self, run_id: str) -> Sequence[Member]:
        return self._database.read(lambda connection: _members(connection, run_id))

    def update(self, run_id: str, node_rank: int, *, attempt: int = 0, **changes: object) -> Sequence[Member]:
        def work(connection: sa.Connection) -> Sequence[Member]:
            found = _LOCK.one(connection, run_id=run_id)
            there = _members(connection, run_id)
            if found is None or node_rank not in {member.node_rank for member in there}:
                raise NotFound(f"Run {run_id} has no node {node_rank} now.")
            _require(found, run_id, attempt)
            before = there[node_rank]
            if before.phase is Phase.ENDED:  # the first end counts
                for name in _ENDS:
                    changes.pop(name, None)
            elif before.to is not None and changes.get("reason") in ECHOES:  # keep the original failure, not its echo
                for name in _ENDS[1:]:
                    changes.pop(name, None)
            if changes:
                _SET.run(connection, seq=found.seq, which=node_rank, **_values(changes))
                there = _members(connection, run_id)
            return there

        return self._database.write(work)

    def send(self, run_id: str, node_rank: int, argv: Sequence[str], *, key: str = "", attempt: int = 0) -> int:
        def work(connection: sa.Connection) -> int:
            found = _LOCK.one(connection, run_id=run_id)
            if found is None:
                raise NotFound(f"There is no run {run_id}.")
            _require(found, run_id, attempt)
            text = json.dumps({"argv": list(argv), "key": key})
            known = _KNOWN.one(connection, seq=found.seq, which=node_rank, text=text) if key else None
            values = {"run_seq": found.seq, "node_rank": node_rank, "argv": text, "exit_code": None}
            return int(known.id if known else _ADD_COMMAND.all(connection, **values)[0].id)

        return self._database.write(work)

    def commands(self, run_id: str, after: int = 0) -> Sequence[Command]:
        def work(connection: sa.Connection) -> list[Command]:
            return [
                Command(
                    number=row.id,
                    node_rank=row.node_rank,
                    argv=tuple(json.loads(row.argv)["argv"]),
                    exit_code=row.exit_code,
                )
                for row in _COMMANDS.all(connection, run_id=run_id, after=after)
            ]

        return self._database.read(work)

    def end_command(self, run_id: str, number: int, exit_code: int) -> None:
        def work(connection: sa.Connection) -> None:
            seq = rows.run_seq(connection, run_id)
            if not _END_COMMAND.run(connection, number=number, seq=seq, code=exit_code):
                raise NotFound(f"Run {run_id} has no command {number}.")

        self._database.write(work)


_ENDS = ("phase", "ended_at", "to", "reason", "message", "exit_code")


def seat(connection: sa.Connection, run: rows.Row, places: Iterable[tuple[str, str]], at: float) -> None:
    """Creates the run's members on these nodes (name, address), by rank; within the transaction that claims them."""
    _forget(connection, run)
    _SEAT.many(
        connection,
        [
            {
                "run_seq": run.seq,
                "node_rank": rank,
                "node": node,
                "address": address,
                "given_at": at,
                "ports": "[]",
                "phase": Phase.GIVEN.value,
                "handle": "",
                "salvaged": False,
                "reason": Reason.NONE.value,
                "message": "",
            }
            for rank, (node, address) in enumerate(places)
        ],
    )


def seat_at_home(connection: sa.Connection, run: rows.Row, at: float) -> None:
    """Creates members on logical nodes of this machine, each with its own loopback address."""
    taken = addresses(connection)
    places = []
    for rank in range(run.node_count):
        address = next_address(taken)
        taken.add(address)
        places.append((f"{run.target}-{rank}", address))
    seat(connection, run, places, at)


def addresses(connection: sa.Connection) -> set[str]:
    """The addresses of nodes, and of runs that have not ended."""
    return {*connection.execute(sa.select(t.nodes.c.address)).scalars(), *connection.execute(LIVING).scalars()}


def leave(connection: sa.Connection, run: rows.Row, at: float) -> None:
    """Releases the nodes of a run that returns to the queue; nodes marked for removal are removed."""
    _forget(connection, run)
    _FREE_IDLE.run(connection, run=run.id, at=at)
    _FREE_OTHERS.run(connection, run=run.id, at=at)


def _forget(connection: sa.Connection, run: rows.Row) -> None:
    """Deletes the members and their commands."""
    _LEAVE.run(connection, seq=run.seq)
    _FORGET.run(connection, seq=run.seq)


def _require(run: Any, run_id: str, attempt: int) -> None:
    if attempt and attempt != (run.attempt or 1):
        raise Conflict(f"Run {run_id} is at attempt {run.attempt} by now, not at {attempt}.")


def _members(connection: sa.Connection, run_id: str) -> list[Member]:
    return [_member(row, run_id) for row in _MEMBERS.all(connection, run_id=run_id)]


def _member(row: Any, run_id: str) -> Member:
    return Member(
        run_id=run_id,
        node_rank=row.node_rank,
        node=row.node,
        address=row.address,
        given_at=row.given_at,
        ports=tuple(json.loads(row.ports)),
        phase=Phase(row.phase),
        handle=row.handle,
        salvaged=bool(row.salvaged),
        heard_at=row.heard_at,
        ended_at=row.ended_at,
        to=RunStatus(row.to) if row.to else None,
        reason=Reason(row.reason),
        message=row.message,
        exit_code=row.exit_code,
    )


def _values(changes: dict[str, Any]) -> dict[str, Any]:
    plain = {
        name: str(value) if isinstance(value, Phase | Reason | RunStatus) else value for name, value in changes.items()
    }
    if "ports" in plain:
        plain["ports"] = json.dumps(list(plain["ports"]))
    return plain
