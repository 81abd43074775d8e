"""The only place that picks implementations: store, blobs and engines by what the settings say."""

import getpass
import importlib
import os
import time
from collections.abc import Mapping
from contextlib import suppress

from roost.blobs.folder import FolderBlobs
from roost.domain.compute import Compute
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

LOCAL = "local"


def build(settings: Settings, instance: str) -> House:
    """The house of this server: store opened, the user's token known, the default workspace and target there."""
    started_at = time.time()
    token = home.token(settings)
    computes = [Compute(name=LOCAL, engine=settings.local_engine, max_nodes=settings.slots)]
    house = House(
        store=open_store(settings.store),
        blobs=FolderBlobs(settings.blob_folder),
        clock=time.time,
        signals=Signals(),
        computes={compute.name: compute for compute in computes},
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
    for compute in computes:
        house.store.workspaces.ensure_compute(compute)
    home.sign_blobs(settings, instance)
    return house


def engines(settings: Settings, computes: Mapping[str, Compute]) -> dict[str, Engine]:
    """One engine for each that a target names, by its name."""
    made: dict[str, Engine] = {}
    for name in sorted({compute.engine for compute in computes.values()}):
        if name not in ENGINES:
            raise InvalidInput(f"No engine named {name!r}.", hint=f"There are: {', '.join(sorted(ENGINES))}.")
        engine: Engine = importlib.import_module(ENGINES[name]).make(settings)
        made[name] = engine
    return made


def current_user() -> str:
    with suppress(OSError, KeyError):  # a container's user may have no name
        return getpass.getuser()
    return f"uid-{os.getuid()}"
