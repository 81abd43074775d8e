"""A run's outputs as data: `run._get_outputs_datapath()` of the Azure ML SDK v1, and the argument for `resume_from`.

In Azure, a run's files are in a datastore anyway. Here they belong to the run, so they are first copied to the default datastore.
"""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roost.domain.errors import InvalidInput
from roost.sdk.data import datastore_files
from roost.sdk.data.data_references import DataReference
from roost_job.data.datapaths import DataPath
from roost_job.data.datapaths import DataReference as JobReference

if TYPE_CHECKING:
    from roost.sdk.runs.runs import Run

OUTPUTS = "outputs"
ARGUMENT = "--resume-from"
"""The script's option before the path."""
VARIABLE_NAME = "MODEL_LOCATION"
"""The name of the input: scripts also read its path from AZUREML_DATAREFERENCE_MODEL_LOCATION."""


def datapath(run: "Run") -> DataPath:
    """The place of the run's files below `outputs`, as they are now. Raises InvalidInput when there are none."""
    found = [name for name in run.get_file_names() if name.startswith(f"{OUTPUTS}/")]
    if not found:
        raise InvalidInput(
            f"Run {run.id} has no files below `{OUTPUTS}` to make data of.",
            hint="What its script writes to ./outputs is there once it has ended: run.wait_for_completion()",
        )
    store = run.experiment.workspace.get_default_datastore()
    target = f"azureml/{run.id}/{OUTPUTS}"
    with tempfile.TemporaryDirectory(prefix="roost-outputs-") as place:
        run.download_files(prefix=OUTPUTS, output_directory=place)
        files = [(Path(place, name), name.removeprefix(f"{OUTPUTS}/")) for name in found]
        datastore_files.upload(store, files, target, overwrite=True, show_progress=False)
    return DataPath(store, target)


def resume_arguments(given: object) -> list[str | DataReference]:
    """The script's arguments for continuing: `--resume-from` and a folder. Empty for None."""
    if given is None:
        return []
    if isinstance(given, DataReference):
        return [ARGUMENT, given]
    if isinstance(given, DataPath | JobReference):
        place: Any = getattr(given, "datastore", None) or given._datastore
        return [ARGUMENT, DataReference(place, VARIABLE_NAME, given.path_on_datastore).as_mount()]
    raise InvalidInput(
        f"resume_from must be a DataPath, got {type(given).__name__}.",
        hint="run._get_outputs_datapath() gives that of a run's outputs.",
    )
