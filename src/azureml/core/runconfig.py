"""`azureml.core.runconfig`: what a run is configured with."""

from azureml._lending import leave_out, lend

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
    MpiConfiguration="MpiConfiguration",
    PyTorchConfiguration="PyTorchConfiguration",
    TensorflowConfiguration="TensorflowConfiguration",
)
leave_out(globals(), "Data")
