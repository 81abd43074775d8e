"""Makes and finds datasets for a script in a job: `Dataset.File`, `Dataset.Tabular`, `Dataset.get_by_name`.

This module builds a definition; the agent checks it and records what the run reads. The SDK also uses `sources`.
"""

import binascii
import os
from typing import Any, Dict, List, Mapping, NoReturn, Optional, Tuple

from roost_job import outside
from roost_job.context import experiment_of, job_here
from roost_job.data import datapaths, dataset_types, local_files
from roost_job.data.datasets import JobDatasets, link_of, make
from roost_job.exceptions import RunEnvironmentException, UserErrorException
from roost_job.libraries import refuse_parquet

MANAGED = "managed-dataset"
"""Folder of a datastore for tables that were written, each in its own folder."""


class _Factory(type):
    """Raises a helpful error for names that only the SDK has."""

    def __getattr__(cls, name: str) -> NoReturn:
        outside.refuse(cls.__name__, name, outside.FACTORY, vars(cls))


class FileDatasetFactory(object):
    """`Dataset.File`."""

    @staticmethod
    def from_files(
        path: Any,
        validate: bool = True,
        partition_format: Optional[str] = None,
        is_file: bool = False,  # noqa: ARG004 - what is there is looked at
    ) -> Any:
        """Files by reference: addresses, (datastore, path or pattern), DataPath, or a list of those. `validate` checks that files
        exist now. `partition_format` names parts of their paths: `{year}/{day:yyyy-MM-dd}/*.csv`."""
        form = {"kind": "file", "partition_format": dataset_types.partition_format(partition_format)}
        return _made(path, form, validate)

    @staticmethod
    def upload_directory(
        src_dir: Any,
        target: Any,
        pattern: Optional[str] = None,
        overwrite: bool = False,
        show_progress: bool = True,
    ) -> Any:
        """Uploads a folder, or the files in it that match a pattern, and returns them as a dataset."""
        datastore, path = datapaths.target(target)
        files = local_files.folder(src_dir, pattern)
        there = datastore._send(files, path, overwrite, show_progress)
        link, definition = (
            link_of(datastore.workspace),
            {"kind": "file", "sources": [{"datastore": datastore.name, "path": there}]},
        )
        return make(link, link.ask("dataset_make", definition=definition, validate=False))


class TabularDatasetFactory(object, metaclass=_Factory):
    """`Dataset.Tabular`."""

    @staticmethod
    def from_delimited_files(
        path: Any,
        validate: bool = True,
        include_path: bool = False,
        infer_column_types: bool = True,
        set_column_types: Optional[Mapping[str, Any]] = None,
        separator: str = ",",
        header: Any = True,
        partition_format: Optional[str] = None,
        support_multi_line: bool = False,
        empty_as_string: bool = False,
        encoding: Any = "utf8",
    ) -> Any:
        """CSV and similar formats."""
        form = dataset_types.delimited(
            separator, header, encoding, infer_column_types, support_multi_line, empty_as_string
        )
        return table(path, form, validate, include_path, set_column_types, partition_format)

    @staticmethod
    def from_parquet_files(
        path: Any,
        validate: bool = True,
        include_path: bool = False,
        set_column_types: Optional[Mapping[str, Any]] = None,
        partition_format: Optional[str] = None,
    ) -> Any:
        return table(path, {"type": "parquet"}, validate, include_path, set_column_types, partition_format)

    @staticmethod
    def from_json_lines_files(
        path: Any,
        validate: bool = True,
        include_path: bool = False,
        set_column_types: Optional[Mapping[str, Any]] = None,
        partition_format: Optional[str] = None,
        invalid_lines: str = "error",
        encoding: Any = "utf8",
    ) -> Any:
        """One JSON object per line; `invalid_lines`: error, or drop invalid lines."""
        form = dataset_types.json_lines(invalid_lines, encoding)
        return table(path, form, validate, include_path, set_column_types, partition_format)

    @staticmethod
    def register_pandas_dataframe(
        dataframe: Any,
        target: Any,
        name: str,
        description: Optional[str] = None,
        tags: Optional[Mapping[str, str]] = None,
        show_progress: bool = True,
    ) -> Any:
        """Writes the frame to a datastore as Parquet, and registers it."""
        import tempfile  # only for scripts that write frames

        datastore, path = datapaths.target(target)
        folder = "%s/%s" % (path.strip("/") or MANAGED, binascii.hexlify(os.urandom(8)).decode())
        with tempfile.TemporaryDirectory(prefix="roost-table-") as place:
            try:
                dataframe.to_parquet(os.path.join(place, "part-00000.parquet"), index=False)
            except ImportError:
                refuse_parquet("written")
            there = datastore._send(local_files.folder(place), folder, True, show_progress)
        definition = {
            "kind": "tabular",
            "sources": [{"datastore": datastore.name, "path": "%s/*.parquet" % there}],
            "format": dataset_types.table({"type": "parquet"}, False, None),
        }
        made = make(link_of(datastore.workspace), definition)
        return made.register(datastore.workspace, name, description, tags, create_new_version=True)


