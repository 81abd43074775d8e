"""`roost datastore …`: list, show, register, default, unregister. A credential comes from a prompt or from stdin, never from the
command line, where every process of the machine could read it and the shell would remember it; and no command prints one."""

import typer

from roost.cli import rendering, session
from roost.cli.commands import data
from roost.cli.inputs import prompts
from roost.cli.inputs.parameters import AS_JSON, YES
from roost.domain import codec
from roost.domain.datastores import checked_name
from roost.domain.errors import InvalidInput
from roost.sdk.data.datastores import Datastore
from roost_job.listing import some

_NAME = typer.Argument(help="A datastore's name: letters, digits and `_`.", metavar="NAME")


def listing(as_json: bool = AS_JSON) -> None:
    """List the workspace's own datastores and those that were registered."""
    found = list(session.workspace().datastores.values())
    if as_json:
        rendering.as_json([codec.encode(each._record) for each in found])
        return
    rows = [
        (each.name, each.datastore_type, "default" if each.is_default else "", _where(each._record.settings))
        for each in found
    ]
    rendering.table(("datastore", "type", "", "where"), rows, cut=("where",))


def show(name: str = _NAME, as_json: bool = AS_JSON) -> None:
    """Show a datastore: what it is and where, and whether a credential is kept for it."""
    found = session.workspace().datastores.get(name)
    if found is None:
        found = Datastore.get(session.workspace(), name)
    record = found._record
    if as_json:
        rendering.as_json(codec.encode(record))
        return
    print(f"Datastore {record.name}, {found.datastore_type}" + (", the default" if record.is_default else ""))
    for key, value in sorted(record.settings.items()):
        print(f"  {key:<12} {value}")
    print(f"  credential   {'kept, sealed' if record.has_credential else 'none'}")
    if record.user:
        print(f"  registered   {rendering.ago(record.created_at)} by {record.user}")


def register(
    name: str = _NAME,
    folder: str = typer.Option("", "--folder", help="A folder that the control plane's machine sees.", metavar="PATH"),
    azure: str = typer.Option("", "--azure", help="A container of Azure Blob storage.", metavar="ACCOUNT/CONTAINER"),
    s3: str = typer.Option(
        "", "--s3", help="A bucket of S3, or of a server that speaks its protocol.", metavar="BUCKET"
    ),
    gcs: str = typer.Option("", "--gcs", help="A bucket of Google Cloud Storage.", metavar="BUCKET"),
    http: str = typer.Option("", "--http", help="An address below which files are; read only.", metavar="URL"),
    endpoint: str = typer.Option("", "--endpoint", help="The address of a server that is not the provider's own."),
    region: str = typer.Option("", "--region", help="Of S3."),
    prefix: str = typer.Option("", "--prefix", help="The folder in the bucket that is the datastore's root."),
    access_key_id: str = typer.Option("", "--access-key-id", help="Of S3; its secret key is asked for."),
    sas: bool = typer.Option(False, "--sas", help="Of Azure: a SAS token is asked for instead of the account's key."),
    anonymous: bool = typer.Option(False, "--anonymous", help="It is open to everybody: no credential is asked for."),
    relay: bool = typer.Option(False, "--relay", help="Nodes cannot reach it: bytes go through the control plane."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace the one of that name."),
    as_json: bool = AS_JSON,
) -> None:
    """Register a place where data is. Its credential is asked for, or read from stdin, and kept sealed."""
    checked_name(name)
    if sum(map(bool, (folder, azure, s3, gcs, http))) != 1:
        raise InvalidInput(
            "One place is registered at a time.", hint="Give one of --folder, --azure, --s3, --gcs, --http."
        )
    ws = session.workspace()
    if folder:
        made = Datastore.register_folder(ws, name, folder, overwrite)
    elif http:
        made = Datastore.register_http(ws, name, http, overwrite)
    elif azure:
        account, slash, container = azure.partition("/")
        if not slash or not account or not container:
            raise InvalidInput(f"--azure is ACCOUNT/CONTAINER, got {azure!r}.")
        secret = "" if anonymous else prompts.secret("SAS token" if sas else "Account key")
        made = Datastore.register_azure_blob_container(
            ws,
            name,
            container,
            account,
            sas_token=secret if sas else None,
            account_key=None if sas else secret,
            endpoint=endpoint or None,
            overwrite=overwrite,
            relay=relay,
        )
    elif s3:
        secret = prompts.secret("Secret access key") if access_key_id else ""
        made = Datastore.register_s3(
            ws,
            name,
            s3,
            region=region,
            endpoint=endpoint,
            access_key_id=access_key_id,
            secret_access_key=secret,
            prefix=prefix,
            relay=relay,
            overwrite=overwrite,
        )
    else:
        key = "" if anonymous else prompts.secret("Service account key (JSON)")
        made = Datastore.register_gcs(
            ws,
            name,
            gcs,
            service_account_key=key or None,
            endpoint=endpoint,
            prefix=prefix,
            relay=relay,
            overwrite=overwrite,
        )
    if as_json:
        rendering.as_json(codec.encode(made._record))
    else:
        print(f"Datastore {name} is registered. Data in it: roost data register NAME '{name}:PATH'")


def default(name: str = _NAME, as_json: bool = AS_JSON) -> None:
    """Make a datastore the workspace's default: where data goes unless another place is named."""
    ws = session.workspace()
    ws.set_default_datastore(name)
    if as_json:
        rendering.as_json({"default": name})
    else:
        print(f"Datastore {name} is the default of workspace {ws.name!r}.")


def unregister(name: str = _NAME, yes: bool = YES, as_json: bool = AS_JSON) -> None:
    """Forget a datastore and its credential, after a yes. What is in it stays."""
    ws = session.workspace()
    found = Datastore.get(ws, name)
    known = [each for each in ws.datasets.values() if any(one.datastore == name for one in each._definition.sources)]
    named = some(each.name for each in known)
    if not yes:
        gone = f" {named} cannot be read any more then." if known else ""
        told = f"Datastore {name} and its credential will be forgotten; what is in it stays.{gone}{data.readers(known[:5])}"
        prompts.confirm(told, yes)
    found.unregister()
    if as_json:
        rendering.as_json({"unregistered": name})
    else:
        gone = f" Datasets that cannot be read any more: {named}." if known else ""
        print(f"Datastore {name} was unregistered.{gone}")


def _where(settings: object) -> str:
    given = dict(settings)  # type: ignore[call-overload]
    place = (
        given.get("path")
        or given.get("url")
        or given.get("bucket")
        or f"{given.get('account')}/{given.get('container')}"
    )
    return f"{place} at {given['endpoint']}" if given.get("endpoint") else str(place)
