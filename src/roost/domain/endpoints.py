"""An endpoint: a name that answers requests. Holds the requested state (Version: models, code, environment, limits) and the
current one.

An endpoint has one or more versions, which share its requests by percentage; a web service of the SDK has one, named "default". A
change of a version makes its next generation: the new one starts beside the old one, which stops when the new one is ready. A
replica is a run, of the kind `replica`, that belongs to one generation of one version. Pure.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from roost.domain.environments import EnvironmentUse
from roost.domain.errors import InvalidEndpoint

_NAME = re.compile(r"[a-z](?:[a-z0-9-]{1,30}[a-z0-9])")
_VERSION = re.compile(r"[a-zA-Z](?:[a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?")
HANDLERS = ("script", "onnx", "sklearn", "tensorflow", "torchscript", "mlflow")
MAX_REPLICAS = 64
MAX_VERSIONS = 16
MAX_MODELS = 64
MAX_CONCURRENCY = 256
MAX_REQUEST_BYTES = 1000 * 1024**2
"""A request with its head goes to a worker in one piece of at most 1 GiB."""
MAX_TEXT = 20_000
MAX_SECONDS = 24 * 3600.0
MAX_KEY = 256
DEFAULT = "default"


class EndpointKind(StrEnum):
    """The SDK's name for the deployment target. Roost serves all kinds in the same way."""

    LOCAL = "Local"
    ACI = "ACI"
    AKS = "AKS"
    AKS_ENDPOINT = "AKSENDPOINT"
    """Several versions that share the requests."""

    def score_path(self, name: str) -> str:
        """The path for requests to a service of this kind and name."""
        shared = self in (EndpointKind.AKS, EndpointKind.AKS_ENDPOINT)
        return f"/api/v1/service/{name}/score" if shared else "/score"


class EndpointState(StrEnum):
    """Spelled as scripts compare them."""

    TRANSITIONING = "Transitioning"
    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"
    """It has served and does not serve now: its replicas are being restarted."""
    FAILED = "Failed"
    """It never became ready; `error` has the reason."""


class Auth(StrEnum):
    NONE = "none"
    KEY = "key"
    TOKEN = "token"  # noqa: S105 - the word, no secret


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The resources and times that a version may use."""

    cpu: float = 0.1
    memory_gb: float = 0.0
    """Memory of a replica with all its processes: a replica above it is ended and restarted. 0 for no limit."""
    gpu: int = 0
    min_replicas: int = 1
    max_replicas: int = 1
    """When more than `min_replicas`, the number of replicas follows the load."""
    target_utilization: float = 0.7
    """Another replica starts when a larger share of the replicas' `concurrency` is in use."""
    concurrency: int = 1
    """Requests that one replica handles at once; the others wait in the front."""
    timeout_seconds: float = 60.0
    """Time from a request's arrival at a replica to its answer; then the replica is restarted."""
    queue_seconds: float = 5.0
    """Time that a request may wait for a replica; then it gets 503."""
    max_request_bytes: int = 100 * 1024 * 1024
    start_seconds: float = 600.0
    """Time that `init()` may take, from the start of a replica's process."""