class Dataset(object, metaclass=_Factory):
    """The start for datasets: `Dataset.File.from_files`, `Dataset.get_by_name`. `workspace` is `run.experiment.workspace`."""

    File = FileDatasetFactory
    Tabular = TabularDatasetFactory

    @staticmethod
    def get_by_name(workspace: Any, name: str, version: Any = "latest", **kwargs: Any) -> Any:  # noqa: ARG004
        """The registered dataset of that name; its newest version when none is given."""
        if isinstance(version, bool) or not (version in (None, "latest") or str(version).isdecimal()):
            raise UserErrorException("version must be a whole number or 'latest', got %r." % (version,))
        wanted = None if version in (None, "latest") else int(version)
        record = link_of(workspace).ask("dataset", name=name, version=wanted)
        return make(link_of(workspace), record["definition"], record)

    @staticmethod
    def get_by_id(workspace: Any, id: str, **kwargs: Any) -> Any:  # noqa: A002, ARG004 - the SDK's name for it
        """The registered dataset of that id, or the run's own input of that name: an argument holds one of the two."""
        link = link_of(workspace)
        for each in (link.ask("run").get("spec") or {}).get("inputs") or ():
            if each["name"] == id and not each.get("dataset_id"):
                return make(link, each["definition"])
        record = link.ask("dataset", id=str(id))
        return make(link, record["definition"], record)

    @staticmethod
    def get_all(workspace: Any) -> Any:
        """The newest version of each, by name: as `workspace.datasets`."""
        return JobDatasets(link_of(workspace))


def table(
    path: Any,
    form: Mapping[str, Any],
    validate: bool,
    include_path: bool,
    column_types: Optional[Mapping[str, Any]],
    partition_format: Optional[str],
) -> Any:
    whole = {
        "kind": "tabular",
        "format": dataset_types.table(form, include_path, column_types),
        "partition_format": dataset_types.partition_format(partition_format),
    }
    return _made(path, whole, validate)


def sources(path: Any) -> Tuple[List[Dict[str, str]], Any]:
    """The sources of a definition from the caller's paths, and the workspace of their datastores; None when all are addresses."""
    several = isinstance(path, (list, tuple)) and datapaths.place(path) is None
    if isinstance(path, tuple) and len(path) == 2 and all(isinstance(p, str) and "://" not in p for p in path):
        raise UserErrorException(
            "%r names a datastore by text." % (path,), hint="(Datastore.get(workspace, %r), %r)" % path
        )
    found, workspace = [], None
    for each in list(path) if several else [path]:
        if hasattr(each, "_definition"):
            raise UserErrorException("A dataset cannot be made of a dataset.", hint="Use it as it is: take, skip, …")
        place = datapaths.place(each)
        if place is None and not isinstance(each, str):
            raise UserErrorException(
                "A dataset cannot be made of %s %r." % (type(each).__name__, str(each)[:100]),
                hint="Give an address, (datastore, 'path'), a DataPath, or a list of those.",
            )
        if place is None:
            found.append({"url": each})
            continue
        datastore, inside = place
        if workspace is not None and workspace.name != datastore.workspace.name:
            raise UserErrorException(
                "The datastores are of two workspaces, %r and %r." % (workspace.name, datastore.workspace.name)
            )
        found.append({"datastore": datastore.name, "path": inside})
        workspace = datastore.workspace
    return found, workspace


def _made(path: Any, form: Mapping[str, Any], validate: bool) -> Any:
    given, workspace = sources(path)
    link = link_of(workspace if workspace is not None else _workspace_here())
    definition = dict(form, sources=given)
    return make(link, link.ask("dataset_make", definition=definition, validate=bool(validate)))


def _workspace_here() -> Any:
    job = job_here()
    if job is None:
        raise RunEnvironmentException(
            "There is no run here, and so no agent that reads data.",
            hint="Run the script as a job, or use a Python 3.11 or later that has `roost` installed.",
        )
    return experiment_of(job).workspace
