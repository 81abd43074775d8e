"""`azureml.core.experiment`."""

from azureml._lending import lend

lend(globals(), Experiment="Experiment")
