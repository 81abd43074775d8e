"""`ComputeTarget` and `AmlCompute`: where runs execute. The constructor finds a target; `create` makes a cluster that grows on
demand.

The printed forms are those of the Azure ML SDK v1. Its other kinds of compute are in `foreign.py`, and raise an error.
"""

# ruff: noqa: ARG002, ARG004
# Signatures are those of the Azure ML SDK v1: parameters that mean nothing here are accepted without effect.

import time
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn

from roost.domain import codec, names
from roost.domain.compute import HOST_TAG, LOCAL, ComputeKind, ComputeStatus, Machine, Node
from roost.domain.errors import ComputeNotFound, InvalidCompute, InvalidInput
from roost.domain.sizes import SIZES, mapping
from roost.sdk import late
from roost.sdk.compute.settings import (
    PRIORITIES,
    AmlComputeProvisioningConfiguration,
    AmlComputeStatus,
    ScaleSettings,
    moment,
    seconds,
)
from roost.sdk.core.workspaces import Workspace
from roost.transport.client import path_of

AKS_MARK = "azureml.computeType"
"""Tag of a target for services (`aks.py`)."""
_POLL_SECONDS = 5.0
_explained: set[str] = set()
"""Sizes that this process has already explained."""


class ComputeTarget:
    """A compute target of a workspace. `ComputeTarget(workspace, name)` finds it and returns an object of its own class."""

    _compute_type: ClassVar[str] = "Local"
    _status: ComputeStatus

    def __new__(cls, workspace: Workspace, name: str, *args: object, **kwargs: object) -> "ComputeTarget":
        found = _look(workspace, name)
        right = _class_of(found)
        if not issubclass(right, cls):
            raise ComputeNotFound(
                f"ComputeTargetNotFound: {name!r} is no {cls.__name__} but of type {right._compute_type}."
            )
        made = super().__new__(right)
        made._status = found
        return made

    def __init__(self, workspace: Workspace, name: str) -> None:
        self._workspace = workspace
        self._pending = False
        self.name = name
        self._take(self._status)

    @staticmethod
    def create(
        workspace: Workspace, name: str, provisioning_configuration: AmlComputeProvisioningConfiguration
    ) -> "ComputeTarget":
        """Creates a cluster and returns at once. The same settings again return the same cluster; other settings are refused."""
        if not isinstance(provisioning_configuration, AmlComputeProvisioningConfiguration):
            raise InvalidCompute(
                f"Roost makes clusters of AmlCompute, got {type(provisioning_configuration).__name__}.",
                hint="AmlCompute.provisioning_configuration(vm_size='STANDARD_D2_V2', max_nodes=4)",
            )
        _check_workspace(workspace)
        names.compute(name)
        spec = codec.encode(provisioning_configuration._spec())
        workspace._connection.client.call("PUT", _route(workspace, name), json=spec)
        made = ComputeTarget(workspace, name)
        made._pending = True
        _explain(made._status)
        return made

    @staticmethod
    def attach(workspace: Workspace, name: str, attach_configuration: object) -> "ComputeTarget":
        """Creates a cluster on one of Roost's engines (`AmlCompute.attach_configuration`), or a target for one host of the
        control plane's hosts file (`RemoteCompute.attach_configuration`)."""
        if not isinstance(attach_configuration, AmlComputeProvisioningConfiguration):
            raise InvalidCompute(
                f"Roost cannot attach {type(attach_configuration).__name__}: its engines are what it can run on.",
                hint="AmlCompute.attach_configuration(engine='local', max_nodes=4)",
            )
        if not isinstance(attach_configuration, late.RemoteComputeAttachConfiguration):
            return ComputeTarget.create(workspace, name, attach_configuration)
        try:
            return ComputeTarget.create(workspace, name, attach_configuration)
        except ComputeNotFound as error:
            raise InvalidCompute(
                error.message,
                hint="Add these lines to hosts.toml in the control plane's home, with the Python and the folder that Roost has "
                f"there, and start it again (roost down; roost up):\n\n{attach_configuration.lines()}",
            ) from None

    @staticmethod
    def list(workspace: Workspace) -> "list[ComputeTarget]":
        """The clusters of a workspace, by name."""
        _check_workspace(workspace)
        answer = workspace._connection.client.call("GET", path_of("workspaces", workspace.name, "computes"))
        found = [codec.decode(ComputeStatus, item) for item in answer["computes"]]
        return [_class_of(each)._of(workspace, each) for each in found if each.compute.kind is ComputeKind.CLUSTER]

    @classmethod
    def _of(cls, workspace: Workspace, status: ComputeStatus) -> "ComputeTarget":
        made = object.__new__(cls)
        made._status = status
        ComputeTarget.__init__(made, workspace, status.compute.name)
        return made

    @property
    def workspace(self) -> Workspace:
        return self._workspace

    def get(self) -> "ComputeTarget":
        """The same target in its current state."""
        return ComputeTarget(self._workspace, self.name)

    def refresh_state(self) -> None:
        """Reads its state and updates this object."""
        self._take(_look(self._workspace, self.name))

    def get_status(self) -> Any:
        """Its provisioning state; for a cluster also its nodes."""
        self.refresh_state()
        return self.provisioning_state

    def wait_for_completion(
        self,
        show_output: bool = False,
        min_node_count: int | None = None,
        timeout_in_minutes: float = 25,
        is_delete_operation: bool = False,
    ) -> None:
        """Returns at once, because no operation takes long here; prints how the last one ended."""
        if show_output:
            print("Succeeded", end="")
        print('Provisioning operation finished, operation "Succeeded"')
        self._pending = False
        if not is_delete_operation:
            self.refresh_state()

    def delete(self) -> None:
        """Raises an error: this machine cannot be deleted."""
        self._workspace._connection.client.call("DELETE", _route(self._workspace, self.name))
        self._pending = True
        self.provisioning_state = "Deleting"

    def detach(self) -> NoReturn:
        raise InvalidCompute(f"{self.name!r} cannot be detached.", hint="Clusters are deleted: delete()")

    def serialize(self) -> dict[str, Any]:
        """The target under Azure's keys."""
        return {
            "id": self.id,
            "name": self.name,
            "location": self.location,
            "tags": self.tags,
            "identity": None,
            "properties": {
                "description": self.description,
                "resourceId": self.cluster_resource_id,
                "computeType": self.type,
                "computeLocation": self.cluster_location,
                "provisioningState": self.provisioning_state,
                "provisioningErrors": self.provisioning_errors,
                **self._properties(),
            },
        }

    def _properties(self) -> dict[str, Any]:
        return {}

    def _take(self, status: ComputeStatus) -> None:
        compute = status.compute
        self._status = status
        self.type = self._compute_type
        self.id = f"/workspaces/{self._workspace.name}/computes/{self.name}"
        self.location = self._workspace.location
        self.cluster_location = self._workspace.location
        self.cluster_resource_id: str | None = None
        self.tags = dict(compute.tags)
        self.description = compute.description
        self.created_on = moment(compute.created_at)
        self.modified_on = moment(compute.modified_at)
        self.provisioning_state = "Succeeded"
        self.provisioning_errors: Any = None
        self.is_attached = False

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(workspace={self._workspace!r}, name={self.name!r}, id={self.id!r}, "
            f"type={self.type!r}, provisioning_state={self.provisioning_state!r}, tags={self.tags!r})"
        )


