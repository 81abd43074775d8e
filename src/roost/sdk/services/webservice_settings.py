"""The settings of a service under the Azure ML SDK v1's names: the deployment configurations and their parts.

`deploy_configuration(…)` of a service's class makes one and refuses wrong values, before anything is deployed. Settings of a
cloud (locations, virtual networks, key vaults, probes of Kubernetes) are accepted, stored and shown again.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from roost.domain.endpoints import DEFAULT, MAX_REPLICAS, Auth, EndpointKind, EndpointSpec, Limits, checked_key
from roost.domain.errors import InvalidEndpoint

Setting = str | float | bool | None
_TLS = ("ssl_enabled", "ssl_cert_pem_file", "ssl_key_pem_file", "ssl_cname")
_SCALED = ("autoscale_min_replicas", "autoscale_max_replicas", "autoscale_target_utilization")
_MOST_BY_ITSELF = 10
"""The default maximum of replicas: the SDK's number, or the number of cores."""


@dataclass(frozen=True)
class ContainerResourceRequirements:
    """The resources of a replica."""

    cpu: float
    memory_in_gb: float
    gpu: int | None = None

    def serialize(self) -> dict[str, Any]:
        return {"cpu": self.cpu, "memoryInGB": self.memory_in_gb, "gpu": self.gpu}


@dataclass(frozen=True)
class AutoScaler:
    """The range of replicas for automatic scaling."""

    autoscale_enabled: bool
    max_replicas: int
    min_replicas: int
    refresh_period_seconds: int
    target_utilization: int

    def serialize(self) -> dict[str, Any]:
        return {
            "autoscaleEnabled": self.autoscale_enabled,
            "minReplicas": self.min_replicas,
            "maxReplicas": self.max_replicas,
            "refreshPeriodInSeconds": self.refresh_period_seconds,
            "targetUtilization": self.target_utilization,
        }


@dataclass(frozen=True)
class LivenessProbeRequirements:
    """The settings of Kubernetes' liveness probe, with its defaults. Roost detects failures without them."""

    period_seconds: int = 10
    initial_delay_seconds: int = 310
    timeout_seconds: int = 2
    success_threshold: int = 1
    failure_threshold: int = 3

    def serialize(self) -> dict[str, Any]:
        return {
            "periodSeconds": self.period_seconds,
            "initialDelaySeconds": self.initial_delay_seconds,
            "timeoutSeconds": self.timeout_seconds,
            "successThreshold": self.success_threshold,
            "failureThreshold": self.failure_threshold,
        }


@dataclass(frozen=True)
class DataCollection:
    """True when requests and answers are recorded."""

    event_hub_enabled: bool
    storage_enabled: bool

    def serialize(self) -> dict[str, Any]:
        return {"eventHubEnabled": self.event_hub_enabled, "storageEnabled": self.storage_enabled}


@dataclass(kw_only=True)
class WebserviceDeploymentConfiguration:
    """The settings that all services have."""

    _kind: ClassVar[EndpointKind]
    _kept: ClassVar[tuple[str, ...]] = ()
    """Settings that have no effect here, and are only shown again."""

    description: str | None = None
    tags: Mapping[str, str] | None = None
    properties: Mapping[str, str] | None = None
    primary_key: str | None = field(default=None, repr=False)
    secondary_key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.validate_configuration()

    def validate_configuration(self) -> None:
        """Raises InvalidEndpoint (a WebserviceException) with the value and the broken rule."""
        texts("tags", self.tags)
        texts("properties", self.properties)
        self.settings()
        self.limits()
        self.auth()
        for key in self.keys().values():
            checked_key(key)

    def limits(self, now: Limits | None = None) -> Limits:
        """The limits; those of `now` where none are set."""
        return now or Limits()

    def auth(self) -> Auth:
        return Auth.NONE

    def openness(self) -> str:
        """How to get a service with a key, when this one has none by default; else empty."""
        return ""

    def spec(self) -> EndpointSpec:
        """The service without its version."""
        return EndpointSpec(
            kind=self._kind,
            auth=self.auth(),
            recorded=1.0 if getattr(self, "collect_model_data", None) else 0.0,
            description=self.description or "",
            tags=texts("tags", self.tags),
            properties=texts("properties", self.properties),
            settings=self.settings(),
        )

    def settings(self) -> dict[str, Setting]:
        given = {name: getattr(self, name) for name in self._kept}
        return {name: plain(name, value) for name, value in given.items() if value is not None}

    def keys(self) -> dict[str, str]:
        """The keys that the user chose, by their names in the SDK."""
        chosen = {"Primary": self.primary_key, "Secondary": self.secondary_key}
        return {which: str(value) for which, value in chosen.items() if value}

    def print_deploy_configuration(self) -> None:
        print(repr(self))


