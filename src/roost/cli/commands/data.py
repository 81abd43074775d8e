"""`roost data …`: list, show, register, upload, download, unregister."""

import secrets
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from roost.cli import rendering, session
from roost.cli.inputs import prompts
from roost.cli.inputs.datasets import find_dataset
from roost.cli.inputs.parameters import AS_JSON, YES
from roost.domain import codec
from roost.domain.datasets import checked_name, words
from roost.domain.errors import Conflict, InvalidInput
from roost.sdk.core.workspaces import Workspace
from roost.sdk.data import dataset_files, datastore_files
from roost.sdk.data.dataset_factory import Dataset
from roost.sdk.data.datasets import AbstractDataset
from roost.sdk.data.datastores import Datastore
from roost.transport.client import path_of
from roost_job.data import dataset_types

_NAME = typer.Argument(help="A dataset's name.", metavar="NAME")
_VERSION = typer.Option(None, "--version", help="The version; the newest by default.")
_OVERWRITE = typer.Option(False, "--overwrite", help="Replace files that are there already.")
_DESCRIPTION = typer.Option("", "--description", help="What it is.")
_TAGS = typer.Option([], "--tag", help="A tag, KEY=VALUE; repeated.", metavar="KEY=VALUE")
_NEW_VERSION = typer.Option(False, "--new-version", help="A new version, when the name is there with other data.")
_KINDS = ("files", "csv", "parquet", "jsonl")
_SHOWN = 20
_NAMED = 5


def listing(as_json: bool = AS_JSON) -> None:
    """List the registered datasets, each with its newest version."""
    ws = session.workspace()
    found = list(ws.datasets.values())
    if as_json:
        rendering.as_json([_plain(each) for each in found])
        return
    rows = [
        (str(each.name), str(each.version), _kind(each), rendering.ago(_record(each).created_at), _sources(each))
        for each in found
    ]
    if rows:
        rendering.table(("dataset", "version", "kind", "registered", "where"), rows, cut=("where",))
    else:
        print(
            f"No datasets in workspace {ws.name!r} yet. Add one with: roost data register NAME SOURCE", file=sys.stderr
        )


def show(
    name: str = _NAME,
    version: int | None = _VERSION,
    files: bool = typer.Option(False, "--files", help="List its files as they are now."),
    as_json: bool = AS_JSON,
) -> None:
    """Show a dataset: where its data is, what is done to it when it is read, and which runs used it."""
    ws = session.workspace()
    found = find_dataset(ws, name, version)
    uses = _uses(found)
    listed = found._files() if files else []
    if as_json:
        told = [{"name": each.name, "size": each.size, "modified_at": each.modified_at} for each in listed]
        rendering.as_json({**_plain(found), "uses": uses, **({"files": told} if files else {})})
        return
    record = _record(found)
    newest = Dataset.get_versions(ws, record.name)[0].version
    among = f" of 1 to {newest}" if newest != 1 else ""
    print(f"Dataset {record.name}, version {record.version}{among}, {_kind(found)}")
    for source in _places(found):
        print(f"  from         {source}")
    for line in _reading(record.definition):
        print(f"  read with    {line}")
    for step in record.definition.steps:
        print(f"  step         {_step(step)}")
    if record.description:
        print(f"  description  {rendering.clean(record.description)}")
    for key, value in sorted(record.tags.items()):
        print(f"  tag          {rendering.clean(f'{key} = {value}')}")
    print(f"  registered   {rendering.ago(record.created_at)} by {record.user}")
    print(f"  id           {record.id}")
    runs = list(dict.fromkeys((use["direction"], use["run_id"]) for use in uses))
    for direction, run_id in runs[:_SHOWN]:
        print(f"  {'read by' if direction == 'input' else 'written by':<12} {run_id}")
    if len(runs) > _SHOWN:
        print(f"  and {len(runs) - _SHOWN} more; --json has them all")
    for item in listed:
        size = "" if item.size is None else "  1 byte" if item.size == 1 else f"  {item.size:,} bytes"
        print(f"  file         {item.name}{size}")


def register(
    name: str = _NAME,
    sources: list[str] = typer.Argument(
        help="Addresses, or DATASTORE:PATH with a file, folder or pattern.", metavar="SOURCE..."
    ),
    kind: str = typer.Option("files", "--kind", help="What is read: files, csv, parquet or jsonl."),
    separator: str = typer.Option(",", "--separator", help="Of csv; \\t is a tab."),
    description: str = _DESCRIPTION,
    tags: list[str] = _TAGS,
    new_version: bool = _NEW_VERSION,
    as_json: bool = AS_JSON,
) -> None:
    """Register data where it is, under a name. Nothing is copied."""
    if kind not in _KINDS:
        raise InvalidInput(f"--kind cannot be {kind!r}.", hint=f"It is one of: {', '.join(_KINDS)}.")
    tagged = _tagged(tags)
    ws = session.workspace()
    given = [_source(ws, each) for each in sources]
    made: Any
    if kind == "csv":
        made = Dataset.Tabular.from_delimited_files(given, separator=separator.replace("\\t", "\t"))
    elif kind == "parquet":
        made = Dataset.Tabular.from_parquet_files(given)
    elif kind == "jsonl":
        made = Dataset.Tabular.from_json_lines_files(given)
    else:
        made = Dataset.File.from_files(given)
    done = made.register(ws, name, description, tagged, create_new_version=new_version)
    if as_json:
        rendering.as_json(_plain(done))
    else:
        print(f"Dataset {name}, version {done.version}. In a script: Dataset.get_by_name(workspace, {name!r})")


