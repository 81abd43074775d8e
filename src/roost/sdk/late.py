"""How SDK objects refer to each other: by name, imported at first use. So no module imports one of a layer above it, and a
script loads only what it uses. Type checkers see the names as imported here.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from roost.blobs import hashing as hashing
    from roost.data import fetching as fetching
    from roost.data import mounting as mounting
    from roost.data import resolving as resolving
    from roost.data.cache import Cache as Cache
    from roost.environments.containers import engine as engine
    from roost.environments.containers import facts as facts
    from roost.sdk.compute.aks import AksCompute as AksCompute
    from roost.sdk.compute.remote import RemoteCompute as RemoteCompute
    from roost.sdk.compute.remote import RemoteComputeAttachConfiguration as RemoteComputeAttachConfiguration
    from roost.sdk.compute.targets import ComputeTarget as ComputeTarget
    from roost.sdk.connection import embedded as embedded
    from roost.sdk.core.workspaces import Workspace as Workspace
    from roost.sdk.data import dataset_factory as dataset_factory
    from roost.sdk.data import labelled_datasets as labelled_datasets
    from roost.sdk.data.consumption import DatasetConsumptionConfig as DatasetConsumptionConfig
    from roost.sdk.data.data_references import DataReference as DataReference
    from roost.sdk.data.dataset_factory import Dataset as Dataset
    from roost.sdk.data.datasets import AbstractDataset as AbstractDataset
    from roost.sdk.data.datasets import FileDataset as FileDataset
    from roost.sdk.data.datastores import Datastore as Datastore
    from roost.sdk.data.tabular_datasets import TabularDataset as TabularDataset
    from roost.sdk.environments import conda_environments as conda_environments
    from roost.sdk.environments import curated as curated
    from roost.sdk.environments import environments as environments
    from roost.sdk.environments import private_wheels as private_wheels
    from roost.sdk.environments.environments import Environment as Environment
    from roost.sdk.models import no_code as no_code
    from roost.sdk.models import onnx_exports as onnx_exports
    from roost.sdk.models.models import Model as Model
    from roost.sdk.models.models import ModelCalls as ModelCalls
    from roost.sdk.operations import archives as archives
    from roost.sdk.operations import building as building
    from roost.sdk.runs import composing as composing
    from roost.sdk.runs import git as git
    from roost.sdk.runs import interactive as interactive
    from roost.sdk.runs import interactive_outputs as interactive_outputs
    from roost.sdk.runs import repeats as repeats
    from roost.sdk.runs import run_outputs as run_outputs
    from roost.sdk.runs import salvage as salvage
    from roost.sdk.runs import snapshots as snapshots
    from roost.sdk.runs.experiments import Experiment as Experiment
    from roost.sdk.runs.interactive import Session as Session
    from roost.sdk.runs.runconfigs import DockerConfiguration as DockerConfiguration
    from roost.sdk.runs.runconfigs import RunConfiguration as RunConfiguration
    from roost.sdk.runs.runs import Run as Run
    from roost.sdk.services import deploying as deploying
    from roost.sdk.services import inference as inference
    from roost.sdk.services import profiling as profiling
    from roost.sdk.services.aks_endpoints import AksEndpoint as AksEndpoint
    from roost.sdk.services.inference import InferenceConfig as InferenceConfig
    from roost.sdk.services.webservice_kinds import AciWebservice as AciWebservice
    from roost.sdk.services.webservice_kinds import AksWebservice as AksWebservice
    from roost.sdk.services.webservice_kinds import LocalWebservice as LocalWebservice
    from roost.sdk.services.webservices import Webservice as Webservice
    from roost.transport.carrying import Carrier as Carrier
    from roost_job.data import frames as frames

_MODULES = {
    "archives": "roost.sdk.operations.archives",
    "building": "roost.sdk.operations.building",
    "composing": "roost.sdk.runs.composing",
    "conda_environments": "roost.sdk.environments.conda_environments",
    "engine": "roost.environments.containers.engine",
    "facts": "roost.environments.containers.facts",
    "curated": "roost.sdk.environments.curated",
    "dataset_factory": "roost.sdk.data.dataset_factory",
    "deploying": "roost.sdk.services.deploying",
    "embedded": "roost.sdk.connection.embedded",
    "environments": "roost.sdk.environments.environments",
    "fetching": "roost.data.fetching",
    "frames": "roost_job.data.frames",
    "git": "roost.sdk.runs.git",
    "hashing": "roost.blobs.hashing",
    "inference": "roost.sdk.services.inference",
    "interactive": "roost.sdk.runs.interactive",
    "interactive_outputs": "roost.sdk.runs.interactive_outputs",
    "labelled_datasets": "roost.sdk.data.labelled_datasets",
    "mounting": "roost.data.mounting",
    "no_code": "roost.sdk.models.no_code",
    "onnx_exports": "roost.sdk.models.onnx_exports",
    "private_wheels": "roost.sdk.environments.private_wheels",
    "profiling": "roost.sdk.services.profiling",
    "repeats": "roost.sdk.runs.repeats",
    "resolving": "roost.data.resolving",
    "run_outputs": "roost.sdk.runs.run_outputs",
    "salvage": "roost.sdk.runs.salvage",
    "snapshots": "roost.sdk.runs.snapshots",
}
_CLASSES = {
    "AbstractDataset": "roost.sdk.data.datasets",
    "AciWebservice": "roost.sdk.services.webservice_kinds",
    "AksCompute": "roost.sdk.compute.aks",
    "AksEndpoint": "roost.sdk.services.aks_endpoints",
    "AksWebservice": "roost.sdk.services.webservice_kinds",
    "Cache": "roost.data.cache",
    "Carrier": "roost.transport.carrying",
    "ComputeTarget": "roost.sdk.compute.targets",
    "DataReference": "roost.sdk.data.data_references",
    "Dataset": "roost.sdk.data.dataset_factory",
    "DatasetConsumptionConfig": "roost.sdk.data.consumption",
    "Datastore": "roost.sdk.data.datastores",
    "DockerConfiguration": "roost.sdk.runs.runconfigs",
    "Environment": "roost.sdk.environments.environments",
    "Experiment": "roost.sdk.runs.experiments",
    "FileDataset": "roost.sdk.data.datasets",
    "InferenceConfig": "roost.sdk.services.inference",
    "LocalWebservice": "roost.sdk.services.webservice_kinds",
    "Model": "roost.sdk.models.models",
    "ModelCalls": "roost.sdk.models.models",
    "RemoteCompute": "roost.sdk.compute.remote",
    "RemoteComputeAttachConfiguration": "roost.sdk.compute.remote",
    "Run": "roost.sdk.runs.runs",
    "RunConfiguration": "roost.sdk.runs.runconfigs",
    "Session": "roost.sdk.runs.interactive",
    "TabularDataset": "roost.sdk.data.tabular_datasets",
    "Webservice": "roost.sdk.services.webservices",
    "Workspace": "roost.sdk.core.workspaces",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _CLASSES:
        return getattr(import_module(_CLASSES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
