"""The tables. `migrations/` upgrades a database from one revision to the next; a test checks that both give the same tables.

`runs.seq` increases with every new run: "newest first" is its order, every list walks an index that ends with it, and the rows of
a run refer to it. No SQL here is specific to SQLite.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
    text,
)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)

# Names compare byte by byte on every database; PostgreSQL's default would follow the machine's language.
Name = String().with_variant(String(collation="C"), "postgresql")
# SQLite increments automatically only in an INTEGER column.
Serial = BigInteger().with_variant(Integer, "sqlite")


def _run() -> Column[int]:
    return Column("run_seq", Serial, ForeignKey("runs.seq", ondelete="CASCADE"), nullable=False)


workspaces = Table(
    "workspaces",
    metadata,
    Column("name", Name, primary_key=True),
    Column("user", Name, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("subscription_id", String, nullable=False),
    Column("resource_group", String, nullable=False),
    Column("location", String, nullable=False),
    Column("sku", String, nullable=False),
    Column("friendly_name", String, nullable=False),
    Column("tags", Text, nullable=False),  # JSON
)

experiments = Table(
    "experiments",
    metadata,
    Column("id", Name, primary_key=True),
    Column("workspace", Name, ForeignKey("workspaces.name"), nullable=False),
    Column("name", Name, nullable=False),
    Column("user", Name, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("run_count", Integer, nullable=False),  # the number of its newest run
    Column("tags", Text, nullable=False),  # JSON
    Column("archived_at", Float),
    Column("only_replicas", Boolean),  # True when it had runs, and all were replicas of an endpoint; NULL for no
    UniqueConstraint("workspace", "name"),
)

computes = Table(
    "computes",
    metadata,
    Column("workspace", Name, primary_key=True),  # empty for the target of every workspace
    Column("name", Name, primary_key=True),
    Column("engine", Name, nullable=False),
    Column("kind", Name, nullable=False),
    Column("vm_size", String, nullable=False),
    Column("priority", Name, nullable=False),
    Column("min_nodes", Integer, nullable=False),
    Column("max_nodes", Integer, nullable=False),
    Column("idle_seconds", Float, nullable=False),
    Column("tags", Text, nullable=False),  # JSON
    Column("description", Text, nullable=False),
    Column("user", Name, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("modified_at", Float, nullable=False),
    Column("scaled_at", Float, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("node_number", Integer, nullable=False),  # of its newest node
    Column("turn", Name),  # the run that waits for enough nodes in its turn: no run overtakes it
)

nodes = Table(
    "nodes",
    metadata,
    Column("workspace", Name, primary_key=True),
    Column("compute", Name, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("address", Name, nullable=False, unique=True),
    Column("state", Name, nullable=False),
    Column("since", Float, nullable=False),
    Column("run_id", Name, nullable=False),  # empty for none
    Column("gpus", Text),  # JSON: indexes of the machine's GPUs that belong to it
    ForeignKeyConstraint(["workspace", "compute"], ["computes.workspace", "computes.name"], ondelete="CASCADE"),
    Index("ix_nodes_run", "run_id"),
)

_WORK, _REPLICAS = text("kind <> 'replica'"), text("kind = 'replica'")

runs = Table(
    "runs",
    metadata,
    Column("seq", Serial, primary_key=True, autoincrement=True),
    Column("id", Name, nullable=False, unique=True),
    Column("workspace", Name, nullable=False),
    Column("experiment", Name, nullable=False),
    Column("number", Integer, nullable=False),
    Column("user", Name, nullable=False),
    Column("kind", Name, nullable=False),
    Column("target", Name, nullable=False),
    Column("parent_id", Name, nullable=False),  # empty for none: equality finds it, and keeps the index's order
    Column("spec", Text, nullable=False),  # JSON of RunSpec
    Column("submission", Name, nullable=False),  # digest of the Submission, to recognize a repeated one
    Column("created_at", Float, nullable=False),
    Column("status", Name, nullable=False),
    Column("reason", Name, nullable=False),
    Column("message", Text, nullable=False),
    Column("display_name", Text, nullable=False),
    Column("description", Text),  # empty before revision 0009
    Column("started_at", Float),
    Column("ended_at", Float),
    Column("exit_code", Integer),
    Column("tags", Text, nullable=False),  # JSON; `run_labels` holds the same for searching
    Column("given_tags", Text),  # JSON: the submission's tags, regardless of later changes; empty before revision 0002
    Column("properties", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("handle", Text, nullable=False),
    Column("heard_at", Float),
    Column("node_count", Integer),  # these four are empty in rows from before revision 0004: 1, 0, 1 and none
    Column("priority", Integer),
    Column("attempt", Integer),
    Column("ending", Name),
    UniqueConstraint("workspace", "experiment", "number"),
    Index("ix_runs_workspace", "workspace", "seq", sqlite_where=_WORK, postgresql_where=_WORK),
    Index("ix_runs_workspace_parent", "workspace", "parent_id", "seq", sqlite_where=_WORK, postgresql_where=_WORK),
    Index("ix_runs_workspace_status", "workspace", "status", "seq", sqlite_where=_WORK, postgresql_where=_WORK),
    Index("ix_runs_replicas", "workspace", "seq", sqlite_where=_REPLICAS, postgresql_where=_REPLICAS),
    Index("ix_runs_experiment", "workspace", "experiment", "seq"),
    Index("ix_runs_experiment_parent", "workspace", "experiment", "parent_id", "seq"),
    Index("ix_runs_experiment_status", "workspace", "experiment", "status", "seq"),
    Index("ix_runs_target", "target", "status", "seq"),
)

# Literals, not parameters: a database uses a partial index only when the statement itself contains its condition.
is_work = runs.c.kind != literal_column("'replica'")
"""Lists of people's work leave out the replicas of endpoints, which never have a parent."""
is_replica = runs.c.kind == literal_column("'replica'")

