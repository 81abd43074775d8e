"""Registration of datastores: `Datastore.register_…`, under Azure's names and Roost's own."""

# ruff: noqa: ARG004
# Signatures are those of the Azure ML SDK v1: parameters that only Azure's portal needs are accepted.

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from roost.domain import codec
from roost.domain.datastores import Datastore as Record
from roost.domain.datastores import DatastoreKind, checked_name, checked_settings
from roost.domain.errors import InvalidInput
from roost.sdk import late
from roost.sdk.core import absent
from roost.transport.client import path_of

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace
    from roost.sdk.data.datastores import Datastore


class Registering:
    """The part of `Datastore` that registers new ones."""

    @staticmethod
    def register_folder(
        workspace: "Workspace", datastore_name: str, path: str | os.PathLike[str], overwrite: bool = False
    ) -> "Datastore":
        """A folder that the control plane's machine can access, such as a shared file system."""
        where = os.path.abspath(os.path.expanduser(path))
        return _register(workspace, datastore_name, DatastoreKind.FOLDER, {"path": where}, {}, overwrite)

    @staticmethod
    def register_s3(
        workspace: "Workspace",
        datastore_name: str,
        bucket: str,
        region: str | None = None,
        endpoint: str | None = None,
        access_key_id: str | None = None,
        secret_access_key: str | None = None,
        session_token: str | None = None,
        prefix: str | None = None,
        relay: bool = False,
        overwrite: bool = False,
    ) -> "Datastore":
        """A bucket of Amazon S3 or of a compatible server (`endpoint`); without keys a public one. `relay`: nodes cannot
        reach it, so its bytes go through the control plane."""
        settings = {"bucket": bucket, "region": region, "endpoint": endpoint, **_where(prefix, relay)}
        credential = {
            "access_key_id": access_key_id,
            "secret_access_key": secret_access_key,
            "session_token": session_token,
        }
        return _register(workspace, datastore_name, DatastoreKind.S3, settings, credential, overwrite)

    @staticmethod
    def register_gcs(
        workspace: "Workspace",
        datastore_name: str,
        bucket: str,
        service_account_key: str | os.PathLike[str] | None = None,
        endpoint: str | None = None,
        prefix: str | None = None,
        relay: bool = False,
        overwrite: bool = False,
    ) -> "Datastore":
        """A bucket of Google Cloud Storage; `service_account_key` is the JSON text of a key, or its file."""
        key = os.fspath(service_account_key) if service_account_key is not None else None
        if key and not key.lstrip().startswith("{"):
            try:
                with open(os.path.expanduser(key), encoding="utf-8") as file:
                    key = file.read()
            except OSError as error:
                raise InvalidInput(f"The key file {key!r} cannot be read: {error.strerror}.") from None
        settings = {"bucket": bucket, "endpoint": endpoint, **_where(prefix, relay)}
        return _register(
            workspace, datastore_name, DatastoreKind.GCS, settings, {"service_account_key": key}, overwrite
        )

    @staticmethod
    def register_http(workspace: "Workspace", datastore_name: str, url: str, overwrite: bool = False) -> "Datastore":
        """Files below an address, named one by one and read directly by each reader; read-only, without a credential."""
        return _register(workspace, datastore_name, DatastoreKind.HTTP, {"url": url}, {}, overwrite)

    @staticmethod
    def register_azure_blob_container(
        workspace: "Workspace",
        datastore_name: str,
        container_name: str,
        account_name: str,
        sas_token: str | None = None,
        account_key: str | None = None,
        protocol: str | None = None,
        endpoint: str | None = None,
        overwrite: bool = False,
        create_if_not_exists: bool = False,
        skip_validation: bool = False,
        blob_cache_timeout: int | None = None,
        grant_workspace_access: bool = False,
        subscription_id: str | None = None,
        resource_group: str | None = None,
        relay: bool = False,
    ) -> "Datastore":
        """A container of Azure Blob storage, with a key, a SAS token, or public. `endpoint` is a domain of Azure, or the full
        address of a compatible server."""
        if create_if_not_exists:
            raise InvalidInput("Roost makes no containers.", hint="Make the container first, then register it.")
        settings = {
            "account": account_name,
            "container": container_name,
            "endpoint": _azure_endpoint(account_name, protocol, endpoint, "blob"),
            **_where(None, relay),
        }
        credential = {"account_key": account_key, "sas_token": sas_token}
        return _register(workspace, datastore_name, DatastoreKind.AZURE_BLOB, settings, credential, overwrite)

    @staticmethod
    def register_azure_data_lake_gen2(
        workspace: "Workspace",
        datastore_name: str,
        filesystem: str,
        account_name: str,
        tenant_id: str | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        resource_url: str | None = None,
        authority_url: str | None = None,
        protocol: str | None = None,
        endpoint: str | None = None,
        overwrite: bool = False,
        subscription_id: str | None = None,
        resource_group: str | None = None,
        grant_workspace_access: bool = False,
    ) -> "Datastore":
        """A file system of Data Lake Storage Gen2, with a service principal."""
        settings = {
            "account": account_name,
            "container": filesystem,
            "endpoint": _azure_endpoint(account_name, protocol, endpoint, "dfs"),
        }
        credential = {"tenant_id": tenant_id, "client_id": client_id, "client_secret": client_secret}
        return _register(workspace, datastore_name, DatastoreKind.AZURE_BLOB, settings, credential, overwrite)

    @staticmethod
    def register_azure_file_share(
        workspace: "Workspace",
        datastore_name: str,
        file_share_name: str,
        account_name: str,
        sas_token: str | None = None,
        account_key: str | None = None,
        protocol: str | None = None,
        endpoint: str | None = None,
        overwrite: bool = False,
        create_if_not_exists: bool = False,
        skip_validation: bool = False,
    ) -> NoReturn:
        absent.refuse("azureml.core.Datastore.register_azure_file_share")

    @staticmethod
    def register_azure_data_lake(
        workspace: "Workspace",
        datastore_name: str,
        store_name: str,
        tenant_id: str | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        resource_url: str | None = None,
        authority_url: str | None = None,
        subscription_id: str | None = None,
        resource_group: str | None = None,
        overwrite: bool = False,
        grant_workspace_access: bool = False,
    ) -> NoReturn:
        absent.refuse("azureml.core.Datastore.register_azure_data_lake")

    @staticmethod
    def register_azure_sql_database(
        workspace: "Workspace", datastore_name: str, server_name: str, database_name: str, **kwargs: object
    ) -> NoReturn:
        absent.refuse("azureml.core.Datastore.register_azure_sql_database")

    @staticmethod
    def register_azure_postgre_sql(
        workspace: "Workspace",
        datastore_name: str,
        server_name: str,
        database_name: str,
        user_id: str,
        user_password: str,
        port_number: object = None,
        endpoint: str | None = None,
        overwrite: bool = False,
        enforce_ssl: bool = True,
        **kwargs: object,
    ) -> NoReturn:
        absent.refuse("azureml.core.Datastore.register_azure_postgre_sql")

    @staticmethod
    def register_azure_my_sql(
        workspace: "Workspace",
        datastore_name: str,
        server_name: str,
        database_name: str,
        user_id: str,
        user_password: str,
        port_number: object = None,
        endpoint: str | None = None,
        overwrite: bool = False,
        **kwargs: object,
    ) -> NoReturn:
        absent.refuse("azureml.core.Datastore.register_azure_my_sql")

    @staticmethod
    def register_dbfs(workspace: "Workspace", datastore_name: str) -> NoReturn:
        absent.refuse("azureml.core.Datastore.register_dbfs")

    @staticmethod
    def register_hdfs(workspace: "Workspace", datastore_name: str, *args: object, **kwargs: object) -> NoReturn:
        absent.refuse("azureml.core.Datastore.register_hdfs")


