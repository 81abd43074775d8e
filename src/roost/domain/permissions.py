"""Permissions as data: which role may do which action. Pure; start with `ALLOWED`.

A route declares its action and its scope (`api/doors.py`); a deed of `services/` takes a `Caller` and requires its action. Both
read this table and no other. How far a run's token reaches within an action is its scope.
"""

from collections.abc import Mapping
from enum import StrEnum


class Role(StrEnum):
    """The kind of caller, determined by the token of the request."""

    ANYONE = "anyone"
    """No token."""
    PERSON = "person"
    """A person's token, sent by a program."""
    BROWSER = "browser"
    """A person's session, sent by a page."""
    RUN = "run"
    """The token of a run: its agent, or its script through the agent."""
    SYSTEM = "system"
    """The control plane's own loops. No request has this role."""


class Scope(StrEnum):
    """What a route acts on. Only a run's token is limited by it: people see all workspaces of their control plane."""

    SERVER = "server"
    """The control plane, or what belongs to no workspace. Nothing more is checked."""
    WORKSPACE = "workspace"
    """The workspace in the path. A run's token reaches the workspace of its run."""
    RUN = "run"
    """The run in the path. A run's token reaches its run and those below it; it may read those above it."""


class Action(StrEnum):
    """Everything that a caller can do, as NOUN_VERB. A new action is for persons only until ALLOWED gives it to other roles."""

    # The control plane.
    HEALTH_READ = "health.read"
    PAGE_READ = "page.read"
    SESSION_BEGIN = "session.begin"
    """With a code, which is the proof."""
    SESSION_INVITE = "session.invite"
    SERVER_READ = "server.read"
    SERVER_STOP = "server.stop"
    USAGE_READ = "usage.read"
    SWEEP = "sweep"
    BACKUP = "backup"

    # Workspaces and what is registered in them.
    WORKSPACE_CREATE = "workspace.create"
    WORKSPACE_READ = "workspace.read"
    EXPERIMENT_CREATE = "experiment.create"
    EXPERIMENT_READ = "experiment.read"
    EXPERIMENT_CHANGE = "experiment.change"
    EXPERIMENT_DELETE = "experiment.delete"
    COMPUTE_CREATE = "compute.create"
    COMPUTE_READ = "compute.read"
    COMPUTE_CHANGE = "compute.change"
    COMPUTE_DELETE = "compute.delete"
    COMPUTE_PREEMPT = "compute.preempt"
    ENVIRONMENT_REGISTER = "environment.register"
    ENVIRONMENT_READ = "environment.read"
    BUILD_LOOK_UP = "build.look-up"
    """Also deletes a lock."""
    BUILD_REPORT = "build.report"
    ARCHIVE_WRITE = "archive.write"
    ARCHIVE_READ = "archive.read"
    ARCHIVE_LIST = "archive.list"
    ARCHIVE_DELETE = "archive.delete"
    SECRET_WRITE = "secret.write"
    SECRET_LIST = "secret.list"
    """Names, not values."""
    SECRET_READ = "secret.read"
    SECRET_DELETE = "secret.delete"

    # Runs.
    RUN_SUBMIT = "run.submit"
    RUN_LIST = "run.list"
    RUN_READ = "run.read"
    RUN_ANNOTATE = "run.annotate"
    RUN_CANCEL = "run.cancel"
    RUN_MARK = "run.mark"
    RUN_DELETE = "run.delete"
    RUN_REPORT = "run.report"
    """Heartbeats and events of agents."""
    RUN_CREATE_CHILD = "run.create-child"
    RUN_DECLARE_DATA = "run.declare-data"
    RUN_SECRET_LIST = "run.secret.list"
    """Of the run's workspace; names, not values."""
    RUN_SECRET_READ = "run.secret.read"
    GANG_READ = "gang.read"
    """The agents of a run with several nodes, and the commands between them."""
    GANG_COMMAND = "gang.command"
    METRIC_WRITE = "metric.write"
    METRIC_READ = "metric.read"
    LOG_WRITE = "log.write"
    LOG_READ = "log.read"
    FILE_WRITE = "file.write"
    FILE_READ = "file.read"

    # Data.
    BLOB_WRITE = "blob.write"
    BLOB_READ = "blob.read"
    BLOB_FETCH = "blob.fetch"
    """Many in one answer."""
    DATASTORE_REGISTER = "datastore.register"
    DATASTORE_READ = "datastore.read"
    DATASTORE_DELETE = "datastore.delete"
    DATASTORE_SET_DEFAULT = "datastore.set-default"
    STORED_FILE_READ = "stored-file.read"
    STORED_FILE_FETCH = "stored-file.fetch"
    """Many in one answer."""
    STORED_FILE_WRITE = "stored-file.write"
    DATASET_REGISTER = "dataset.register"
    DATASET_READ = "dataset.read"
    DATASET_CHANGE = "dataset.change"
    DATASET_DELETE = "dataset.delete"
    DATASET_TRACE = "dataset.trace"
    """Which runs read or wrote it."""

    # Models and endpoints.
    MODEL_REGISTER = "model.register"
    MODEL_READ = "model.read"
    MODEL_CHANGE = "model.change"
    MODEL_DELETE = "model.delete"
    MODEL_TRACE = "model.trace"
    """Which runs and endpoints use it."""
    ENDPOINT_DEPLOY = "endpoint.deploy"
    ENDPOINT_READ = "endpoint.read"
    ENDPOINT_DELETE = "endpoint.delete"
    ENDPOINT_KEY_READ = "endpoint.key.read"
    ENDPOINT_KEY_CHANGE = "endpoint.key.change"
    ENDPOINT_TOKEN_CREATE = "endpoint.token.create"
    ENDPOINT_RECORD_READ = "endpoint.record.read"
    """Requests that people sent to an endpoint."""


