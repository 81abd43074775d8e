"""`Workspace`: holds everything that a person makes. `from_config` reads Azure's own file, or needs none."""

# ruff: noqa: ARG002, ARG004
# Signatures are those of the Azure ML SDK v1: parameters that mean nothing here are accepted without effect.

import json
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from roost.domain import codec, names
from roost.domain import workspaces as domain
from roost.domain.errors import InvalidInput, NotFound
from roost.sdk import late
from roost.sdk.connection.connections import Connection, connect
from roost.sdk.core import configs, html_tables
from roost.sdk.core.absent import AbsentOfWorkspace, missing
from roost.sdk.core.secrets import Keyvault
from roost.sdk.core.workspace_data import DataOfWorkspace
from roost.sdk.core.workspace_models import ModelsOfWorkspace
from roost.sdk.core.workspace_services import ServicesOfWorkspace
from roost.transport.client import path_of
from roost_job.exceptions import WorkspaceException
from roost_job.listing import some

if TYPE_CHECKING:
    from roost.sdk.compute.targets import ComputeTarget
    from roost.sdk.environments.environments import Environment
    from roost.sdk.runs.experiments import Experiment
    from roost.sdk.runs.runs import Run

_TYPE = "Microsoft.MachineLearningServices/workspaces"
_said: set[str] = set()


