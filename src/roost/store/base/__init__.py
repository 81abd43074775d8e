"""The interface of a store, one file per noun: all data of the control plane except bytes, which are in `blobs`.

**Threads**: every method may be called from any thread, and returns when its transaction is durable.
**Atomic**: each method is one transaction; when it raises, nothing was changed.
**Twice**: creating what exists with the same content returns it; with other content it raises Conflict.
**Raises**: NotFound, Conflict, InvalidInput of `domain.errors`; DiskFull when the disk is full.
Times are passed in; a store has no clock.
"""

from roost.store.base.compute import MANY, Computes, Load
from roost.store.base.datasets import Datasets
from roost.store.base.datastores import Datastores
from roost.store.base.endpoints import Endpoints, Standing
from roost.store.base.environments import Environments
from roost.store.base.files import Files
from roost.store.base.gangs import Command, Gangs
from roost.store.base.leases import ENDPOINTS, NEW_RUNS, RUNS, Lease, LeaseLost, Leases
from roost.store.base.metrics import Metrics, MetricSummary, SpoolState
from roost.store.base.models import Models
from roost.store.base.people import People
from roost.store.base.runs import Order, RunColumns, RunQuery, Runs
from roost.store.base.secrets import Secrets
from roost.store.base.store import Store
from roost.store.base.streams import Merge, Pieces, Streams
from roost.store.base.upkeep import ExperimentSize, References, Upkeep
from roost.store.base.workspaces import Experiments, Workspaces

__all__ = [
    "ENDPOINTS",
    "MANY",
    "NEW_RUNS",
    "RUNS",
    "Command",
    "Computes",
    "Datasets",
    "Datastores",
    "Endpoints",
    "Environments",
    "ExperimentSize",
    "Experiments",
    "Files",
    "Gangs",
    "Lease",
    "LeaseLost",
    "Leases",
    "Load",
    "Merge",
    "MetricSummary",
    "Metrics",
    "Models",
    "Order",
    "People",
    "Pieces",
    "References",
    "RunColumns",
    "RunQuery",
    "Runs",
    "Secrets",
    "SpoolState",
    "Standing",
    "Store",
    "Streams",
    "Upkeep",
    "Workspaces",
]
