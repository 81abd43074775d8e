"""An endpoint: a name that answers requests. What it should be (Version: models, code, environment, limits), where it stands.

An endpoint has one or more versions, which share its requests by percentage; a web service of the SDK has one, named "default".
Changing a version makes its next generation: the new one is brought up beside the old one, which goes when the new one is ready.
A replica is a run, of the kind `replica`, that belongs to one generation of one version. Pure.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from roost.domain.environments import EnvironmentUse
from roost.domain.errors import InvalidEndpoint

_NAME = re.compile(r"[a-z](?:[a-z0-9-]{1,30}[a-z0-9])")
MAX_REPLICAS = 64
DEFAULT = "default"


class EndpointKind(StrEnum):
    """What the SDK calls the place it is deployed to. All are served by the same host here."""

    LOCAL = "Local"
    ACI = "ACI"
    AKS = "AKS"
    AKS_ENDPOINT = "AKSENDPOINT"
    """Several versions that share the requests."""


class EndpointState(StrEnum):
    """Spelled as scripts compare them."""

    TRANSITIONING = "Transitioning"
    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"
    """It has served and does not now: its replicas are being brought back."""
    FAILED = "Failed"
    """It never came up; `error` says why."""


class Auth(StrEnum):
    NONE = "none"
    KEY = "key"
    TOKEN = "token"  # noqa: S105 - the word, no secret


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a version may use and how long it may take."""

    cpu: float = 0.1
    memory_gb: float = 0.5
    gpu: int = 0
    min_replicas: int = 1
    max_replicas: int = 1
    """More than `min_replicas`: replicas come and go by load."""
    target_utilization: float = 0.7
    """Share of a replica's `concurrency` that is in use, above which another one comes."""
    concurrency: int = 1
    """Requests that one replica works on at once; the others wait in the front."""
    timeout_seconds: float = 60.0
    """From a request's arrival at a replica to its answer; then the replica is begun anew."""
    queue_seconds: float = 5.0
    """That a request may wait for a replica; then 503."""
    max_request_bytes: int = 100 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Version:
    """What answers a share of the requests."""

    name: str = DEFAULT
    generation: int = 1
    """Grows when anything of it changes that a replica has to be begun anew for."""
    traffic: int = 100
    """Percent of the requests."""
    models: tuple[str, ...] = ()
    """Ids, `name:version`. One is AZUREML_MODEL_DIR itself; several are folders `name/version/` in it."""
    handler: str = "script"
    """Who loads the model and answers: "script" (the entry script), or a handler with no code: "onnx", "sklearn", "tensorflow",
    "torchscript", "mlflow" (a module of `roost_job.scoring`)."""
    snapshot: str = ""
    """Blob hash of the manifest of the source folder; empty with no script."""
    entry_script: str = ""
    """Path within the snapshot."""
    environment: EnvironmentUse | None = None
    interpreter: str = ""
    """With no environment: the Python that the replica runs in."""
    environment_variables: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class EndpointSpec:
    """What a person asks for; the whole of it is sent at every change."""

    kind: EndpointKind = EndpointKind.LOCAL
    versions: tuple[Version, ...] = ()
    auth: Auth = Auth.NONE
    port: int = 0
    """That it listens at; 0 for one that is free, which it then keeps."""
    recorded: float = 0.0
    """Share of the requests that are recorded with their answers, 0 to 1."""
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str | float | bool | None] = field(default_factory=dict)
    """What the SDK's configuration said that has no meaning here, such as a location: kept, and shown again."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """What exists."""

    workspace: str
    name: str
    spec: EndpointSpec
    state: EndpointState = EndpointState.TRANSITIONING
    error: str = ""
    """Why it is not as it should be, in words for people; with the script's traceback when it was that."""
    port: int = 0
    user: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0
    revision: int = 1
    """Grows with every change; long polls wait for it to pass a value."""

    @property
    def id(self) -> str:
        return f"{self.workspace}/{self.name}"


@dataclass(frozen=True, kw_only=True)
class Replica:
    """A run that serves."""

    run_id: str
    version: str
    generation: int
    ready: bool = False
    message: str = ""


def checked_name(name: object) -> str:
    """A service's name as the SDK has it: it becomes part of an address and of a folder's name."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidEndpoint(
            f"Service name {name!r} is not allowed.",
            hint="Use 3 to 32 lowercase letters, digits or dashes, the first a letter, the last no dash.",
        )
    return name
