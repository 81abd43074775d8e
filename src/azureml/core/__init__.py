"""`azureml.core`: Workspace, Experiment, ScriptRunConfig, Run and the rest, loaded when first used."""

from azureml._lending import leave_out, lend

VERSION = __version__ = "1.61.0"
"""Scripts check it; it is the version of the Azure ML SDK v1 whose behaviour these paths follow."""

lend(
    globals(),
    Workspace="Workspace",
    Experiment="Experiment",
    ScriptRunConfig="ScriptRunConfig",
    Run="Run",
    Keyvault="Keyvault",
    ComputeTarget="ComputeTarget",
    Environment="Environment",
    RunConfiguration="RunConfiguration",
    ContainerRegistry="ContainerRegistry",
    Dataset="Dataset",
    Datastore="Datastore",
    Model="Model",
    Webservice="Webservice",
)
leave_out(globals(), "Model.deploy(workspace, name, [model], inference_config) serves a model without one.", "Image")
