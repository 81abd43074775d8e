"""`azureml.core.model`: Model, InferenceConfig."""

from azureml._lending import leave_out, lend

lend(globals(), Model="Model", InferenceConfig="InferenceConfig")
leave_out(globals(), "Model.deploy(workspace, name, [model], inference_config) serves it here.", "ModelPackage")
