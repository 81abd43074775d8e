"""Roost: train where you are. The public names, each exported on purpose and loaded when it is first used."""

from importlib import import_module

from roost import version

TYPE_CHECKING = False  # type checkers know the name; importing it from `typing` would cost more than all the rest here
if TYPE_CHECKING:
    from roost.domain import errors
    from roost.sdk.compute.aks import AksCompute, AksProvisioningConfiguration
    from roost.sdk.compute.foreign import (
        AdlaCompute,
        BatchCompute,
        ComputeInstance,
        DatabricksCompute,
        DataFactoryCompute,
        DsvmCompute,
        HDInsightCompute,
        KubernetesCompute,
        SynapseCompute,
    )
    from roost.sdk.compute.remote import RemoteCompute
    from roost.sdk.compute.settings import AmlComputeProvisioningConfiguration, AmlComputeStatus, ScaleSettings
    from roost.sdk.compute.targets import AmlCompute, ComputeTarget
    from roost.sdk.core.authentication import (
        AbstractAuthentication,
        Audience,
        AzureCliAuthentication,
        InteractiveLoginAuthentication,
        MsiAuthentication,
        ServicePrincipalAuthentication,
        TokenAuthentication,
    )
    from roost.sdk.core.secrets import Keyvault
    from roost.sdk.core.workspaces import Workspace
    from roost.sdk.data.consumption import DatasetConsumptionConfig
    from roost.sdk.data.data_outputs import OutputFileDatasetConfig, OutputTabularDatasetConfig
    from roost.sdk.data.data_references import DataReference, DataReferenceConfiguration
    from roost.sdk.data.datapaths import DataPath, DataPathComputeBinding
    from roost.sdk.data.dataset_factory import Dataset, FileDatasetFactory, TabularDatasetFactory
    from roost.sdk.data.dataset_types import DataType, FileEncoding, PromoteHeadersBehavior
    from roost.sdk.data.datasets import AbstractDataset, FileDataset
    from roost.sdk.data.datastores import Datastore
    from roost.sdk.data.labelled_datasets import FileHandlingOption, LabeledDatasetTask
    from roost.sdk.data.open_datasets import MNIST, Diabetes, NycTlcGreen, NycTlcYellow
    from roost.sdk.data.tabular_datasets import TabularDataset
    from roost.sdk.environments.conda_dependencies import CondaDependencies
    from roost.sdk.environments.environments import Environment
    from roost.sdk.environments.sections import (
        DEFAULT_CPU_IMAGE,
        DEFAULT_GPU_IMAGE,
        ContainerRegistry,
        DockerSection,
        PythonSection,
        SparkSection,
    )
    from roost.sdk.models.models import Model, ResourceConfiguration
    from roost.sdk.runs.distributed import (
        Gloo,
        Mpi,
        MpiConfiguration,
        Nccl,
        ParameterServer,
        PyTorchConfiguration,
        TensorflowConfiguration,
    )
    from roost.sdk.runs.estimators import Chainer, Estimator, MMLBaseEstimator, PyTorch, SKLearn, TensorFlow
    from roost.sdk.runs.experiments import Experiment
    from roost.sdk.runs.notebook_runs import AzureMLNotebookHandler, NotebookRunConfig, PapermillExecutionHandler
    from roost.sdk.runs.runconfigs import DockerConfiguration, HistoryConfiguration, RunConfiguration
    from roost.sdk.runs.runs import Run
    from roost.sdk.runs.submissions import ScriptRunConfig
    from roost.sdk.runs.widgets import RunDetails
    from roost.sdk.services.aks_endpoints import AksEndpoint
    from roost.sdk.services.inference import InferenceConfig
    from roost.sdk.services.profiling import ModelProfile
    from roost.sdk.services.webservice_kinds import AciWebservice, AksWebservice, LocalWebservice
    from roost.sdk.services.webservice_settings import (
        AciServiceDeploymentConfiguration,
        AksEndpointDeploymentConfiguration,
        AksServiceDeploymentConfiguration,
        AutoScaler,
        ContainerResourceRequirements,
        DataCollection,
        LivenessProbeRequirements,
        LocalWebserviceDeploymentConfiguration,
        WebserviceDeploymentConfiguration,
    )
    from roost.sdk.services.webservices import Webservice

