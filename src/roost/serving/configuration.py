"""front.json: the settings of an endpoint's front. The control plane writes the whole file and sends `reload`; the front reads
it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from roost.domain.endpoints import Auth, EndpointKind
from roost.domain.errors import InvalidInput
from roost.machine import files

FILE = "front.json"
LOCK = "front.lock"
SOCKET = "front.sock"
ACCESS_LOG = "access.log"
RECORDS = "records"


@dataclass(frozen=True, kw_only=True)
class FrontReplica:
    """A worker for requests of a version, listening already or not."""

    socket: str
    """Path of the Unix socket on which the worker listens; at most 100 bytes."""
    run: str = ""
    """Id of its run: the header `x-roost-replica` of its answers."""


@dataclass(frozen=True, kw_only=True)
class FrontVersion:
    """A version that answers a share of the requests, and its limits (`domain.endpoints.Limits` defines them)."""

    name: str = "default"
    generation: int = 1
    traffic: int = 100
    models: tuple[str, ...] = ()
    """Ids: the header `x-roost-model` of its answers."""
    concurrency: int = 1
    timeout_seconds: float = 60.0
    queue_seconds: float = 5.0
    max_request_bytes: int = 100 * 1024 * 1024
    replicas: tuple[FrontReplica, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FrontConfig:
    """The whole of front.json. `host` and `port` apply only at the front's start; all else at every reload."""

    workspace: str
    name: str
    kind: EndpointKind = EndpointKind.LOCAL
    """Decides the published path; the front answers at the path of every kind."""
    host: str = "127.0.0.1"
    port: int = 0
    """0: a free port, which `status` reports."""
    auth: Auth = Auth.NONE
    keys: tuple[str, ...] = ()
    """SHA-256, in hex, of each key that is valid (`keys.digest`)."""
    secret: str = ""
    """In hex: the secret that signs tokens (`keys.mint`)."""
    recorded: float = 0.0
    """Share of the requests that are recorded with their answers, 0 to 1."""
    versions: tuple[FrontVersion, ...] = ()
    held_bytes: int = 1 << 30
    """Bytes of request and answer bodies that the front holds at once; beyond it, new requests get 503."""

    @property
    def scoring_uri(self) -> str:
        return f"http://{self.host}:{self.port}{self.kind.score_path(self.name)}"


def write(folder: Path, config: FrontConfig) -> None:
    """Replaces front.json as a whole, or leaves the old file; readable by its owner only."""
    files.write(folder / FILE, json.dumps(asdict(config), indent=1), durable=True)


def read(folder: Path) -> FrontConfig:
    """InvalidInput, with the reason, when the file is missing or invalid."""
    path = folder / FILE
    try:
        said = json.loads(path.read_bytes())
        return _front(said)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidInput(f"{path} is no configuration of a front: {error}.") from error


def _front(said: Mapping[str, Any]) -> FrontConfig:
    versions = tuple(_version(version) for version in said.get("versions", ()))
    if len({version.name for version in versions}) != len(versions):
        raise ValueError("two versions have one name")
    known = _known(FrontConfig, said)
    meant = {"auth": Auth(said.get("auth", Auth.NONE)), "kind": EndpointKind(said.get("kind", EndpointKind.LOCAL))}
    return FrontConfig(**{**known, **meant, "keys": tuple(said.get("keys", ())), "versions": versions})


def _version(said: Mapping[str, Any]) -> FrontVersion:
    replicas = tuple(FrontReplica(**_known(FrontReplica, replica)) for replica in said.get("replicas", ()))
    return FrontVersion(**{**_known(FrontVersion, said), "models": tuple(said.get("models", ())), "replicas": replicas})


def _known(cls: type, said: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that this program knows: a newer control plane may write more."""
    return {name: said[name] for name in cls.__dataclass_fields__ if name in said}  # type: ignore[attr-defined]
