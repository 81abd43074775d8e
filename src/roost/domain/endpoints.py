"""An endpoint: a name that answers requests. What it should be (Version: models, code, environment, limits), where it stands.

An endpoint has one or more versions, which share its requests by percentage; a web service of the SDK has one, named "default".
Changing a version makes its next generation: the new one is brought up beside the old one, which goes when the new one is ready.
A replica is a run, of the kind `replica`, that belongs to one generation of one version. Pure.
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
"""What is sent on to a worker in one piece, with its head, is at most 1 GiB."""
MAX_TEXT = 20_000
MAX_SECONDS = 24 * 3600.0
MAX_KEY = 256
DEFAULT = "default"


class EndpointKind(StrEnum):
    """What the SDK calls the place it is deployed to. All are served by the same host here."""

    LOCAL = "Local"
    ACI = "ACI"
    AKS = "AKS"
    AKS_ENDPOINT = "AKSENDPOINT"
    """Several versions that share the requests."""

    def score_path(self, name: str) -> str:
        """Where a service of this kind and name is asked."""
        shared = self in (EndpointKind.AKS, EndpointKind.AKS_ENDPOINT)
        return f"/api/v1/service/{name}/score" if shared else "/score"


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
    memory_gb: float = 0.0
    """Of a replica with all its processes: one that has more is ended and begun anew. 0 for no limit."""
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
    start_seconds: float = 600.0
    """That `init()` may take, from the start of a replica's process."""


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
    source_name: str = ""
    """What the source folder is called, where one was given: scripts know it by that name too."""
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
    failed_replica: str = ""
    """The run for which what was last asked for failed, whose log says why; empty when it did not, or for another reason."""
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
    socket: str = ""
    """Where its process answers the front."""
    leaving: bool = False
    """It is given nothing new, and ends when it has answered what it has."""
    created_at: float = 0.0
    status: str = ""
    """Of its run, where it was looked up."""
    ready: bool = False
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class ServedModel:
    """A model as a replica's node lays it out."""

    name: str
    version: int
    manifest: str


@dataclass(frozen=True, kw_only=True)
class Serving:
    """What the run of a replica has beside what every run has."""

    endpoint: str
    version: str
    generation: int
    socket: str
    """That its process listens at once `init()` has returned; at most 100 bytes long."""
    handler: str = "script"
    source_name: str = ""
    """Of the version: a second name for the folder that its script is in."""
    models: tuple[ServedModel, ...] = ()
    concurrency: int = 1
    memory_gb: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Keys:
    """What opens an endpoint; either one does, so that they can be changed one after the other."""

    primary: str
    secondary: str


def checked_name(name: object) -> str:
    """A service's name as the SDK has it: it becomes part of an address and of a folder's name."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidEndpoint(
            f"Service name {name!r} is not allowed.",
            hint="Use 3 to 32 lowercase letters, digits or dashes, the first a letter, the last no dash.",
        )
    return name


def checked_key(key: str) -> str:
    """A key that a person chose: what a header can carry, and not to be guessed."""
    if not (16 <= len(key) <= MAX_KEY and key.isascii() and key.isprintable() and " " not in key):
        raise InvalidEndpoint(f"A key has 16 to {MAX_KEY} ASCII characters without spaces, got {len(key)} characters.")
    return key


def checked(spec: EndpointSpec) -> EndpointSpec:
    """InvalidEndpoint says which rule is broken, and by which value. What is in the store (models, snapshot) is not looked at."""
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
    """Whether a change asks for new replicas; shares of requests, their number and time limits do not."""
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
    """The spec with the generation of each of its versions, and the last that was given: a version that is as it was, in what was
    asked for or in what serves, keeps its own."""
    known = [version for spec in former for version in spec.versions]
    versions = []
    for version in wanted.versions:
        same = [each for each in known if each.name == version.name and not begun_anew(each, version)]
        last = last if same else last + 1
        versions.append(replace(version, generation=same[0].generation if same else last))
    return replace(wanted, versions=tuple(versions)), last


def scaled(limits: Limits, replicas: int, busy: float) -> int:
    """How many replicas a version should have, when it has so many and so many requests are in work or wait."""
    wanted = math.ceil(busy / (limits.concurrency * limits.target_utilization))
    # Those that come take the load from the others: it grows by at most so many at once as there are.
    return min(max(wanted, limits.min_replicas), limits.max_replicas, max(2 * replicas, limits.min_replicas))