__version__ = version.VERSION
__all__ = [
    "DEFAULT_CPU_IMAGE",
    "DEFAULT_GPU_IMAGE",
    "MNIST",
    "AbstractAuthentication",
    "AbstractDataset",
    "AciServiceDeploymentConfiguration",
    "AciWebservice",
    "AdlaCompute",
    "AksCompute",
    "AksEndpoint",
    "AksEndpointDeploymentConfiguration",
    "AksProvisioningConfiguration",
    "AksServiceDeploymentConfiguration",
    "AksWebservice",
    "AmlCompute",
    "AmlComputeProvisioningConfiguration",
    "AmlComputeStatus",
    "Audience",
    "AutoScaler",
    "AzureCliAuthentication",
    "AzureMLNotebookHandler",
    "BatchCompute",
    "Chainer",
    "ComputeInstance",
    "ComputeTarget",
    "CondaDependencies",
    "ContainerRegistry",
    "ContainerResourceRequirements",
    "DataCollection",
    "DataFactoryCompute",
    "DataPath",
    "DataPathComputeBinding",
    "DataReference",
    "DataReferenceConfiguration",
    "DataType",
    "DatabricksCompute",
    "Dataset",
    "DatasetConsumptionConfig",
    "Datastore",
    "Diabetes",
    "DockerConfiguration",
    "DockerSection",
    "DsvmCompute",
    "Environment",
    "Estimator",
    "Experiment",
    "FileDataset",
    "FileDatasetFactory",
    "FileEncoding",
    "FileHandlingOption",
    "Gloo",
    "HDInsightCompute",
    "HistoryConfiguration",
    "InferenceConfig",
    "InteractiveLoginAuthentication",
    "Keyvault",
    "KubernetesCompute",
    "LabeledDatasetTask",
    "LivenessProbeRequirements",
    "LocalWebservice",
    "LocalWebserviceDeploymentConfiguration",
    "MMLBaseEstimator",
    "Model",
    "ModelProfile",
    "Mpi",
    "MpiConfiguration",
    "MsiAuthentication",
    "Nccl",
    "NotebookRunConfig",
    "NycTlcGreen",
    "NycTlcYellow",
    "OutputFileDatasetConfig",
    "OutputTabularDatasetConfig",
    "PapermillExecutionHandler",
    "ParameterServer",
    "PromoteHeadersBehavior",
    "PyTorch",
    "PyTorchConfiguration",
    "PythonSection",
    "RemoteCompute",
    "ResourceConfiguration",
    "Run",
    "RunConfiguration",
    "RunDetails",
    "SKLearn",
    "ScaleSettings",
    "ScriptRunConfig",
    "ServicePrincipalAuthentication",
    "SparkSection",
    "SynapseCompute",
    "TabularDataset",
    "TabularDatasetFactory",
    "TensorFlow",
    "TensorflowConfiguration",
    "TokenAuthentication",
    "Webservice",
    "WebserviceDeploymentConfiguration",
    "Workspace",
    "__version__",
    "errors",
]

