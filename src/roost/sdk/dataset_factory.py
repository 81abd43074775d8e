"""How datasets are made and found: `Dataset.File`, `Dataset.Tabular`, `Dataset.get_by_name`."""

import contextlib
import os
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import urlsplit

from roost.domain import codec, globs
from roost.domain import datasets as domain
from roost.domain.datasets import DatasetKind, Definition, Source, checked
from roost.domain.errors import InvalidInput, NotFound
from roost.sdk import dataset_files, dataset_types, datastore_files
from roost.sdk.datapaths import DataPath
from roost.sdk.dataset_types import PromoteHeadersBehavior
from roost.sdk.datasets import AbstractDataset, FileDataset
from roost.sdk.datastore_kinds import require_workspace
from roost.sdk.datastores import Datastore
from roost.sdk.partitioning import write_parquet
from roost.sdk.tabular_datasets import MANAGED, TabularDataset, _target
from roost.transport.client import path_of
from roost_job import datasets as job
from roost_job.context import JobWorkspace

if TYPE_CHECKING:
    from roost.sdk.workspaces import Workspace


D = TypeVar("D", bound=AbstractDataset)


class FileDatasetFactory:
    """`Dataset.File`."""

    @staticmethod
    def from_files(
        path: Any,
        validate: bool = True,
        partition_format: str | None = None,
        is_file: bool = False,  # noqa: ARG004
    ) -> FileDataset:
        """Files by reference: addresses, (datastore, path or pattern), DataPath, or a list of those. `validate` looks whether
        there are any now. `partition_format` names parts of their paths: `{year}/{day:yyyy-MM-dd}/*.csv`."""
        sources, workspace = _sources(path)
        definition = checked(Definition(sources=sources, partition_format=_partitions(partition_format)))
        return _validated(FileDataset._of(definition, workspace), validate)

    @staticmethod
    def upload_directory(
        src_dir: str | os.PathLike[str],
        target: Any,
        pattern: str | None = None,
        overwrite: bool = False,
        show_progress: bool = True,
    ) -> FileDataset:
        """Uploads a folder, or what a pattern means in it, and gives those files as a dataset."""
        datastore, path = _target(target)
        files = datastore_files.folder(src_dir, pattern)
        datastore_files.upload(datastore, files, path, overwrite=overwrite, show_progress=show_progress)
        definition = Definition(sources=(Source(datastore=datastore.name, path=globs.checked(path)),))
        return FileDataset._of(definition, datastore.workspace)


class TabularDatasetFactory:
    """`Dataset.Tabular`."""

    @staticmethod
    def from_delimited_files(
        path: Any,
        validate: bool = True,
        include_path: bool = False,
        infer_column_types: bool = True,
        set_column_types: Mapping[str, Any] | None = None,
        separator: str = ",",
        header: bool | PromoteHeadersBehavior = True,
        partition_format: str | None = None,
        support_multi_line: bool = False,
        empty_as_string: bool = False,
        encoding: Any = "utf8",
    ) -> TabularDataset:
        """CSV and its relatives."""
        if not isinstance(separator, str) or not separator:
            raise InvalidInput(f"separator must be text, got {separator!r}.")
        form = {
            "type": "delimited",
            "separator": separator,
            "header": dataset_types.header(header),
            "encoding": dataset_types.encoding(encoding),
            "infer_column_types": bool(infer_column_types),
            "support_multi_line": bool(support_multi_line),
            "empty_as_string": bool(empty_as_string),
        }
        return _table(path, form, validate, include_path, set_column_types, partition_format)

    @staticmethod
    def from_parquet_files(
        path: Any,
        validate: bool = True,
        include_path: bool = False,
        set_column_types: Mapping[str, Any] | None = None,
        partition_format: str | None = None,
    ) -> TabularDataset:
        return _table(path, {"type": "parquet"}, validate, include_path, set_column_types, partition_format)

    @staticmethod
    def from_json_lines_files(
        path: Any,
        validate: bool = True,
        include_path: bool = False,
        set_column_types: Mapping[str, Any] | None = None,
        partition_format: str | None = None,
        invalid_lines: str = "error",
        encoding: Any = "utf8",
    ) -> TabularDataset:
        """One JSON object on each line; `invalid_lines`: error, or drop those that are none."""
        if invalid_lines not in ("error", "drop"):
            raise InvalidInput(f"invalid_lines must be 'error' or 'drop', got {invalid_lines!r}.")
        form = {"type": "json_lines", "invalid_lines": invalid_lines, "encoding": dataset_types.encoding(encoding)}
        return _table(path, form, validate, include_path, set_column_types, partition_format)

    @staticmethod
    def register_pandas_dataframe(
        dataframe: Any,
        target: Any,
        name: str,
        description: str | None = None,
        tags: Mapping[str, str] | None = None,
        show_progress: bool = True,
    ) -> TabularDataset:
        """Writes the frame to a datastore as Parquet, and registers it."""
        domain.checked_name(name)
        if not hasattr(dataframe, "to_parquet"):
            raise InvalidInput(f"dataframe must be a pandas DataFrame, got {type(dataframe).__name__}.")
        datastore, path = _target(target)
        folder = f"{path.strip('/') or MANAGED}/{secrets.token_hex(8)}"
        with tempfile.TemporaryDirectory(prefix="roost-table-") as place:
            write_parquet(dataframe, Path(place) / "part-00000.parquet")
            files = datastore_files.folder(place)
            datastore_files.upload(datastore, files, folder, overwrite=True, show_progress=show_progress)
        made = TabularDatasetFactory.from_parquet_files((datastore, f"{folder}/*.parquet"), validate=False)
        return made.register(datastore.workspace, name, description, tags, create_new_version=True)

    @staticmethod
    def from_sql_query(query: object, *args: object, **kwargs: object) -> NoReturn:  # noqa: ARG004 - the SDK's signature
        raise InvalidInput(
            "Roost reads no databases.",
            hint="Read the query with pandas, and use Dataset.Tabular.register_pandas_dataframe.",
        )

    @staticmethod
    def register_spark_dataframe(*args: object, **kwargs: object) -> NoReturn:  # noqa: ARG004 - the SDK's signature
        raise InvalidInput(
            "There is no Spark in Roost.", hint="Write the frame as Parquet, and use from_parquet_files."
        )

    @staticmethod
    def register_dask_dataframe(*args: object, **kwargs: object) -> NoReturn:  # noqa: ARG004 - the SDK's signature
        raise InvalidInput("Dask is not built in.", hint="Write the frame as Parquet, and use from_parquet_files.")