@dataclass(frozen=True, kw_only=True)
class Version:
    """One version of an endpoint: answers a share of the requests."""

    name: str = DEFAULT
    generation: int = 1
    """Increases when a change needs new replicas."""
    traffic: int = 100
    """Percent of the requests."""
    models: tuple[str, ...] = ()
    """Ids, `name:version`. One is AZUREML_MODEL_DIR itself; several are folders `name/version/` in it."""
    handler: str = "script"
    """The code that loads the model and answers: "script" (the entry script), or a handler without user code: "onnx", "sklearn",
    "tensorflow", "torchscript", "mlflow" (a module of `roost_job.scoring`)."""
    snapshot: str = ""
    """Blob hash of the manifest of the source folder; empty with no script."""
    entry_script: str = ""
    """Path within the snapshot."""
    source_name: str = ""
    """Name of the source folder, if one was given: scripts also use that name."""
    environment: EnvironmentUse | None = None
    interpreter: str = ""
    """The Python of the replica when there is no environment."""
    environment_variables: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class EndpointSpec:
    """A requested endpoint; every change sends all of it."""

    kind: EndpointKind = EndpointKind.LOCAL
    versions: tuple[Version, ...] = ()
    auth: Auth = Auth.NONE
    port: int = 0
    """The port to listen on; 0 for a free one, which the endpoint then keeps."""
    recorded: float = 0.0
    """Share of the requests that are recorded with their answers, 0 to 1."""
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str | float | bool | None] = field(default_factory=dict)
    """Settings of the SDK's configuration without a meaning here, such as a location: stored and shown."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """An existing endpoint."""

    workspace: str
    name: str
    spec: EndpointSpec
    state: EndpointState = EndpointState.TRANSITIONING
    error: str = ""
    """Why it is not as requested, in words for people; with the script's traceback if the script failed."""
    failed_replica: str = ""
    """The run that made the last request fail, with the reason in its log; empty without a failure or for another cause."""
    port: int = 0
    user: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0
    revision: int = 1
    """Increases with every change; long polls wait until it passes a value."""

    @property
    def id(self) -> str:
        return f"{self.workspace}/{self.name}"


@dataclass(frozen=True, kw_only=True)
class Replica:
    """A run that serves."""

    run_id: str
    version: str
    generation: int
    socket: str = ""
    """The address at which its process answers the front."""
    leaving: bool = False
    """It gets no new requests, and ends when it has answered those it has."""
    created_at: float = 0.0
    status: str = ""
    """Status of its run, where it was looked up."""
    ready: bool = False
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class ServedModel:
    """A model in the form in which a replica's node stores it."""

    name: str
    version: int
    manifest: str


@dataclass(frozen=True, kw_only=True)
class Serving:
    """The additional fields of a replica's run."""

    endpoint: str
    version: str
    generation: int
    socket: str
    """The socket on which its process listens once `init()` has returned; at most 100 bytes long."""
    handler: str = "script"
    source_name: str = ""
    """Of the version: a second name for the folder of its script."""
    models: tuple[ServedModel, ...] = ()
    concurrency: int = 1
    memory_gb: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Keys:
    """The two keys of an endpoint; either one is valid, so that they can be changed one after the other."""

    primary: str
    secondary: str


