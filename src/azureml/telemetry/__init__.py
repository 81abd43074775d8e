"""`azureml.telemetry`: the switch that notebooks turn. Roost sends nothing either way."""

from azureml._lending import lend
from roost_job.telemetry import set_diagnostics_collection

lend(globals())
