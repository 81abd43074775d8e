"""Libraries of the environment that a script runs in: asked for when they are needed, and never this library's own."""

import importlib
from typing import Any

from roost_job.exceptions import UserErrorException

_BROUGHT = ("pandas", "numpy", "pyarrow")
_AZURE = (
    ", or azureml-dataset-runtime, which brings pandas, numpy and pyarrow; azureml-defaults alone brings none of them"
)


def need(module: str, what: str = "A table is read into a pandas DataFrame") -> Any:
    """The module, or an error that says how to have it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise UserErrorException(
            "%s, and %s cannot be imported here: %s." % (what, module, error),
            hint="Add %s to the packages of the run's environment%s." % (name, _AZURE if name in _BROUGHT else ""),
        ) from None
