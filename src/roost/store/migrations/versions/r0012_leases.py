"""One table of leases for all nouns, instead of columns of runs and endpoints."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

Name = sa.String().with_variant(sa.String(collation="C"), "postgresql")
Serial = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_OLD = ("due_at", "lease_token", "lease_until")
_WATCHED = ("Preparing", "Provisioning", "Running", "Finalizing", "CancelRequested", "NotResponding")


def upgrade() -> None:
    leases = op.create_table(
        "leases",
        sa.Column("seq", Serial, autoincrement=True, nullable=False),
        sa.Column("noun", Name, nullable=False),
        sa.Column("key", Name, nullable=False),
        sa.Column("due", sa.Float(), nullable=False),
        sa.Column("token", Name, nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_leases")),
        sa.UniqueConstraint("noun", "key", name=op.f("uq_leases_noun_key")),
    )
    op.create_index("ix_leases_due", "leases", ["noun", "due", "seq"])
    runs = sa.table("runs", *map(sa.column, ("seq", "id", "kind", "status", *_OLD)))
    endpoints = sa.table("endpoints", *map(sa.column, ("workspace", "name", *_OLD)))
    new = sa.and_(runs.c.status == "NotStarted", runs.c.kind != "interactive")
    noun = sa.case((new, "new_runs"), else_="runs")
    columns = ["noun", "key", "due", "token", "until"]
    op.execute(
        leases.insert().from_select(
            columns,
            sa.select(noun, runs.c.id, *(runs.c[name] for name in _OLD))
            .where(sa.or_(new, runs.c.status.in_(_WATCHED)))
            .order_by(runs.c.seq),
        )
    )
    key = endpoints.c.workspace.concat("/").concat(endpoints.c.name)
    op.execute(
        leases.insert().from_select(
            columns, sa.select(sa.literal("endpoints"), key, *(endpoints.c[name] for name in _OLD))
        )
    )
    # Dropped in place: replacing `runs` by a copy would delete the rows that belong to runs.
    op.drop_index("ix_runs_due", "runs")
    for table in ("runs", "endpoints"):
        for name in _OLD:
            op.drop_column(table, name)
