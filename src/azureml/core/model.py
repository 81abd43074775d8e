"""`azureml.core.model`: Model, InferenceConfig."""

from azureml._lending import leave_out, lend

lend(globals(), Model="Model", InferenceConfig="InferenceConfig")
leave_out(globals(), "ModelPackage")
