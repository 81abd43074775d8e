"""`azureml.core.runconfig`: what a run is configured with. Distributed configurations are not there yet, and say so."""

from azureml._lending import lend

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
    DEFAULT_CPU_IMAGE="DEFAULT_CPU_IMAGE",
    DEFAULT_GPU_IMAGE="DEFAULT_GPU_IMAGE",
)
