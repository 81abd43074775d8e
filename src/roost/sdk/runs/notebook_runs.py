"""`azureml.contrib.notebook`: a notebook as a run. papermill runs it in the run's environment; the filled notebook is stored
with the run's outputs (the run starts `roost_job/notebooks.py`).
"""

import json
import os
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from roost.domain import names
from roost.domain.errors import InvalidInput
from roost.sdk.runs.submissions import ScriptRunConfig

if TYPE_CHECKING:
    from roost.sdk.runs.runconfigs import RunConfiguration

_OPTIONS = {"kernel_name": "kernel_name", "timeout": "execution_timeout", "start_timeout": "start_timeout"}
"""Names of the handler's arguments, and papermill's names for them."""


class AzureMLNotebookHandler:
    """How the notebook is run: `kernel_name`, `timeout` (seconds per cell), `start_timeout` (of the kernel). Other arguments
    of the Azure ML SDK have no effect here."""

    def __init__(self, **kwargs: Any) -> None:
        self.options = {
            _OPTIONS[name]: value for name, value in kwargs.items() if name in _OPTIONS and value is not None
        }


class PapermillExecutionHandler(AzureMLNotebookHandler):
    """The same."""


class NotebookRunConfig(ScriptRunConfig):
    """A notebook, its folder and the values of its parameters. Submit it with `Experiment.submit`."""

    def __init__(
        self,
        source_directory: str | os.PathLike[str],
        notebook: str,
        output_notebook: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        handler: AzureMLNotebookHandler | None = None,
        run_config: "RunConfiguration | None" = None,
        _telemetry_values: object = None,
    ) -> None:
        if not isinstance(notebook, str) or not notebook.endswith(".ipynb"):
            raise InvalidInput(f"notebook must be the path of an .ipynb file below the folder, got {notebook!r}.")
        if handler is not None and not isinstance(handler, AzureMLNotebookHandler):
            raise InvalidInput(f"handler must be a PapermillExecutionHandler, got {type(handler).__name__}.")
        self.notebook = names.path(notebook)
        self.output_notebook = names.path(output_notebook or f"outputs/{PurePosixPath(notebook).stem}.output.ipynb")
        self.parameters = dict(parameters or {})
        options = {**(handler.options if handler else {}), "parameters": self.parameters}
        try:
            text = json.dumps(options)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"parameters must be plain values, got {self.parameters!r}: {error}.") from None
        command = ["python", "-m", "roost_job.notebooks", self.notebook, self.output_notebook, text]
        super().__init__(source_directory, command=command, run_config=run_config)
