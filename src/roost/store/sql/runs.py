"""Runs: creating, listing, moving and claiming them. Every status change goes through `move`, which calls `advance`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import sqlalchemy as sa

from roost.domain import labels
from roost.domain.errors import Conflict, InvalidInput, NotFound
from roost.domain.runs import (
    HOLDS_NODE,
    Reason,
    Run,
    RunEvent,
    RunKind,
    RunStatus,
    Submission,
    advance,
    marked,
    resumed,
)
from roost.store.base import NEW_RUNS, RUNS, Lease, Order, RunColumns, RunQuery
from roost.store.sql import deletion, gangs, leases, rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert
from roost.store.sql.rankings import columns, ranked
from roost.store.sql.searches import search
from roost.store.sql.statements import Statement

_RUN = sa.select(t.runs).where(t.runs.c.id == sa.bindparam("run_id"))
_BY_ID = Statement(_RUN)
_MANY = Statement(
    sa.select(t.runs).where(t.runs.c.id.in_(sa.bindparam("run_ids", expanding=True))).order_by(t.runs.c.seq)
)
_LOCKED = Statement(_RUN.with_for_update())
_EVENTS = Statement(
    sa.select(t.run_events)
    .join(t.runs, t.runs.c.seq == t.run_events.c.run_seq)
    .where(t.runs.c.id == sa.bindparam("run_id"))
    .order_by(t.run_events.c.id)
)
_ADD_EVENT = Statement(sa.insert(t.run_events))
_ADD_RUN = Statement(sa.insert(t.runs).returning(t.runs.c.seq))
_ADD_LABELS = Statement(sa.insert(t.run_labels))
_NUMBER = Statement(
    t.experiments.update()
    .where(t.experiments.c.workspace == sa.bindparam("in_workspace"), t.experiments.c.name == sa.bindparam("of_name"))
    .values(
        run_count=t.experiments.c.run_count + 1,
        only_replicas=sa.and_(
            sa.bindparam("replica", type_=sa.Boolean),
            sa.or_(t.experiments.c.run_count == 0, sa.func.coalesce(t.experiments.c.only_replicas, sa.false())),
        ),
    )
    .returning(t.experiments.c.run_count)
)
_BY_SEQ = Statement(t.runs.update().where(t.runs.c.seq == sa.bindparam("run_seq")))
_COMPUTE = Statement(
    sa.select(t.computes.c.name)
    .where(t.computes.c.workspace == "", t.computes.c.name == sa.bindparam("target"))
    .with_for_update()
)
_THIS = t.runs.update().where(t.runs.c.id == sa.bindparam("run_id"))
_HEARD = Statement(_THIS.values(heard_at=sa.bindparam("at")))
# These two start from the leases, because no index of runs has the status alone: scanning all runs would take long.
TOUCH_ALL = (
    t.leases.update()
    .where(
        t.leases.c.noun == RUNS,
        sa.exists().where(t.runs.c.id == t.leases.c.key, t.runs.c.status == sa.bindparam("wanted")),
    )
    .values(due=0.0)
)
ACTIVE = (
    sa.select(sa.func.count().label("runs"))
    .select_from(t.leases.join(t.runs, t.runs.c.id == t.leases.c.key))
    .where(
        t.leases.c.noun == RUNS,
        t.runs.c.status.in_(sorted(s.value for s in HOLDS_NODE)),
        t.runs.c.kind == RunKind.SCRIPT.value,
    )
)
_TOUCH_ALL, _ACTIVE = Statement(TOUCH_ALL), Statement(ACTIVE)
_COUNT = sa.select(sa.func.count().label("runs")).select_from(t.runs)
_HOLDING = Statement(
    _COUNT.where(
        t.runs.c.target == sa.bindparam("target"),
        t.runs.c.status.in_(sorted(s.value for s in HOLDS_NODE)),
        t.runs.c.kind == RunKind.SCRIPT.value,  # an interactive run lives in its user's own process
    )
)
_NODES = sa.func.coalesce(t.runs.c.node_count, 1)
_PLACES = Statement(
    # A run that requests more than there is takes it all, alone.
    sa.select(
        sa.func.sum(
            sa.case((sa.bindparam("most") > _NODES, _NODES), else_=sa.bindparam("most", type_=sa.Integer))
        ).label("runs")
    ).where(
        t.runs.c.target == sa.bindparam("target"),
        t.runs.c.status.in_(sorted(s.value for s in HOLDS_NODE)),
        t.runs.c.kind == RunKind.SCRIPT.value,
    )
)
_QUEUED = sa.and_(t.runs.c.target == sa.bindparam("target"), t.runs.c.status == RunStatus.QUEUED.value)
_WAITS = sa.case(
    (t.runs.c.kind == RunKind.REPLICA.value, 0), else_=1
)  # a replica takes no place, so it need not wait for others
_OLDEST = Statement(sa.select(t.runs).where(_QUEUED).order_by(_WAITS, t.runs.c.seq).limit(1).with_for_update())
_FIRST = Statement(sa.select(t.runs.c.node_count, t.runs.c.kind).where(_QUEUED).order_by(_WAITS, t.runs.c.seq).limit(1))


class SqlRuns:
    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, workspace: str, submission: Submission, *, user: str, at: float) -> tuple[Run, bool]:
        digest, spec = rows.digest(workspace, submission), rows.dumps(submission.spec)

        def work(connection: sa.Connection) -> tuple[Run, bool]:
            found = _BY_ID.one(connection, run_id=submission.id)
            if found is not None:
                if found.submission != digest:
                    raise Conflict(f"Run {submission.id!r} exists already, from another submission.")
                return rows.run(found), False
            if submission.parent_id:
                rows.run_seq(connection, submission.parent_id)
            run = Run(
                id=submission.id,
                workspace=workspace,
                experiment=submission.experiment,
                number=_next_number(connection, workspace, submission.experiment, submission.spec.kind),
                spec=submission.spec,
                user=user,
                created_at=at,
                display_name=submission.display_name,
                description=submission.description,
                parent_id=submission.parent_id or None,
                tags=dict(submission.tags),
                given_tags=dict(submission.tags),
                properties=dict(submission.properties),
            )
            _insert(connection, run, spec, digest)
            return run, True

        made = self._database.write(work)
        self._database.remember()
        return made

    def get(self, run_id: str) -> Run:
        return self._database.read(lambda connection: rows.run(_row(connection, run_id)))

    def many(self, run_ids: Sequence[str]) -> Sequence[Run]:
        if not run_ids:
            return []
        found = self._database.read(lambda connection: _MANY.all(connection, run_ids=[*run_ids]))
        return [rows.run(row) for row in found]

    def list(self, query: RunQuery) -> Sequence[Run]:
        return self._database.read(lambda connection: [rows.run(row) for row in search(connection, query)])

    def ranked(self, query: RunQuery, order: Order) -> Sequence[Run]:
        return self._database.read(lambda connection: [rows.run(row) for row in ranked(connection, query, order)])

    def texts(self, query: RunQuery, order: Order | None = None) -> Mapping[str, str]:
        def work(connection: sa.Connection) -> dict[str, str]:
            found = search(connection, query) if order is None else ranked(connection, query, order)
            return {row.id: rows.text(row) for row in found}

        return self._database.read(work)

    def columns(self, query: RunQuery) -> RunColumns:
        return self._database.read(lambda connection: columns(connection, query))

    def events(self, run_id: str) -> Sequence[RunEvent]:
        found = self._database.read(lambda connection: _EVENTS.all(connection, run_id=run_id))
        if not found:  # a run has at least its first event
            raise rows.no_run(run_id)
        return [rows.event(row) for row in found]

    def apply(self, run_id: str, event: RunEvent, *, lease: Lease | None = None, attempt: int = 0) -> tuple[Run, bool]:
        def work(connection: sa.Connection) -> tuple[Run, bool]:
            row = _row(connection, run_id, _LOCKED)
            if lease is not None:
                leases.require(connection, lease)
            if attempt and attempt != (row.attempt or 1):
                raise Conflict(f"Run {run_id} is at attempt {row.attempt} by now, not at {attempt}.")
            return move(connection, row, event)

        return self._database.write(work)

    def annotate(
        self,
        run_id: str,
        *,
        tags: Mapping[str, str | None] | None = None,
        remove_tags: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        display_name: str | None = None,
        description: str | None = None,
    ) -> Run:
        def work(connection: sa.Connection) -> Run:
            row = _row(connection, run_id, _LOCKED)
            before = rows.run(row)
            for key, value in (properties or {}).items():
                if before.properties.get(key, value) != value:
                    raise Conflict(
                        f"Property {key!r} of run {run_id} is {before.properties[key]!r} already.",
                        hint="Properties cannot be changed once set; tags can.",
                    )
            gone = frozenset(remove_tags)
            after = replace(
                before,
                tags={key: v for key, v in {**before.tags, **(tags or {})}.items() if key not in gone},
                properties={**before.properties, **(properties or {})},
                display_name=before.display_name if display_name is None else display_name,
                description=before.description if description is None else description,
            )
            if after == before:
                return before
            labels.check_merged("tag", before.tags, after.tags)
            labels.check_merged("property", before.properties, after.properties)
            after = replace(after, revision=before.revision + 1)
            _annotated(connection, row.seq, before, after)
            return after

        return self._database.write(work)

    def heard(self, run_id: str, at: float) -> Run:
        def work(connection: sa.Connection) -> Run:
            _HEARD.run(connection, run_id=run_id, at=at)
            return rows.run(_row(connection, run_id))

        return self._database.write(work)

    def claim(self, target: str, limit: int, *, event: Callable[[Run], RunEvent]) -> Run | None:
        def work(connection: sa.Connection) -> Run | None:
            # Two control planes on one PostgreSQL take turns here; SQLite has one writer anyway.
            _COMPUTE.all(connection, target=target)
            row = _next(connection, _OLDEST, target, limit)
            if row is None:
                return None
            happened = event(rows.run(row))
            run, _ = move(connection, row, happened)
            if run.spec.node_count > 1:
                gangs.seat_at_home(connection, row, happened.at)
            return run

        # Most checks find nothing, so the check itself does not queue behind the writer.
        if self._database.read(lambda connection: _next(connection, _FIRST, target, limit)) is None:
            return None
        return self._database.write(work)

    def holding(self, target: str) -> int:
        return self._database.read(lambda connection: _count(connection, _HOLDING, target=target))

    def active(self) -> int:
        return self._database.read(lambda connection: _count(connection, _ACTIVE))

    def touch_all(self, status: RunStatus) -> None:
        self._database.write(lambda connection: _TOUCH_ALL.run(connection, wanted=status.value))

    def delete(self, run_id: str) -> Sequence[str]:
        def work(connection: sa.Connection) -> Sequence[str]:
            root = _LOCKED.one(connection, run_id=run_id)
            return deletion.delete_tree(connection, root) if root is not None else []

        gone = self._database.write(work)
        self._database.remember()
        return gone


def _next(connection: sa.Connection, oldest: Statement, target: str, limit: int) -> rows.Row | None:
    """The oldest run in a target's queue, if there are enough places for it."""
    row: rows.Row | None = oldest.one(connection, target=target)
    if row is None or row.kind == RunKind.REPLICA.value:
        return row
    (held,) = _PLACES.all(connection, target=target, most=limit)
    return row if int(held.runs or 0) + min(row.node_count or 1, limit) <= limit else None