class Workspace(DataOfWorkspace, ModelsOfWorkspace, ServicesOfWorkspace, AbsentOfWorkspace):
    """A workspace of the control plane; raises WorkspaceException when the name does not exist. Authentication objects are
    accepted and not needed."""

    def __init__(
        self,
        subscription_id: str = "",
        resource_group: str = "",
        workspace_name: str = domain.DEFAULT_WORKSPACE,
        auth: object = None,
        _location: str | None = None,
        _disable_service_check: bool = False,
        _workspace_id: str | None = None,
        sku: str = "basic",
        tags: Mapping[str, str] | None = None,
    ) -> None:
        names.workspace(workspace_name)
        self._connection = connect()
        found = _find(self._connection, workspace_name)
        if found is None:
            _missing(self._connection, workspace_name)
        self._record = _same(found, subscription_id, resource_group)

    @classmethod
    def _of(cls, connection: Connection, record: domain.Workspace) -> "Workspace":
        made = cls.__new__(cls)
        made._connection, made._record = connection, record
        return made

    # ---- finding and making

    @staticmethod
    def from_config(
        path: str | os.PathLike[str] | None = None,
        auth: object = None,
        _logger: object = None,
        _file_name: str | None = None,
    ) -> "Workspace":
        """The workspace that a configuration file names, created on first use; the embedded default one when there is no
        file."""
        file = configs.find(os.fspath(path) if path is not None else None, _file_name)
        if file is None:
            _say_once(f"No config.json found: using workspace {domain.DEFAULT_WORKSPACE!r}.")
            return Workspace()
        config = configs.read(file)
        connection = connect()
        record = _find(connection, config.workspace_name)
        if record is None:
            asked = {"subscription_id": config.subscription_id, "resource_group": config.resource_group}
            record = _make(connection, config.workspace_name, asked)
            _say_once(f"Workspace {config.workspace_name!r} made.")
        return Workspace._of(connection, _same(record, config.subscription_id, config.resource_group))

    @staticmethod
    def create(
        name: str,
        auth: object = None,
        subscription_id: str | None = None,
        resource_group: str | None = None,
        location: str | None = None,
        create_resource_group: bool = True,
        sku: str = "basic",
        tags: Mapping[str, str] | None = None,
        friendly_name: str | None = None,
        storage_account: str | None = None,
        key_vault: str | None = None,
        app_insights: str | None = None,
        container_registry: str | None = None,
        adb_workspace: str | None = None,
        primary_user_assigned_identity: str | None = None,
        cmk_keyvault: str | None = None,
        resource_cmk_uri: str | None = None,
        hbi_workspace: bool = False,
        default_cpu_compute_target: object = None,
        default_gpu_compute_target: object = None,
        private_endpoint_config: object = None,
        private_endpoint_auto_approval: bool = True,
        exist_ok: bool = False,
        show_output: bool = True,
        user_assigned_identity_for_cmk_encryption: str | None = None,
        system_datastores_auth_mode: str = "accessKey",
        v1_legacy_mode: bool | None = None,
    ) -> "Workspace":
        """Creates a workspace. Names of Azure resources (storage, registry, …) are accepted without effect."""
        names.workspace(name)
        labels = _tags(tags)
        connection = connect()
        record = _find(connection, name)
        if record is not None and not exist_ok:
            raise WorkspaceException(
                f"Workspace with name '{name}' already exists under resource group with name "
                f"'{record.resource_group or domain.NO_RESOURCE_GROUP}'.",
                hint="Use exist_ok=True to take the one that is there.",
            )
        if record is None:
            asked = {
                "subscription_id": subscription_id or "",
                "resource_group": resource_group or "",
                "location": location or "local",
                "sku": str(sku or "basic").capitalize(),
                "friendly_name": friendly_name or name,
                "tags": labels,
            }
            record = _make(connection, name, asked)
        return Workspace._of(connection, _same(record, subscription_id, resource_group))

    @staticmethod
    def get(
        name: str,
        auth: object = None,
        subscription_id: str | None = None,
        resource_group: str | None = None,
        location: str | None = None,
        cloud: str | None = None,
        id: str | None = None,  # noqa: A002 - the SDK's name for it
    ) -> "Workspace":
        """The workspace of that name; raises WorkspaceException when there is none."""
        return Workspace(subscription_id or "", resource_group or "", name)

    @staticmethod
    def list(
        subscription_id: str | None = None, auth: object = None, resource_group: str | None = None
    ) -> "dict[str, list[Workspace]]":
        """Workspaces by name, each in a list of one, because names are unique here."""
        connection = connect()
        answer = connection.client.call("GET", path_of("workspaces"))
        records = [codec.decode(domain.Workspace, item) for item in answer["workspaces"]]
        return {
            record.name: [Workspace._of(connection, record)]
            for record in records
            if _fits(record, subscription_id, resource_group)
        }

    def write_config(self, path: str | os.PathLike[str] | None = None, file_name: str | None = None) -> None:
        """Writes `.azureml/config.json` below `path` (the current folder), where `from_config` finds it."""
        file = Path(path if path is not None else ".") / ".azureml" / (file_name or "config.json")
        content = {
            "subscription_id": self.subscription_id,
            "resource_group": self.resource_group,
            "workspace_name": self.name,
        }
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(content, indent=4) + "\n", encoding="utf-8")
        except OSError as error:
            raise InvalidInput(f"{file} cannot be written: {error.strerror or error}.") from None

    # ---- what it is

    @property
    def name(self) -> str:
        return self._record.name

    @property
    def location(self) -> str:
        return self._record.location

    @property
    def resource_group(self) -> str:
        return self._record.resource_group or domain.NO_RESOURCE_GROUP

    @property
    def subscription_id(self) -> str:
        return self._record.subscription_id or domain.NO_SUBSCRIPTION

    @property
    def sku(self) -> str:
        return self._record.sku

    @property
    def tags(self) -> dict[str, str]:
        return dict(self._record.tags)

    def get_details(self) -> dict[str, Any]:
        """The details of the workspace under Azure's names; without those that only Azure has."""
        group = f"/subscriptions/{self.subscription_id}/resourceGroups/{self.resource_group}"
        return {
            "id": f"{group}/providers/{_TYPE}/{self.name}",
            "name": self.name,
            "type": _TYPE,
            "location": self.location,
            "tags": self.tags,
            "sku": self.sku,
            "friendlyName": self._record.friendly_name or self.name,
            "creationTime": datetime.fromtimestamp(self._record.created_at, UTC).isoformat(),
            "createdBy": self._record.user,
            "provisioningState": "Succeeded",
        }

    # ---- what is in it

    @property
    def environments(self) -> "dict[str, Environment]":
        """The newest version of each registered environment, by name."""
        return late.Environment.list(self)

    @property
    def compute_targets(self) -> "dict[str, ComputeTarget]":
        """The clusters of the workspace, by name."""
        return {target.name: target for target in late.ComputeTarget.list(self)}

    @property
    def experiments(self) -> "dict[str, Experiment]":
        """Every experiment of the workspace, by name. Experiments of services' replicas are left out; get them by name."""
        answer = self._connection.client.call("GET", path_of("workspaces", self.name, "experiments"))
        found = [codec.decode(domain.Experiment, item) for item in answer["experiments"]]
        return {each.name: late.Experiment(self, each.name, _id=each.id, _create_in_cloud=False) for each in found}

    def get_run(self, run_id: str) -> "Run":
        """The run of that id; NotFound suggests similar ids."""
        return late.Run.get(self, run_id)

    def get_default_keyvault(self) -> Keyvault:
        """The secrets of the workspace."""
        return Keyvault(self)

    if not TYPE_CHECKING:  # type checkers must still report unknown attributes

        def __getattr__(self, name: str) -> NoReturn:
            """Called for unknown attributes only."""
            raise AttributeError(name if name.startswith("_") else missing(f"azureml.core.Workspace.{name}", dir(self)))

    def __repr__(self) -> str:
        return (
            f"Workspace.create(name={self.name!r}, subscription_id={self.subscription_id!r}, "
            f"resource_group={self.resource_group!r})"
        )

    def _repr_html_(self) -> str:
        """An HTML table for notebooks."""
        facts = {
            "Name": self.name,
            "Resource group": self.resource_group,
            "Subscription": self.subscription_id,
            "Location": self.location,
        }
        return html_tables.table(facts, {})


