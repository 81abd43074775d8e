"""`AksEndpoint`: several versions of a service behind one address, each with its share of the requests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from roost.domain.endpoints import Endpoint, EndpointSpec, Version, checked
from roost.domain.errors import EndpointNotFound, InvalidEndpoint
from roost.sdk.services import deploying
from roost.sdk.services.webservice_kinds import AksWebservice, described, kept
from roost.sdk.services.webservice_settings import (
    LIMITS,
    AksEndpointDeploymentConfiguration,
    auth_of,
    limits_of,
    percent,
    resources_of,
    texts,
)

if TYPE_CHECKING:
    from roost.sdk.models.models import Model
    from roost.sdk.services.inference import InferenceConfig

Tags = Mapping[str, str]
DEFAULT_VERSION, CONTROL_VERSION, SHARE = "default_version", "control_version", "traffic_"
"""Settings of an endpoint: its default version, which takes all other requests, its control version for comparisons, and the
requested share of each version (SHARE and its name)."""


class VersionType(Enum):
    control = "Control"
    treatment = "Treatment"


class AksVersion:
    """One version of an endpoint, as it was when it was read."""

    def __init__(self, endpoint: "AksEndpoint", version: Version) -> None:
        settings = endpoint._record.spec.settings
        self.name = version.name
        self.scoring_uri = endpoint.scoring_uri
        self.state = endpoint.state
        self.description = version.description
        self.tags = dict(version.tags)
        self.traffic_percentile = version.traffic
        self.is_default = settings.get(DEFAULT_VERSION) == version.name
        control = settings.get(CONTROL_VERSION) == version.name
        self.version_type = (VersionType.control if control else VersionType.treatment).value
        self.container_resource_requirements = resources_of(version.limits)
        self.num_replicas = version.limits.min_replicas
        self.model_ids = list(version.models)
        self._version = version

    def serialize(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "tags": self.tags,
            "trafficPercentile": self.traffic_percentile,
            "isDefault": self.is_default,
            "versionType": self.version_type,
            "containerResourceRequirements": self.container_resource_requirements.serialize(),
            **described(self._version),
        }

    def __repr__(self) -> str:
        return (
            f"AksVersion(name={self.name!r}, traffic_percentile={self.traffic_percentile}, is_default={self.is_default}, "
            f"models={self.model_ids!r})"
        )


class AksEndpoint(AksWebservice):
    """Versions that share the requests: each gets its requested percentage, the default one also the rest."""

    _webservice_type = "AKSENDPOINT"
    VersionType = VersionType

    @staticmethod
    def deploy_configuration(  # type: ignore[override]  # the SDK's own, with two words amid the others
        autoscale_enabled: bool | None = None,
        autoscale_min_replicas: int | None = None,
        autoscale_max_replicas: int | None = None,
        autoscale_refresh_seconds: int | None = None,
        autoscale_target_utilization: int | None = None,
        collect_model_data: bool | None = None,
        auth_enabled: bool | None = None,
        cpu_cores: float | None = None,
        memory_gb: float | None = None,
        enable_app_insights: bool | None = None,
        scoring_timeout_ms: int | None = None,
        replica_max_concurrent_requests: int | None = None,
        max_request_wait_time: int | None = None,
        num_replicas: int | None = None,
        primary_key: str | None = None,
        secondary_key: str | None = None,
        tags: Tags | None = None,
        properties: Tags | None = None,
        description: str | None = None,
        gpu_cores: int | None = None,
        period_seconds: int | None = None,
        initial_delay_seconds: int | None = None,
        timeout_seconds: int | None = None,
        success_threshold: int | None = None,
        failure_threshold: int | None = None,
        namespace: str | None = None,
        token_auth_enabled: bool | None = None,
        version_name: str | None = None,
        traffic_percentile: float | None = None,
        compute_target_name: str | None = None,
        cpu_cores_limit: float | None = None,
        memory_gb_limit: float | None = None,
        blobfuse_enabled: bool | None = None,
    ) -> AksEndpointDeploymentConfiguration:
        """The argument of `Model.deploy`: the endpoint with its first version, which is the default one."""
        return AksEndpointDeploymentConfiguration(**locals())

    def update(  # type: ignore[override]  # the SDK's own, without what belongs to versions
        self,
        auth_enabled: bool | None = None,
        token_auth_enabled: bool | None = None,
        enable_app_insights: bool | None = None,
        description: str | None = None,
        tags: Tags | None = None,
        properties: Tags | None = None,
    ) -> None:
        """Changes the common settings of all versions."""
        auth = None
        if auth_enabled is not None or token_auth_enabled is not None:
            auth = auth_of(auth_enabled, token_auth_enabled, self._record.spec.auth)
        self._update(
            auth=auth,
            settings=kept(enable_app_insights=enable_app_insights),
            description=description,
            tags=tags,
            properties=properties,
        )

    def create_version(
        self,
        version_name: str,
        autoscale_enabled: bool | None = None,
        autoscale_min_replicas: int | None = None,
        autoscale_max_replicas: int | None = None,
        autoscale_refresh_seconds: int | None = None,
        autoscale_target_utilization: int | None = None,
        collect_model_data: bool | None = None,
        cpu_cores: float | None = None,
        memory_gb: float | None = None,
        scoring_timeout_ms: int | None = None,
        replica_max_concurrent_requests: int | None = None,
        max_request_wait_time: int | None = None,
        num_replicas: int | None = None,
        tags: Tags | None = None,
        properties: Tags | None = None,
        description: str | None = None,
        models: "Sequence[Model | str] | None" = None,
        inference_config: "InferenceConfig | None" = None,
        gpu_cores: int | None = None,
        period_seconds: int | None = None,
        initial_delay_seconds: int | None = None,
        timeout_seconds: int | None = None,
        success_threshold: int | None = None,
        failure_threshold: int | None = None,
        traffic_percentile: float | None = None,
        is_default: bool | None = None,
        is_control_version_type: bool | None = None,
        cpu_cores_limit: float | None = None,
        memory_gb_limit: float | None = None,
    ) -> None:
        """Adds a version; its share of the requests is taken from the default one."""
        given = dict(locals())
        if version_name in self.versions:
            raise InvalidEndpoint(
                f"Endpoint {self.name!r} has a version {version_name!r} already.", hint="update_version changes it."
            )
        _refuse_properties(properties)
        plan = Version(name=version_name, handler="script", entry_script="-", limits=_limits(given))
        changed = self._shared(traffic_percentile, is_default, is_control_version_type)
        checked(changed(_with(self._record.spec, plan), version_name))
        made = deploying.version_of(self.workspace, self.name, models or [], inference_config, None)
        version = replace(
            made,
            name=version_name,
            limits=_limits(given, made.limits),
            tags=texts("tags", tags),
            description=description or made.description,
        )
        self._change(lambda spec: changed(_with(spec, deploying.roomy(version)), version_name))

    def update_version(
        self,
        version_name: str,
        autoscale_enabled: bool | None = None,
        autoscale_min_replicas: int | None = None,
        autoscale_max_replicas: int | None = None,
        autoscale_refresh_seconds: int | None = None,
        autoscale_target_utilization: int | None = None,
        collect_model_data: bool | None = None,
        cpu_cores: float | None = None,
        memory_gb: float | None = None,
        scoring_timeout_ms: int | None = None,
        replica_max_concurrent_requests: int | None = None,
        max_request_wait_time: int | None = None,
        num_replicas: int | None = None,
        tags: Tags | None = None,
        properties: Tags | None = None,
        description: str | None = None,
        models: "Sequence[Model | str] | None" = None,
        inference_config: "InferenceConfig | None" = None,
        gpu_cores: int | None = None,
        period_seconds: int | None = None,
        initial_delay_seconds: int | None = None,
        timeout_seconds: int | None = None,
        success_threshold: int | None = None,
        failure_threshold: int | None = None,
        traffic_percentile: float | None = None,
        is_default: bool | None = None,
        is_control_version_type: bool | None = None,
        cpu_cores_limit: float | None = None,
        memory_gb_limit: float | None = None,
    ) -> None:
        """Changes a version: its model, script or size, or its share of the requests."""
        given = dict(locals())
        now = self._named(version_name)
        _refuse_properties(properties)
        new = deploying.change_of(self.workspace, self.name, now, models, inference_config)
        changed = self._shared(traffic_percentile, is_default, is_control_version_type)

        def version(before: Version) -> Version:
            after = new(before) if new else before
            sized = replace(
                after,
                limits=_limits(given, after.limits, new=False),
                tags=before.tags if tags is None else texts("tags", tags),
                description=description or before.description,
            )
            return deploying.roomy(sized)

        checked(changed(_with(self._record.spec, version(now)), version_name))
        self._change(lambda spec: changed(_with(spec, version(_find(spec, version_name))), version_name))

    def delete_version(self, version_name: str) -> None:
        """Removes a version; its share goes to the default one."""
        self._named(version_name)
        if self._record.spec.settings.get(DEFAULT_VERSION) == version_name:
            raise InvalidEndpoint(
                f"{version_name!r} is the default version of endpoint {self.name!r}.",
                hint="Make another the default one first: update_version(name, is_default=True); or delete the endpoint.",
            )
        self._change(lambda spec: balanced(replace(spec, versions=_others(spec, version_name))))

    @property
    def versions(self) -> dict[str, AksVersion]:
        """The versions by name, as they were when the endpoint was last read."""
        return {each.name: AksVersion(self, each) for each in self._record.spec.versions}

    def _named(self, name: str) -> Version:
        self.update_deployment_state()
        return _find(self._record.spec, name)

    def _shared(
        self, share: float | None, is_default: bool | None, is_control: bool | None
    ) -> Callable[[EndpointSpec, str], EndpointSpec]:
        """The settings of all versions after a change of one."""
        asked = percent(share)

        def changed(spec: EndpointSpec, name: str) -> EndpointSpec:
            marks = {DEFAULT_VERSION: is_default, CONTROL_VERSION: is_control}
            settings: dict[str, Any] = {**spec.settings, **{mark: name for mark, wanted in marks.items() if wanted}}
            if asked is not None:
                settings[SHARE + name] = float(asked)
            return balanced(replace(spec, settings=settings))

        return changed

    def _take(self, record: Endpoint) -> None:
        super()._take(record)
        self.container_resource_requirements = resources_of(self._version.limits)

    def _properties(self) -> dict[str, Any]:
        return {
            "authEnabled": self.auth_enabled,
            "aadAuthEnabled": self.token_auth_enabled,
            "appInsightsEnabled": self.enable_app_insights,
            "computeName": self.compute_name,
            "versions": {name: each.serialize() for name, each in self.versions.items()},
        }


def _limits(given: Mapping[str, Any], now: Any = None, *, new: bool = True) -> Any:
    return limits_of({name: given[name] for name in LIMITS}, now, scaled=new)


def _with(spec: EndpointSpec, version: Version) -> EndpointSpec:
    """The spec with that version, which replaces one of the same name or is added at the end."""
    if any(each.name == version.name for each in spec.versions):
        return replace(spec, versions=tuple(version if each.name == version.name else each for each in spec.versions))
    return replace(spec, versions=(*spec.versions, version))


def _others(spec: EndpointSpec, name: str) -> tuple[Version, ...]:
    return tuple(each for each in spec.versions if each.name != name)


def _find(spec: EndpointSpec, name: str) -> Version:
    for each in spec.versions:
        if each.name == name:
            return each
    raise EndpointNotFound(
        f"There is no version {name!r}.", hint=f"There are: {', '.join(each.name for each in spec.versions)}."
    )


def balanced(spec: EndpointSpec) -> EndpointSpec:
    """Gives each version its requested share, and the rest to the default one."""
    default = str(spec.settings.get(DEFAULT_VERSION) or spec.versions[0].name)
    shares = {
        each.name: int(spec.settings.get(SHARE + each.name) or 0) for each in spec.versions if each.name != default
    }
    taken = sum(shares.values())
    if taken > 100:
        told = ", ".join(f"{name} {share}" for name, share in shares.items())
        raise InvalidEndpoint(f"The versions beside the default one ask for {taken} percent of the requests: {told}.")
    known = {SHARE + each.name for each in spec.versions}
    settings = {key: value for key, value in spec.settings.items() if not key.startswith(SHARE) or key in known}
    versions = tuple(replace(each, traffic=shares.get(each.name, 100 - taken)) for each in spec.versions)
    return replace(spec, versions=versions, settings={**settings, DEFAULT_VERSION: default})


def _refuse_properties(properties: object) -> None:
    if properties:
        raise InvalidEndpoint(
            "Versions have tags and a description, no properties.",
            hint="endpoint.update(properties=…) gives them to all.",
        )