leases = Table(
    "leases",
    metadata,
    Column("seq", Serial, primary_key=True, autoincrement=True),  # among work due at once, the first added comes first
    Column("noun", Name, nullable=False),  # the noun of its loop
    Column("key", Name, nullable=False),
    Column("due", Float, nullable=False),  # loops take it from this time on; 0 once touched
    Column("token", Name, nullable=False),  # of its holder; empty for none
    Column("until", Float, nullable=False),
    UniqueConstraint("noun", "key"),
    Index("ix_leases_due", "noun", "due", "seq"),
)

run_events = Table(
    "run_events",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    _run(),
    Column("to", Name, nullable=False),
    Column("at", Float, nullable=False),
    Column("reason", Name, nullable=False),
    Column("message", Text, nullable=False),
    Column("exit_code", Integer),
    Column("handle", Text, nullable=False),
    Index("ix_run_events_run", "run_seq", "id"),
)

gang_members = Table(
    "gang_members",
    metadata,
    Column("run_seq", Serial, ForeignKey("runs.seq", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("node_rank", Integer, primary_key=True, autoincrement=False),
    Column("node", Name, nullable=False),
    Column("address", Name, nullable=False),
    Column("given_at", Float, nullable=False),
    Column("ports", Text, nullable=False),  # JSON
    Column("phase", Name, nullable=False),
    Column("handle", Text, nullable=False),
    Column("salvaged", Boolean, nullable=False),
    Column("heard_at", Float),
    Column("ended_at", Float),
    Column("to", Name),
    Column("reason", Name, nullable=False),
    Column("message", Text, nullable=False),
    Column("exit_code", Integer),
)

gang_commands = Table(
    "gang_commands",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    _run(),
    Column("node_rank", Integer, nullable=False),  # where it is executed
    Column("argv", Text, nullable=False),  # JSON: the words, and the sender's key
    Column("exit_code", Integer),
    Index("ix_gang_commands_run", "run_seq", "node_rank", "id"),
)

run_labels = Table(
    "run_labels",
    metadata,
    Column("run_seq", Serial, ForeignKey("runs.seq", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("sort", Name, primary_key=True),  # "tag" or "property"
    Column("key", Name, primary_key=True),
    Column("value", Text),
    Column("head", Name, nullable=False),  # the value's beginning: PostgreSQL cannot index long texts
    Index("ix_run_labels_key", "sort", "key", "run_seq"),
    Index("ix_run_labels_value", "sort", "key", "head", "run_seq"),
    sqlite_with_rowid=False,
)

spools = Table(
    "spools",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    _run(),
    Column("name", Name, nullable=False),
    Column("mark", BigInteger, nullable=False),
    Column("space", Name, nullable=False),
    Column("damaged", Boolean, nullable=False),
    UniqueConstraint("run_seq", "name"),
)

spool_names = Table(
    "spool_names",
    metadata,
    Column("spool_id", Serial, ForeignKey("spools.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("name", Name, nullable=False),
    sqlite_with_rowid=False,
)

metrics = Table(
    "metrics",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    _run(),
    Column("space", Name, nullable=False),
    Column("name", Name, nullable=False),
    Column("kind", Name, nullable=False),
    Column("length", BigInteger, nullable=False),
    Column(
        "numeric", Boolean, nullable=False
    ),  # it has been a number: then an absent `last` is NaN, which SQLite cannot store
    Column("last", Float),
    Column("least", Float),
    Column("most", Float),
    Column("last_step", BigInteger),
    Column("last_at", Float, nullable=False),
    Column("text", Text),  # the last point as text, when it is no number
    UniqueConstraint("run_seq", "space", "name"),
    Index("ix_metrics_last", "name", "last", "run_seq"),
)

metric_chunks = Table(
    "metric_chunks",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("metric_id", Serial, ForeignKey("metrics.id", ondelete="CASCADE"), nullable=False),
    Column("spool_id", Serial, ForeignKey("spools.id", ondelete="CASCADE"), nullable=False),
    Column("encoding", Name, nullable=False),
    Column("length", Integer, nullable=False),
    Column("weight", Integer, nullable=False),  # bytes of its three columns
    Column("small", Boolean, nullable=False),  # later points may still be merged into it
    Column("steps", LargeBinary, nullable=False),
    Column("times", LargeBinary, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Index("ix_metric_chunks_metric", "metric_id", "spool_id", "small", "id"),
    Index("ix_metric_chunks_spool", "spool_id"),
)

streams = Table(
    "streams",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    _run(),
    Column("name", Name, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("tail", BigInteger, nullable=False),  # offset of its last chunk
    Column("merged", BigInteger),  # for a rank's log: bytes that are also in the run's log
    Column("filed", BigInteger),  # bytes from its start that are in files; the others are in chunks
    UniqueConstraint("run_seq", "name"),
)

stream_chunks = Table(
    "stream_chunks",
    metadata,
    Column("stream_id", Serial, ForeignKey("streams.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
)

stream_files = Table(
    "stream_files",
    metadata,
    Column("stream_id", Serial, ForeignKey("streams.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("size", BigInteger, nullable=False),
    Column("blob", Name, nullable=False),
)

files = Table(
    "files",
    metadata,
    Column("run_seq", Serial, ForeignKey("runs.seq", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("path", Name, primary_key=True),
    Column("blob", Name, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("modified_at", Float, nullable=False),
    Column("node_rank", Integer),  # of the node that stored it; empty for the first
    Index("ix_files_blob", "blob"),
    sqlite_with_rowid=False,
)

tokens = Table(
    "tokens",
    metadata,
    Column("digest", Name, primary_key=True),
    Column("user", Name, nullable=False),
    Column("run_id", Name, nullable=False),  # empty for a person's
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float),
    Column("kind", Name, nullable=False),
    Index("ix_tokens_run", "run_id"),
    Index("ix_tokens_kind", "kind", "expires_at"),
)

secrets = Table(
    "secrets",
    metadata,
    Column("workspace", Name, ForeignKey("workspaces.name"), primary_key=True),
    Column("name", Name, primary_key=True),
    Column("user", Name, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    Column("sealed", LargeBinary, nullable=False),  # `services/vault.py`
)

environments = Table(
    "environments",
    metadata,
    Column("workspace", Name, ForeignKey("workspaces.name"), primary_key=True),
    Column("name", Name, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("digest", Name, nullable=False),  # of the definition, to recognize the same one
    Column("definition", Text, nullable=False),  # JSON
    Column("user", Name, nullable=False),
    Column("created_at", Float, nullable=False),
)

environment_builds = Table(
    "environment_builds",
    metadata,
    Column("key", Name, primary_key=True),  # of the Recipe
    Column("platform", Name, primary_key=True),
    Column("lock", Name, nullable=False),  # blob; empty until it is known
    Column("builder", Name, nullable=False),  # id of the run whose agent builds it; empty for none
    Column("failed_at", Float, nullable=False),
    Column("message", Text, nullable=False),
)

environment_archives = Table(
    "environment_archives",
    metadata,
    Column("lock", Name, primary_key=True),  # blob
    Column("manifest", Name, nullable=False),  # blob; the sweep keeps, and back-ups contain, everything it lists
    Column("python", Name, nullable=False),  # empty where it is among the files
    Column("files", Integer, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("missing", Text, nullable=False),  # a JSON list
    Column("kept_at", Float, nullable=False),
)

datastores = Table(
    "datastores",
    metadata,
    Column("workspace", Name, ForeignKey("workspaces.name"), primary_key=True),
    Column("name", Name, primary_key=True),
    Column("kind", Name, nullable=False),
    Column("settings", Text, nullable=False),  # JSON, no credential in it
    Column("read_only", Boolean, nullable=False),
    Column("user", Name, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("sealed", LargeBinary),  # its credential (`services/vault.py`); NULL for none
)

default_datastores = Table(
    "default_datastores",
    metadata,
    Column("workspace", Name, ForeignKey("workspaces.name"), primary_key=True),
    Column("name", Name, nullable=False),
)

datasets = Table(
    "datasets",
    metadata,
    Column("id", Name, primary_key=True),
    Column("workspace", Name, ForeignKey("workspaces.name"), nullable=False),
    Column("name", Name, nullable=False),
    Column("version", Integer, nullable=False),
    Column("definition", Text, nullable=False),  # JSON
    Column("description", Text, nullable=False),
    Column("tags", Text, nullable=False),  # JSON
    Column("user", Name, nullable=False),
    Column("created_at", Float, nullable=False),
    UniqueConstraint("workspace", "name", "version"),
)

data_uses = Table(
    "data_uses",
    metadata,
    Column("run_seq", Serial, ForeignKey("runs.seq", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("direction", Name, primary_key=True),
    Column("name", Name, primary_key=True),
    Column("mode", Name, nullable=False),
    Column("dataset_id", Name, nullable=False),  # empty for unregistered data; stays when the dataset is deleted
    Column("definition", Text, nullable=False),  # JSON
    Column("at", Float, nullable=False),
    Column("dataset_name", Name),  # of the registered dataset, as is its version; both stay when it is deleted
    Column("dataset_version", Integer),
    Index("ix_data_uses_dataset", "dataset_id", "run_seq"),
)

model_names = Table(
    "model_names",
    metadata,
    Column("workspace", Name, ForeignKey("workspaces.name"), primary_key=True),
    Column("name", Name, primary_key=True),
    Column("newest", Integer, nullable=False),  # the last version given; never reused, even when it is deleted
)

models = Table(
    "models",
    metadata,
    Column("workspace", Name, ForeignKey("workspaces.name"), primary_key=True),
    Column("name", Name, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("key", Name, nullable=False),  # of the request that registered it, to recognize a repeated one
    Column("manifest", Name, nullable=False),  # blob
    Column("path", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("framework", Name, nullable=False),
    Column("framework_version", Name, nullable=False),
    Column("description", Text, nullable=False),
    Column("tags", Text, nullable=False),  # JSON
    Column("properties", Text, nullable=False),  # JSON
    Column("run_id", Name, nullable=False),  # empty for none; stays when the run is deleted
    Column("experiment", Name, nullable=False),
    Column("parent", Name, nullable=False),
    Column("datasets", Text, nullable=False),  # JSON
    Column("sample_input", Name, nullable=False),
    Column("sample_output", Name, nullable=False),
    Column("resources", Text, nullable=False),  # JSON
    Column("user", Name, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("modified_at", Float, nullable=False),
    UniqueConstraint("workspace", "key"),
    Index("ix_models_run", "run_id"),
    Index("ix_models_created", "workspace", "created_at"),
)

model_uses = Table(
    "model_uses",
    metadata,
    Column("run_seq", Serial, ForeignKey("runs.seq", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("model", Name, primary_key=True),  # its id, `name:version`, in the run's workspace
    Column("at", Float, nullable=False),
    Index("ix_model_uses_model", "model", "run_seq"),
)

endpoints = Table(
    "endpoints",
    metadata,
    Column("workspace", Name, ForeignKey("workspaces.name"), primary_key=True),
    Column("name", Name, primary_key=True),
    Column("spec", Text, nullable=False),  # JSON: the requested spec
    Column("good", Text, nullable=False),  # JSON: the last spec that was reached; empty before
    Column("state", Name, nullable=False),
    Column("error", Text, nullable=False),
    Column("port", Integer, nullable=False),
    Column("generations", Integer, nullable=False),  # the last generation given to a version
    Column("user", Name, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("asked", Integer, nullable=False),  # counts people's requests
    Column("deleting", Boolean, nullable=False),
    Column("sealed", LargeBinary, nullable=False),  # its keys (`services/vault.py`)
    Column("failed_replica", Name),  # empty, or NULL before revision 0008: the last request did not fail with a replica
    UniqueConstraint("port"),
)

endpoint_replicas = Table(
    "endpoint_replicas",
    metadata,
    Column("run_id", Name, primary_key=True),  # written before the run exists
    Column("workspace", Name, nullable=False),
    Column("endpoint", Name, nullable=False),
    Column("version", Name, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("socket", Text, nullable=False),
    Column("leaving", Boolean, nullable=False),
    Column("created_at", Float, nullable=False),
    Index("ix_endpoint_replicas_endpoint", "workspace", "endpoint"),
)
