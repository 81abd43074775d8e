"""What options of `roost endpoint deploy` and `update` mean, in the words of a deployment configuration."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from roost.domain.endpoints import MAX_REPLICAS, EndpointSpec, Version
from roost.domain.errors import EndpointNotFound, InvalidEndpoint
from roost.sdk.services.deploying import roomy
from roost.sdk.services.webservice_settings import AksServiceDeploymentConfiguration, auth_of, limits_of
from roost.sdk.services.webservices import Webservice

_KINDS = {
    "key": {"auth_enabled": True},
    "token": {"auth_enabled": False, "token_auth_enabled": True},
    "none": {"auth_enabled": False},
}


@dataclass(kw_only=True)
class Asked(AksServiceDeploymentConfiguration):
    """A deployment configuration with what the SDK has no word for."""

    share: float = 0.0
    port: int = 0

    def spec(self) -> EndpointSpec:
        return replace(super().spec(), recorded=self.share, port=self.port)


@dataclass(frozen=True, kw_only=True)
class Change:
    """What `update` changes beside models and script."""

    version: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)
    auth: Mapping[str, bool] = field(default_factory=dict)
    share: float | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    description: str | None = None

    def __bool__(self) -> bool:
        said = (self.limits, self.auth, self.tags, self.description)
        return self.share is not None or any(said)

    def chosen(self, spec: EndpointSpec) -> Version:
        """The version that is meant."""
        wanted = self.version or str(spec.settings.get("default_version") or spec.versions[0].name)
        for each in spec.versions:
            if each.name == wanted:
                return each
        names = ", ".join(each.name for each in spec.versions)
        raise EndpointNotFound(f"There is no version {wanted!r}.", hint=f"There are: {names}.")

    def apply(self, service: Webservice, new: Callable[[Version], Version] | None) -> None:
        """Sends it, once it is known to be right."""
        self._changed(service._record.spec, new)
        service._change(lambda spec: self._changed(spec, new))

    def _changed(self, spec: EndpointSpec, new: Callable[[Version], Version] | None) -> EndpointSpec:
        now = self.chosen(spec)
        after = new(now) if new else now
        after = roomy(replace(after, limits=limits_of(self.limits, after.limits))) if self.limits else after
        return replace(
            spec,
            versions=tuple(after if each.name == now.name else each for each in spec.versions),
            auth=auth_of(self.auth["auth_enabled"], self.auth.get("token_auth_enabled"), spec.auth)
            if self.auth
            else spec.auth,
            recorded=spec.recorded if self.share is None else self.share,
            tags={**spec.tags, **self.tags},
            description=spec.description if self.description is None else self.description,
        )


def limits(
    replicas: int | None,
    least: int | None,
    most: int | None,
    cpu: float | None,
    memory: float | None,
    timeout: float | None,
    at_once: int | None,
) -> dict[str, Any]:
    """Those that were given, in the SDK's words."""
    if replicas is not None and (least is not None or most is not None):
        raise InvalidEndpoint("--replicas is given together with --min or --max.", hint="Give one or the other.")
    for flag, value in (("--replicas", replicas), ("--min", least), ("--max", most)):
        if value is not None and not 1 <= value <= MAX_REPLICAS:
            raise InvalidEndpoint(f"{flag} is 1 to {MAX_REPLICAS}, got {value}.")
    for option, amount in (("--cpu", cpu), ("--memory", memory), ("--timeout", timeout), ("--concurrency", at_once)):
        if amount is not None and not 0 < amount < 1e9:
            raise InvalidEndpoint(f"{option} is above 0, got {amount:g}.")
    if least is not None and most is not None and least > most:
        raise InvalidEndpoint(f"--min {least} is more than --max {most}.")
    given = {
        "num_replicas": replicas,
        "autoscale_min_replicas": least,
        "autoscale_max_replicas": most,
        "cpu_cores": cpu,
        "memory_gb": memory,
        "scoring_timeout_ms": None if timeout is None else round(timeout * 1000),
        "replica_max_concurrent_requests": at_once,
    }
    return {name: value for name, value in given.items() if value is not None}


def share_of(record: float | None) -> float | None:
    """The share that is recorded, checked."""
    if record is not None and not 0 <= record <= 1:
        raise InvalidEndpoint(f"--record is 0 to 1, got {record:g}.", hint="--record 0.1 records every tenth request.")
    return record


def kind_of(auth: str) -> dict[str, Any]:
    """What callers show, in the SDK's words."""
    if auth.lower() not in _KINDS:
        raise InvalidEndpoint(f"--auth cannot be {auth!r}.", hint=f"It is one of: {', '.join(_KINDS)}.")
    return _KINDS[auth.lower()]


def payload(text: str) -> bytes:
    """What is sent: the text itself, or the content of a file."""
    if not text.startswith("@"):
        return text.encode("utf-8", "surrogateescape")
    if text == "@-":
        return sys.stdin.buffer.read()
    try:
        return Path(text[1:]).read_bytes()
    except OSError as error:
        raise InvalidEndpoint(f"{text[1:]} cannot be read: {error.strerror or error}.") from None