READS = frozenset(
    {
        Action.RUN_READ,
        Action.RUN_SECRET_LIST,
        Action.RUN_SECRET_READ,
        Action.GANG_READ,
        Action.METRIC_READ,
        Action.LOG_READ,
        Action.FILE_READ,
    }
)
"""Actions of the scope RUN that a run's token may also do on the runs above its own."""

_ANYONE = frozenset({Action.HEALTH_READ, Action.PAGE_READ, Action.SESSION_BEGIN})

_BROWSER = frozenset(
    {
        Action.SERVER_READ,
        Action.USAGE_READ,
        Action.WORKSPACE_READ,
        Action.EXPERIMENT_READ,
        Action.COMPUTE_READ,
        Action.ENVIRONMENT_READ,
        Action.SECRET_LIST,
        Action.RUN_LIST,
        Action.RUN_READ,
        Action.RUN_ANNOTATE,
        Action.RUN_CANCEL,
        Action.RUN_SECRET_LIST,
        Action.METRIC_READ,
        Action.LOG_READ,
        Action.FILE_READ,
        Action.BLOB_READ,
        Action.DATASTORE_READ,
        Action.STORED_FILE_READ,
        Action.DATASET_READ,
        Action.DATASET_TRACE,
        Action.MODEL_READ,
        Action.MODEL_TRACE,
        Action.ENDPOINT_READ,
    }
)
"""A page reads, cancels a run and edits its labels. It shows text that runs wrote; an attacker who takes over the page has its
session. So a session has no action that extends its rights: start code (which could read the token), read a secret, a key or a
backup, register a folder as data, let others in."""

_RUN = frozenset(
    {
        Action.SERVER_READ,
        Action.BUILD_REPORT,
        Action.ARCHIVE_WRITE,
        Action.ARCHIVE_READ,
        Action.RUN_READ,
        Action.RUN_ANNOTATE,
        Action.RUN_CANCEL,
        Action.RUN_MARK,
        Action.RUN_REPORT,
        Action.RUN_CREATE_CHILD,
        Action.RUN_DECLARE_DATA,
        Action.RUN_SECRET_LIST,
        Action.RUN_SECRET_READ,
        Action.GANG_READ,
        Action.GANG_COMMAND,
        Action.METRIC_WRITE,
        Action.METRIC_READ,
        Action.LOG_WRITE,
        Action.LOG_READ,
        Action.FILE_WRITE,
        Action.FILE_READ,
        Action.BLOB_WRITE,
        Action.BLOB_READ,
        Action.BLOB_FETCH,
        Action.DATASTORE_READ,
        Action.STORED_FILE_READ,
        Action.STORED_FILE_FETCH,
        Action.STORED_FILE_WRITE,
        Action.DATASET_REGISTER,
        Action.DATASET_READ,
        Action.MODEL_REGISTER,
        Action.MODEL_READ,
        Action.MODEL_CHANGE,
    }
)
"""The actions that a script needs on its own run, and on the data and models of its workspace."""

_SYSTEM = frozenset({Action.SWEEP, Action.RUN_CANCEL})
"""The deeds that loops share with callers; work that only loops do is no deed."""

ALLOWED: Mapping[Role, frozenset[Action]] = {
    Role.ANYONE: _ANYONE,
    Role.PERSON: frozenset(Action),
    Role.BROWSER: _ANYONE | _BROWSER,
    Role.RUN: _ANYONE | _RUN,
    Role.SYSTEM: _SYSTEM,
}


def may(role: Role, action: Action) -> bool:
    return action in ALLOWED[role]
