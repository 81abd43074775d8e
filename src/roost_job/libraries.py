"""Libraries of the script's environment: imported when they are needed, and never part of this library."""

import importlib
import os
import sys
from typing import Any, NoReturn

from roost_job.exceptions import UserErrorException

_BROUGHT = ("pandas", "numpy", "pyarrow")
_AZURE = (
    ", or azureml-dataset-runtime, which brings pandas, numpy and pyarrow; azureml-defaults alone brings none of them"
)


def need(module: str, what: str = "A table is read into a pandas DataFrame") -> Any:
    """The module, or an error that explains how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise UserErrorException(
            "%s, and %s cannot be imported here: %s." % (what, module, error),
            hint=remedy(name),
        ) from None


def remedy(package: str) -> str:
    """How to install a package."""
    if os.environ.get("ROOST_RUN_ID"):
        return "Add %s to the packages of the run's environment%s." % (package, _AZURE if package in _BROUGHT else "")
    return "Install it here: %s -m pip install %s" % (sys.executable, package)


def refuse_parquet(deed: str) -> NoReturn:
    """Replaces pandas' own error that no Parquet library can be imported."""
    raise UserErrorException(
        "Parquet is %s by pyarrow, which this environment does not have, or only in a version that its pandas does not take."
        % deed,
        hint=remedy("pyarrow"),
    ) from None