class Dataset:
    """Where datasets begin: `Dataset.File.from_files`, `Dataset.Tabular.from_…`, `Dataset.get_by_name`."""

    File = FileDatasetFactory
    Tabular = TabularDatasetFactory

    @staticmethod
    def get_by_name(
        workspace: "Workspace | JobWorkspace",
        name: str,
        version: int | str = "latest",
        **kwargs: object,  # noqa: ARG004 - the SDK's signature
    ) -> "FileDataset | TabularDataset":
        """The registered dataset of that name; its newest version when none is given. Inside a job that of the job library."""
        if isinstance(workspace, JobWorkspace):
            found: FileDataset | TabularDataset = job.Dataset.get_by_name(workspace, name, version)
            return found
        require_workspace(workspace)
        params = None if version in ("latest", None) else {"version": _version(version)}
        route = path_of("workspaces", workspace.name, "datasets", domain.checked_name(name))
        return _made(workspace, workspace._connection.client.call("GET", route, params=params))

    @staticmethod
    def get_by_id(workspace: "Workspace | JobWorkspace", id: str, **kwargs: object) -> "FileDataset | TabularDataset":  # noqa: A002, ARG004
        if isinstance(workspace, JobWorkspace):
            found: FileDataset | TabularDataset = job.Dataset.get_by_id(workspace, id)
            return found
        require_workspace(workspace)
        route = path_of("workspaces", workspace.name, "datasets", "by-id", str(id))
        return _made(workspace, workspace._connection.client.call("GET", route))

    @staticmethod
    def get_all(workspace: "Workspace") -> "dict[str, FileDataset | TabularDataset]":
        """The newest version of each, by name."""
        answer = workspace._connection.client.call("GET", path_of("workspaces", workspace.name, "datasets"))
        found = [_made(workspace, each) for each in answer["datasets"]]
        return {str(each.name): each for each in found}

    @staticmethod
    def get_versions(workspace: "Workspace", name: str) -> "list[FileDataset | TabularDataset]":
        """All versions of one name, newest first."""
        route = path_of("workspaces", workspace.name, "datasets")
        answer = workspace._connection.client.call("GET", route, params={"name": domain.checked_name(name)})
        return [_made(workspace, each) for each in answer["datasets"]]


def of_use(workspace: "Workspace", use: Mapping[str, Any]) -> "FileDataset | TabularDataset":
    """What a run read or wrote: the registered dataset, or its definition where that is not registered (any more)."""
    if use.get("dataset_id"):
        with contextlib.suppress(NotFound):
            return Dataset.get_by_id(workspace, str(use["dataset_id"]))
    definition = codec.decode(Definition, use["definition"])
    kind = TabularDataset if definition.kind is DatasetKind.TABULAR else FileDataset
    return kind._of(definition, workspace)


