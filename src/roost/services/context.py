"""Context: everything a deed needs, passed to it explicitly. `server/wiring.py` makes the server's; tests make their own."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from roost.blobs.base import Blobs
from roost.domain.compute import Machine
from roost.domain.conda import INDEX_IF_UNREACHABLE
from roost.domain.people import Token
from roost.engines.base import Abilities
from roost.objects.base import Storage
from roost.services.flushes import Flushes
from roost.services.pacing import Pacing
from roost.services.presence import Presence
from roost.services.reserve import Reserve
from roost.services.signals import Signals
from roost.services.upkeep_lock import UpkeepLock
from roost.store.base import SpoolState, Store

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """A cache of bounded size; the least recently used entry is dropped first. Safe from any thread."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: K, value: V) -> None:
        with self._lock:
            self._kept[key] = value
            self._kept.move_to_end(key)
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)

    def drop(self, key: K) -> None:
        with self._lock:
            self._kept.pop(key, None)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Facts about this control plane."""

    instance: str
    home: str
    pid: int
    started_at: float
    blob_folder: str
    """The folder of the blobs on this machine; empty when they are elsewhere."""


@dataclass(frozen=True, kw_only=True)
class Context:
    store: Store
    blobs: Blobs
    clock: Callable[[], float]
    """Seconds since the epoch."""
    signals: Signals
    engine: str
    """The engine of clusters that name no other: one of `engines`."""
    engines: Mapping[str, Abilities]
    """The engines that clusters can be made on, by name, with their abilities."""
    facts: Facts
    spools: BoundedCache[tuple[str, str], SpoolState] = field(default_factory=lambda: BoundedCache(1024))
    """Marks and name tables of the spools that are being shipped, so that each shipment need not read them from the store."""
    tokens: BoundedCache[str, tuple[Token, float]] = field(default_factory=lambda: BoundedCache(4096))
    """Tokens by digest, with the time they were read."""
    parents: BoundedCache[str, str] = field(default_factory=lambda: BoundedCache(16384))
    """Each run's parent, by run; empty for none."""
    heard: BoundedCache[str, float] = field(default_factory=lambda: BoundedCache(4096))
    """When a run's token was last used, by run: an agent that ships is alive, even if its heartbeat is late."""
    present: Presence = field(default_factory=Presence)
    """Runs whose agent has a heartbeat request open at this moment."""
    pacing: Pacing = field(default_factory=Pacing)
    """How often agents should send."""
    flushes: Flushes = field(default_factory=Flushes)
    """Open requests to flush a run."""
    reserve: Reserve | None = None
    """Disk space in the home that is released when freeing space needs some first; None for none."""
    disk_limit: int = 0
    """Percent of the home's disk at which new runs are refused; 0 for no limit."""
    conda_packages: str = INDEX_IF_UNREACHABLE
    """Where the conda packages of environments may come from: one of `PACKAGE_SOURCES`."""
    archive_builds: bool = False
    """True when every build stores the files that it was made of."""
    data_roots: tuple[str, ...] | None = None
    """Folders that datastores may be in; None for every folder that the control plane's user can read."""
    data_endpoints: tuple[str, ...] | None = None
    """Hosts of object stores that may be used beside the providers' own; None for all."""
    places: BoundedCache[tuple[str, str], tuple[float, Storage]] = field(default_factory=lambda: BoundedCache(64))
    """Open datastores by workspace and name, with the time that each was registered."""
    upkeep: UpkeepLock = field(default_factory=UpkeepLock)
    """Held during a sweep and during a back-up."""

    @property
    def machine(self) -> Machine:
        """The control plane's own machine, which the nodes of `engine` share."""
        capacity = self.engines[self.engine].capacity
        assert capacity is not None, "the engine behind `local` is on this machine"
        return capacity
