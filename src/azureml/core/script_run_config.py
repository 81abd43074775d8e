"""`azureml.core.script_run_config`."""

from azureml._lending import lend

lend(globals(), ScriptRunConfig="ScriptRunConfig")