@dataclass(kw_only=True)
class AciServiceDeploymentConfiguration(WebserviceDeploymentConfiguration):
    """`AciWebservice.deploy_configuration(…)`: one replica, without keys unless `auth_enabled`."""

    _kind = EndpointKind.ACI
    _kept = (
        "location",
        "enable_app_insights",
        "dns_name_label",
        "cmk_vault_base_url",
        "cmk_key_name",
        "cmk_key_version",
        "vnet_name",
        "subnet_name",
    )

    cpu_cores: float | None = None
    memory_gb: float | None = None
    location: str | None = None
    auth_enabled: bool | None = None
    ssl_enabled: bool | None = None
    enable_app_insights: bool | None = None
    ssl_cert_pem_file: str | None = None
    ssl_key_pem_file: str | None = None
    ssl_cname: str | None = None
    dns_name_label: str | None = None
    collect_model_data: bool | None = None
    cmk_vault_base_url: str | None = None
    cmk_key_name: str | None = None
    cmk_key_version: str | None = None
    vnet_name: str | None = None
    subnet_name: str | None = None

    def validate_configuration(self) -> None:
        refuse_tls({name: getattr(self, name) for name in _TLS})
        super().validate_configuration()

    def limits(self, now: Limits | None = None) -> Limits:
        return limits_of({"cpu_cores": self.cpu_cores, "memory_gb": self.memory_gb}, now)

    def auth(self) -> Auth:
        return auth_of(self.auth_enabled, None, Auth.NONE)

    def openness(self) -> str:
        if self.auth_enabled is not None:
            return ""
        return "Give auth_enabled=True to AciWebservice.deploy_configuration for one that does."


@dataclass(kw_only=True)
class AksServiceDeploymentConfiguration(WebserviceDeploymentConfiguration):
    """`AksWebservice.deploy_configuration(…)`: replicas by load unless `num_replicas`, with keys by default."""

    _kind = EndpointKind.AKS
    _kept = (
        "autoscale_refresh_seconds",
        "enable_app_insights",
        "period_seconds",
        "initial_delay_seconds",
        "timeout_seconds",
        "success_threshold",
        "failure_threshold",
        "namespace",
        "cpu_cores_limit",
        "memory_gb_limit",
        "blobfuse_enabled",
        "compute_target_name",
    )

    autoscale_enabled: bool | None = None
    autoscale_min_replicas: int | None = None
    autoscale_max_replicas: int | None = None
    autoscale_refresh_seconds: int | None = None
    autoscale_target_utilization: int | None = None
    collect_model_data: bool | None = None
    auth_enabled: bool | None = None
    cpu_cores: float | None = None
    memory_gb: float | None = None
    enable_app_insights: bool | None = None
    scoring_timeout_ms: int | None = None
    replica_max_concurrent_requests: int | None = None
    max_request_wait_time: int | None = None
    num_replicas: int | None = None
    gpu_cores: int | None = None
    period_seconds: int | None = None
    initial_delay_seconds: int | None = None
    timeout_seconds: int | None = None
    success_threshold: int | None = None
    failure_threshold: int | None = None
    namespace: str | None = None
    token_auth_enabled: bool | None = None
    compute_target_name: str | None = None
    cpu_cores_limit: float | None = None
    memory_gb_limit: float | None = None
    blobfuse_enabled: bool | None = None

    def limits(self, now: Limits | None = None) -> Limits:
        return limits_of({name: getattr(self, name) for name in LIMITS}, now, scaled=True)

    def auth(self) -> Auth:
        return auth_of(self.auth_enabled, self.token_auth_enabled, Auth.KEY)


