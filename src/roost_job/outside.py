"""Names that the SDK has and a job has not: a script that uses one gets an error with the alternative."""

from typing import Iterable, Mapping, NoReturn

from roost_job import absent
from roost_job.exceptions import UserErrorException

_BEFORE = "Do it outside of the run, with the Roost SDK."
_FILTER = "Filter the frame that to_pandas_dataframe() gives; or filter before, with the Roost SDK, and register that."
_PROFILE = "Describe the frame: to_pandas_dataframe().describe(include='all')."
_INPUT = "Outside of the run give it as an input; in a job use mount(), download() or to_pandas_dataframe()."
_FILES = "In a job use Dataset.File.from_files((datastore, path)).mount() or .download(); and datastore.upload(folder, path)."

WORKSPACE: Mapping[str, str] = {
    "set_default_datastore": _BEFORE,
    "environments": _BEFORE,
    "compute_targets": _BEFORE,
    "experiments": "Run.get_context() is the job's own run, and its child_run() makes runs below it.",
    "webservices": _BEFORE,
    "get_details": _BEFORE,
    "write_config": _BEFORE,
    "_connection": "Datasets are found with Dataset.get_by_name(workspace, name). Anything else: %s" % _BEFORE,
}
SERVING = ("InferenceConfig", "Webservice", "AciWebservice", "AksWebservice", "AksEndpoint", "LocalWebservice")
"""Names of the SDK that are needed only for deployment."""
DATASET: Mapping[str, str] = {
    "filter": _FILTER,
    "as_named_input": _INPUT,
    "as_mount": _INPUT,
    "as_download": _INPUT,
    "to_csv_files": "Write the frame: to_pandas_dataframe().to_csv(...).",
    "to_parquet_files": "Write the frame: to_pandas_dataframe().to_parquet(...).",
    "get_profile": _PROFILE,
    "get_profile_runs": _PROFILE,
    "submit_profile_run": _PROFILE,
    "partition_by": _BEFORE,
    "partition_keys": _BEFORE,
    "get_partition_key_values": _BEFORE,
    "file_metadata": _BEFORE,
    "add_tags": _BEFORE,
    "remove_tags": _BEFORE,
    "update": _BEFORE,
    "unregister_all_versions": _BEFORE,
    "get_runs": _BEFORE,
    "data_changed_time": _BEFORE,
}
DATASTORE: Mapping[str, str] = dict(
    {
        "unregister": _BEFORE,
        "set_as_default": _BEFORE,
        "as_mount": _FILES,
        "as_download": _FILES,
        "as_upload": _FILES,
    },
    **{
        "register_%s" % kind: _BEFORE
        for kind in (
            "folder",
            "s3",
            "gcs",
            "http",
            "azure_blob_container",
            "azure_data_lake_gen2",
            "azure_file_share",
            "azure_data_lake",
            "azure_sql_database",
            "azure_postgre_sql",
            "azure_my_sql",
            "dbfs",
            "hdfs",
        )
    },
)
REFERENCE: Mapping[str, str] = {
    "as_mount": _FILES,
    "as_download": _FILES,
    "as_upload": _FILES,
    "to_config": _BEFORE,
}
FACTORY: Mapping[str, str] = {
    "get_versions": "Dataset.get_by_name(workspace, name, version) finds one. Or: %s" % _BEFORE,
    "from_sql_query": "Read the query with pandas, and use Dataset.Tabular.register_pandas_dataframe.",
    "register_spark_dataframe": "Write the frame as Parquet, and use from_parquet_files.",
    "register_dask_dataframe": "Write the frame as Parquet, and use from_parquet_files.",
}


class NotInRoost(UserErrorException, AttributeError):
    """Also an AttributeError: `hasattr` and `getattr` with a default work as for any missing name."""


class NotInJob(NotInRoost):
    """A name that only the SDK has."""


def refuse(kind: str, name: str, known: Mapping[str, str], there: Iterable[str] = ()) -> NoReturn:
    """NotInJob for a name of the SDK, AttributeError for an unknown one; `there` are the names to suggest."""
    if name not in known:
        raise AttributeError(
            "%r object has no attribute %r" % (kind, name)
            if name.startswith("_")
            else absent.unknown(name, kind, there)
        )
    if name.startswith("_"):
        raise NotInJob("In a job the workspace is known by its name; this needs more.", hint=known[name])
    raise NotInJob("%s.%s is not in a job." % (kind, name), hint=known[name])


def refuse_serving(what: str) -> NoReturn:
    """NotInJob for everything that deploys, deletes or reads services."""
    raise NotInJob("%s is not in a job." % what, hint=_BEFORE)
