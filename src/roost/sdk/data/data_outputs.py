"""Outputs of runs: a folder that is uploaded to a datastore when the script has succeeded, and registered if requested.
`OutputFileDatasetConfig` in `arguments` becomes the folder's path on the node.
"""

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from roost.domain import names
from roost.domain.datasets import DatasetKind, Definition, Mode, Output, Source, checked_name, token
from roost.domain.datastores import checked_name as checked_datastore
from roost.domain.errors import InvalidInput
from roost.sdk import late
from roost.sdk.core import absent
from roost.sdk.data.consumption import DatasetConsumptionConfig, checked_input, new_name, put_into_text
from roost_job.data import dataset_types
from roost_job.data.dataset_types import PromoteHeadersBehavior
from roost_job.data.datastore_facts import DatastoreFacts

if TYPE_CHECKING:
    from roost.sdk.data.datastores import Datastore

_FILLED_IN = ("{run-id}", "{output-name}")
C = TypeVar("C", bound="OutputFileDatasetConfig")


class OutputFileDatasetConfig:
    """`destination`: (datastore or its name, path), with `{run-id}` and `{output-name}` filled in; by default the workspace's
    default datastore and `dataset/{run-id}/{output-name}`. `source`: the folder that the script fills, relative to the
    working copy; by default the run gets an empty one. The mode is that of `as_mount`, unless `as_upload` is called."""

    def __init__(
        self,
        name: str | None = None,
        destination: "Datastore | tuple[Datastore | str, str] | None" = None,
        source: str | None = None,
        partition_format: str | None = None,
    ) -> None:
        self._datastore, path = _destination(destination)
        definition = Definition(partition_format=partition_format or "")
        self._made = Output(
            name=new_name("output_") if name is None else checked_input(name),
            datastore=self._datastore if isinstance(self._datastore, str) else self._datastore.name,
            path=path,
            mode=Mode.MOUNT,
            overwrite=True,
            source=_source(source),
            definition=definition,
        )

    @property
    def name(self) -> str:
        return self._made.name

    @property
    def destination(self) -> "tuple[Datastore | str | None, str]":
        return self._datastore or None, self._made.path or "dataset/{run-id}/{output-name}"

    def as_upload(self: C, overwrite: bool = False, source_globs: Sequence[str] | str | None = None) -> C:
        """Uploads at the end; existing files are an error unless `overwrite`. `source_globs`: only files that match one of
        them."""
        globs = [source_globs] if isinstance(source_globs, str) else list(source_globs or ())
        checked = tuple(names.path(each) for each in globs)
        return self._with(mode=Mode.UPLOAD, overwrite=bool(overwrite), globs=checked)

    def as_mount(self: C, disable_metadata_cache: bool = False) -> C:  # noqa: ARG002 - the SDK's signature
        """Like `as_upload(overwrite=True)`: the datastore is written at the run's end, file by file; a file is never partial."""
        return self._with(mode=Mode.MOUNT, overwrite=True, globs=())

    def as_hdfs(self) -> NoReturn:
        absent.refuse("azureml.data.OutputFileDatasetConfig.as_hdfs")

    def as_direct(self) -> NoReturn:
        raise InvalidInput("An output is uploaded or mounted.", hint="Use as_upload() or as_mount().")

    def register_on_complete(
        self: C, name: str, description: str | None = None, tags: Mapping[str, str] | None = None, **kwargs: object
    ) -> C:
        """Registers the output as a new version of the named dataset when the run has completed."""
        if kwargs:
            raise InvalidInput(f"register_on_complete has no parameter {', '.join(map(repr, kwargs))}.")
        labels = {str(key): str(value) for key, value in (tags or {}).items()}
        return self._with(register_as=checked_name(name), register_description=description or "", register_tags=labels)

    def as_input(self, name: str | None = None) -> DatasetConsumptionConfig:
        """The output's destination as the input of another run, when it is the same for every run."""
        output = self._made
        if not output.datastore or not output.path or "{run-id}" in output.path:
            raise InvalidInput(
                f"Output {output.name!r} goes to another place with each run, so it cannot be an input beforehand.",
                hint="Give a destination without {run-id}; or submit the next run with run.output_datasets[name].",
            )
        path = output.path.replace("{output-name}", output.name)
        definition = replace(output.definition, sources=(Source(datastore=output.datastore, path=path),))
        workspace = None if isinstance(self._datastore, str) else self._datastore.workspace
        if definition.kind is DatasetKind.TABULAR:
            return DatasetConsumptionConfig(name, late.TabularDataset._of(definition, workspace))
        return DatasetConsumptionConfig(name, late.FileDataset._of(definition, workspace), "mount")

    def read_delimited_files(
        self,
        include_path: bool = False,
        separator: str = ",",
        header: bool | PromoteHeadersBehavior = PromoteHeadersBehavior.ALL_FILES_HAVE_SAME_HEADERS,
        partition_format: str | None = None,
        path_glob: str | None = None,
        set_column_types: Mapping[str, Any] | None = None,
    ) -> "OutputTabularDatasetConfig":
        """The output becomes a table, from CSV or similar files."""
        form = dataset_types.delimited(separator, header, "utf8", True, False, False)
        return self._table(form, include_path, partition_format, path_glob, set_column_types)

    def read_parquet_files(
        self,
        include_path: bool = False,
        partition_format: str | None = None,
        path_glob: str | None = None,
        set_column_types: Mapping[str, Any] | None = None,
    ) -> "OutputTabularDatasetConfig":
        """The output becomes a table, from Parquet files."""
        return self._table({"type": "parquet"}, include_path, partition_format, path_glob, set_column_types)

    def _table(
        self,
        form: Mapping[str, Any],
        include_path: bool,
        partition_format: str | None,
        path_glob: str | None,
        types: Mapping[str, Any] | None,
    ) -> "OutputTabularDatasetConfig":
        if path_glob:
            raise InvalidInput(
                "Roost cannot do `path_glob` of a run's output: all of its files are the table.",
                hint="Upload only those that are, with as_upload(source_globs=…).",
            )
        made = dataset_types.table(form, include_path, types)
        definition = Definition(kind=DatasetKind.TABULAR, format=made, partition_format=partition_format or "")
        table = OutputTabularDatasetConfig.__new__(OutputTabularDatasetConfig)
        table._datastore = self._datastore
        table._made = replace(self._made, definition=definition)
        return table

    def _carried(self) -> Output:
        """The record for a run."""
        return self._made

    def _with(self: C, **changes: Any) -> C:
        made = copy.copy(self)
        made._made = replace(self._made, **changes)
        return made

    def __str__(self) -> str:
        return put_into_text(self, token(self.name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, mode={self._made.mode.value!r})"


class OutputTabularDatasetConfig(OutputFileDatasetConfig):
    """An output that becomes a table: made by `read_delimited_files` or `read_parquet_files`."""

    def __init__(self) -> None:
        raise InvalidInput(
            "An OutputTabularDatasetConfig is not made directly.",
            hint="OutputFileDatasetConfig(…).read_delimited_files()",
        )

    def keep_columns(self, columns: str | Sequence[str]) -> "OutputTabularDatasetConfig":
        return self._step(op="keep_columns", columns=_texts(columns))

    def drop_columns(self, columns: str | Sequence[str]) -> "OutputTabularDatasetConfig":
        return self._step(op="drop_columns", columns=_texts(columns))

    def _step(self, **step: object) -> "OutputTabularDatasetConfig":
        definition = self._made.definition
        return self._with(definition=replace(definition, steps=(*definition.steps, step)))


def _texts(columns: object) -> list[str]:
    given = [columns] if isinstance(columns, str) else columns
    if not isinstance(given, Sequence) or not all(isinstance(each, str) for each in given):
        raise InvalidInput(f"Columns are a name or a list of names, got {columns!r}.")
    return list(given)


def _destination(given: Any) -> "tuple[Datastore | str, str]":
    """The datastore, or its name (empty for the workspace's default), and the path in it."""
    if given is None:
        return "", ""
    datastore, path = given if isinstance(given, tuple) and len(given) == 2 else (given, "")
    known = isinstance(datastore, DatastoreFacts | str)  # a job's datastore is also identified by its name
    if isinstance(given, str) or not known or not isinstance(path, str):
        raise InvalidInput(
            f"destination must be a datastore, or a datastore and a path, got {given!r}.",
            hint="destination=(ws.get_default_datastore(), 'results/{run-id}')",
        )
    if isinstance(datastore, str):
        checked_datastore(datastore)
    if unknown := [each for each in re.findall(r"\{[^{}]*\}", path) if each not in _FILLED_IN]:
        raise InvalidInput(
            f"The path {path!r} of destination has {unknown[0]}, which stands for nothing.",
            hint=f"{' and '.join(_FILLED_IN)} are filled in.",
        )
    return datastore, names.path(path.strip("/")) if path.strip("/") else ""


def _source(given: str | None) -> str:
    if given is None:
        return ""
    if not isinstance(given, str) or not given.strip() or "\0" in given:
        raise InvalidInput(f"source must be the path of a folder, got {given!r}.")
    return given
