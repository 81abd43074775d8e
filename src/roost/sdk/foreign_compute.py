"""Compute of the Azure ML SDK v1 that Roost leaves out on purpose: the names are there, and using one says what to do instead."""

# ruff: noqa: ARG003, ARG004
# The signatures are the Azure ML SDK v1's; whatever is given, the answer is the same.

from typing import ClassVar, NoReturn

from roost.domain.errors import InvalidCompute
from roost.sdk.compute import ComputeTarget

CLUSTER = (
    "Make a cluster: AmlCompute.provisioning_configuration(max_nodes=4), or leave compute_target out for this machine."
)


def refuse(what: str, instead: str = CLUSTER) -> NoReturn:
    raise InvalidCompute(f"Roost does not have {what}: it runs on its own engines.", hint=instead)


class _Foreign(ComputeTarget):
    """What all of them say."""

    _instead: ClassVar[str] = CLUSTER

    def __new__(cls, workspace: object, name: object, *args: object, **kwargs: object) -> NoReturn:
        refuse(f"{cls.__name__} {name!r}", cls._instead)

    @classmethod
    def attach_configuration(cls, *args: object, **kwargs: object) -> NoReturn:
        refuse(f"{cls.__name__}.attach_configuration", cls._instead)

    @classmethod
    def provisioning_configuration(cls, *args: object, **kwargs: object) -> NoReturn:
        refuse(f"{cls.__name__}.provisioning_configuration", cls._instead)


class RemoteCompute(_Foreign):
    """A machine reached over SSH."""


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

    _instead = "Work on this machine: it needs no compute instance."