def _count(connection: sa.Connection, statement: Statement, **values: object) -> int:
    (found,) = statement.all(connection, **values)
    return int(found.runs)


def _row(connection: sa.Connection, run_id: str, statement: Statement = _BY_ID) -> rows.Row:
    row: rows.Row | None = statement.one(connection, run_id=run_id)
    if row is None:
        raise rows.no_run(run_id)
    return row


def move(connection: sa.Connection, row: rows.Row, event: RunEvent) -> tuple[Run, bool]:
    """Writes the event and returns the run after it; True when it moved."""
    before = rows.run(row)
    event = marked(before, resumed(before, event))
    after = advance(before, event)
    if after is before:
        return before, False
    _BY_SEQ.run(connection, run_seq=row.seq, **rows.moved(after))
    leases.hand_over(connection, after.id, _noun(before), _noun(after))
    if after.status is RunStatus.QUEUED and before.status.holds_node:
        gangs.leave(connection, row, event.at)
    _ADD_EVENT.run(connection, **rows.event_values(row.seq, event))
    return after, True


def _next_number(connection: sa.Connection, workspace: str, experiment: str, kind: RunKind) -> int:
    found = _NUMBER.one(connection, in_workspace=workspace, of_name=experiment, replica=kind is RunKind.REPLICA)
    if found is None:
        raise NotFound(
            f"There is no experiment {experiment!r} in workspace {workspace!r}.",
            hint="Make it first: Experiment(workspace, name).",
        )
    return int(found.run_count)


