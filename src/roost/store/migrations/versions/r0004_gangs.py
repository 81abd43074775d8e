"""Runs of several nodes: their agents, commands between those, whose turn it is, and which node a file is from."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

Name = sa.String().with_variant(sa.String(collation="C"), "postgresql")
Serial = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    # Nullable columns: added in place.
    op.add_column("computes", sa.Column("turn", Name))
    op.add_column("nodes", sa.Column("gpus", sa.Text()))
    op.add_column("runs", sa.Column("node_count", sa.Integer()))
    op.add_column("runs", sa.Column("priority", sa.Integer()))
    op.add_column("runs", sa.Column("attempt", sa.Integer()))
    op.add_column("runs", sa.Column("ending", Name))
    op.add_column("streams", sa.Column("merged", sa.BigInteger()))
    op.add_column("files", sa.Column("node_rank", sa.Integer()))
    op.create_table(
        "gang_members",
        sa.Column("run_seq", Serial, autoincrement=False, nullable=False),
        sa.Column("node_rank", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("node", Name, nullable=False),
        sa.Column("address", Name, nullable=False),
        sa.Column("given_at", sa.Float(), nullable=False),
        sa.Column("ports", sa.Text(), nullable=False),
        sa.Column("phase", Name, nullable=False),
        sa.Column("handle", sa.Text(), nullable=False),
        sa.Column("salvaged", sa.Boolean(), nullable=False),
        sa.Column("heard_at", sa.Float()),
        sa.Column("ended_at", sa.Float()),
        sa.Column("to", Name),
        sa.Column("reason", Name, nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("exit_code", sa.Integer()),
        sa.ForeignKeyConstraint(["run_seq"], ["runs.seq"], name=op.f("fk_gang_members_run_seq"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_seq", "node_rank", name=op.f("pk_gang_members")),
    )
    op.create_table(
        "gang_commands",
        sa.Column("id", Serial, autoincrement=True, nullable=False),
        sa.Column("run_seq", Serial, nullable=False),
        sa.Column("node_rank", sa.Integer(), nullable=False),
        sa.Column("argv", sa.Text(), nullable=False),
        sa.Column("exit_code", sa.Integer()),
        sa.ForeignKeyConstraint(["run_seq"], ["runs.seq"], name=op.f("fk_gang_commands_run_seq"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gang_commands")),
    )
    op.create_index("ix_gang_commands_run", "gang_commands", ["run_seq", "node_rank", "id"])
