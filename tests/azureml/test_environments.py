"""The import paths of environments and run configurations."""

import importlib

import pytest

import roost


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
        ("azureml.core.runconfig", "MpiConfiguration", "MpiConfiguration"),
        ("azureml.core.runconfig", "PyTorchConfiguration", "PyTorchConfiguration"),
        ("azureml.core.runconfig", "TensorflowConfiguration", "TensorflowConfiguration"),
        ("azureml.train.dnn", "PyTorch", "PyTorch"),
        ("azureml.train.dnn", "Mpi", "Mpi"),
        ("azureml.train.estimator", "Estimator", "Estimator"),
        ("azureml.train.sklearn", "SKLearn", "SKLearn"),
    ],
)
def test_each_path_gives_ours(path: str, name: str, ours: str) -> None:
    assert getattr(importlib.import_module(path), name) is getattr(roost, ours)