class AmlCompute(ComputeTarget):
    """A cluster: nodes start when runs wait for them, execute one run each, and stop when idle."""

    _compute_type = "AmlCompute"

    provisioning_configuration = AmlComputeProvisioningConfiguration
    """The argument of `ComputeTarget.create`; refuses wrong values."""

    @staticmethod
    def attach_configuration(
        engine: str,
        min_nodes: int = 0,
        max_nodes: int | None = None,
        idle_seconds_before_scaledown: float = 1800,
        tags: Mapping[str, str] | None = None,
        description: str | None = None,
    ) -> AmlComputeProvisioningConfiguration:
        """A cluster on that engine of the control plane; `ComputeTarget.attach` refuses an unknown engine."""
        asked = AmlComputeProvisioningConfiguration(
            min_nodes=min_nodes,
            max_nodes=max_nodes,
            idle_seconds_before_scaledown=idle_seconds_before_scaledown,
            tags=tags,
            description=description,
            engine=engine,
        )
        asked.vm_size = ""
        return asked

    @staticmethod
    def supported_vmsizes(workspace: Workspace, location: str | None = None) -> "list[dict[str, Any]]":
        """The sizes that Roost knows by name. Any other is accepted too: on the embedded engine a size is only a request."""
        return [
            {
                "name": size.name,
                "vCPUs": size.cores,
                "gpus": size.gpus,
                "memoryGB": size.memory_gb,
                "maxResourceVolumeMB": size.disk_mb,
            }
            for size in SIZES
        ]

    def get_status(self) -> AmlComputeStatus:
        """The cluster's current state: its nodes by state, its scale."""
        self.refresh_state()
        return self.status

    def list_nodes(self) -> "list[dict[str, Any]]":
        """One entry per existing node."""
        self.refresh_state()
        return [_node(node) for node in self._status.nodes]

    def update(
        self,
        min_nodes: int | None = None,
        max_nodes: int | None = None,
        idle_seconds_before_scaledown: float | None = None,
    ) -> None:
        """Changes the scale. Busy nodes above a lowered limit stop when their runs have ended."""
        idle = None if idle_seconds_before_scaledown is None else seconds(idle_seconds_before_scaledown, 0)
        changes = {"min_nodes": min_nodes, "max_nodes": max_nodes, "idle_seconds": idle}
        given = {key: value for key, value in changes.items() if value is not None}
        if given:
            self._workspace._connection.client.call("PATCH", _route(self._workspace, self.name), json=given)
            self._pending = True
            self.refresh_state()

    def preempt(self, node: str) -> None:
        """Removes a low-priority node, as a cloud does when it needs it. Its run returns to the queue and continues with its
        outputs. Not in the SDK."""
        route = path_of("workspaces", self._workspace.name, "computes", self.name, "nodes", node, "preempt")
        self._workspace._connection.client.call("POST", route)
        self.refresh_state()

    def delete(self) -> None:
        """Deletes the cluster and its nodes. Raises ComputeTargetException while runs on it have not ended."""
        super().delete()

    def wait_for_completion(
        self,
        show_output: bool = False,
        min_node_count: int | None = None,
        timeout_in_minutes: float = 25,
        is_delete_operation: bool = False,
    ) -> None:
        """Waits until the cluster has its minimum of nodes, or the given number. Nodes above its own minimum start only for
        runs, so when nothing changes it stops waiting, prints that, and returns."""
        if self._pending:
            super().wait_for_completion(show_output, is_delete_operation=is_delete_operation)
        if is_delete_operation:
            return
        reached, late = self._wait_for_nodes(min_node_count, timeout_in_minutes, show_output)
        if not show_output:
            return
        print("AmlCompute wait for completion finished\n")
        if reached:
            print("Minimum number of nodes requested have been provisioned")
            return
        print("Wait timeout has been reached" if late else "Further nodes come when runs wait for them")
        print(
            f'Current provisioning state of AmlCompute is "{self.provisioning_state}" '
            f'and current node count is "{self.status.current_node_count}"'
        )

    def _wait_for_nodes(self, least: int | None, minutes: float, show_output: bool) -> tuple[bool, bool]:
        """Returns (there are this many nodes, the time ran out first)."""
        deadline = time.monotonic() + minutes * 60
        self.refresh_state()
        wanted = least or self._status.compute.min_nodes
        if show_output:
            print(self.provisioning_state, end="", flush=True)
        while (count := self.status.current_node_count) < wanted:
            left = deadline - time.monotonic()
            if left <= 0 or (wanted > self._status.compute.min_nodes and self.status.allocation_state == "Steady"):
                break
            if show_output and count:
                print(f"Waiting for cluster to scale. {count} out of {wanted} nodes ready.")
            poll = {"after": self._status.compute.revision, "wait": min(_POLL_SECONDS, left)}
            self._take(_look(self._workspace, self.name, poll))
            if show_output:
                print(".", end="", flush=True)
        if show_output:
            print()
        return count >= wanted, time.monotonic() >= deadline

    def _take(self, status: ComputeStatus) -> None:
        super()._take(status)
        self.vm_size = status.compute.vm_size
        self.vm_priority = PRIORITIES[status.compute.priority]
        self.scale_settings = ScaleSettings._of(status.compute)
        self.status = AmlComputeStatus(status)

    def _properties(self) -> dict[str, Any]:
        settings = {
            "vmSize": self.vm_size,
            "vmPriority": self.vm_priority,
            "scaleSettings": self.scale_settings.serialize(),
        }
        return {"properties": settings, "status": self.status.serialize()}


