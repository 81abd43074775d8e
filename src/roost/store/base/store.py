"""All nouns together. The promises that hold for every noun are in `base/__init__.py`."""

from typing import Protocol

from roost.store.base.compute import Computes
from roost.store.base.datasets import Datasets
from roost.store.base.datastores import Datastores
from roost.store.base.endpoints import Endpoints
from roost.store.base.environments import Environments
from roost.store.base.files import Files
from roost.store.base.gangs import Gangs
from roost.store.base.leases import Leases
from roost.store.base.metrics import Metrics
from roost.store.base.models import Models
from roost.store.base.people import People
from roost.store.base.runs import Runs
from roost.store.base.secrets import Secrets
from roost.store.base.streams import Streams
from roost.store.base.upkeep import Upkeep
from roost.store.base.workspaces import Experiments, Workspaces


class Store(Protocol):
    """All nouns of one store. `close` waits for pending writes."""

    @property
    def workspaces(self) -> Workspaces: ...
    @property
    def experiments(self) -> Experiments: ...
    @property
    def computes(self) -> Computes: ...
    @property
    def gangs(self) -> Gangs: ...
    @property
    def leases(self) -> Leases: ...
    @property
    def runs(self) -> Runs: ...
    @property
    def metrics(self) -> Metrics: ...
    @property
    def streams(self) -> Streams: ...
    @property
    def files(self) -> Files: ...
    @property
    def environments(self) -> Environments: ...
    @property
    def people(self) -> People: ...
    @property
    def secrets(self) -> Secrets: ...
    @property
    def datastores(self) -> Datastores: ...
    @property
    def datasets(self) -> Datasets: ...
    @property
    def models(self) -> Models: ...
    @property
    def endpoints(self) -> Endpoints: ...
    @property
    def upkeep(self) -> Upkeep: ...
    def close(self) -> None: ...
