"""`azureml.core.environment`."""

from azureml._lending import lend

lend(
    globals(),
    Environment="Environment",
    CondaDependencies="CondaDependencies",
    PythonSection="PythonSection",
    DockerSection="DockerSection",
    SparkSection="SparkSection",
    DEFAULT_CPU_IMAGE="DEFAULT_CPU_IMAGE",
    DEFAULT_GPU_IMAGE="DEFAULT_GPU_IMAGE",
)
