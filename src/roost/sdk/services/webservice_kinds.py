"""The kinds of services: AciWebservice, AksWebservice, LocalWebservice. The same host serves all; they differ in their
settings and printed texts, as in the Azure ML SDK v1.
"""

# ruff: noqa: A002, ARG002
# Signatures are those of the Azure ML SDK v1: parameters that mean nothing here are accepted without effect.

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, NoReturn

from roost.domain.endpoints import Endpoint, EndpointState, Version
from roost.domain.errors import EndpointNotFound, InvalidEndpoint
from roost.sdk.calls import endpoints
from roost.sdk.core.workspaces import Workspace
from roost.sdk.services import deploying
from roost.sdk.services.webservice_settings import (
    LIMITS,
    AciServiceDeploymentConfiguration,
    AksServiceDeploymentConfiguration,
    AutoScaler,
    DataCollection,
    LivenessProbeRequirements,
    LocalWebserviceDeploymentConfiguration,
    WebserviceDeploymentConfiguration,
    auth_of,
    limits_of,
    plain,
    refuse_tls,
    resources_of,
)
from roost.sdk.services.webservices import Webservice

if TYPE_CHECKING:
    from roost.sdk.models.models import Model
    from roost.sdk.services.inference import InferenceConfig

Tags = Mapping[str, str]
RELOADED = "ROOST_RELOADED"
"""A variable of a service's processes that counts its reloads: a new value restarts them."""


class AciWebservice(Webservice):
    """A service of one replica, as on Azure Container Instances."""

    _webservice_type = "ACI"

    @staticmethod
    def deploy_configuration(
        cpu_cores: float | None = None,
        memory_gb: float | None = None,
        tags: Tags | None = None,
        properties: Tags | None = None,
        description: str | None = None,
        location: str | None = None,
        auth_enabled: bool | None = None,
        ssl_enabled: bool | None = None,
        enable_app_insights: bool | None = None,
        ssl_cert_pem_file: str | None = None,
        ssl_key_pem_file: str | None = None,
        ssl_cname: str | None = None,
        dns_name_label: str | None = None,
        primary_key: str | None = None,
        secondary_key: str | None = None,
        collect_model_data: bool | None = None,
        cmk_vault_base_url: str | None = None,
        cmk_key_name: str | None = None,
        cmk_key_version: str | None = None,
        vnet_name: str | None = None,
        subnet_name: str | None = None,
    ) -> AciServiceDeploymentConfiguration:
        """The argument of `Model.deploy`; refuses wrong values."""
        return AciServiceDeploymentConfiguration(**locals())

    def update(
        self,
        image: object = None,
        tags: Tags | None = None,
        properties: Tags | None = None,
        description: str | None = None,
        auth_enabled: bool | None = None,
        ssl_enabled: bool | None = None,
        ssl_cert_pem_file: str | None = None,
        ssl_key_pem_file: str | None = None,
        ssl_cname: str | None = None,
        enable_app_insights: bool | None = None,
        models: "Sequence[Model | str] | None" = None,
        inference_config: "InferenceConfig | None" = None,
    ) -> None:
        """Changes the given settings. A new model or script starts beside the old one, which stops when the new one is ready."""
        refuse_image(image)
        tls = {"ssl_enabled": ssl_enabled, "ssl_cert_pem_file": ssl_cert_pem_file, "ssl_key_pem_file": ssl_key_pem_file}
        refuse_tls({**tls, "ssl_cname": ssl_cname})
        self._update(
            version=deploying.change_of(self.workspace, self.name, self._version, models, inference_config),
            auth=None if auth_enabled is None else auth_of(auth_enabled, None, self._record.spec.auth),
            settings=kept(enable_app_insights=enable_app_insights),
            tags=tags,
            properties=properties,
            description=description,
        )

    def get_token(self) -> NoReturn:
        raise NotImplementedError("ACI webservices do not support Token Authentication.")

    def _take(self, record: Endpoint) -> None:
        super()._take(record)
        self.container_resource_requirements = resources_of(self._version.limits)
        settings = record.spec.settings
        self.enable_app_insights = bool(settings.get("enable_app_insights"))
        self.location = settings.get("location") or self.workspace.location
        self.public_ip = endpoints.HOST
        self.public_fqdn = self.cname = None
        self.ssl_enabled = False
        self.encryption_properties = self.vnet_configuration = None

    def _properties(self) -> dict[str, Any]:
        return {
            "containerResourceRequirements": self.container_resource_requirements.serialize(),
            "location": self.location,
            "authEnabled": self.auth_enabled,
            "sslEnabled": self.ssl_enabled,
            "appInsightsEnabled": self.enable_app_insights,
            "publicIp": self.public_ip,
            "publicFqdn": self.public_fqdn,
            **described(self._version),
        }