_HOMES = {
    "AbstractAuthentication": "roost.sdk.core.authentication",
    "AbstractDataset": "roost.sdk.data.datasets",
    "AciServiceDeploymentConfiguration": "roost.sdk.services.webservice_settings",
    "AciWebservice": "roost.sdk.services.webservice_kinds",
    "AdlaCompute": "roost.sdk.compute.foreign",
    "AksCompute": "roost.sdk.compute.aks",
    "AksEndpoint": "roost.sdk.services.aks_endpoints",
    "AksEndpointDeploymentConfiguration": "roost.sdk.services.webservice_settings",
    "AksProvisioningConfiguration": "roost.sdk.compute.aks",
    "AksServiceDeploymentConfiguration": "roost.sdk.services.webservice_settings",
    "AksWebservice": "roost.sdk.services.webservice_kinds",
    "AmlCompute": "roost.sdk.compute.targets",
    "AmlComputeProvisioningConfiguration": "roost.sdk.compute.settings",
    "AmlComputeStatus": "roost.sdk.compute.settings",
    "Audience": "roost.sdk.core.authentication",
    "AutoScaler": "roost.sdk.services.webservice_settings",
    "AzureCliAuthentication": "roost.sdk.core.authentication",
    "AzureMLNotebookHandler": "roost.sdk.runs.notebook_runs",
    "BatchCompute": "roost.sdk.compute.foreign",
    "Chainer": "roost.sdk.runs.estimators",
    "ComputeInstance": "roost.sdk.compute.foreign",
    "ComputeTarget": "roost.sdk.compute.targets",
    "CondaDependencies": "roost.sdk.environments.conda_dependencies",
    "ContainerRegistry": "roost.sdk.environments.sections",
    "ContainerResourceRequirements": "roost.sdk.services.webservice_settings",
    "DEFAULT_CPU_IMAGE": "roost.sdk.environments.sections",
    "DEFAULT_GPU_IMAGE": "roost.sdk.environments.sections",
    "DataCollection": "roost.sdk.services.webservice_settings",
    "DataFactoryCompute": "roost.sdk.compute.foreign",
    "DataPath": "roost.sdk.data.datapaths",
    "DataPathComputeBinding": "roost.sdk.data.datapaths",
    "DataReference": "roost.sdk.data.data_references",
    "DataReferenceConfiguration": "roost.sdk.data.data_references",
    "DataType": "roost.sdk.data.dataset_types",
    "DatabricksCompute": "roost.sdk.compute.foreign",
    "Dataset": "roost.sdk.data.dataset_factory",
    "DatasetConsumptionConfig": "roost.sdk.data.consumption",
    "Datastore": "roost.sdk.data.datastores",
    "Diabetes": "roost.sdk.data.open_datasets",
    "DockerConfiguration": "roost.sdk.runs.runconfigs",
    "DockerSection": "roost.sdk.environments.sections",
    "DsvmCompute": "roost.sdk.compute.foreign",
    "Environment": "roost.sdk.environments.environments",
    "Estimator": "roost.sdk.runs.estimators",
    "Experiment": "roost.sdk.runs.experiments",
    "FileDataset": "roost.sdk.data.datasets",
    "FileDatasetFactory": "roost.sdk.data.dataset_factory",
    "FileEncoding": "roost.sdk.data.dataset_types",
    "FileHandlingOption": "roost.sdk.data.labelled_datasets",
    "Gloo": "roost.sdk.runs.distributed",
    "HDInsightCompute": "roost.sdk.compute.foreign",
    "HistoryConfiguration": "roost.sdk.runs.runconfigs",
    "InferenceConfig": "roost.sdk.services.inference",
    "InteractiveLoginAuthentication": "roost.sdk.core.authentication",
    "Keyvault": "roost.sdk.core.secrets",
    "KubernetesCompute": "roost.sdk.compute.foreign",
    "LabeledDatasetTask": "roost.sdk.data.labelled_datasets",
    "LivenessProbeRequirements": "roost.sdk.services.webservice_settings",
    "LocalWebservice": "roost.sdk.services.webservice_kinds",
    "LocalWebserviceDeploymentConfiguration": "roost.sdk.services.webservice_settings",
    "MMLBaseEstimator": "roost.sdk.runs.estimators",
    "MNIST": "roost.sdk.data.open_datasets",
    "Model": "roost.sdk.models.models",
    "ModelProfile": "roost.sdk.services.profiling",
    "Mpi": "roost.sdk.runs.distributed",
    "MpiConfiguration": "roost.sdk.runs.distributed",
    "MsiAuthentication": "roost.sdk.core.authentication",
    "Nccl": "roost.sdk.runs.distributed",
    "NotebookRunConfig": "roost.sdk.runs.notebook_runs",
    "NycTlcGreen": "roost.sdk.data.open_datasets",
    "NycTlcYellow": "roost.sdk.data.open_datasets",
    "OutputFileDatasetConfig": "roost.sdk.data.data_outputs",
    "OutputTabularDatasetConfig": "roost.sdk.data.data_outputs",
    "PapermillExecutionHandler": "roost.sdk.runs.notebook_runs",
    "ParameterServer": "roost.sdk.runs.distributed",
    "PromoteHeadersBehavior": "roost.sdk.data.dataset_types",
    "PyTorch": "roost.sdk.runs.estimators",
    "PyTorchConfiguration": "roost.sdk.runs.distributed",
    "PythonSection": "roost.sdk.environments.sections",
    "RemoteCompute": "roost.sdk.compute.remote",
    "ResourceConfiguration": "roost.sdk.models.models",
    "Run": "roost.sdk.runs.runs",
    "RunConfiguration": "roost.sdk.runs.runconfigs",
    "RunDetails": "roost.sdk.runs.widgets",
    "SKLearn": "roost.sdk.runs.estimators",
    "ScaleSettings": "roost.sdk.compute.settings",
    "ScriptRunConfig": "roost.sdk.runs.submissions",
    "ServicePrincipalAuthentication": "roost.sdk.core.authentication",
    "SparkSection": "roost.sdk.environments.sections",
    "SynapseCompute": "roost.sdk.compute.foreign",
    "TabularDataset": "roost.sdk.data.tabular_datasets",
    "TabularDatasetFactory": "roost.sdk.data.dataset_factory",
    "TensorFlow": "roost.sdk.runs.estimators",
    "TensorflowConfiguration": "roost.sdk.runs.distributed",
    "TokenAuthentication": "roost.sdk.core.authentication",
    "Webservice": "roost.sdk.services.webservices",
    "WebserviceDeploymentConfiguration": "roost.sdk.services.webservice_settings",
    "Workspace": "roost.sdk.core.workspaces",
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
