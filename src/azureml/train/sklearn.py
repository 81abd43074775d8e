"""`azureml.train.sklearn`: the estimator of scikit-learn."""

from azureml._lending import lend

lend(globals(), SKLearn="SKLearn")