def _find(connection: Connection, name: str) -> domain.Workspace | None:
    try:
        return codec.decode(domain.Workspace, connection.client.call("GET", path_of("workspaces", name)))
    except NotFound:
        return None


def _make(connection: Connection, name: str, asked: Mapping[str, object]) -> domain.Workspace:
    return codec.decode(domain.Workspace, connection.client.call("PUT", path_of("workspaces", name), json=asked))


def _missing(connection: Connection, name: str) -> NoReturn:
    known = [item["name"] for item in connection.client.call("GET", path_of("workspaces"))["workspaces"]]
    raise WorkspaceException(
        f"No workspaces found with name={name} at {connection.url}.",
        hint=f"There are: {some(known, 20)}. Workspace.create({name!r}) makes it.",
        cli_hint=f"There are: {some(known, 20)}. One that a config.json names is made when it is first used.",
    )


def _fits(record: domain.Workspace, subscription_id: str | None, resource_group: str | None) -> bool:
    """True when the workspace matches. One without subscription or group matches all; case is ignored, as in Azure."""
    return all(
        not wanted or not has or wanted.lower() == has.lower()
        for wanted, has in ((subscription_id, record.subscription_id), (resource_group, record.resource_group))
    )


def _same(record: domain.Workspace, subscription_id: str | None, resource_group: str | None) -> domain.Workspace:
    """The record, if it is the workspace that was meant; raises WorkspaceException when only the name is the same."""
    if _fits(record, subscription_id, resource_group):
        return record
    raise WorkspaceException(
        f"No workspaces found with name={record.name} in subscription {subscription_id or 'any'}, resource group "
        f"{resource_group or 'any'}: the one here is of subscription {record.subscription_id}, resource group "
        f"{record.resource_group}.",
        hint="A control plane has one workspace of a name: give this one another name.",
    )


def _tags(tags: Mapping[str, str] | None) -> dict[str, str]:
    if tags is not None and not isinstance(tags, Mapping):
        raise InvalidInput(f"tags must be a dict, got {type(tags).__name__}.", hint="tags={'team': 'vision'}")
    return {str(key): str(value) for key, value in (tags or {}).items()}


def _say_once(words: str) -> None:
    """Prints a note for people, once per process, and not on the script's own output."""
    if words not in _said:
        _said.add(words)
        print(words, file=sys.stderr)