def _insert(connection: sa.Connection, run: Run, spec: str, digest: str) -> None:
    if not run.id:
        raise InvalidInput("A run must have an id.")
    values = {
        **rows.moved(run),
        "id": run.id,
        "workspace": run.workspace,
        "experiment": run.experiment,
        "number": run.number,
        "user": run.user,
        "kind": run.spec.kind.value,
        "target": run.spec.target,
        "node_count": run.spec.node_count,
        "priority": run.spec.priority,
        "parent_id": run.parent_id or "",
        "spec": spec,
        "submission": digest,
        "created_at": run.created_at,
        "display_name": run.display_name,
        "description": run.description,
        "tags": rows.dumps(run.tags),
        "given_tags": rows.dumps(run.given_tags),
        "properties": rows.dumps(run.properties),
    }
    seq = _ADD_RUN.all(connection, **values)[0].seq
    made = rows.labels(seq, "tag", run.tags) + rows.labels(seq, "property", run.properties)
    _ADD_LABELS.many(connection, made)
    first = RunEvent(to=run.status, at=run.created_at, reason=Reason.SUBMITTED)
    _ADD_EVENT.run(connection, **rows.event_values(seq, first))
    leases.hand_over(connection, run.id, "", _noun(run))


def _noun(run: Run) -> str:
    """The noun of the loop for a run in its current state; empty for none. A queued run is found by its target's claims, and
    an interactive run that has not begun needs no loop."""
    if run.status is RunStatus.NOT_STARTED and run.spec.kind is not RunKind.INTERACTIVE:
        return NEW_RUNS
    return RUNS if run.status is RunStatus.PREPARING or run.status.holds_node else ""


def _annotated(connection: sa.Connection, seq: int, before: Run, after: Run) -> None:
    values = {
        "tags": rows.dumps(after.tags),
        "properties": rows.dumps(after.properties),
        "display_name": after.display_name,
        "description": after.description,
        "revision": after.revision,
    }
    _BY_SEQ.run(connection, run_seq=seq, **values)
    gone = [key for key in before.tags if key not in after.tags]
    if gone:
        connection.execute(
            t.run_labels.delete().where(
                t.run_labels.c.run_seq == seq, t.run_labels.c.sort == "tag", t.run_labels.c.key.in_(gone)
            )
        )
    changed = rows.labels(seq, "tag", _difference(before.tags, after.tags))
    changed += rows.labels(seq, "property", _difference(before.properties, after.properties))
    if changed:
        upsert = insert(connection, t.run_labels)
        connection.execute(
            upsert.on_conflict_do_update(
                index_elements=["run_seq", "sort", "key"],
                set_={"value": upsert.excluded.value, "head": upsert.excluded.head},
            ),
            changed,
        )


def _difference(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> dict[str, str | None]:
    return {key: value for key, value in after.items() if key not in before or before[key] != value}
