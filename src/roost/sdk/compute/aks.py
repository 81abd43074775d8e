"""`AksCompute`: the target of services in scripts of the Azure ML SDK v1. Here it is only a name: for every target, services
run on the control plane's own host, with as many replicas as they request.
"""

# ruff: noqa: ARG002, ARG004
# Signatures are those of the Azure ML SDK v1: parameters that mean nothing here are accepted without effect.

from typing import Any, NoReturn

from roost.domain.compute import ComputeStatus
from roost.domain.errors import InvalidCompute
from roost.sdk.compute.settings import AmlComputeProvisioningConfiguration
from roost.sdk.compute.targets import AKS_MARK, ComputeTarget

_AGENTS, _SIZE = 3, "Standard_D3_v2"
"""The SDK's defaults."""
_TLS = "Services of Roost speak plain HTTP, to this machine only: there is nothing to certify."
_PURPOSES = ("FastProd", "DevTest")


class AksProvisioningConfiguration(AmlComputeProvisioningConfiguration):
    """The result of `AksCompute.provisioning_configuration(…)`."""

    def __init__(
        self,
        agent_count: int | None = None,
        vm_size: str | None = None,
        ssl_cname: str | None = None,
        ssl_cert_pem_file: str | None = None,
        ssl_key_pem_file: str | None = None,
        location: str | None = None,
        vnet_resourcegroup_name: str | None = None,
        vnet_name: str | None = None,
        subnet_name: str | None = None,
        service_cidr: str | None = None,
        dns_service_ip: str | None = None,
        docker_bridge_cidr: str | None = None,
        cluster_purpose: str | None = None,
        load_balancer_type: str | None = None,
        load_balancer_subnet: str | None = None,
    ) -> None:
        if ssl_cname or ssl_cert_pem_file or ssl_key_pem_file:
            self.enable_ssl()
        if cluster_purpose is not None and cluster_purpose not in _PURPOSES:
            raise InvalidCompute(
                f"cluster_purpose cannot be {cluster_purpose!r}.", hint=f"One of: {', '.join(_PURPOSES)}."
            )
        super().__init__(
            vm_size=vm_size or _SIZE, max_nodes=_AGENTS if agent_count is None else agent_count, tags={AKS_MARK: "AKS"}
        )
        self.agent_count = self.scale_settings.maximum_node_count
        self.cluster_purpose = cluster_purpose
        self.location = location

    def enable_ssl(self, *args: object, **kwargs: object) -> NoReturn:
        raise InvalidCompute(_TLS, hint="Leave it out, and put a web server with your certificate before the service.")


class AksCompute(ComputeTarget):
    """A target for services; `deployment_target` of `Model.deploy`."""

    _compute_type = "AKS"

    class ClusterPurpose:
        """The purpose of such a cluster."""

        FAST_PROD = "FastProd"
        DEV_TEST = "DevTest"

    provisioning_configuration = AksProvisioningConfiguration
    """The argument of `ComputeTarget.create`."""

    @staticmethod
    def attach_configuration(
        resource_group: str | None = None,
        cluster_name: str | None = None,
        resource_id: str | None = None,
        cluster_purpose: str | None = None,
        load_balancer_type: str | None = None,
        load_balancer_subnet: str | None = None,
    ) -> AksProvisioningConfiguration:
        """The argument of `ComputeTarget.attach`: a name for this machine, not the cluster that is named here."""
        return AksProvisioningConfiguration(cluster_purpose=cluster_purpose)

    def detach(self) -> None:  # type: ignore[override]  # others cannot be detached
        """Deletes the target; nothing else exists behind it."""
        self.delete()

    def get_credentials(self) -> NoReturn:
        raise InvalidCompute(f"{self.name!r} is a name for this machine, no Kubernetes: there are no credentials.")

    def _take(self, status: ComputeStatus) -> None:
        super()._take(status)
        self.tags.pop(AKS_MARK, None)
        self.agent_count = status.compute.max_nodes
        self.agent_vm_size = status.compute.vm_size
        self.cluster_fqdn: str | None = None
        self.ssl_configuration: Any = None

    def _properties(self) -> dict[str, Any]:
        return {"properties": {"agentCount": self.agent_count, "agentVmSize": self.agent_vm_size}}