class AksWebservice(Webservice):
    """A service whose replicas follow the load, as on Azure Kubernetes Service."""

    _webservice_type = "AKS"

    @staticmethod
    def deploy_configuration(
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
        compute_target_name: str | None = None,
        cpu_cores_limit: float | None = None,
        memory_gb_limit: float | None = None,
        blobfuse_enabled: bool | None = None,
    ) -> AksServiceDeploymentConfiguration:
        """The argument of `Model.deploy`; refuses wrong values."""
        return AksServiceDeploymentConfiguration(**locals())

    def update(
        self,
        image: object = None,
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
        namespace: str | None = None,
        token_auth_enabled: bool | None = None,
        cpu_cores_limit: float | None = None,
        memory_gb_limit: float | None = None,
        **kwargs: object,
    ) -> None:
        """Changes the given settings. A new model, script or size starts beside the old one, which stops when the new one is
        ready."""
        given = dict(locals())
        refuse_image(image)
        if kwargs:
            raise InvalidEndpoint(f"update() has no parameter {', '.join(map(repr, kwargs))}.")
        limits = {name: given[name] for name in LIMITS if given[name] is not None}
        new = deploying.change_of(self.workspace, self.name, self._version, models, inference_config)
        auth = None
        if auth_enabled is not None or token_auth_enabled is not None:
            auth = auth_of(auth_enabled, token_auth_enabled, self._record.spec.auth)

        def version(now: Version) -> Version:
            changed = new(now) if new else now
            return deploying.roomy(replace(changed, limits=limits_of(limits, changed.limits))) if limits else changed

        version(self._version)  # report errors before anything is sent
        self._update(
            version=version if new or limits else None,
            auth=auth,
            settings=kept(**{name: given[name] for name in AksServiceDeploymentConfiguration._kept if name in given}),
            collect_model_data=collect_model_data,
            tags=tags,
            properties=properties,
            description=description,
        )

    def _take(self, record: Endpoint) -> None:
        super()._take(record)
        limits, settings = self._version.limits, record.spec.settings
        self.container_resource_requirements = resources_of(limits)
        grows = limits.max_replicas > limits.min_replicas
        refresh, target = int(settings.get("autoscale_refresh_seconds") or 1), round(limits.target_utilization * 100)
        self.autoscaler = AutoScaler(grows, limits.max_replicas, limits.min_replicas, refresh, target)
        self.num_replicas = None if grows else limits.min_replicas
        self.max_concurrent_requests_per_container = limits.concurrency
        self.max_request_wait_time = round(limits.queue_seconds * 1000)
        self.scoring_timeout_ms = round(limits.timeout_seconds * 1000)
        self.data_collection = DataCollection(False, record.spec.recorded > 0)
        self.enable_app_insights = bool(settings.get("enable_app_insights"))
        self.namespace = settings.get("namespace")
        self.compute_name = settings.get("compute_target_name")
        self.deployment_status = {"state": self.state}
        probe = {each.name: settings.get(each.name) for each in fields(LivenessProbeRequirements)}
        self.liveness_probe_requirements = LivenessProbeRequirements(**kept(**probe))

    def _properties(self) -> dict[str, Any]:
        return {
            "containerResourceRequirements": self.container_resource_requirements.serialize(),
            "autoScaler": self.autoscaler.serialize(),
            "numReplicas": self.num_replicas,
            "maxConcurrentRequestsPerContainer": self.max_concurrent_requests_per_container,
            "maxQueueWaitMs": self.max_request_wait_time,
            "scoringTimeoutMs": self.scoring_timeout_ms,
            "livenessProbeRequirements": self.liveness_probe_requirements.serialize(),
            "dataCollection": self.data_collection.serialize(),
            "authEnabled": self.auth_enabled,
            "aadAuthEnabled": self.token_auth_enabled,
            "appInsightsEnabled": self.enable_app_insights,
            "computeName": self.compute_name,
            "namespace": self.namespace,
            **described(self._version),
        }


