"""Registered models, the versions given under each name, and which run asked for which."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

Name = sa.String().with_variant(sa.String(collation="C"), "postgresql")
Serial = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "model_names",
        sa.Column("workspace", Name, nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.Column("newest", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.name"], name=op.f("fk_model_names_workspace")),
        sa.PrimaryKeyConstraint("workspace", "name", name=op.f("pk_model_names")),
    )
    op.create_table(
        "models",
        sa.Column("workspace", Name, nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", Name, nullable=False),
        sa.Column("manifest", Name, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("framework", Name, nullable=False),
        sa.Column("framework_version", Name, nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("properties", sa.Text(), nullable=False),
        sa.Column("run_id", Name, nullable=False),
        sa.Column("experiment", Name, nullable=False),
        sa.Column("parent", Name, nullable=False),
        sa.Column("datasets", sa.Text(), nullable=False),
        sa.Column("sample_input", Name, nullable=False),
        sa.Column("sample_output", Name, nullable=False),
        sa.Column("resources", sa.Text(), nullable=False),
        sa.Column("user", Name, nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("modified_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.name"], name=op.f("fk_models_workspace")),
        sa.PrimaryKeyConstraint("workspace", "name", "version", name=op.f("pk_models")),
        sa.UniqueConstraint("workspace", "key", name=op.f("uq_models_workspace_key")),
    )
    op.create_index("ix_models_run", "models", ["run_id"])
    op.create_index("ix_models_created", "models", ["workspace", "created_at"])
    op.create_table(
        "model_uses",
        sa.Column("run_seq", Serial, autoincrement=False, nullable=False),
        sa.Column("model", Name, nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["run_seq"], ["runs.seq"], name=op.f("fk_model_uses_run_seq"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_seq", "model", name=op.f("pk_model_uses")),
    )
    op.create_index("ix_model_uses_model", "model_uses", ["model", "run_seq"])
