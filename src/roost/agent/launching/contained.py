"""A run in a container: its mounts, its variables, and the mapping of its paths to paths of the node.

It sees its working copy, spool, log, door, job library, environment and data at their own paths, and a `/tmp` that is part of the
run's folder; nothing else of the node.
"""

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from roost.agent.folder import Folder
from roost.domain import containers
from roost.domain.errors import InvalidInput
from roost.domain.plans import Plan
from roost.domain.runs import RunSpec
from roost.environments.containers import box as container_box
from roost.environments.containers import engine as container_engine
from roost.environments.containers.box import Box, Content, Mount
from roost.environments.containers.engine import Engine
from roost.machine import files

TMP = "/tmp"  # noqa: S108 - inside the container
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
log = logging.getLogger("roost.agent")


def variables(image: str, own: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The base variables of a container, in place of the agent's: those of the image, and the proxies."""
    engine = container_engine.find()
    given = {name: value for name, value in own.items() if name.lower() in _PROXIES}
    if engine.user != "0:0":  # this user does not exist in the image
        given |= {"HOME": TMP, "USER": own.get("USER") or str(os.getuid())}
    return {"PATH": _PATH, **engine.variables(image), **given}


def mounts(folder: Folder, plan: Plan, environment: Mapping[str, str]) -> list[Mount]:
    """The folders of the node that a run's container sees."""
    folder.tmp.mkdir(mode=0o777, exist_ok=True)
    folder.tmp.chmod(0o1777)
    found = [Mount(folder.tmp, TMP), Mount(folder.work), Mount(folder.spool), Mount(Path(environment["ROOST_DOOR"]))]
    library = environment["PYTHONPATH"].split(os.pathsep)[0]
    found.append(Mount(Path(library), read_only=True))
    found += [Mount(Path(environment[name])) for name in ("ROOST_LOGS", "ROOST_SHARED") if name in environment]
    if plan.spec.serving:
        found.append(Mount(Path(plan.spec.serving.socket).parent))
    prefix = Path(plan.spec.interpreter).parent.parent
    if prefix.parent == folder.home / "envs":
        found.append(Mount(prefix))
    return [*found, *_data(folder, plan.spec)]


def _data(folder: Folder, spec: RunSpec) -> list[Mount]:
    """The folders of inputs and outputs; an input with an absolute `path_on_compute` is mounted there too."""
    for place in (folder.inputs, folder.filled):
        place.mkdir(mode=0o700, exist_ok=True)
    own = [
        each for each in spec.inputs if each.path_on_compute.startswith("/") and (folder.inputs / each.name).is_dir()
    ]
    there = [Mount(folder.inputs / each.name, os.path.normpath(each.path_on_compute)) for each in own]
    return [Mount(folder.inputs), Mount(folder.filled), *there]


def start(folder: Folder, plan: Plan, argv: Sequence[str], environment: Mapping[str, str], log: Path, name: str) -> Box:
    """Starts one process in its own container; `name` is unique for this agent. Raises CannotStart."""
    engine = container_engine.find()
    files.write(folder.container, json.dumps({"engine": engine.path}).encode())
    definition = plan.spec.environment.definition if plan.spec.environment else {}
    content = Content(
        image=plan.image,
        argv=argv,
        environment=environment,
        mounts=mounts(folder, plan, environment),
        folder=folder.work,
        log=log,
        end=folder.root / "box" / name / "code",
        mark=folder.mark,
        wishes=containers.wishes(definition, plan.spec.docker),
        hostname=plan.node if plan.spec.node_count > 1 else "",
    )
    content.end.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    content.log.touch(mode=0o600)
    for mount in [*content.mounts, Mount(content.log), Mount(content.end.parent)]:
        _make_place(folder, mount)
    return Box(engine, content)


def _make_place(folder: Folder, mount: Mount) -> None:
    """Makes the mount point of a mount below `/tmp` in the run's own `/tmp`: the engine would make it for root only."""
    place = Path(mount.target or mount.source)
    if place != Path(TMP) and place.is_relative_to(TMP):
        inside = folder.tmp / place.relative_to(TMP)
        if mount.source.is_dir():
            inside.mkdir(parents=True, exist_ok=True)
        else:
            inside.parent.mkdir(parents=True, exist_ok=True)
            inside.touch()


def reach(seen: Sequence[Mount]) -> Callable[[Path], Path]:
    """A function that maps a path inside the container to the same file outside, with links resolved. It raises InvalidInput for
    paths that exist only inside."""
    open_ones = [mount for mount in seen if not mount.read_only]
    roots = [Path(os.path.realpath(mount.source)) for mount in open_ones]

    def outside(path: Path) -> Path:
        place = Path(os.path.normpath(path))
        fits = [mount for mount in open_ones if place.is_relative_to(mount.target or mount.source)]
        if fits:
            mount = max(fits, key=lambda each: len(each.target or str(each.source)))
            found = mount.source / place.relative_to(mount.target or mount.source)
            real = Path(os.path.realpath(found))
            if any(real.is_relative_to(root) for root in roots):
                return real
        raise InvalidInput(
            f"{str(path)!r} is in the container alone, where the agent does not reach it.",
            hint=f"Put it into the working folder or {TMP} first.",
        )

    return outside


def clear(folder: Folder) -> None:
    """Removes the containers that a lost agent has left. Never raises."""
    try:
        path = json.loads(folder.container.read_bytes())["engine"]
    except (OSError, ValueError, KeyError, TypeError):
        return  # the run has none
    try:
        container_engine.ask(path, "/version")
        count = container_box.clear(Engine(path, "", ""), folder.mark)
        log.info("%d containers of the run were taken away.", count)
    except Exception as error:  # noqa: BLE001 whatever the library raises: what matters more comes next
        log.warning("The run's containers could not be looked for: %s", container_box.words(error))


def memory_words(box: Box) -> str:
    """A sentence that the container ran out of memory; empty when it did not."""
    if not box.memory_kills:
        return ""
    limit = f"its limit is {_size(box.memory_limit)}" if box.memory_limit else "it has no limit of its own"
    what = "one of its processes" if box.memory_kills == 1 else f"{box.memory_kills} of its processes"
    return f"The container ran out of memory: {limit}, and the kernel ended {what}."


def _size(count: int) -> str:
    for unit, size in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} bytes"
