"""Separates replicas of endpoints from people's work: lists of a workspace's runs walk indexes without them, and an
experiment that only ever held replicas is marked. An endpoint stores which of them failed a change.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

Name = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_WORK, _REPLICAS = sa.text("kind <> 'replica'"), sa.text("kind = 'replica'")


def upgrade() -> None:
    # Nullable columns: added in place.
    op.add_column("endpoints", sa.Column("failed_replica", Name))
    op.add_column("experiments", sa.Column("only_replicas", sa.Boolean()))
    runs = sa.table("runs", sa.column("workspace"), sa.column("experiment"), sa.column("kind"))
    experiments = sa.table("experiments", sa.column("workspace"), sa.column("name"), sa.column("only_replicas"))
    held = sa.select(sa.literal(1)).where(
        runs.c.workspace == experiments.c.workspace, runs.c.experiment == experiments.c.name
    )
    op.execute(
        experiments.update()
        .values(only_replicas=sa.true())
        .where(sa.exists(held), ~sa.exists(held.where(runs.c.kind != "replica")))
    )
    for name, columns in (
        ("ix_runs_workspace", ["workspace", "seq"]),
        ("ix_runs_workspace_parent", ["workspace", "parent_id", "seq"]),
        ("ix_runs_workspace_status", ["workspace", "status", "seq"]),
    ):
        op.drop_index(name, "runs")
        op.create_index(name, "runs", columns, sqlite_where=_WORK, postgresql_where=_WORK)
    op.create_index(
        "ix_runs_replicas", "runs", ["workspace", "seq"], sqlite_where=_REPLICAS, postgresql_where=_REPLICAS
    )