def _class_of(status: ComputeStatus) -> type[ComputeTarget]:
    if status.compute.kind is not ComputeKind.CLUSTER:
        return ComputeTarget
    if HOST_TAG in status.compute.tags:
        return late.RemoteCompute
    return late.AksCompute if AKS_MARK in status.compute.tags else AmlCompute


def _look(workspace: Workspace, name: object, params: Mapping[str, object] | None = None) -> ComputeStatus:
    _check_workspace(workspace)
    if not isinstance(name, str) or not name or "/" in name:
        raise ComputeNotFound(f"ComputeTargetNotFound: {name!r} cannot be the name of a compute target.")
    return codec.decode(ComputeStatus, workspace._connection.client.call("GET", _route(workspace, name), params=params))


def machine_of(workspace: Workspace) -> Machine:
    """The machine that the nodes of the control plane's own host share."""
    return _look(workspace, LOCAL).machine


def _route(workspace: Workspace, name: str) -> str:
    return path_of("workspaces", workspace.name, "computes", name)


def _check_workspace(workspace: object) -> None:
    if not isinstance(workspace, Workspace):
        raise InvalidInput(
            f"workspace must be a Workspace, got {type(workspace).__name__}.", hint="Workspace.from_config() gives one."
        )


def _explain(status: ComputeStatus) -> None:
    """Prints once what a size means here."""
    size = status.compute.vm_size
    if size and size.lower() not in _explained:
        _explained.add(size.lower())
        print(mapping(size, status.machine))


def _node(node: Node) -> dict[str, Any]:
    return {
        "nodeId": node.id,
        "privateIpAddress": node.address,
        "publicIpAddress": None,
        "port": None,
        "nodeState": node.state.value,
        "runId": node.run_id or None,
    }
