"""The only place that picks implementations: store, blobs and engines by what the settings say."""

import getpass
import importlib
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from roost.blobs.folder import FolderBlobs
from roost.domain.compute import LOCAL, Compute, Machine
from roost.domain.errors import InvalidInput
from roost.domain.workspaces import DEFAULT_WORKSPACE, Workspace
from roost.engines import ENGINES
from roost.engines.base import Engine
from roost.server import home
from roost.server.settings import Settings
from roost.services import people
from roost.services.house import Facts, House
from roost.services.signals import Signals
from roost.store import open_store

INLINE = "inline"
"""The engine for debugging is there whatever the settings say: it needs nothing."""


def build(settings: Settings, instance: str) -> House:
    """The house of this server: store opened, the user's token known, the default workspace and target there."""
    started_at = time.time()
    token = home.token(settings)
    store = open_store(settings.store)
    if not settings.store_url:
        store.runs.inherit()  # the home's own database, under the home's lock: whoever held a lease in it is gone
        store.endpoints.inherit()
    store.computes.ensure(Compute(name=LOCAL, engine=settings.local_engine, max_nodes=settings.slots))
    in_use = {compute.engine for compute in store.computes.list() if compute.engine in ENGINES}
    house = House(
        store=store,
        blobs=FolderBlobs(settings.blob_folder),
        clock=time.time,
        signals=Signals(),
        disk_limit=settings.disk_limit,
        data_roots=settings.data_roots if settings.data_roots or settings.is_shared else None,
        data_endpoints=settings.data_endpoints if settings.data_endpoints or settings.is_shared else None,
        engine=settings.local_engine,
        engines=tuple(sorted({settings.local_engine, INLINE, *in_use})),
        machine=machine(),
        facts=Facts(
            instance=instance,
            home=str(settings.home),
            pid=os.getpid(),
            started_at=started_at,
            blob_folder=str(settings.blob_folder),
        ),
    )
    user = settings.user or current_user()
    people.admit_person(house, token, user=user)
    house.store.workspaces.ensure(Workspace(name=DEFAULT_WORKSPACE, user=user, created_at=started_at))
    home.sign_blobs(settings, instance)
    return house


def engines(settings: Settings, names: Iterable[str]) -> dict[str, Engine]:
    """These engines, by their names."""
    made: dict[str, Engine] = {}
    for name in sorted(set(names)):
        if name not in ENGINES:
            raise InvalidInput(f"No engine named {name!r}.", hint=f"There are: {', '.join(sorted(ENGINES))}.")
        engine: Engine = importlib.import_module(ENGINES[name]).make(settings)
        made[name] = engine
    return made


def machine() -> Machine:
    """What this machine has; graphics cards as their driver lists them."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cards = len(list(Path("/proc/driver/nvidia/gpus").glob("*")))
    return Machine(cores=len(os.sched_getaffinity(0)), memory_gb=round(memory / 2**30, 1), gpus=cards)


def current_user() -> str:
    with suppress(OSError, KeyError):  # a container's user may have no name
        return getpass.getuser()
    return f"uid-{os.getuid()}"
