"""Datastores, registered datasets, and which run read or wrote which."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

Name = sa.String().with_variant(sa.String(collation="C"), "postgresql")
Serial = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "datastores",
        sa.Column("workspace", Name, nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.Column("kind", Name, nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("read_only", sa.Boolean(), nullable=False),
        sa.Column("user", Name, nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("sealed", sa.LargeBinary()),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.name"], name=op.f("fk_datastores_workspace")),
        sa.PrimaryKeyConstraint("workspace", "name", name=op.f("pk_datastores")),
    )
    op.create_table(
        "default_datastores",
        sa.Column("workspace", Name, nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.name"], name=op.f("fk_default_datastores_workspace")),
        sa.PrimaryKeyConstraint("workspace", name=op.f("pk_default_datastores")),
    )
    op.create_table(
        "datasets",
        sa.Column("id", Name, nullable=False),
        sa.Column("workspace", Name, nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("user", Name, nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.name"], name=op.f("fk_datasets_workspace")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_datasets")),
        sa.UniqueConstraint("workspace", "name", "version", name=op.f("uq_datasets_workspace_name_version")),
    )
    op.create_table(
        "data_uses",
        sa.Column("run_seq", Serial, autoincrement=False, nullable=False),
        sa.Column("direction", Name, nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.Column("mode", Name, nullable=False),
        sa.Column("dataset_id", Name, nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["run_seq"], ["runs.seq"], name=op.f("fk_data_uses_run_seq"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_seq", "direction", "name", name=op.f("pk_data_uses")),
    )
    op.create_index("ix_data_uses_dataset", "data_uses", ["dataset_id", "run_seq"])
