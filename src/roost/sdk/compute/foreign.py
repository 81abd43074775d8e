"""Compute of the Azure ML SDK v1 that Roost does not have: the names exist, and using one raises an error with the
alternative.
"""

# ruff: noqa: ARG003, ARG004
# Signatures are those of the Azure ML SDK v1; all arguments lead to the same error.

from typing import NoReturn

from roost.domain.errors import InvalidCompute
from roost.sdk.compute.targets import ComputeTarget
from roost.sdk.core import absent


class _Foreign(ComputeTarget):
    """The error that all of them raise."""

    def __new__(cls, *args: object, **kwargs: object) -> NoReturn:
        absent.refuse(f"azureml.core.compute.{cls.__name__}", InvalidCompute)

    @classmethod
    def attach_configuration(cls, *args: object, **kwargs: object) -> NoReturn:
        absent.refuse(f"azureml.core.compute.{cls.__name__}.attach_configuration", InvalidCompute)

    @classmethod
    def provisioning_configuration(cls, *args: object, **kwargs: object) -> NoReturn:
        absent.refuse(f"azureml.core.compute.{cls.__name__}.provisioning_configuration", InvalidCompute)


class DsvmCompute(_Foreign):
    """A data science virtual machine."""


class HDInsightCompute(_Foreign):
    """A Spark cluster."""


class SynapseCompute(_Foreign):
    """A Spark pool."""


class DatabricksCompute(_Foreign):
    """A Databricks workspace."""


class DataFactoryCompute(_Foreign):
    """A data factory."""


class AdlaCompute(_Foreign):
    """Data Lake Analytics."""


class BatchCompute(_Foreign):
    """A Batch account."""


class KubernetesCompute(_Foreign):
    """A Kubernetes cluster."""


class ComputeInstance(_Foreign):
    """A workstation in the cloud."""
