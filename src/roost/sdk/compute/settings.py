"""The settings and the status of a cluster, under the Azure ML SDK v1's names: configuration, scale, status."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from roost.domain.compute import Compute, ComputeSpec, ComputeStatus, NodeState, Priority, check
from roost.domain.errors import InvalidCompute
from roost.domain.sizes import DEFAULT_SIZE

DEFAULT_MAX_NODES = 4
PRIORITIES = {Priority.DEDICATED: "Dedicated", Priority.LOW: "LowPriority"}
_LOGIN = ("enabled", "disabled", "notspecified")
_IDENTITIES = ("systemassigned", "userassigned")


class ScaleSettings:
    """The minimum and maximum number of nodes, and how long a node may be idle."""

    def __init__(self, min_nodes: int, max_nodes: int, idle_seconds_before_scaledown: float) -> None:
        self.minimum_node_count = min_nodes
        self.maximum_node_count = max_nodes
        self.idle_seconds_before_scaledown = idle_seconds_before_scaledown

    @classmethod
    def _of(cls, compute: Compute) -> "ScaleSettings":
        return cls(compute.min_nodes, compute.max_nodes, compute.idle_seconds)

    def serialize(self) -> dict[str, Any]:
        return {
            "minNodeCount": self.minimum_node_count,
            "maxNodeCount": self.maximum_node_count,
            "nodeIdleTimeBeforeScaleDown": f"PT{self.idle_seconds_before_scaledown:g}S",
        }

    def __repr__(self) -> str:
        return (
            f"ScaleSettings(min_nodes={self.minimum_node_count}, max_nodes={self.maximum_node_count}, "
            f"idle_seconds_before_scaledown={self.idle_seconds_before_scaledown:g})"
        )


class AmlComputeProvisioningConfiguration:
    """A cluster to create; the result of `AmlCompute.provisioning_configuration(…)`.

    Accounts, virtual networks, public addresses and identities belong to machines in a cloud: they are accepted, so that scripts
    run unchanged, and have no effect on the embedded engine.
    """

    def __init__(
        self,
        vm_size: str | None = "",
        vm_priority: str | None = "dedicated",
        min_nodes: int | None = 0,
        max_nodes: int | None = None,
        idle_seconds_before_scaledown: float | None = 1800,
        admin_username: str | None = None,
        admin_user_password: str | None = None,
        admin_user_ssh_key: str | None = None,
        vnet_resourcegroup_name: str | None = None,
        vnet_name: str | None = None,
        subnet_name: str | None = None,
        tags: Mapping[str, str] | None = None,
        description: str | None = None,
        remote_login_port_public_access: str = "NotSpecified",
        identity_type: str | None = None,
        identity_id: list[str] | None = None,
        location: str | None = None,
        enable_node_public_ip: bool = True,
        *,
        engine: str = "",
    ) -> None:
        self.vm_size = vm_size or DEFAULT_SIZE
        self.vm_priority = vm_priority or "dedicated"
        self.admin_username = admin_username
        self.admin_user_password = admin_user_password
        self.admin_user_ssh_key = admin_user_ssh_key
        self.vnet_resourcegroup_name = vnet_resourcegroup_name
        self.vnet_name = vnet_name
        self.subnet_name = subnet_name
        self.tags = _labels(tags)
        self.description = description or ""
        self.remote_login_port_public_access = remote_login_port_public_access
        self.identity_type = identity_type
        self.identity_id = identity_id
        self.location = location
        self.enable_node_public_ip = enable_node_public_ip
        self.scale_settings = ScaleSettings(
            _whole("min_nodes", min_nodes, 0),
            _whole("max_nodes", max_nodes, max(DEFAULT_MAX_NODES, _whole("min_nodes", min_nodes, 0))),
            seconds(idle_seconds_before_scaledown, 1800.0),
        )
        self._engine = engine
        self.validate_configuration()

    def validate_configuration(self) -> None:
        """Raises InvalidCompute (a ComputeTargetException) with the broken rule."""
        check(self._spec())
        if (self.admin_user_password or self.admin_user_ssh_key) and not self.admin_username:
            raise InvalidCompute(
                "A password or key is given without `admin_username`.", hint="Give all, or none of them."
            )
        if self.admin_username and not (self.admin_user_password or self.admin_user_ssh_key):
            raise InvalidCompute(
                f"admin_username {self.admin_username!r} is given without a password or key.",
                hint="Leave it out: nobody logs in to the nodes of the embedded engine.",
            )
        network = (self.vnet_resourcegroup_name, self.vnet_name, self.subnet_name)
        if any(network) and not all(network):
            raise InvalidCompute(
                f"vnet_resourcegroup_name, vnet_name and subnet_name go together, got {network!r}.",
                hint="Leave them out: nodes of the embedded engine are on this machine.",
            )
        _among("remote_login_port_public_access", self.remote_login_port_public_access, _LOGIN)
        if self.identity_type is not None:
            _among("identity_type", self.identity_type, _IDENTITIES)

    def _spec(self) -> ComputeSpec:
        return ComputeSpec(
            max_nodes=self.scale_settings.maximum_node_count,
            min_nodes=self.scale_settings.minimum_node_count,
            idle_seconds=self.scale_settings.idle_seconds_before_scaledown,
            engine=self._engine,
            vm_size=self.vm_size,
            priority=_priority(self.vm_priority),
            tags=self.tags,
            description=self.description,
        )

    def __repr__(self) -> str:
        return (
            f"AmlComputeProvisioningConfiguration(vm_size={self.vm_size!r}, vm_priority={self.vm_priority!r}, "
            f"scale_settings={self.scale_settings!r})"
        )


class AmlComputeStatus:
    """A cluster's state when it was read; `serialize` returns it under Azure's keys."""

    def __init__(self, status: ComputeStatus) -> None:
        compute, states = status.compute, [node.state for node in status.nodes]
        self.current_node_count = len(states)
        self.target_node_count = status.wanted if status.wanted > len(states) else len(states)
        self.preparing_node_count = states.count(NodeState.PREPARING)
        self.running_node_count = states.count(NodeState.RUNNING)
        self.idle_node_count = states.count(NodeState.IDLE)
        self.unusable_node_count = 0
        self.leaving_node_count = states.count(NodeState.LEAVING)
        self.preempted_node_count = states.count(NodeState.PREEMPTED)
        moving = status.wanted > len(states) or self.preparing_node_count or self.leaving_node_count
        self.allocation_state = "Resizing" if moving else "Steady"
        self.allocation_state_transition_time = moment(compute.scaled_at)
        self.creation_time = moment(compute.created_at)
        self.modified_time = moment(compute.modified_at)
        self.errors: list[dict[str, Any]] | None = None
        self.provisioning_state = "Succeeded"
        self.provisioning_state_transition_time: datetime | None = None
        self.scale_settings = ScaleSettings._of(compute)
        self.vm_priority = PRIORITIES[compute.priority]
        self.vm_size = compute.vm_size

    def serialize(self) -> dict[str, Any]:
        return {
            "errors": self.errors or [],
            "creationTime": self.creation_time.isoformat(),
            "createdBy": None,
            "modifiedTime": self.modified_time.isoformat(),
            "state": "Running",
            "vmSize": self.vm_size,
            "currentNodeCount": self.current_node_count,
            "targetNodeCount": self.target_node_count,
            "nodeStateCounts": {
                "preparingNodeCount": self.preparing_node_count,
                "runningNodeCount": self.running_node_count,
                "idleNodeCount": self.idle_node_count,
                "unusableNodeCount": self.unusable_node_count,
                "leavingNodeCount": self.leaving_node_count,
                "preemptedNodeCount": self.preempted_node_count,
            },
            "allocationState": self.allocation_state,
            "allocationStateTransitionTime": self.allocation_state_transition_time.isoformat(),
            "provisioningState": self.provisioning_state,
            "provisioningStateTransitionTime": None,
            "scaleSettings": self.scale_settings.serialize(),
            "vmPriority": self.vm_priority,
        }

    def __repr__(self) -> str:
        return f"AmlComputeStatus({self.serialize()})"


def moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def seconds(value: float | None, default: float) -> float:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidCompute(f"idle_seconds_before_scaledown must be a number, got {value!r}.")
    return float(value)


def _whole(name: str, value: int | None, default: int) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidCompute(f"{name} must be a whole number, got {value!r}.")
    return value


def _priority(value: str) -> Priority:
    _among("vm_priority", value, tuple(each.value for each in Priority))
    return Priority(value.lower())


def _among(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value.lower() not in allowed:
        raise InvalidCompute(f"{name} cannot be {value!r}.", hint=f"It is one of: {', '.join(allowed)}.")


def _labels(tags: Mapping[str, str] | None) -> dict[str, str]:
    if tags is not None and not isinstance(tags, Mapping):
        raise InvalidCompute(f"tags must be a dict, got {type(tags).__name__}.", hint="tags={'team': 'vision'}")
    return {str(key): str(value) for key, value in (tags or {}).items()}
