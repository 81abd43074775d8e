"""Roost: train where you are. The public names, each exported on purpose and loaded when it is first used."""

from importlib import import_module

from roost import version

TYPE_CHECKING = False  # type checkers know the name; importing it from `typing` would cost more than all the rest here
if TYPE_CHECKING:
    from roost.domain import errors
    from roost.sdk.authentication import (
        AbstractAuthentication,
        Audience,
        AzureCliAuthentication,
        InteractiveLoginAuthentication,
        MsiAuthentication,
        ServicePrincipalAuthentication,
        TokenAuthentication,
    )
    from roost.sdk.conda_dependencies import CondaDependencies
    from roost.sdk.environments import Environment
    from roost.sdk.runconfigs import DockerConfiguration, HistoryConfiguration, RunConfiguration
    from roost.sdk.sections import (
        DEFAULT_CPU_IMAGE,
        DEFAULT_GPU_IMAGE,
        ContainerRegistry,
        DockerSection,
        PythonSection,
        SparkSection,
    )
    from roost.sdk.experiments import Experiment
    from roost.sdk.runs import Run
    from roost.sdk.secrets import Keyvault
    from roost.sdk.submissions import ScriptRunConfig
    from roost.sdk.workspaces import Workspace

__version__ = version.VERSION
__all__ = [
    "AbstractAuthentication",
    "Audience",
    "AzureCliAuthentication",
    "CondaDependencies",
    "ContainerRegistry",
    "DEFAULT_CPU_IMAGE",
    "DEFAULT_GPU_IMAGE",
    "DockerConfiguration",
    "DockerSection",
    "Environment",
    "Experiment",
    "HistoryConfiguration",
    "InteractiveLoginAuthentication",
    "Keyvault",
    "MsiAuthentication",
    "PythonSection",
    "Run",
    "RunConfiguration",
    "ScriptRunConfig",
    "ServicePrincipalAuthentication",
    "SparkSection",
    "TokenAuthentication",
    "Workspace",
    "__version__",
    "errors",
]

_HOMES = {
    "AbstractAuthentication": "roost.sdk.authentication",
    "Audience": "roost.sdk.authentication",
    "AzureCliAuthentication": "roost.sdk.authentication",
    "CondaDependencies": "roost.sdk.conda_dependencies",
    "ContainerRegistry": "roost.sdk.sections",
    "DEFAULT_CPU_IMAGE": "roost.sdk.sections",
    "DEFAULT_GPU_IMAGE": "roost.sdk.sections",
    "DockerConfiguration": "roost.sdk.runconfigs",
    "DockerSection": "roost.sdk.sections",
    "Environment": "roost.sdk.environments",
    "Experiment": "roost.sdk.experiments",
    "HistoryConfiguration": "roost.sdk.runconfigs",
    "InteractiveLoginAuthentication": "roost.sdk.authentication",
    "Keyvault": "roost.sdk.secrets",
    "MsiAuthentication": "roost.sdk.authentication",
    "PythonSection": "roost.sdk.sections",
    "Run": "roost.sdk.runs",
    "RunConfiguration": "roost.sdk.runconfigs",
    "ScriptRunConfig": "roost.sdk.submissions",
    "ServicePrincipalAuthentication": "roost.sdk.authentication",
    "SparkSection": "roost.sdk.sections",
    "TokenAuthentication": "roost.sdk.authentication",
    "Workspace": "roost.sdk.workspaces",
}


def __getattr__(name: str) -> object:
    if name == "errors":
        return import_module("roost.domain.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'roost' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