class LocalWebservice(Webservice):
    """A service for experiments: no keys, a port of the user's choice, `reload` after a change of the script."""

    _webservice_type = "Local"
    STATE_DELETED = "deleted"
    STATE_DEPLOYING = "deploying"
    STATE_FAILED = "failed"
    STATE_RUNNING = "running"
    STATE_UNKNOWN = "unknown"

    def __init__(self, workspace: Workspace, name: str, must_exist: bool = True) -> None:
        super().__init__(workspace, name)

    @staticmethod
    def deploy_configuration(port: int | None = None) -> LocalWebserviceDeploymentConfiguration:
        """The argument of `Model.deploy`."""
        return LocalWebserviceDeploymentConfiguration(port=port)

    @staticmethod
    def list(  # type: ignore[override]  # the SDK's own, with fewer filters
        workspace: Workspace, model_name: str | None = None, model_id: str | None = None, all: bool | None = None
    ) -> "builtins.list[Webservice]":
        """The running services; with `all` also the failed ones."""
        found = Webservice.list(workspace, "Local", model_name=model_name, model_id=model_id)
        return [each for each in found if all or each.state in ("running", "deploying")]

    @property
    def port(self) -> int | None:
        """Its port on this machine."""
        return self._record.port or None

    def wait_for_deployment(self, show_output: bool = False, timeout_sec: float | None = None) -> None:
        """Waits until it serves; WebserviceException gives the reason when it does not."""
        self._settle(show_output, timeout_sec)
        print(f"Local webservice is {self.state} at http://localhost:{self.port}")

    def run(self, input_data: object) -> Any:
        """The service's answer; waits for a service that is being deployed."""
        if self._record.state is EndpointState.TRANSITIONING:
            self._settle(False, None)
        return super().run(input_data)

    def reload(self, wait: bool = False) -> None:
        """Restarts it with the current script and folder."""
        fresh = deploying.taken_again(self.workspace, self._record)
        count = str(int(self._version.environment_variables.get(RELOADED, "0")) + 1)

        def version(now: Version) -> Version:
            return replace(fresh(now), environment_variables={**now.environment_variables, RELOADED: count})

        self._update(version=version)
        if wait:
            self.wait_for_deployment()

    def update(
        self,
        models: "Sequence[Model | str] | None" = None,
        image_config: object = None,
        deployment_config: LocalWebserviceDeploymentConfiguration | None = None,
        wait: bool = False,
        inference_config: "InferenceConfig | None" = None,
    ) -> None:
        """Changes its models, script, environment or port."""
        refuse_image(image_config)
        port = deployment_config.port if deployment_config is not None else None
        if port and port != self.port:
            raise InvalidEndpoint(
                f"Service {self.name!r} listens at {self.port} and keeps that port.",
                hint="Delete it and deploy it with the other port.",
            )
        source = inference_config._folder() if inference_config is not None else None
        self._update(
            version=deploying.change_of(self.workspace, self.name, self._version, models, inference_config),
            settings=kept(source_directory=source),
        )
        if wait:
            self.wait_for_deployment()

    def deploy_to_cloud(
        self,
        name: str | None = None,
        deployment_config: WebserviceDeploymentConfiguration | None = None,
        deployment_target: object = None,
    ) -> Webservice:
        """Deploys the same models and script as another kind of service, under another name."""
        if name is None or name == self.name:
            raise InvalidEndpoint(f"There is already a service {self.name!r}, this one.", hint="Give another name.")
        return deploying.deploy_version(self.workspace, name, self._version, deployment_config, deployment_target)

    def delete(self, delete_cache: bool = True, delete_image: bool = False, delete_volume: bool = True) -> None:
        super().delete()
        self.state = self.STATE_DELETED

    def update_deployment_state(self, must_exist: bool = False) -> None:
        try:
            super().update_deployment_state()
        except EndpointNotFound:
            if must_exist:
                raise
            self.state = self.STATE_UNKNOWN

    def get_logs(self, num_lines: int = 5000, raw: bool = False) -> str:
        """The last lines of its output."""
        return super().get_logs(num_lines)

    def get_keys(self) -> NoReturn:
        raise NotImplementedError("Local web services do not support auth keys.")

    def regen_key(self, key: str, set_key: str | None = None) -> NoReturn:
        raise NotImplementedError("Local web services do not support auth keys.")

    def get_token(self) -> NoReturn:
        raise NotImplementedError("Local web services do not support Token Authentication.")

    def _take(self, record: Endpoint) -> None:
        super()._take(record)
        self.state = {
            EndpointState.TRANSITIONING: self.STATE_DEPLOYING,
            EndpointState.HEALTHY: self.STATE_RUNNING,
            EndpointState.UNHEALTHY: self.STATE_DEPLOYING,
            EndpointState.FAILED: self.STATE_FAILED,
        }[record.state]

    def _properties(self) -> dict[str, Any]:
        return {"swaggerUri": self.swagger_uri, "port": self.port}


def refuse_image(image: object) -> None:
    if image is not None:
        raise InvalidEndpoint(
            "Roost makes no images: a service runs its script in its environment.",
            hint="Give models and inference_config.",
        )


def kept(**given: object) -> dict[str, Any]:
    """Settings that have no effect here, and are only shown again."""
    return {name: plain(name, value) for name, value in given.items() if value is not None}


def described(version: Version) -> dict[str, Any]:
    """The parts of a version, under the SDK's keys."""
    use = version.environment
    environment = {"name": use.name, "version": use.version, **use.definition} if use is not None else None
    return {"environmentDetails": environment, "modelDetails": [{"id": each} for each in version.models]}
