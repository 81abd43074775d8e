"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

Name = sa.String().with_variant(sa.String(collation="C"), "postgresql")
Serial = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "computes",
        sa.Column("workspace", Name, nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.Column("engine", Name, nullable=False),
        sa.Column("kind", Name, nullable=False),
        sa.Column("vm_size", sa.String(), nullable=False),
        sa.Column("priority", Name, nullable=False),
        sa.Column("min_nodes", sa.Integer(), nullable=False),
        sa.Column("max_nodes", sa.Integer(), nullable=False),
        sa.Column("idle_seconds", sa.Float(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("user", Name, nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("modified_at", sa.Float(), nullable=False),
        sa.Column("scaled_at", sa.Float(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("node_number", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("workspace", "name", name=op.f("pk_computes")),
    )
    op.create_table(
        "nodes",
        sa.Column("workspace", Name, nullable=False),
        sa.Column("compute", Name, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("address", Name, nullable=False),
        sa.Column("state", Name, nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("run_id", Name, nullable=False),
        sa.PrimaryKeyConstraint("workspace", "compute", "number", name=op.f("pk_nodes")),
        sa.ForeignKeyConstraint(
            ["workspace", "compute"],
            ["computes.workspace", "computes.name"],
            name=op.f("fk_nodes_workspace_compute"),
            ondelete="CASCADE",
        ),
        sa.UniqueConstraint("address", name=op.f("uq_nodes_address")),
    )
    op.create_index("ix_nodes_run", "nodes", ["run_id"])
    op.create_table(
        "runs",
        sa.Column("seq", Serial, autoincrement=True, nullable=False),
        sa.Column("id", Name, nullable=False),
        sa.Column("workspace", Name, nullable=False),
        sa.Column("experiment", Name, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("user", Name, nullable=False),
        sa.Column("kind", Name, nullable=False),
        sa.Column("target", Name, nullable=False),
        sa.Column("parent_id", Name, nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("submission", Name, nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("status", Name, nullable=False),
        sa.Column("reason", Name, nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=False),
        sa.Column("started_at", sa.Float()),
        sa.Column("ended_at", sa.Float()),
        sa.Column("exit_code", sa.Integer()),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("properties", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("handle", sa.Text(), nullable=False),
        sa.Column("heard_at", sa.Float()),
        sa.Column("due_at", sa.Float(), nullable=False),
        sa.Column("lease_token", Name, nullable=False),
        sa.Column("lease_until", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_runs")),
        sa.UniqueConstraint("id", name=op.f("uq_runs_id")),
        sa.UniqueConstraint("workspace", "experiment", "number", name=op.f("uq_runs_workspace_experiment_number")),
    )
    op.create_index("ix_runs_due", "runs", ["status", "due_at"])
    op.create_index("ix_runs_experiment", "runs", ["workspace", "experiment", "seq"])
    op.create_index("ix_runs_experiment_parent", "runs", ["workspace", "experiment", "parent_id", "seq"])
    op.create_index("ix_runs_experiment_status", "runs", ["workspace", "experiment", "status", "seq"])
    op.create_index("ix_runs_target", "runs", ["target", "status", "seq"])
    op.create_index("ix_runs_workspace", "runs", ["workspace", "seq"])
    op.create_index("ix_runs_workspace_parent", "runs", ["workspace", "parent_id", "seq"])
    op.create_index("ix_runs_workspace_status", "runs", ["workspace", "status", "seq"])
    op.create_table(
        "tokens",
        sa.Column("digest", Name, nullable=False),
        sa.Column("user", Name, nullable=False),
        sa.Column("run_id", Name, nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float()),
        sa.Column("kind", Name, nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_tokens")),
    )
    op.create_index("ix_tokens_run", "tokens", ["run_id"])
    op.create_index("ix_tokens_kind", "tokens", ["kind", "expires_at"])
    op.create_table(
        "workspaces",
        sa.Column("name", Name, nullable=False),
        sa.Column("user", Name, nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("subscription_id", sa.String(), nullable=False),
        sa.Column("resource_group", sa.String(), nullable=False),
        sa.Column("location", sa.String(), nullable=False),
        sa.Column("sku", sa.String(), nullable=False),
        sa.Column("friendly_name", sa.String(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_workspaces")),
    )
    op.create_table(
        "secrets",
        sa.Column("workspace", Name, nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.Column("user", Name, nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("updated_at", sa.Float(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.name"], name=op.f("fk_secrets_workspace")),
        sa.PrimaryKeyConstraint("workspace", "name", name=op.f("pk_secrets")),
    )
    op.create_table(
        "experiments",
        sa.Column("id", Name, nullable=False),
        sa.Column("workspace", Name, nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.Column("user", Name, nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("run_count", sa.Integer(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("archived_at", sa.Float()),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.name"], name=op.f("fk_experiments_workspace")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiments")),
        sa.UniqueConstraint("workspace", "name", name=op.f("uq_experiments_workspace_name")),
    )
    op.create_table(
        "files",
        sa.Column("run_seq", Serial, autoincrement=False, nullable=False),
        sa.Column("path", Name, nullable=False),
        sa.Column("blob", Name, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("modified_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["run_seq"], ["runs.seq"], name=op.f("fk_files_run_seq"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_seq", "path", name=op.f("pk_files")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_files_blob", "files", ["blob"])
    op.create_table(
        "metrics",
        sa.Column("id", Serial, autoincrement=True, nullable=False),
        sa.Column("run_seq", Serial, nullable=False),
        sa.Column("space", Name, nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.Column("kind", Name, nullable=False),
        sa.Column("length", sa.BigInteger(), nullable=False),
        sa.Column("numeric", sa.Boolean(), nullable=False),
        sa.Column("last", sa.Float()),
        sa.Column("least", sa.Float()),
        sa.Column("most", sa.Float()),
        sa.Column("last_step", sa.BigInteger()),
        sa.Column("last_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["run_seq"], ["runs.seq"], name=op.f("fk_metrics_run_seq"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metrics")),
        sa.UniqueConstraint("run_seq", "space", "name", name=op.f("uq_metrics_run_seq_space_name")),
    )
    op.create_index("ix_metrics_last", "metrics", ["name", "last", "run_seq"])
    op.create_table(
        "run_events",
        sa.Column("id", Serial, autoincrement=True, nullable=False),
        sa.Column("run_seq", Serial, nullable=False),
        sa.Column("to", Name, nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("reason", Name, nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("exit_code", sa.Integer()),
        sa.Column("handle", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_seq"], ["runs.seq"], name=op.f("fk_run_events_run_seq"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_events")),
    )
    op.create_index("ix_run_events_run", "run_events", ["run_seq", "id"])
    op.create_table(
        "run_labels",
        sa.Column("run_seq", Serial, autoincrement=False, nullable=False),
        sa.Column("sort", Name, nullable=False),
        sa.Column("key", Name, nullable=False),
        sa.Column("value", sa.Text()),
        sa.Column("head", Name, nullable=False),
        sa.ForeignKeyConstraint(["run_seq"], ["runs.seq"], name=op.f("fk_run_labels_run_seq"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_seq", "sort", "key", name=op.f("pk_run_labels")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_run_labels_key", "run_labels", ["sort", "key", "run_seq"])
    op.create_index("ix_run_labels_value", "run_labels", ["sort", "key", "head", "run_seq"])
    op.create_table(
        "spools",
        sa.Column("id", Serial, autoincrement=True, nullable=False),
        sa.Column("run_seq", Serial, nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.Column("mark", sa.BigInteger(), nullable=False),
        sa.Column("space", Name, nullable=False),
        sa.Column("damaged", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["run_seq"], ["runs.seq"], name=op.f("fk_spools_run_seq"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_spools")),
        sa.UniqueConstraint("run_seq", "name", name=op.f("uq_spools_run_seq_name")),
    )
    op.create_table(
        "streams",
        sa.Column("id", Serial, autoincrement=True, nullable=False),
        sa.Column("run_seq", Serial, nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("tail", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_seq"], ["runs.seq"], name=op.f("fk_streams_run_seq"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_streams")),
        sa.UniqueConstraint("run_seq", "name", name=op.f("uq_streams_run_seq_name")),
    )
    op.create_table(
        "metric_chunks",
        sa.Column("id", Serial, autoincrement=True, nullable=False),
        sa.Column("metric_id", Serial, nullable=False),
        sa.Column("spool_id", Serial, nullable=False),
        sa.Column("encoding", Name, nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("weight", sa.Integer(), nullable=False),
        sa.Column("small", sa.Boolean(), nullable=False),
        sa.Column("steps", sa.LargeBinary(), nullable=False),
        sa.Column("times", sa.LargeBinary(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["metric_id"], ["metrics.id"], name=op.f("fk_metric_chunks_metric_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["spool_id"], ["spools.id"], name=op.f("fk_metric_chunks_spool_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metric_chunks")),
    )
    op.create_index("ix_metric_chunks_metric", "metric_chunks", ["metric_id", "spool_id", "small", "id"])
    op.create_index("ix_metric_chunks_spool", "metric_chunks", ["spool_id"])
    op.create_table(
        "spool_names",
        sa.Column("spool_id", Serial, autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.ForeignKeyConstraint(["spool_id"], ["spools.id"], name=op.f("fk_spool_names_spool_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("spool_id", "number", name=op.f("pk_spool_names")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "stream_chunks",
        sa.Column("stream_id", Serial, autoincrement=False, nullable=False),
        sa.Column("start", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["stream_id"], ["streams.id"], name=op.f("fk_stream_chunks_stream_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("stream_id", "start", name=op.f("pk_stream_chunks")),
    )
    op.create_table(
        "environments",
        sa.Column("workspace", Name, nullable=False),
        sa.Column("name", Name, nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("digest", Name, nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("user", Name, nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["workspace"], ["workspaces.name"], name=op.f("fk_environments_workspace")),
        sa.PrimaryKeyConstraint("workspace", "name", "version", name=op.f("pk_environments")),
    )
    op.create_table(
        "environment_builds",
        sa.Column("key", Name, nullable=False),
        sa.Column("platform", Name, nullable=False),
        sa.Column("lock", Name, nullable=False),
        sa.Column("builder", Name, nullable=False),
        sa.Column("failed_at", sa.Float(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", "platform", name=op.f("pk_environment_builds")),
    )
