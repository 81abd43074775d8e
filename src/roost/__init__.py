"""Roost: train where you are. The public names, each exported on purpose and loaded when it is first used."""

from importlib import import_module

from roost import version

TYPE_CHECKING = False  # type checkers know the name; importing it from `typing` would cost more than all the rest here
if TYPE_CHECKING:
    from roost.domain import errors
    from roost.sdk.aks_compute import AksCompute, AksProvisioningConfiguration
    from roost.sdk.aks_endpoints import AksEndpoint
    from roost.sdk.authentication import (
        AbstractAuthentication,
        Audience,
        AzureCliAuthentication,
        InteractiveLoginAuthentication,
        MsiAuthentication,
        ServicePrincipalAuthentication,
        TokenAuthentication,
    )
    from roost.sdk.compute import AmlCompute, ComputeTarget
    from roost.sdk.compute_settings import AmlComputeProvisioningConfiguration, AmlComputeStatus, ScaleSettings
    from roost.sdk.conda_dependencies import CondaDependencies
    from roost.sdk.consumption import DatasetConsumptionConfig
    from roost.sdk.data_outputs import OutputFileDatasetConfig, OutputTabularDatasetConfig
    from roost.sdk.data_references import DataReference, DataReferenceConfiguration
    from roost.sdk.datapaths import DataPath, DataPathComputeBinding
    from roost.sdk.dataset_factory import Dataset, FileDatasetFactory, TabularDatasetFactory
    from roost.sdk.dataset_types import DataType, FileEncoding, PromoteHeadersBehavior
    from roost.sdk.datasets import AbstractDataset, FileDataset
    from roost.sdk.datastores import Datastore
    from roost.sdk.distributed import (
        Gloo,
        Mpi,
        MpiConfiguration,
        Nccl,
        ParameterServer,
        PyTorchConfiguration,
        TensorflowConfiguration,
    )
    from roost.sdk.environments import Environment
    from roost.sdk.estimators import Chainer, Estimator, MMLBaseEstimator, PyTorch, SKLearn, TensorFlow
    from roost.sdk.experiments import Experiment
    from roost.sdk.foreign_compute import (
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
    from roost.sdk.inference import InferenceConfig
    from roost.sdk.labelled_datasets import FileHandlingOption, LabeledDatasetTask
    from roost.sdk.models import Model, ResourceConfiguration
    from roost.sdk.notebook_runs import AzureMLNotebookHandler, NotebookRunConfig, PapermillExecutionHandler
    from roost.sdk.open_datasets import MNIST, Diabetes, NycTlcGreen, NycTlcYellow
    from roost.sdk.profiling import ModelProfile
    from roost.sdk.remote_compute import RemoteCompute
    from roost.sdk.runconfigs import DockerConfiguration, HistoryConfiguration, RunConfiguration
    from roost.sdk.runs import Run
    from roost.sdk.secrets import Keyvault
    from roost.sdk.sections import (
        DEFAULT_CPU_IMAGE,
        DEFAULT_GPU_IMAGE,
        ContainerRegistry,
        DockerSection,
        PythonSection,
        SparkSection,
    )
    from roost.sdk.submissions import ScriptRunConfig
    from roost.sdk.tabular_datasets import TabularDataset
    from roost.sdk.webservice_kinds import AciWebservice, AksWebservice, LocalWebservice
    from roost.sdk.webservice_settings import (
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
    from roost.sdk.webservices import Webservice
    from roost.sdk.widgets import RunDetails
    from roost.sdk.workspaces import Workspace

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
    "AbstractAuthentication": "roost.sdk.authentication",
    "AbstractDataset": "roost.sdk.datasets",
    "AciServiceDeploymentConfiguration": "roost.sdk.webservice_settings",
    "AciWebservice": "roost.sdk.webservice_kinds",
    "AdlaCompute": "roost.sdk.foreign_compute",
    "AksCompute": "roost.sdk.aks_compute",
    "AksEndpoint": "roost.sdk.aks_endpoints",
    "AksEndpointDeploymentConfiguration": "roost.sdk.webservice_settings",
    "AksProvisioningConfiguration": "roost.sdk.aks_compute",
    "AksServiceDeploymentConfiguration": "roost.sdk.webservice_settings",
    "AksWebservice": "roost.sdk.webservice_kinds",
    "AmlCompute": "roost.sdk.compute",
    "AmlComputeProvisioningConfiguration": "roost.sdk.compute_settings",
    "AmlComputeStatus": "roost.sdk.compute_settings",
    "Audience": "roost.sdk.authentication",
    "AutoScaler": "roost.sdk.webservice_settings",
    "AzureCliAuthentication": "roost.sdk.authentication",
    "AzureMLNotebookHandler": "roost.sdk.notebook_runs",
    "BatchCompute": "roost.sdk.foreign_compute",
    "Chainer": "roost.sdk.estimators",
    "ComputeInstance": "roost.sdk.foreign_compute",
    "ComputeTarget": "roost.sdk.compute",
    "CondaDependencies": "roost.sdk.conda_dependencies",
    "ContainerRegistry": "roost.sdk.sections",
    "ContainerResourceRequirements": "roost.sdk.webservice_settings",
    "DEFAULT_CPU_IMAGE": "roost.sdk.sections",
    "DEFAULT_GPU_IMAGE": "roost.sdk.sections",
    "DataCollection": "roost.sdk.webservice_settings",
    "DataFactoryCompute": "roost.sdk.foreign_compute",
    "DataPath": "roost.sdk.datapaths",
    "DataPathComputeBinding": "roost.sdk.datapaths",
    "DataReference": "roost.sdk.data_references",
    "DataReferenceConfiguration": "roost.sdk.data_references",
    "DataType": "roost.sdk.dataset_types",
    "DatabricksCompute": "roost.sdk.foreign_compute",
    "Dataset": "roost.sdk.dataset_factory",
    "DatasetConsumptionConfig": "roost.sdk.consumption",
    "Datastore": "roost.sdk.datastores",
    "Diabetes": "roost.sdk.open_datasets",
    "DockerConfiguration": "roost.sdk.runconfigs",
    "DockerSection": "roost.sdk.sections",
    "DsvmCompute": "roost.sdk.foreign_compute",
    "Environment": "roost.sdk.environments",
    "Estimator": "roost.sdk.estimators",
    "Experiment": "roost.sdk.experiments",
    "FileDataset": "roost.sdk.datasets",
    "FileDatasetFactory": "roost.sdk.dataset_factory",
    "FileEncoding": "roost.sdk.dataset_types",
    "FileHandlingOption": "roost.sdk.labelled_datasets",
    "Gloo": "roost.sdk.distributed",
    "HDInsightCompute": "roost.sdk.foreign_compute",
    "HistoryConfiguration": "roost.sdk.runconfigs",
    "InferenceConfig": "roost.sdk.inference",
    "InteractiveLoginAuthentication": "roost.sdk.authentication",
    "Keyvault": "roost.sdk.secrets",
    "KubernetesCompute": "roost.sdk.foreign_compute",
    "LabeledDatasetTask": "roost.sdk.labelled_datasets",
    "LivenessProbeRequirements": "roost.sdk.webservice_settings",
    "LocalWebservice": "roost.sdk.webservice_kinds",
    "LocalWebserviceDeploymentConfiguration": "roost.sdk.webservice_settings",
    "MMLBaseEstimator": "roost.sdk.estimators",
    "MNIST": "roost.sdk.open_datasets",
    "Model": "roost.sdk.models",
    "ModelProfile": "roost.sdk.profiling",
    "Mpi": "roost.sdk.distributed",
    "MpiConfiguration": "roost.sdk.distributed",
    "MsiAuthentication": "roost.sdk.authentication",
    "Nccl": "roost.sdk.distributed",
    "NotebookRunConfig": "roost.sdk.notebook_runs",
    "NycTlcGreen": "roost.sdk.open_datasets",
    "NycTlcYellow": "roost.sdk.open_datasets",
    "OutputFileDatasetConfig": "roost.sdk.data_outputs",
    "OutputTabularDatasetConfig": "roost.sdk.data_outputs",
    "PapermillExecutionHandler": "roost.sdk.notebook_runs",
    "ParameterServer": "roost.sdk.distributed",
    "PromoteHeadersBehavior": "roost.sdk.dataset_types",
    "PyTorch": "roost.sdk.estimators",
    "PyTorchConfiguration": "roost.sdk.distributed",
    "PythonSection": "roost.sdk.sections",
    "RemoteCompute": "roost.sdk.remote_compute",
    "ResourceConfiguration": "roost.sdk.models",
    "Run": "roost.sdk.runs",
    "RunConfiguration": "roost.sdk.runconfigs",
    "RunDetails": "roost.sdk.widgets",
    "SKLearn": "roost.sdk.estimators",
    "ScaleSettings": "roost.sdk.compute_settings",
    "ScriptRunConfig": "roost.sdk.submissions",
    "ServicePrincipalAuthentication": "roost.sdk.authentication",
    "SparkSection": "roost.sdk.sections",
    "SynapseCompute": "roost.sdk.foreign_compute",
    "TabularDataset": "roost.sdk.tabular_datasets",
    "TabularDatasetFactory": "roost.sdk.dataset_factory",
    "TensorFlow": "roost.sdk.estimators",
    "TensorflowConfiguration": "roost.sdk.distributed",
    "TokenAuthentication": "roost.sdk.authentication",
    "Webservice": "roost.sdk.webservices",
    "WebserviceDeploymentConfiguration": "roost.sdk.webservice_settings",
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
