"""Constructors and look-ups of datasets: `Dataset.File`, `Dataset.Tabular`, `Dataset.get_by_name`."""

import contextlib
import os
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from roost.domain import codec, globs
from roost.domain import datasets as domain
from roost.domain.datasets import DatasetKind, Definition, Source, checked
from roost.domain.errors import InvalidInput, NotFound
from roost.sdk.core import absent
from roost.sdk.data import dataset_files, datastore_files
from roost.sdk.data.datasets import AbstractDataset, FileDataset
from roost.sdk.data.datastore_kinds import require_workspace
from roost.sdk.data.partitioning import write_parquet
from roost.sdk.data.tabular_datasets import TabularDataset
from roost.transport.client import path_of
from roost_job.context import JobWorkspace
from roost_job.data import datapaths, dataset_types
from roost_job.data import dataset_factory as job
from roost_job.data.dataset_factory import MANAGED
from roost_job.data.dataset_types import PromoteHeadersBehavior

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace


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
        """Files by reference: addresses, (datastore, path or pattern), DataPath, or a list of those. `validate` checks that
        there are any now. `partition_format` names parts of their paths: `{year}/{day:yyyy-MM-dd}/*.csv`."""
        sources, workspace = _sources(path)
        if isinstance(workspace, JobWorkspace):
            found: FileDataset = job.FileDatasetFactory.from_files(path, validate, partition_format)
            return found
        made = Definition(sources=sources, partition_format=dataset_types.partition_format(partition_format))
        return _validated(FileDataset._of(checked(made), workspace), validate)

    @staticmethod
    def upload_directory(
        src_dir: str | os.PathLike[str],
        target: Any,
        pattern: str | None = None,
        overwrite: bool = False,
        show_progress: bool = True,
    ) -> FileDataset:
        """Uploads a folder, or its files that match a pattern, and returns them as a dataset."""
        datastore, path = datapaths.target(target)
        if isinstance(datastore.workspace, JobWorkspace):
            found: FileDataset = job.FileDatasetFactory.upload_directory(
                src_dir, target, pattern, overwrite, show_progress
            )
            return found
        datastore_files.require_one_place(path)
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
        """A table from CSV or similar files."""
        form = dataset_types.delimited(
            separator, header, encoding, infer_column_types, support_multi_line, empty_as_string
        )
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
        """One JSON object per line; `invalid_lines`: `error`, or `drop` lines that are not JSON objects."""
        form = dataset_types.json_lines(invalid_lines, encoding)
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
        datastore, path = datapaths.target(target)
        if isinstance(datastore.workspace, JobWorkspace):
            found: TabularDataset = job.TabularDatasetFactory.register_pandas_dataframe(
                dataframe, target, name, description, tags, show_progress
            )
            return found
        folder = f"{path.strip('/') or MANAGED}/{secrets.token_hex(8)}"
        with tempfile.TemporaryDirectory(prefix="roost-table-") as place:
            write_parquet(dataframe, Path(place) / "part-00000.parquet")
            files = datastore_files.folder(place)
            datastore_files.upload(datastore, files, folder, overwrite=True, show_progress=show_progress)
        made = TabularDatasetFactory.from_parquet_files((datastore, f"{folder}/*.parquet"), validate=False)
        return made.register(datastore.workspace, name, description, tags, create_new_version=True)

    @staticmethod
    def from_sql_query(query: object, *args: object, **kwargs: object) -> NoReturn:  # noqa: ARG004 - the SDK's signature
        absent.refuse("azureml.core.Dataset.Tabular.from_sql_query")

    @staticmethod
    def register_spark_dataframe(*args: object, **kwargs: object) -> NoReturn:  # noqa: ARG004 - the SDK's signature
        absent.refuse("azureml.core.Dataset.Tabular.register_spark_dataframe")

    @staticmethod
    def register_dask_dataframe(*args: object, **kwargs: object) -> NoReturn:  # noqa: ARG004 - the SDK's signature
        absent.refuse("azureml.core.Dataset.Tabular.register_dask_dataframe")


class LabelledDatasetFactory:
    """`Dataset._Labeled`: tables of labels, one JSON object per line."""

    @staticmethod
    def from_json_lines(path: Any, task: object = None, validate: bool = True) -> TabularDataset:  # noqa: ARG004
        """`task` is the purpose of the labels; it does not change how a table is read."""
        return TabularDatasetFactory.from_json_lines_files(path, validate=validate)


class Dataset:
    """The entry point: `Dataset.File.from_files`, `Dataset.Tabular.from_…`, `Dataset.get_by_name`."""

    File = FileDatasetFactory
    Tabular = TabularDatasetFactory
    _Labeled = LabelledDatasetFactory

    @staticmethod
    def get_by_name(
        workspace: "Workspace | JobWorkspace",
        name: str,
        version: int | str = "latest",
        **kwargs: object,  # noqa: ARG004 - the SDK's signature
    ) -> "FileDataset | TabularDataset":
        """The registered dataset of that name, by default its newest version. Inside a job, the job library's."""
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
    def get_all(workspace: "Workspace | JobWorkspace") -> "Mapping[str, FileDataset | TabularDataset]":
        """The newest version of each dataset, by name."""
        if isinstance(workspace, JobWorkspace):
            there: Mapping[str, FileDataset | TabularDataset] = job.Dataset.get_all(workspace)
            return there
        require_workspace(workspace)
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
    """The dataset that a run read or wrote: the registered one, or its definition when it is not registered (any more)."""
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
    if isinstance(workspace, JobWorkspace):
        found: TabularDataset = job.table(path, form, validate, include_path, column_types, partition_format)
        return found
    definition = Definition(
        kind=DatasetKind.TABULAR,
        sources=sources,
        format=dataset_types.table(form, include_path, column_types),
        partition_format=dataset_types.partition_format(partition_format),
    )
    return _validated(TabularDataset._of(checked(definition), workspace), validate)


def _validated(dataset: D, validate: bool) -> D:
    if validate and not dataset_files.listing(dataset):
        raise domain.nothing_there(dataset._definition)
    return dataset


def _sources(path: Any) -> "tuple[tuple[Source, ...], Workspace | JobWorkspace | None]":
    """The arguments as sources, and the workspace of their datastores."""
    given, workspace = job.sources(path)
    return tuple(Source(**each) for each in given), workspace
