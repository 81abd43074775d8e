"""`azureml.train.estimator`: a script with its packages, the older way to configure a run."""

from azureml._lending import lend

lend(globals(), Estimator="Estimator", MMLBaseEstimator="MMLBaseEstimator")
