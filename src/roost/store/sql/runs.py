"""Runs: making, listing, moving and leasing them. Every status change goes through `_move`, which asks `advance`."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from roost.domain.errors import Conflict, InvalidInput, NotFound
from roost.domain.runs import HOLDS_NODE, Reason, Run, RunEvent, RunKind, RunStatus, Submission, advance
from roost.store.base import Lease, RunQuery
from roost.store.sql import rows
from roost.store.sql import tables as t
from roost.store.sql.engine import Database, insert
from roost.store.sql.searches import search

_BY_ID = sa.select(t.runs).where(t.runs.c.id == sa.bindparam("run_id"))
_LOCKED = _BY_ID.with_for_update()
_EVENTS = (
    sa.select(t.run_events)
    .join(t.runs, t.runs.c.seq == t.run_events.c.run_seq)
    .where(t.runs.c.id == sa.bindparam("run_id"))
    .order_by(t.run_events.c.id)
)
# Statements are built once: building one costs several times what running it does.
_ADD_EVENT = sa.insert(t.run_events)
_ADD_RUN = sa.insert(t.runs).returning(t.runs.c.seq)
_ADD_LABELS = sa.insert(t.run_labels)
_NUMBER = (
    t.experiments.update()
    .where(t.experiments.c.workspace == sa.bindparam("in_workspace"), t.experiments.c.name == sa.bindparam("of_name"))
    .values(run_count=t.experiments.c.run_count + 1)
    .returning(t.experiments.c.run_count)
)
_BY_SEQ = t.runs.update().where(t.runs.c.seq == sa.bindparam("run_seq"))
_COMPUTE = sa.select(t.computes.c.name).where(t.computes.c.name == sa.bindparam("target")).with_for_update()
_DUE = (
    sa.select(t.runs)
    .where(
        t.runs.c.status.in_(sa.bindparam("statuses", expanding=True)),
        t.runs.c.due_at <= sa.bindparam("at"),
        t.runs.c.lease_until <= sa.bindparam("at"),
    )
    .order_by(t.runs.c.due_at, t.runs.c.seq)
    .limit(sa.bindparam("most"))
    .with_for_update(skip_locked=True)
)
_HELD = t.runs.update().where(t.runs.c.id == sa.bindparam("run_id"), t.runs.c.lease_token == sa.bindparam("token"))
# A touch while the lease was held sets 0, which then stands.
_DUE_UNLESS_TOUCHED = sa.case((t.runs.c.due_at == 0.0, 0.0), else_=sa.bindparam("due"))
_RENEW = _HELD.values(lease_until=sa.bindparam("due"), due_at=_DUE_UNLESS_TOUCHED)
_RELEASE = _HELD.values(lease_token="", lease_until=0.0, due_at=_DUE_UNLESS_TOUCHED)
_HEARD = t.runs.update().where(t.runs.c.id == sa.bindparam("run_id")).values(heard_at=sa.bindparam("at"))
_TOUCH = t.runs.update().where(t.runs.c.id == sa.bindparam("run_id")).values(due_at=0.0)
_HOLDING = (
    sa.select(sa.func.count())
    .select_from(t.runs)
    .where(
        t.runs.c.target == sa.bindparam("target"),
        t.runs.c.status.in_(sorted(s.value for s in HOLDS_NODE)),
        t.runs.c.kind == RunKind.SCRIPT.value,  # an interactive run lives in its user's own process
    )
)
_QUEUED = sa.and_(t.runs.c.target == sa.bindparam("target"), t.runs.c.status == RunStatus.QUEUED.value)
_OLDEST = sa.select(t.runs).where(_QUEUED).order_by(t.runs.c.seq).limit(1).with_for_update()
_AHEAD = sa.select(sa.func.count()).select_from(t.runs).where(_QUEUED, t.runs.c.seq < sa.bindparam("seq"))


class SqlRuns:
    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, workspace: str, submission: Submission, *, user: str, at: float) -> tuple[Run, bool]:
        digest, spec = rows.digest(workspace, submission), rows.dumps(submission.spec)

        def work(connection: sa.Connection) -> tuple[Run, bool]:
            found = connection.execute(_BY_ID, {"run_id": submission.id}).one_or_none()
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
                number=_next_number(connection, workspace, submission.experiment),
                spec=submission.spec,
                user=user,
                created_at=at,
                display_name=submission.display_name,
                parent_id=submission.parent_id or None,
                tags=dict(submission.tags),
                properties=dict(submission.properties),
            )
            _insert(connection, run, spec, digest)
            return run, True

        return self._database.write(work)

    def get(self, run_id: str) -> Run:
        return self._database.read(lambda connection: rows.run(_row(connection, run_id)))

    def list(self, query: RunQuery) -> Sequence[Run]:
        return self._database.read(lambda connection: [rows.run(row) for row in search(connection, query)])

    def events(self, run_id: str) -> Sequence[RunEvent]:
        found = self._database.read(lambda connection: connection.execute(_EVENTS, {"run_id": run_id}).all())
        if not found:  # a run has at least its first one
            raise rows.no_run(run_id)
        return [rows.event(row) for row in found]

    def apply(self, run_id: str, event: RunEvent, *, lease: str = "") -> tuple[Run, bool]:
        def work(connection: sa.Connection) -> tuple[Run, bool]:
            row = _row(connection, run_id, _LOCKED)
            if lease and row.lease_token != lease:
                raise Conflict(f"Run {run_id} is leased to another control loop by now.")
            return _move(connection, row, event)

        return self._database.write(work)

    def annotate(
        self,
        run_id: str,
        *,
        tags: Mapping[str, str | None] | None = None,
        remove_tags: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        display_name: str | None = None,
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
            after = replace(
                before,
                tags={key: v for key, v in {**before.tags, **(tags or {})}.items() if key not in remove_tags},
                properties={**before.properties, **(properties or {})},
                display_name=before.display_name if display_name is None else display_name,
            )
            if after == before:
                return before
            after = replace(after, revision=before.revision + 1)
            _annotated(connection, row.seq, before, after)
            return after

        return self._database.write(work)

    def heard(self, run_id: str, at: float) -> Run:
        def work(connection: sa.Connection) -> Run:
            connection.execute(_HEARD, {"run_id": run_id, "at": at})
            return rows.run(_row(connection, run_id))

        return self._database.write(work)

    def claim(self, target: str, limit: int, *, at: float, event: Callable[[Run], RunEvent]) -> Run | None:  # noqa: ARG002
        def work(connection: sa.Connection) -> Run | None:
            # Two control planes on one PostgreSQL take turns here; SQLite has one writer anyway.
            connection.execute(_COMPUTE, {"target": target})
            if connection.execute(_HOLDING, {"target": target}).scalar_one() >= limit:
                return None
            row = connection.execute(_OLDEST, {"target": target}).one_or_none()
            return None if row is None else _move(connection, row, event(rows.run(row)))[0]

        return self._database.write(work)

    def ahead(self, run: Run) -> int:
        def work(connection: sa.Connection) -> int:
            seq = rows.run_seq(connection, run.id)
            return int(connection.execute(_AHEAD, {"target": run.spec.target, "seq": seq}).scalar_one())

        return self._database.read(work)

    def holding(self, target: str) -> int:
        return self._database.read(
            lambda connection: int(connection.execute(_HOLDING, {"target": target}).scalar_one())
        )

    def lease(self, *, statuses: Sequence[RunStatus], at: float, seconds: float, limit: int) -> Sequence[Lease]:
        due = {"statuses": [status.value for status in statuses], "at": at}
        # Most looks find nothing, so the look itself does not queue behind the writer.
        if not self._database.read(lambda connection: connection.execute(_DUE, {**due, "most": 1}).first()):
            return []
        until = at + seconds

        def work(connection: sa.Connection) -> list[Lease]:
            taken = []
            for row in connection.execute(_DUE, {**due, "most": limit}).all():
                token = secrets.token_hex(16)
                values = {"lease_token": token, "lease_until": until, "due_at": until}
                connection.execute(_BY_SEQ, {"run_seq": row.seq, **values})
                taken.append(Lease(run=rows.run(row), token=token, until=until))
            return taken

        return self._database.write(work)

    def renew(self, run_id: str, token: str, *, until: float) -> bool:
        held = {"run_id": run_id, "token": token, "due": until}
        return bool(token) and self._database.write(lambda connection: connection.execute(_RENEW, held).rowcount == 1)

    def release(self, run_id: str, token: str, *, due_at: float) -> None:
        held = {"run_id": run_id, "token": token, "due": due_at}
        if token:
            self._database.write(lambda connection: connection.execute(_RELEASE, held).close())

    def touch(self, run_id: str) -> None:
        self._database.write(lambda connection: connection.execute(_TOUCH, {"run_id": run_id}).close())


def _row(connection: sa.Connection, run_id: str, statement: sa.Select[*tuple[Any, ...]] = _BY_ID) -> rows.Row:
    row = connection.execute(statement, {"run_id": run_id}).one_or_none()
    if row is None:
        raise rows.no_run(run_id)
    return row


def _move(connection: sa.Connection, row: rows.Row, event: RunEvent) -> tuple[Run, bool]:
    before = rows.run(row)
    after = advance(before, event)
    if after is before:
        return before, False
    connection.execute(_BY_SEQ, {"run_seq": row.seq, **rows.moved(after)})
    connection.execute(_ADD_EVENT, rows.event_values(row.seq, event))
    return after, True


def _next_number(connection: sa.Connection, workspace: str, experiment: str) -> int:
    number = connection.execute(_NUMBER, {"in_workspace": workspace, "of_name": experiment}).scalar()
    if number is None:
        raise NotFound(
            f"There is no experiment {experiment!r} in workspace {workspace!r}.",
            hint="Make it first: Experiment(workspace, name).",
        )
    return int(number)


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
        "parent_id": run.parent_id or "",
        "spec": spec,
        "submission": digest,
        "created_at": run.created_at,
        "display_name": run.display_name,
        "tags": rows.dumps(run.tags),
        "properties": rows.dumps(run.properties),
        "due_at": 0.0,
        "lease_token": "",
        "lease_until": 0.0,
    }
    seq = connection.execute(_ADD_RUN, values).scalar_one()
    labels = rows.labels(seq, "tag", run.tags) + rows.labels(seq, "property", run.properties)
    if labels:
        connection.execute(_ADD_LABELS, labels)
    first = RunEvent(to=run.status, at=run.created_at, reason=Reason.SUBMITTED)
    connection.execute(_ADD_EVENT, rows.event_values(seq, first))


def _annotated(connection: sa.Connection, seq: int, before: Run, after: Run) -> None:
    values = {
        "tags": rows.dumps(after.tags),
        "properties": rows.dumps(after.properties),
        "display_name": after.display_name,
        "revision": after.revision,
    }
    connection.execute(_BY_SEQ, {"run_seq": seq, **values})
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