def checked_name(name: object) -> str:
    """A service's name by the SDK's rules: it becomes part of an address and of a folder's name."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidEndpoint(
            f"Service name {name!r} is not allowed.",
            hint="Use 3 to 32 lowercase letters, digits or dashes, the first a letter, the last no dash.",
        )
    return name


def checked_key(key: str) -> str:
    """A key that a person chose: valid in a header, and hard to guess."""
    if not (16 <= len(key) <= MAX_KEY and key.isascii() and key.isprintable() and " " not in key):
        raise InvalidEndpoint(f"A key has 16 to {MAX_KEY} ASCII characters without spaces, got {len(key)} characters.")
    return key


def checked(spec: EndpointSpec) -> EndpointSpec:
    """Raises InvalidEndpoint with the broken rule and the value. Models and snapshot in the store are not checked."""
    if not 1 <= len(spec.versions) <= MAX_VERSIONS:
        raise InvalidEndpoint(f"An endpoint has 1 to {MAX_VERSIONS} versions, got {len(spec.versions)}.")
    named = [version.name for version in spec.versions]
    for version in spec.versions:
        _check_version(version)
        if named.count(version.name) > 1:
            raise InvalidEndpoint(f"There are {named.count(version.name)} versions named {version.name!r}.")
    total = sum(version.traffic for version in spec.versions)
    if total != 100:
        raise InvalidEndpoint(f"The versions' shares of the requests add up to {total} percent, not to 100.")
    if spec.port and not 1024 <= spec.port <= 65535:
        raise InvalidEndpoint(
            f"The port of an endpoint is 1024 to 65535, got {spec.port}.", hint="0 takes one that is free."
        )
    _within("recorded", spec.recorded, 0, 1)
    if len(spec.description) > MAX_TEXT:
        raise InvalidEndpoint(f"The description has {len(spec.description)} characters; at most {MAX_TEXT} are kept.")
    return spec


def _check_version(version: Version) -> None:
    if not _VERSION.fullmatch(version.name):
        raise InvalidEndpoint(
            f"Version name {version.name!r} is not allowed.",
            hint="Use 1 to 32 letters, digits or dashes, the first a letter, the last no dash.",
        )
    if version.handler not in HANDLERS:
        raise InvalidEndpoint(f"There is no handler {version.handler!r}.", hint=f"It is one of: {', '.join(HANDLERS)}.")
    if "/" in version.source_name or version.source_name in (".", ".."):
        raise InvalidEndpoint(f"The source folder's name {version.source_name!r} is no name of a folder.")
    if (version.handler == "script") is not bool(version.entry_script):
        raise InvalidEndpoint(
            f"A version has an entry script or a handler that needs none, got {version.entry_script!r} and "
            f"{version.handler!r}."
        )
    if len(version.models) > MAX_MODELS:
        raise InvalidEndpoint(f"A version has at most {MAX_MODELS} models, got {len(version.models)}.")
    _within("traffic", version.traffic, 0, 100)
    limits = version.limits
    _within("cpu", limits.cpu, 0, 4096)
    _within("memory_gb", limits.memory_gb, 0, 1 << 20)
    _within("gpu", limits.gpu, 0, 1024)
    _within("min_replicas", limits.min_replicas, 1, MAX_REPLICAS)
    _within("max_replicas", limits.max_replicas, limits.min_replicas, MAX_REPLICAS)
    _within("target_utilization", limits.target_utilization, 0.01, 1)
    _within("concurrency", limits.concurrency, 1, MAX_CONCURRENCY)
    _within("timeout_seconds", limits.timeout_seconds, 0.001, MAX_SECONDS)
    _within("queue_seconds", limits.queue_seconds, 0, MAX_SECONDS)
    _within("start_seconds", limits.start_seconds, 0.1, MAX_SECONDS)
    _within("max_request_bytes", limits.max_request_bytes, 1, MAX_REQUEST_BYTES)


def _within(what: str, value: float, least: float, most: float) -> None:
    if not (math.isfinite(value) and least <= value <= most):
        raise InvalidEndpoint(f"{what} is {least:g} to {most:g}, got {value:g}.")


def begun_anew(before: Version, after: Version) -> bool:
    """True when a change needs new replicas; traffic, the number of replicas and time limits do not."""
    return _of_replicas(before) != _of_replicas(after)


def _of_replicas(version: Version) -> Version:
    kept = Limits(
        cpu=version.limits.cpu,
        memory_gb=version.limits.memory_gb,
        gpu=version.limits.gpu,
        concurrency=version.limits.concurrency,
    )
    return replace(version, generation=0, traffic=0, limits=kept, description="", tags={})


def numbered(wanted: EndpointSpec, former: Sequence[EndpointSpec], last: int) -> tuple[EndpointSpec, int]:
    """The spec with the generation of each version, and the last generation used. A version keeps its generation when it is
    unchanged from the former request or from the version that serves."""
    known = [version for spec in former for version in spec.versions]
    versions = []
    for version in wanted.versions:
        same = [each for each in known if each.name == version.name and not begun_anew(each, version)]
        last = last if same else last + 1
        versions.append(replace(version, generation=same[0].generation if same else last))
    return replace(wanted, versions=tuple(versions)), last


def scaled(limits: Limits, replicas: int, busy: float) -> int:
    """The number of replicas that a version should have. `replicas` exist now; `busy` requests are in work or waiting."""
    wanted = math.ceil(busy / (limits.concurrency * limits.target_utilization))
    # At most double the number at once: new replicas take load from the others.
    return min(max(wanted, limits.min_replicas), limits.max_replicas, max(2 * replicas, limits.min_replicas))