def upload(
    source: str = typer.Argument(help="A file or folder here.", metavar="PATH"),
    to: str = typer.Option(
        "", "--to", help="Where it goes; the default datastore otherwise.", metavar="DATASTORE:PATH"
    ),
    name: str = typer.Option("", "--name", help="Register what was uploaded under this name."),
    overwrite: bool = _OVERWRITE,
    description: str = _DESCRIPTION,
    tags: list[str] = _TAGS,
    new_version: bool = _NEW_VERSION,
    as_json: bool = AS_JSON,
) -> None:
    """Upload a file or folder to a datastore, and register it when a name is given."""
    tagged = _tagged(tags)
    if not name and (tags or description or new_version):
        raise InvalidInput(
            "--tag, --description and --new-version are of the dataset that --name registers.",
            hint="Give --name, or leave them out.",
        )
    ws = session.workspace()
    here = Path(source)
    files = datastore_files.folder(here) if here.is_dir() else datastore_files.chosen([here], None)
    if name:
        _refuse_taken(ws, name, new_version)
    datastore, folder = _target(ws, to, here, name)
    if name:
        datastore_files.require_one_place(folder)
    if name and not overwrite:
        _refuse_mixing(datastore, folder, [each for _, each in files])
    going = datastore_files.upload(
        datastore, files, folder, overwrite=overwrite, show_progress=not as_json, otherwise="--overwrite"
    )
    done = None
    if name:
        where = folder if here.is_dir() else f"{folder}/{here.name}".lstrip("/")
        made = Dataset.File.from_files((datastore, where))
        done = made.register(ws, name, description, tagged, create_new_version=new_version)
    if as_json:
        told = {"datastore": datastore.name, "path": folder, "uploaded": going}
        rendering.as_json({**told, **({"dataset": _plain(done)} if done else {})})
    elif done:
        print(f"Dataset {name}, version {done.version}, at {datastore.name}:{folder}")
    else:
        print(f"At {datastore.name}:{folder or '/'}")


def download(
    name: str = _NAME,
    target: str = typer.Argument(".", help="The folder that the files go to.", metavar="FOLDER"),
    version: int | None = _VERSION,
    overwrite: bool = _OVERWRITE,
    as_json: bool = AS_JSON,
) -> None:
    """Download a dataset's files."""
    found = find_dataset(session.workspace(), name, version)
    if steps := [str(step["op"]) for step in found._definition.steps if _kind(found) != "files"]:
        words = (
            f"Dataset {name} is a table: its files come as they are, its steps ({', '.join(steps)}) are not applied."
        )
        print(f"{words} In Python, to_csv_files() makes files of the table.", file=sys.stderr)
    with rendering.progress(f"Downloading {name}", in_bytes=True) as bar:
        made = dataset_files.download(found, Path(target).absolute(), overwrite, False, bar)
    if as_json:
        rendering.as_json([str(path) for path in made])
    else:
        print(f"{rendering.count(len(made), 'file')} in {Path(target).absolute()}")


def unregister(name: str = _NAME, yes: bool = YES, as_json: bool = AS_JSON) -> None:
    """Take a name out of the registry, all versions of it, after a yes. The data stays."""
    found = find_dataset(session.workspace(), name, None)
    if not yes:
        told = f"Dataset {name}, all versions of it, will be unregistered; the data stays.{readers([found])}"
        prompts.confirm(told, yes)
    found.unregister_all_versions()
    if as_json:
        rendering.as_json({"unregistered": name})
    else:
        print(f"Dataset {name} was unregistered.")


def readers(datasets: Sequence[AbstractDataset]) -> str:
    """A sentence that names the runs that read any of these, older versions of them too; empty when none did."""
    versions = [each for newest in datasets for each in _newest(newest)]
    runs = list(dict.fromkeys(use["run_id"] for each in versions for use in _uses(each) if use["direction"] == "input"))
    if not runs:
        return ""
    more = f" and {len(runs) - _NAMED} more" if len(runs) > _NAMED else ""
    return f" Runs that read it: {', '.join(runs[:_NAMED])}{more}."


