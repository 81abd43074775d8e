"""The environment of a run on its node: the prefix of its lock, found (the build agent made it) or installed now."""

import logging
import time
from dataclasses import replace

from roost.agent.folder import Folder
from roost.agent.link import Link
from roost.agent.orders import Orders
from roost.agent.processes import MARK
from roost.domain import recipes
from roost.domain.plans import Plan
from roost.environments import base, builders

log = logging.getLogger("roost.agent")


def private(plan: Plan, link: Link) -> base.Private:
    """What a builder needs of the user's beside the lock."""
    recipe = recipes.recipe(plan.spec.environment.definition) if plan.spec.environment else None
    return base.Private(link.carrier.fetch, recipe.requirements if recipe else ())


def install(folder: Folder, plan: Plan, link: Link, orders: Orders) -> Plan:
    """The plan with the environment's own interpreter; as it is when the run has no lock. Raises RoostError."""
    if not plan.lock:
        return plan
    base.hold(
        folder.home, plan.lock
    )  # until this agent ends; before it is looked for, or it could be dropped in between
    prefix = base.find(folder.home, plan.lock)
    if prefix is None:
        began = time.monotonic()
        lock = base.read_lock(link.carrier.get(plan.lock).decode())
        builder = builders.choose(
            lock.kind, log.info, orders.check, {MARK: folder.mark}, folder.root, folder.home, private(plan, link)
        )
        prefix = base.ensure(folder.home, plan.lock, lambda place: builder.install(lock, place), log.info, orders.check)
        log.info("The environment was installed in %.1f s.", time.monotonic() - began)
    return replace(plan, spec=replace(plan.spec, interpreter=str(prefix / "bin" / "python")))
