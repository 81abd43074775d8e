"""Endpoints and the runs that are their replicas."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

Name = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "endpoints",
        sa.Column("workspace", Name, nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("good", sa.Text(), nullable=False),
        sa.Column("state", Name, nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("generations", sa.Integer(), nullable=False),
        sa.Column("user", Name, nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("updated_at", sa.Float(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("asked", sa.Integer(), nullable=False),
        sa.Column("deleting", sa.Boolean(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("lease_token", Name, nullable=False),
        sa.Column("lease_until", sa.Float(), nullable=False),
        sa.Column("due_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.name"], name=op.f("fk_endpoints_workspace")),
        sa.PrimaryKeyConstraint("workspace", "name", name=op.f("pk_endpoints")),
        sa.UniqueConstraint("port", name=op.f("uq_endpoints_port")),
    )
    op.create_table(
        "endpoint_replicas",
        sa.Column("run_id", Name, nullable=False),
        sa.Column("workspace", Name, nullable=False),
        sa.Column("endpoint", Name, nullable=False),
        sa.Column("version", Name, nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("socket", sa.Text(), nullable=False),
        sa.Column("leaving", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_endpoint_replicas")),
    )
    op.create_index("ix_endpoint_replicas_endpoint", "endpoint_replicas", ["workspace", "endpoint"])
