"""`azureml.core`: Workspace, Experiment, ScriptRunConfig, Run and the rest, loaded when first used."""

from azureml._lending import SDK_VERSION, leave_out, lend, lend_urllib

VERSION = __version__ = SDK_VERSION

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
leave_out(globals(), "Image")
lend_urllib()
