"""The environment of a run on its node: the prefix of its lock, found (the build agent made it) or installed now."""

import logging
import shutil
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from roost.agent.folder import Folder
from roost.agent.link import Link
from roost.agent.orders import Orders
from roost.agent.preparing import archiving
from roost.agent.preparing.inputs import Teller
from roost.agent.processes import MARK
from roost.domain import recipes
from roost.domain.errors import InvalidInput
from roost.domain.plans import Plan
from roost.domain.runs import RunSpec
from roost.environments import base, builders, notes
from roost.environments.conda import activation as conda_activation
from roost.environments.containers import engine as container_engine
from roost.environments.containers import facts as container_facts

log = logging.getLogger("roost.agent")


def private(plan: Plan, link: Link, folder: Folder, meanwhile: base.Meanwhile) -> base.Private:
    """The user's data that a builder needs besides the lock; for an offline run, also the lock's kept files."""
    spec = plan.spec
    recipe = recipes.recipe(spec.environment.definition, spec.docker) if spec.environment else None

    def secret(name: str) -> str | None:
        found = link.client.call("GET", link.path("secrets", "values"), params={"name": [name]})["secrets"][name]
        return None if found is None else str(found)

    def keep(path: Path) -> str:
        return link.carrier.carry([path])[0][0]

    def index_lock() -> base.Lock | None:
        return fetch(link, plan.index_lock) if plan.index_lock else None

    kept = None
    if spec.environment is not None and spec.environment.offline:
        kept = archiving.source(link, spec.environment.lock, folder, meanwhile)
    return base.Private(
        fetch=link.carrier.fetch,
        requirements=recipe.requirements if recipe else (),
        secret=secret,
        keep=keep,
        recipe=recipe,
        conda_packages=plan.conda_packages,
        index_lock=index_lock,
        kept=kept,
    )


def fetch(link: Link, name: str) -> base.Lock:
    """A lock by its blob's name; InvalidInput when the blob is not a lock."""
    try:
        return base.read_lock(link.carrier.get(name).decode())
    except UnicodeDecodeError:
        raise InvalidInput(f"The blob {name} is not a lock of an environment.") from None


def make(builder: base.Builder, lock: base.Lock, prefix: Path) -> None:
    """Installs a lock, and writes its notes, about differences from the request, beside it."""
    builder.install(lock, prefix)
    notes.add(prefix, lock.notes)


def install(folder: Folder, plan: Plan, link: Link, orders: Orders) -> Plan:
    """The plan with the environment's own interpreter; unchanged when the run has no lock. Writes the environment's notes to the
    run's log, even when another agent built it. Raises RoostError."""
    if not plan.lock:
        return plan
    # Held until this agent ends, and before the search, so that it cannot be dropped in between.
    base.hold(folder.home, plan.lock)
    prefix = base.find(folder.home, plan.lock)
    if prefix is None or not _usable(prefix):
        began = time.monotonic()
        lock = fetch(link, plan.lock)
        beside = private(plan, link, folder, orders.check)
        if beside.kept is not None:
            log.info("The environment is installed from what is kept of it, with no network.")
        mark = {MARK: folder.mark}
        builder = builders.choose(lock.kind, log.info, orders.check, mark, folder.root, folder.home, beside)
        install = partial(make, builder, lock)
        prefix = base.ensure(folder.home, plan.lock, install, log.info, orders.check, _usable)
        log.info("The environment was installed in %.1f s.", time.monotonic() - began)
        shutil.rmtree(folder.root / archiving.KEPT, ignore_errors=True)  # frees the disk: the run may be long
    for note in notes.read(prefix):
        Teller(folder.std_log).say(f"Environment: {note}")
    image = container_facts.read(prefix)
    spec = replace(plan.spec, environment_variables=_variables(plan.spec, prefix))
    if image is not None and not image.prefix:
        return replace(plan, image=image.id, spec=replace(spec, interpreter=image.python))
    own = replace(spec, interpreter=str(prefix / "bin" / "python"))
    return replace(plan, image=image.id if image else "", spec=own)


def _usable(prefix: Path) -> bool:
    """True when the prefix needs no image, or its image is still on this node."""
    image = container_facts.read(prefix)
    return image is None or container_engine.find().has(image.id)


def _variables(spec: RunSpec, prefix: Path) -> dict[str, str]:
    """Variables by priority: those of the run, of the conda file, of the prefix's activation."""
    named = recipes.variables(spec.environment.definition) if spec.environment else {}
    return {**conda_activation.read(prefix), **named, **spec.environment_variables}