@dataclass(kw_only=True)
class AksEndpointDeploymentConfiguration(AksServiceDeploymentConfiguration):
    """`AksEndpoint.deploy_configuration(…)`: the first of several versions."""

    _kind = EndpointKind.AKS_ENDPOINT

    version_name: str | None = None
    traffic_percentile: float | None = None

    def validate_configuration(self) -> None:
        percent(self.traffic_percentile)
        super().validate_configuration()

    def settings(self) -> dict[str, Setting]:
        """Also contains the settings by which an endpoint's versions share the requests (`aks_endpoints.py`)."""
        name, share = self.version_name or DEFAULT, percent(self.traffic_percentile)
        marks: dict[str, Setting] = {"default_version": name, "control_version": name}
        if share is not None:
            marks[f"traffic_{name}"] = float(share)
        return {**super().settings(), **marks}


@dataclass(kw_only=True)
class LocalWebserviceDeploymentConfiguration(WebserviceDeploymentConfiguration):
    """`LocalWebservice.deploy_configuration(…)`: one replica, without keys, at a port of the user's choice."""

    _kind = EndpointKind.LOCAL

    port: int | None = None

    def validate_configuration(self) -> None:
        whole = isinstance(self.port, int) and not isinstance(self.port, bool)
        if self.port is not None and not (whole and 0 < self.port < 65536):
            raise InvalidEndpoint(f"port must be a number from 1 to 65535, got {self.port!r}.")
        super().validate_configuration()

    def openness(self) -> str:
        return "Local services have no keys; AciWebservice.deploy_configuration(auth_enabled=True) makes one that has."

    def spec(self) -> EndpointSpec:
        return replace(super().spec(), port=self.port or 0)


LIMITS = (
    "autoscale_enabled",
    *_SCALED,
    "num_replicas",
    "cpu_cores",
    "memory_gb",
    "gpu_cores",
    "scoring_timeout_ms",
    "replica_max_concurrent_requests",
    "max_request_wait_time",
)
"""The SDK's names that `limits_of` understands."""


def limits_of(given: Mapping[str, Any], now: Limits | None = None, *, scaled: bool = False) -> Limits:
    """Limits from the SDK's names, with those of `now` as defaults. `scaled`: without a number of replicas, scale by load."""
    changes: dict[str, Any] = {}
    for name, limit, lowest, factor in (
        ("cpu_cores", "cpu", 0.0, 1.0),
        ("memory_gb", "memory_gb", 0.0, 1.0),
        ("scoring_timeout_ms", "timeout_seconds", 0.0, 0.001),
        ("max_request_wait_time", "queue_seconds", -1.0, 0.001),
    ):
        if given.get(name) is not None:
            changes[limit] = _amount(name, given[name], lowest) * factor
    for name, limit, least in (("gpu_cores", "gpu", 0), ("replica_max_concurrent_requests", "concurrency", 1)):
        if given.get(name) is not None:
            changes[limit] = _count(name, given[name], least)
    changes.update(_replicas(given, now or Limits(), scaled))
    return replace(now or Limits(), **changes)