def _made(workspace: "Workspace", answer: Any) -> "FileDataset | TabularDataset":
    record = codec.decode(domain.Dataset, answer)
    kind = TabularDataset if record.definition.kind is DatasetKind.TABULAR else FileDataset
    return kind._of(record.definition, workspace, record)


def _version(version: object) -> int:
    if isinstance(version, bool) or not str(version).isdecimal():
        raise InvalidInput(f"version must be a whole number or 'latest', got {version!r}.")
    return int(str(version))


def _table(
    path: Any,
    form: Mapping[str, Any],
    validate: bool,
    include_path: bool,
    column_types: Mapping[str, Any] | None,
    partition_format: str | None,
) -> TabularDataset:
    sources, workspace = _sources(path)
    whole = {**form, "include_path": bool(include_path), "column_types": dataset_types.column_types(column_types)}
    definition = Definition(
        kind=DatasetKind.TABULAR, sources=sources, format=whole, partition_format=_partitions(partition_format)
    )
    return _validated(TabularDataset._of(checked(definition), workspace), validate)


def _validated(dataset: D, validate: bool) -> D:
    if validate and not dataset_files.listing(dataset):
        said = ", ".join(
            domain.masked(each.url) or f"{each.datastore}/{each.path}" for each in dataset._definition.sources[:3]
        )
        raise InvalidInput(
            f"There is no file at {said}.",
            hint="Give validate=False for data that comes later.",
            cli_hint="Look at its path.",
        )
    return dataset


def _sources(path: Any) -> "tuple[tuple[Source, ...], Workspace | None]":
    """What was given as sources, and the workspace of their datastores."""
    if isinstance(path, tuple) and len(path) == 2 and all(isinstance(each, str) and "://" not in each for each in path):
        raise InvalidInput(
            f"{path!r} names a datastore by text.", hint=f"(Datastore.get(workspace, {path[0]!r}), {path[1]!r})"
        )
    every: Sequence[Any] = [path] if _is_one(path) else list(path) if isinstance(path, list | tuple) else [path]
    sources, workspace = [], None
    for each in every:
        source, place = _source(each)
        if place is not None and workspace is not None and place.name != workspace.name:
            raise InvalidInput(f"The datastores are of two workspaces, {workspace.name!r} and {place.name!r}.")
        sources.append(source)
        workspace = place or workspace
    return tuple(sources), workspace


def _is_one(path: object) -> bool:
    return isinstance(path, tuple) and len(path) == 2 and isinstance(path[0], Datastore)


def _source(given: Any) -> "tuple[Source, Workspace | None]":
    if isinstance(given, AbstractDataset):
        raise InvalidInput("A dataset cannot be made of a dataset.", hint="Use it as it is: take, filter, …")
    if _is_one(given):
        if given[1] is not None and not isinstance(given[1], str | os.PathLike):
            raise InvalidInput(
                f"A path in a datastore must be text, got {type(given[1]).__name__} {given[1]!r}.",
                hint="Give several as a list of pairs: [(datastore, 'a'), (datastore, 'b')].",
            )
        return Source(datastore=given[0].name, path=str(given[1] or "")), given[0].workspace
    if isinstance(given, Datastore):
        return Source(datastore=given.name), given.workspace
    if isinstance(given, DataPath) or hasattr(given, "path_on_datastore"):  # a DataPath or a DataReference
        datastore = given.datastore if hasattr(given, "datastore") else given._datastore
        return Source(datastore=datastore.name, path=given.path_on_datastore or ""), datastore.workspace
    if isinstance(given, str):
        return Source(url=_address(given)), None
    raise InvalidInput(
        f"A dataset cannot be made of {type(given).__name__} {str(given)[:100]!r}.",
        hint="Give an address, (datastore, 'path'), a DataPath, or a list of those.",
    )


def _address(text: str) -> str:
    if "://" not in text:
        raise InvalidInput(
            f"{domain.masked(text)!r} is not an address that can be read.",
            hint="What is here goes to a datastore first: Dataset.File.upload_directory('folder', (datastore, 'folder')). What "
            "is in one already is (datastore, 'path').",
        )
    url = domain.checked_url(text)
    if "*" in urlsplit(url).path:
        raise InvalidInput(
            f"{domain.masked(url)!r} is a pattern, and over HTTP files cannot be listed.",
            hint="Give a list of the addresses of all files.",
        )
    return url


def _partitions(form: str | None) -> str:
    if form is not None and (not isinstance(form, str) or "{" not in form):
        raise InvalidInput(
            f"partition_format names parts of paths in braces, got {form!r}.", hint="'{year}/{month}/*.csv'"
        )
    return form or ""
