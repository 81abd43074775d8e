"""The only place that picks implementations: store, blobs and engines, by the settings."""

import getpass
import logging
import os
import time
from collections.abc import Iterable
from contextlib import suppress

from roost.blobs.folder import FolderBlobs
from roost.control.watching import words_of
from roost.domain.compute import LOCAL, Compute
from roost.domain.errors import InvalidInput
from roost.domain.workspaces import DEFAULT_WORKSPACE, Workspace
from roost.engines import load
from roost.engines.base import Abilities, Engine
from roost.server import home
from roost.server.settings import Settings
from roost.services import people
from roost.services.context import Context, Facts
from roost.services.reserve import Reserve
from roost.services.signals import Signals
from roost.store import open_store

log = logging.getLogger("roost.server")


def build(settings: Settings, instance: str) -> Context:
    """The context of this server: opens the store, admits the user's token, ensures the default workspace and target."""
    started_at = time.time()
    token = home.token(settings)
    usable = offered(settings)
    blobs = FolderBlobs(settings.blob_folder)
    store = open_store(settings.store, blobs)
    if not settings.store_url:
        store.leases.inherit()  # the home's own database, under the home's lock: earlier holders of leases are gone
    store.computes.ensure(Compute(name=LOCAL, engine=settings.local_engine, max_nodes=settings.slots))
    usable |= needed(settings, {compute.engine for compute in store.computes.list()} - usable.keys())
    context = Context(
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
        engines=dict(sorted(usable.items())),
        facts=Facts(
            instance=instance,
            home=str(settings.home),
            pid=os.getpid(),
            started_at=started_at,
            blob_folder=str(settings.blob_folder),
        ),
    )
    user = settings.user or current_user()
    people.admit_person(context, token, user=user)
    context.store.workspaces.ensure(Workspace(name=DEFAULT_WORKSPACE, user=user, created_at=started_at))
    home.sign_blobs(settings, instance)
    return context


def offered(settings: Settings) -> dict[str, Abilities]:
    """The engines that the settings name and that have something to run on, with their abilities."""
    named = {settings.local_engine, *settings.engines}
    found = {name: abilities for name in sorted(named) if (abilities := load(name).abilities(settings)) is not None}
    own = found.get(settings.local_engine)
    if own is None or not (own.logical_nodes and own.shared_disk and own.capacity):
        raise InvalidInput(
            f"The engine {settings.local_engine!r} cannot be behind the target `{LOCAL}`: its nodes are not on this machine.",
            hint=f"Name it in ROOST_ENGINES, and leave ROOST_LOCAL_ENGINE at {Settings.local_engine!r}.",
        )
    return found


def needed(settings: Settings, names: Iterable[str]) -> dict[str, Abilities]:
    """The abilities of further engines that existing clusters use. A missing engine does not prevent the start."""
    found = {}
    for name in sorted(names):
        try:
            abilities = load(name).abilities(settings)
        except Exception as error:  # noqa: BLE001 a module of another author may raise anything
            log.warning("clusters on engine %s stand still: %s", name, words_of(error))
            continue
        if abilities is not None:
            found[name] = abilities
        else:
            log.warning("clusters on engine %s stand still: the settings give it nothing to run on.", name)
    return found


def engines(settings: Settings, names: Iterable[str]) -> dict[str, Engine]:
    """These engines, by name. An engine that cannot be made is left out, except the one behind the target `local`."""
    made = {}
    for name in sorted(set(names), key=lambda name: (name != settings.local_engine, name)):
        try:
            made[name] = load(name).make(settings)
        except Exception as error:
            if name == settings.local_engine:  # it is made first: there is nothing to close
                raise
            log.exception("clusters on engine %s stand still until the next start: %s", name, words_of(error))
    return made


def current_user() -> str:
    with suppress(OSError, KeyError):  # a container's user may have no name
        return getpass.getuser()
    return f"uid-{os.getuid()}"
