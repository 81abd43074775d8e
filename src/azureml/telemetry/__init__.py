"""`azureml.telemetry`: the switch that notebooks turn. Roost sends nothing either way."""

from azureml._lending import SDK_VERSION, lend
from roost_job.telemetry import set_diagnostics_collection

__version__ = SDK_VERSION

lend(globals())
