"""The errand of a build agent: locks and builds the environment of a run that is Preparing, and streams the log into the run.

Several builds of one lock on this node make one prefix (`environments/base.py`). At the end the run's folder is deleted; it
is made again for the agent that runs the script.
"""

import logging
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from roost.agent.finishing.finish import remove
from roost.agent.folder import Folder
from roost.agent.launching import contained
from roost.agent.link import Link, persist
from roost.agent.orders import Halt, Orders
from roost.agent.preparing import archiving, environments
from roost.agent.processes import MARK, Tree
from roost.domain import recipes
from roost.domain.environments import BUILD_LOG, EnvironmentUse
from roost.domain.errors import Conflict, Forbidden, NotFound, RoostError
from roost.domain.files import RunFile
from roost.domain.plans import Plan
from roost.environments import base, builders
from roost.transport.shipping import Shipper

_EVERY = 0.15
log = logging.getLogger("roost.agent")


class Halted(Exception):
    """The build is not wanted any more."""


class Diary:
    """The build log: a file that is sent while it grows."""

    def __init__(self, folder: Folder, link: Link, orders: Orders) -> None:
        self._folder = folder
        self._link = link
        self._orders = orders
        self._shipper = Shipper(link.client, link.run_id)
        self._file = folder.build_log.open("ab", buffering=0)
        self._due = 0.0

    def say(self, line: str) -> None:
        self._file.write(f"{line}\n".encode("utf-8", "replace"))

    def meanwhile(self) -> None:
        """Sends new lines; raises Halted when the build should end."""
        if self._orders.halted:
            raise Halted
        if time.monotonic() >= self._due:
            self._send()
            self._due = time.monotonic() + _EVERY

    def seal(self) -> None:
        """Stores the complete log as a file of the run."""
        self._send()
        data = self._folder.build_log.read_bytes()
        blob = persist(lambda: self._link.carrier.put(data))
        file = RunFile(path=BUILD_LOG, blob=blob, size=len(data), modified_at=self._folder.build_log.stat().st_mtime)
        persist(lambda: self._link.put_files([file]))

    def _send(self) -> None:
        try:
            self._shipper.ship_stream(BUILD_LOG, self._folder.build_log)
        except NotFound:
            self._orders.halt(Halt.DISOWNED)
        except (RoostError, OSError) as error:
            log.warning("The build log is not sent: %s", error)


def build(folder: Folder) -> None:
    """Builds, reports the result to the control plane, and removes the run's folder."""
    plan, access = folder.read_plan()
    link = Link(folder, access)
    orders = Orders(link)
    orders.listen()
    count = Tree(folder.mark).end()  # left by a build agent that was lost, perhaps with its keeper
    log.info("%d processes of an earlier build were left.", count)
    contained.clear(folder)
    diary = Diary(folder, link, orders)
    try:
        said = _outcome(folder, plan, link, diary)
        diary.seal()
        persist(lambda: link.client.call("POST", link.path("environment"), json=said))
    except Halted:
        log.info("The build was ended: %s.", orders.halted)
        if orders.halted is Halt.TERMINATED:
            return
        if orders.halted in (Halt.OVER, Halt.CANCELED):
            diary.say("Ended: the run was canceled.")
            diary.seal()
    except (NotFound, Forbidden, Conflict) as error:
        log.error("Nobody takes what was built. %s", error.message)
    finally:
        orders.close()
        Tree(folder.mark).end()  # left by a package's build in another session
    remove(folder.root)


def _outcome(folder: Folder, plan: Plan, link: Link, diary: Diary) -> dict[str, str | bool]:
    name = plan.spec.environment.name if plan.spec.environment else ""
    try:
        name, source = _lock(folder, plan, link, diary)
        return {"lock": name, **({"from_index": True} if source == base.INDEX else {})}
    except (RoostError, OSError) as error:
        hint = f"\nhint: {error.hint}" if isinstance(error, RoostError) and error.hint else ""
        words = error.message if isinstance(error, RoostError) else str(error)
        if not isinstance(error, base.BuildFailed) or not _is_said(words, folder):
            diary.say(words)
        diary.say(f"Environment {name!r} could not be built.{hint}")
        return {"message": f"Environment {name!r} could not be built.\n{words}{hint}"}


def _is_said(words: str, folder: Folder) -> bool:
    """True when the log has each of these lines; "…" replaces the middle of a long error."""
    said = {line.strip() for line in folder.build_log.read_text("utf-8", "replace").splitlines()}
    return {line.strip() for line in words.splitlines()} <= {*said, "", "…"}


def _lock(folder: Folder, plan: Plan, link: Link, diary: Diary) -> tuple[str, str]:
    """Resolves and installs, or installs the lock of the submission; returns the blob of the lock, and its source."""
    spec = plan.spec
    if spec.environment is None or (recipe := recipes.recipe(spec.environment.definition, spec.docker)) is None:
        raise base.BuildFailed("The run has no environment that could be built.")
    diary.say(f"Building environment {spec.environment.name!r} ({recipe.key[:12]}) on this node.")

    def builder(kind: str) -> base.Builder:
        mark = {MARK: folder.mark}
        own = environments.private(plan, link, folder, diary.meanwhile)
        return builders.choose(kind, diary.say, diary.meanwhile, mark, folder.root, folder.home, own)

    if spec.environment.lock:
        name = spec.environment.lock
        lock = environments.fetch(link, name)
        for words in (f"From the lock {name[:12]} that the run was submitted with; nothing is resolved.", *lock.notes):
            diary.say(words)
        if spec.environment.offline:
            diary.say("Installed from what is kept of it, with no network.")
    else:
        for words in recipe.notes:
            diary.say(words)
        lock = builder(builders.kind_of(recipe)).resolve(recipe)
        lock = replace(
            lock, notes=tuple(dict.fromkeys([*recipe.notes, *lock.notes]))
        )  # a lock that was made before already has the recipe's notes
        name = link.carrier.put(lock.text.encode())
    began = time.monotonic()
    base.hold(folder.home, name)  # until this agent ends
    prefix = base.find(folder.home, name)
    if prefix is None:
        install = partial(environments.make, builder(lock.kind), lock)
        prefix = base.ensure(folder.home, name, install, diary.say, diary.meanwhile)
        diary.say(f"Installed in {time.monotonic() - began:.1f} s: {prefix}")
    else:
        diary.say(f"The same packages are installed already: {prefix}")
    if plan.archive:
        _keep(spec.environment, name, lock, prefix, builder(lock.kind), link, diary)
    return name, lock.source


def _keep(
    use: EnvironmentUse,
    name: str,
    lock: base.Lock,
    prefix: Path,
    builder: base.Builder,
    link: Link,
    diary: Diary,
) -> None:
    """Stores the environment's files. Raises a failure only when the run requires these files (`archive`)."""
    try:
        archiving.keep(link, name, lock, prefix, builder, diary.say)
    except (RoostError, OSError) as error:
        if use.archive:
            raise
        diary.say(f"The files of the environment could not be kept: {error}")