def _newest(dataset: AbstractDataset) -> list[AbstractDataset]:
    """It and the versions before it, as many as are looked at."""
    workspace, record = dataset._registered("show")
    older = range(record.version - 1, max(0, record.version - _SHOWN), -1)
    return [dataset, *(find_dataset(workspace, record.name, version) for version in older)]


def _source(ws: Workspace, text: str) -> Any:
    """An address as it is; else a datastore and a path in it."""
    if "://" in text:
        return text
    name, colon, path = text.partition(":")
    if not colon and text in ws.datastores:
        raise InvalidInput(
            f"{text!r} is a datastore, and no path in it.",
            hint=f"`{text}:` is all that is in it, `{text}:PATH` a file, folder or pattern.",
        )
    if not colon:
        raise InvalidInput(
            f"{text!r} is neither an address nor DATASTORE:PATH.",
            hint=f"roost data upload {text} takes what is here to a datastore; roost datastore list shows those there are.",
        )
    return Datastore.get(ws, name), path.strip("/")


def _target(ws: Workspace, to: str, here: Path, name: str) -> tuple[Datastore, str]:
    """Where an upload goes. What gets a name has a folder of its own each time: no other data is in it, and no older version
    changes with it."""
    if to:
        if ":" not in to:
            store = ws.get_default_datastore().name if to not in ws.datastores else to
            place = "" if to in ws.datastores else to.strip("/")
            raise InvalidInput(f"--to is DATASTORE:PATH, got {to!r}.", hint=f"Give --to {store}:{place}")
        found = _source(ws, to)
        if isinstance(found, str):
            raise InvalidInput(f"{to!r} is an address; files are uploaded to DATASTORE:PATH.")
        datastore, path = found
        return datastore, path
    if name:
        return ws.get_default_datastore(), f"{name}/{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
    return ws.get_default_datastore(), here.resolve().name if here.is_dir() else ""


def _refuse_taken(ws: Workspace, name: str, new_version: bool) -> None:
    """Before a byte travels."""
    checked_name(name)
    if not new_version and name in ws.datasets:
        raise Conflict(
            f"There is a dataset {name!r} already, version {ws.datasets[name].version}.",
            hint="Give --new-version to register this as a new version of it, or another name.",
        )


def _refuse_mixing(datastore: Datastore, folder: str, files: Sequence[str]) -> None:
    there = {item.name for item in datastore_files.listing(datastore, folder)}
    if both := [each for each in files if f"{folder}/{each}".lstrip("/") in there]:
        raise Conflict(
            f"{datastore.name}:{folder} has {both[0]} already, and older versions may be of it.",
            hint="Leave out --to for a folder of its own, name another one, or give --overwrite to replace what is there.",
        )


def _tagged(tags: Sequence[str]) -> dict[str, str]:
    for tag in tags:
        if "=" not in tag:
            raise InvalidInput(f"--tag is KEY=VALUE, got {tag!r}.")
    return dict(tag.split("=", 1) for tag in tags)


def _record(dataset: AbstractDataset) -> Any:
    return dataset._record


def _plain(dataset: AbstractDataset) -> Any:
    return codec.encode(dataset._record)


def _kind(dataset: AbstractDataset) -> str:
    definition = dataset._definition
    return f"table ({definition.format['type']})" if definition.kind.value == "tabular" else "files"


def _reading(definition: Any) -> list[str]:
    """How its files are read, where that is not as tables are read by themselves."""
    usual = dataset_types.table(dataset_types.delimited(",", True, "utf8", True, False, False), False, None)
    usual["invalid_lines"] = "error"
    told = [
        f"{key} = {value!r}"
        for key, value in definition.format.items()
        if key not in ("type", "column_types") and value != usual.get(key)
    ]
    types = definition.format.get("column_types") or {}
    told += [" ".join([f"{name} as {kind['type']}", *kind.get("formats", ())]) for name, kind in types.items()]
    return told + ([f"partition_format = {definition.partition_format!r}"] if definition.partition_format else [])


def _places(dataset: AbstractDataset) -> list[str]:
    return [source.url or f"{source.datastore}:{source.path}" for source in dataset._definition.sources]


def _sources(dataset: AbstractDataset) -> str:
    places = _places(dataset)
    return places[0] + (f" and {len(places) - 1} more" if len(places) > 1 else "")


def _step(step: Any) -> str:
    if step["op"] == "filter":
        return f"filter: {words(step['expression'])}"
    given = ", ".join(f"{key} {value}" for key, value in step.items() if key != "op")
    return f"{step['op']}: {given}"


def _uses(dataset: AbstractDataset) -> list[dict[str, Any]]:
    workspace, record = dataset._registered("show")
    route = path_of("workspaces", workspace.name, "datasets", "by-id", record.id, "uses")
    found: list[dict[str, Any]] = workspace._connection.client.call("GET", route)["uses"]
    return [{key: use[key] for key in ("run_id", "direction", "name", "mode", "at")} for use in found]