def _replicas(given: Mapping[str, Any], now: Limits, scaled: bool) -> dict[str, Any]:
    """The number of replicas, from one of the two ways to give it."""
    fixed, enabled = given.get("num_replicas"), given.get("autoscale_enabled")
    said = {name: given[name] for name in _SCALED if given.get(name) is not None}
    if fixed is not None and (enabled or said):
        raise InvalidEndpoint(
            f"num_replicas={fixed!r} is given together with {', '.join(said) or 'autoscale_enabled=True'}.",
            hint="Give num_replicas for a fixed number, or autoscale_… for one that follows the load.",
        )
    if fixed is not None:
        count = _count("num_replicas", fixed, 1, MAX_REPLICAS)
        return {"min_replicas": count, "max_replicas": count}
    if enabled is False:
        if said:
            raise InvalidEndpoint(f"{', '.join(said)} is given though autoscale_enabled is False.")
        return {"max_replicas": now.min_replicas}
    if not (enabled or said or scaled):
        return {}
    least = _count("autoscale_min_replicas", said.get("autoscale_min_replicas", now.min_replicas), 1, MAX_REPLICAS)
    grows = now.max_replicas > now.min_replicas
    own = now.max_replicas if grows else max(least, min(_MOST_BY_ITSELF, os.cpu_count() or 1))
    most = _count("autoscale_max_replicas", said.get("autoscale_max_replicas", own), 1, MAX_REPLICAS)
    if least > most:
        raise InvalidEndpoint(f"autoscale_min_replicas {least} is more than autoscale_max_replicas {most}.")
    target = _count(
        "autoscale_target_utilization",
        said.get("autoscale_target_utilization", round(now.target_utilization * 100)),
        1,
        100,
    )
    return {"min_replicas": least, "max_replicas": most, "target_utilization": target / 100}


def auth_of(key: object, token: object, default: Auth) -> Auth:
    """How callers authenticate; keys and tokens exclude each other."""
    for name, value in (("auth_enabled", key), ("token_auth_enabled", token)):
        if value is not None and not isinstance(value, bool):
            raise InvalidEndpoint(f"{name} must be True or False, got {value!r}.")
    if key and token:
        raise InvalidEndpoint(
            "auth_enabled and token_auth_enabled are both True; a service has keys or tokens.",
            hint="Give auth_enabled=False with token_auth_enabled=True.",
        )
    if token:
        return Auth.TOKEN
    if key is None:
        return default
    return Auth.KEY if key else Auth.NONE


def refuse_tls(given: Mapping[str, object]) -> None:
    """Raises when TLS is requested: plain HTTP instead would be a false promise."""
    asked = [name for name in _TLS if given.get(name)]
    if asked:
        raise InvalidEndpoint(
            f"{', '.join(asked)} is given; services of Roost speak plain HTTP, to this machine only.",
            hint="Leave it out, and put a web server with your certificate in front of the service's port.",
        )


def texts(what: str, given: object) -> dict[str, str]:
    """A dict of texts; raises InvalidEndpoint otherwise."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidEndpoint(
            f"{what} must be a dict, got {type(given).__name__}.", hint=f"{what}={{'team': 'vision'}}"
        )
    return {str(key): str(value) for key, value in given.items()}


def plain(name: str, value: object) -> Setting:
    if isinstance(value, str | bool | int | float):
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
    raise InvalidEndpoint(f"{name} must be text, a number, True or False, got {type(value).__name__}.")


def percent(given: object) -> int | None:
    """A share of the requests, in whole percent."""
    if given is None:
        return None
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if not number or given != round(given) or not 0 <= given <= 100:  # type: ignore[call-overload,operator]
        raise InvalidEndpoint(f"traffic_percentile must be a whole number from 0 to 100, got {given!r}.")
    return round(given)  # type: ignore[call-overload,no-any-return]


def resources_of(limits: Limits) -> ContainerResourceRequirements:
    return ContainerResourceRequirements(limits.cpu, limits.memory_gb, limits.gpu or None)


def _amount(name: str, value: object, above: float) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not above < value < 1e9:  # type: ignore[operator]
        raise InvalidEndpoint(f"{name} must be a number above {max(above, 0):g}, got {value!r}.")
    return float(value)  # type: ignore[arg-type]


def _count(name: str, value: object, least: int, most: int = 1_000_000) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidEndpoint(f"{name} must be a whole number from {least} to {most}, got {value!r}.")
    return value
