"""`azureml.core.script_run`: what `experiment.submit` returns; in Roost every run is a Run."""

from azureml._lending import lend

lend(globals(), ScriptRun="Run")
