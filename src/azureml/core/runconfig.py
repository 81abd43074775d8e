"""`azureml.core.runconfig`: what a run is configured with. Distributed configurations say on use that they are not there yet."""

from azureml._lending import announce, lend

lend(
    globals(),
    RunConfiguration="RunConfiguration",
    DockerConfiguration="DockerConfiguration",
    HistoryConfiguration="HistoryConfiguration",
    CondaDependencies="CondaDependencies",
    Environment="Environment",
    EnvironmentDefinition="Environment",
    PythonEnvironment="PythonSection",
    DockerEnvironment="DockerSection",
    ContainerRegistry="ContainerRegistry",
    DataReferenceConfiguration="DataReferenceConfiguration",
    DEFAULT_CPU_IMAGE="DEFAULT_CPU_IMAGE",
    DEFAULT_GPU_IMAGE="DEFAULT_GPU_IMAGE",
)
announce(globals(), "MpiConfiguration", "PyTorchConfiguration", "TensorflowConfiguration")
