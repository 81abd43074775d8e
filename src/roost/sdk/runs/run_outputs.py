"""A run's outputs as data: `run._get_outputs_datapath()` of the Azure ML SDK v1, and the argument that `resume_from` becomes.

There a run's files lay in a datastore anyway. Here they are the run's own, so they are copied to the default datastore first.
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
"""What a script is given before the path."""
VARIABLE_NAME = "MODEL_LOCATION"
"""So the input is called: scripts also read its path from AZUREML_DATAREFERENCE_MODEL_LOCATION."""


def datapath(run: "Run") -> DataPath:
    """Where the files that the run has kept below `outputs` are, as they are now. InvalidInput when there is none."""
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
    """What a script is given to go on from: `--resume-from` and a folder. Nothing for None."""
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