def _register(
    workspace: "Workspace",
    name: str,
    kind: DatastoreKind,
    settings: Mapping[str, str | None],
    credential: Mapping[str, str | None],
    overwrite: bool,
) -> "Datastore":
    require_workspace(workspace)
    given = {key: str(value) for key, value in settings.items() if value}
    secret = {key: str(value) for key, value in credential.items() if value}
    checked_settings(kind, given, secret)
    body = {"kind": kind.value, "settings": given, "credential": secret, "overwrite": overwrite}
    route = path_of("workspaces", workspace.name, "datastores", checked_name(name))
    return late.Datastore._of(
        workspace, codec.decode(Record, workspace._connection.client.call("PUT", route, json=body))
    )


def require_workspace(given: object) -> None:
    if not hasattr(given, "name"):  # a job's workspace has a name too, and raises its own errors
        raise InvalidInput(
            f"workspace must be a Workspace, got {type(given).__name__} {str(given)[:80]!r}.",
            hint="Workspace.from_config() is one.",
        )


def _where(prefix: str | None, relay: bool) -> dict[str, str | None]:
    return {"prefix": prefix, "relay": "true" if relay else None}


def _azure_endpoint(account: str, protocol: str | None, endpoint: str | None, service: str) -> str | None:
    """Azure users give a domain (`core.windows.net`, `core.chinacloudapi.cn`); others give full addresses."""
    if not endpoint or endpoint == "core.windows.net":
        return None
    return endpoint if "://" in endpoint else f"{protocol or 'https'}://{account}.{service}.{endpoint.strip('./')}"
