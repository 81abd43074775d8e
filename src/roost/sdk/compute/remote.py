"""`RemoteCompute`: a machine for runs. Here it is a host of an engine: the control plane's hosts file contains how it is
reached, and a target is a cluster of that one host.
"""

# ruff: noqa: ARG002, ARG004
# Signatures are those of the Azure ML SDK v1: parameters that mean nothing here are accepted without effect.

import contextlib
import json
import socket
from typing import Any, NoReturn

from roost.domain.compute import HOST_TAG, ComputeStatus
from roost.domain.errors import InvalidCompute
from roost.sdk.compute.settings import AmlComputeProvisioningConfiguration
from roost.sdk.compute.targets import ComputeTarget


class RemoteComputeAttachConfiguration(AmlComputeProvisioningConfiguration):
    """The result of `RemoteCompute.attach_configuration(…)`."""

    def __init__(
        self,
        resource_id: str | None = None,
        address: str | None = None,
        ssh_port: int = 22,
        username: str | None = None,
        password: str | None = None,
        private_key_file: str = "",
        private_key_passphrase: str = "",
    ) -> None:
        if not address:
            what = f"resource_id {resource_id!r}" if resource_id else "no address"
            raise InvalidCompute(
                f"A machine is attached by its address, got {what}.",
                hint="RemoteCompute.attach_configuration(address='10.0.0.2', username='me')",
            )
        self.resource_id, self.address, self.username = resource_id, address, username
        self.ssh_port, self.private_key_file = int(ssh_port), private_key_file
        super().__init__(max_nodes=1, tags={HOST_TAG: _numbers(address)})
        self.vm_size = ""

    def __repr__(self) -> str:
        port = f", ssh_port={self.ssh_port}" if self.ssh_port != 22 else ""
        return f"RemoteComputeAttachConfiguration(address={self.address!r}, username={self.username!r}{port})"

    def lines(self) -> str:
        """Its entry for the hosts file."""
        command = ["ssh", "-o", "BatchMode=yes"]
        command += ["-p", str(self.ssh_port)] if self.ssh_port != 22 else []
        command += ["-i", self.private_key_file] if self.private_key_file else []
        command += [f"{self.username}@{self.address}" if self.username else self.address]
        return (
            f'[[host]]\naddress = "{self.tags[HOST_TAG]}"\ncommand = {json.dumps(command)}\n'
            'python = "/opt/roost/bin/python"\nhome = "/var/lib/roost"'
        )


class RemoteCompute(ComputeTarget):
    """A machine that executes one run at a time."""

    _compute_type = "VirtualMachine"

    attach_configuration = RemoteComputeAttachConfiguration
    """The argument of `ComputeTarget.attach`. Keys and users come from ssh's own configuration; no password is stored."""

    @staticmethod
    def provisioning_configuration(*args: object, **kwargs: object) -> NoReturn:
        raise InvalidCompute(
            "Machines are attached, not made.",
            hint="RemoteCompute.attach_configuration(address='10.0.0.2', username='me')",
        )

    @property
    def address(self) -> str:
        return self._address

    def detach(self) -> None:  # type: ignore[override]  # clusters cannot be detached
        """Removes it from the workspace; the machine stays in the hosts file."""
        self.delete()

    def _take(self, status: ComputeStatus) -> None:
        super()._take(status)
        self._address = self.tags.pop(HOST_TAG, "")
        self.is_attached = True

    def _properties(self) -> dict[str, Any]:
        return {"properties": {"address": self._address}}


def _numbers(address: str) -> str:
    """The IP address of a name, as the hosts file has it; the name itself when it cannot be resolved here."""
    with contextlib.suppress(OSError, UnicodeError):
        return str(socket.getaddrinfo(address, None, type=socket.SOCK_STREAM)[0][4][0])
    return address
