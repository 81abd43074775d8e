"""What the SDK has and a job does not: whoever asks for it in a script is told so, with what to do instead."""

from typing import Mapping, NoReturn

from roost_job.exceptions import UserErrorException

_BEFORE = "Do it outside of the run, with the Roost SDK."
_DATASTORE = (
    "Give the run the data: a dataset as an input, or OutputFileDatasetConfig for what it writes; "
    "Dataset.get_by_name(workspace, name) finds what is registered."
)
_FILTER = "Filter the frame that to_pandas_dataframe() gives; or filter before, with the Roost SDK, and register that."
_INPUT = "Outside of the run give it as an input; in a job use mount(), download() or to_pandas_dataframe()."

WORKSPACE: Mapping[str, str] = {
    "get_default_datastore": _DATASTORE,
    "set_default_datastore": _BEFORE,
    "datastores": _DATASTORE,
    "environments": _BEFORE,
    "compute_targets": _BEFORE,
    "experiments": "Run.get_context() is the job's own run, and its child_run() makes runs below it.",
    "webservices": _BEFORE,
    "get_details": _BEFORE,
    "write_config": _BEFORE,
    "_connection": "Datasets are found with Dataset.get_by_name(workspace, name). Anything else: %s" % _BEFORE,
}
SERVING = ("InferenceConfig", "Webservice", "AciWebservice", "AksWebservice", "AksEndpoint", "LocalWebservice")
"""Names of the SDK that only somebody who deploys needs."""
DATASET: Mapping[str, str] = {
    "filter": _FILTER,
    "as_named_input": _INPUT,
    "as_mount": _INPUT,
    "as_download": _INPUT,
    "to_csv_files": "Write the frame: to_pandas_dataframe().to_csv(...).",
    "to_parquet_files": "Write the frame: to_pandas_dataframe().to_parquet(...).",
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


class NotInRoost(UserErrorException, AttributeError):
    """An AttributeError too: `hasattr` and `getattr` with a default answer as they do for any name that is not there."""


class NotInJob(NotInRoost):
    """What only the SDK has."""


def refuse(kind: str, name: str, known: Mapping[str, str]) -> NoReturn:
    """NotInJob for what the SDK has, AttributeError for what nobody has."""
    if name not in known:
        raise AttributeError("%r object has no attribute %r" % (kind, name))
    if name.startswith("_"):
        raise NotInJob("In a job the workspace is known by its name; this needs more.", hint=known[name])
    raise NotInJob("%s.%s is not in a job." % (kind, name), hint=known[name])


def refuse_serving(what: str) -> NoReturn:
    """NotInJob for whatever deploys, deletes, or looks at services."""
    raise NotInJob("%s is not in a job." % what, hint=_BEFORE)
