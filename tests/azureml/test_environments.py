"""The import paths of environments and run configurations."""

import importlib

import pytest

import roost
from roost_job.exceptions import UserErrorException


@pytest.mark.parametrize(
    ("path", "name", "ours"),
    [
        ("azureml.core", "Environment", "Environment"),
        ("azureml.core", "RunConfiguration", "RunConfiguration"),
        ("azureml.core.environment", "Environment", "Environment"),
        ("azureml.core.environment", "CondaDependencies", "CondaDependencies"),
        ("azureml.core.environment", "DockerSection", "DockerSection"),
        ("azureml.core.environment", "PythonSection", "PythonSection"),
        ("azureml.core.environment", "DEFAULT_CPU_IMAGE", "DEFAULT_CPU_IMAGE"),
        ("azureml.core.conda_dependencies", "CondaDependencies", "CondaDependencies"),
        ("azureml.core.container_registry", "ContainerRegistry", "ContainerRegistry"),
        ("azureml.core.runconfig", "RunConfiguration", "RunConfiguration"),
        ("azureml.core.runconfig", "CondaDependencies", "CondaDependencies"),
        ("azureml.core.runconfig", "DockerConfiguration", "DockerConfiguration"),
        ("azureml.core.runconfig", "DEFAULT_GPU_IMAGE", "DEFAULT_GPU_IMAGE"),
    ],
)
def test_each_path_gives_ours(path: str, name: str, ours: str) -> None:
    assert getattr(importlib.import_module(path), name) is getattr(roost, ours)


@pytest.mark.parametrize("name", ["MpiConfiguration", "PyTorchConfiguration", "TensorflowConfiguration"])
def test_distributed_configurations_say_that_they_are_not_there_yet(name: str) -> None:
    with pytest.raises(UserErrorException, match="is not in Roost yet"):
        exec(f"from azureml.core.runconfig import {name}\n{name}(node_count=2)")
