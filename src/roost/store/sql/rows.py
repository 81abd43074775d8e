"""Converts rows to records and back: the only module that knows the columns of a Run."""

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import sqlalchemy as sa

from roost.domain import codec
from roost.domain.errors import NotFound
from roost.domain.runs import Reason, Run, RunEvent, RunSpec, RunStatus, Submission
from roost.store.sql import tables as t
from roost.store.sql.statements import Statement

Row: TypeAlias = sa.Row[*tuple[Any, ...]]
HEAD = 200  # characters of a label's value that are indexed

_SEQ = Statement(sa.select(t.runs.c.seq).where(t.runs.c.id == sa.bindparam("run_id")))


def run_seq(connection: sa.Connection, run_id: str) -> int:
    """The number by which a run's rows refer to it; raises NotFound."""
    found = _SEQ.one(connection, run_id=run_id)
    if found is None:
        raise no_run(run_id)
    return int(found.seq)


def no_run(run_id: str) -> NotFound:
    return NotFound(f"There is no run {run_id!r}.", hint="List runs with: roost run list")


def dumps(value: object) -> str:
    return json.dumps(codec.encode(value), ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def digest(workspace: str, submission: Submission) -> str:
    """Equal for equal submissions, regardless of the order of their mappings."""
    return hashlib.sha256(f"{workspace}\n{dumps(submission)}".encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache(maxsize=2048)
def _spec(text: str) -> RunSpec:
    return codec.decode(RunSpec, json.loads(text))


def run(row: Row) -> Run:
    return Run(
        id=row.id,
        workspace=row.workspace,
        experiment=row.experiment,
        number=row.number,
        spec=_spec(row.spec),
        user=row.user,
        created_at=row.created_at,
        status=RunStatus(row.status),
        reason=Reason(row.reason),
        message=row.message,
        display_name=row.display_name,
        description=row.description or "",
        parent_id=row.parent_id or None,
        started_at=row.started_at,
        ended_at=row.ended_at,
        exit_code=row.exit_code,
        tags=json.loads(row.tags),
        given_tags=json.loads(row.given_tags or "{}"),
        properties=json.loads(row.properties),
        revision=row.revision,
        handle=row.handle,
        heard_at=row.heard_at,
        attempt=row.attempt or 1,
        ending=Reason(row.ending or ""),
    )


def text(row: Row) -> str:
    """The JSON text of a run, with its specification and labels copied from the table without decoding."""
    plain = {
        "id": row.id,
        "workspace": row.workspace,
        "experiment": row.experiment,
        "number": row.number,
        "user": row.user,
        "created_at": row.created_at,
        "status": row.status,
        "reason": row.reason,
        "message": row.message,
        "display_name": row.display_name,
        "description": row.description or "",
        "parent_id": row.parent_id or None,
        "started_at": row.started_at,
        "ended_at": row.ended_at,
        "exit_code": row.exit_code,
        "revision": row.revision,
        "handle": row.handle,
        "heard_at": row.heard_at,
        "attempt": row.attempt or 1,
        "ending": row.ending or "",
    }
    kept = {"spec": row.spec, "tags": row.tags, "given_tags": row.given_tags or "{}", "properties": row.properties}
    parts = "".join(f',"{name}":{value}' for name, value in kept.items())
    return json.dumps(plain, separators=(",", ":"))[:-1] + parts + "}"


def moved(run: Run) -> dict[str, Any]:
    """The columns that `advance` may change."""
    return {
        "status": run.status.value,
        "reason": run.reason.value,
        "message": run.message,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "exit_code": run.exit_code,
        "handle": run.handle,
        "revision": run.revision,
        "attempt": run.attempt,
        "ending": run.ending.value,
    }


def event(row: Row) -> RunEvent:
    return RunEvent(
        to=RunStatus(row.to),
        at=row.at,
        reason=Reason(row.reason),
        message=row.message,
        exit_code=row.exit_code,
        handle=row.handle,
    )


def event_values(seq: int, happened: RunEvent) -> dict[str, Any]:
    return {
        "run_seq": seq,
        "to": happened.to.value,
        "at": happened.at,
        "reason": happened.reason.value,
        "message": happened.message,
        "exit_code": happened.exit_code,
        "handle": happened.handle,
    }


def labels(seq: int, sort: str, values: Mapping[str, str | None]) -> list[dict[str, Any]]:
    return [
        {"run_seq": seq, "sort": sort, "key": key, "value": value, "head": (value or "")[:HEAD]}
        for key, value in values.items()
    ]
