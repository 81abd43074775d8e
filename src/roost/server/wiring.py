"""The only place that picks implementations: store, blobs and engines by what the settings say."""

import getpass
import importlib
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from roost.blobs.folder import FolderBlobs
from roost.domain import hosts
from roost.domain.compute import LOCAL, Compute, Machine
from roost.domain.errors import InvalidInput
from roost.domain.workspaces import DEFAULT_WORKSPACE, Workspace
from roost.engines import ENGINES
from roost.engines.base import Engine
from roost.server import home
from roost.server.settings import Settings
from roost.services import people
from roost.services.house import Facts, House
from roost.services.reserve import Reserve
from roost.services.signals import Signals
from roost.store import open_store

INLINE = "inline"
"""The engine for debugging is there whatever the settings say: it needs nothing."""
HOSTS = "hosts"
"""The engine of other machines is there when a file names some."""


def build(settings: Settings, instance: str) -> House:
    """The house of this server: store opened, the user's token known, the default workspace and target there."""
    started_at = time.time()
    token = home.token(settings)
    reached = read_hosts(settings)
    blobs = FolderBlobs(settings.blob_folder)
    store = open_store(settings.store, blobs)
    if not settings.store_url:
        store.leases.inherit()  # the home's own database, under the home's lock: whoever held a lease in it is gone
    store.computes.ensure(Compute(name=LOCAL, engine=settings.local_engine, max_nodes=settings.slots))
    in_use = {compute.engine for compute in store.computes.list() if compute.engine in ENGINES}
    house = House(
        store=store,
        blobs=blobs,
        clock=time.time,
        signals=Signals(),
        reserve=Reserve(settings.home),
        disk_limit=settings.disk_limit,
        conda_packages=settings.conda_packages,
        archive_builds=settings.archive_builds,
        data_roots=settings.data_roots if settings.data_roots or settings.is_shared else None,
        data_endpoints=settings.data_endpoints if settings.data_endpoints or settings.is_shared else None,
        engine=settings.local_engine,
        engines=tuple(sorted({settings.local_engine, INLINE, *reached, *(in_use - {HOSTS})})),
        hosts=reached,
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


def read_hosts(settings: Settings) -> dict[str, tuple[str, ...]]:
    """The addresses of other machines, by engine. InvalidInput when they could not reach this control plane."""
    if not settings.hosts_file.exists():
        if settings.hosts:
            raise InvalidInput(f"The file of hosts {settings.hosts} is not there.", hint="ROOST_HOSTS names it.")
        return {}
    found = hosts.read(settings.hosts_file.read_text(), str(settings.hosts_file))
    if not found.url and (not settings.is_shared or settings.host in ("0.0.0.0", "::")):  # noqa: S104 read, not bound
        raise InvalidInput(
            f"{settings.hosts_file} names other machines, and nothing says at which address they reach this control plane: it "
            f"listens on {settings.host}.",
            hint="Listen on an address of their network (ROOST_HOST), or give `url` in that file.",
        )
    return {HOSTS: tuple(host.address for host in found.hosts)} if found.hosts else {}


def machine() -> Machine:
    """What this machine has; graphics cards as their driver lists them."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cards = len(list(Path("/proc/driver/nvidia/gpus").glob("*")))
    return Machine(cores=len(os.sched_getaffinity(0)), memory_gb=round(memory / 2**30, 1), gpus=cards)


def current_user() -> str:
    with suppress(OSError, KeyError):  # a container's user may have no name
        return getpass.getuser()
    return f"uid-{os.getuid()}"
