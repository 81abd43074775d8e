"""A run's outputs: makes their folders, and uploads them to a datastore once the script has succeeded. After a failure nothing is
uploaded, since partial data would look complete.
"""

import fnmatch
import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from roost.agent.finishing import shared_outputs
from roost.agent.folder import Folder
from roost.agent.launching import contained
from roost.agent.link import Link, persist
from roost.agent.preparing import inputs
from roost.domain import names
from roost.domain.datasets import Output, destination
from roost.domain.errors import Conflict, InvalidInput, RoostError
from roost.domain.plans import Plan
from roost.domain.runs import RunSpec
from roost.transport import storing
from roost.transport.client import path_of
from roost_job.data import local_files

_PATIENCE = 600.0  # seconds to wait for a full disk of the control plane
log = logging.getLogger("roost.agent")


def lay_out(folder: Folder, spec: RunSpec) -> dict[str, str]:
    """The path of each output: an empty folder, or its own source path, relative to the working copy."""
    found = {}
    for each in spec.outputs:
        place = _place(folder, each)
        (place if not each.source else place.parent).mkdir(parents=True, exist_ok=True)
        found[each.name] = str(place)
    return found


def _place(folder: Folder, output: Output) -> Path:
    return Path(os.path.normpath(folder.work / output.source)) if output.source else folder.filled / output.name


def deliver(folder: Folder, plan: Plan, link: Link, say: Callable[[str], None]) -> list[str]:
    """Uploads every output; the control plane records and registers it. Returns the failures as text. Safe twice."""
    problems: list[str] = []
    if plan.spec.node_count > 1 and not shared_outputs.turn(link, plan):
        say("Outputs: nothing is delivered, since another node of the run has not ended well.")
        return problems
    for output in plan.spec.outputs:
        try:
            _deliver(folder, plan, link, output, say)
        except (RoostError, OSError) as error:
            words = error.message if isinstance(error, RoostError) else f"{error.filename}: {error.strerror}."
            problems.append(f"output {output.name!r} ({words.rstrip('.')})")
    return problems


def _deliver(folder: Folder, plan: Plan, link: Link, output: Output, say: Callable[[str], None]) -> None:
    began = time.monotonic()
    passed: list[tuple[str, str]] = []
    found = written(_real(folder, output), output.globs, passed)
    if passed:
        say(f"Output {output.name}: {local_files.left_out(passed)}")
    moved: list[str] = []
    several = plan.spec.node_count > 1
    if several:
        found, moved = shared_outputs.beside(found, shared_outputs.taken(link, plan, output.name), plan.node_rank)
    workspace = ("workspaces", plan.workspace)
    store = output.datastore or str(link.client.call("GET", path_of(*workspace, "default-datastore"))["name"])
    target = destination(output, plan.run_id)
    items = path_of(*workspace, "datastores", store, "items")
    _refuse_replacing(folder, link, output, items, target, [name for name, _ in found])
    going = [(f"{target}/{name}", path) for name, path in found]
    total = storing.store(
        link.client, plan.workspace, store, going, deliver=lambda send: persist(send, seconds=_PATIENCE)
    )
    said, use = {"path": "", "mode": output.mode.value}, {}
    if several:
        shared_outputs.note(link, plan, output.name, found)
    if plan.node_rank == plan.spec.node_count - 1:  # only the last node: the output then has the files of all
        use = persist(lambda: link.client.call("POST", link.path("outputs", output.name), json=said), seconds=_PATIENCE)
    if moved:
        also = f" and {len(moved) - 1} more" if len(moved) > 1 else ""
        say(f"Output {output.name}: {moved[0]}{also} is another on an earlier node; this one is beside it.")
    took = time.monotonic() - began
    what = f"{inputs.files(len(found))}, {inputs.size(total)}" if found else _nothing(folder, output)
    registered = f", registered as {output.register_as!r}" if use.get("dataset_id") else ""
    say(f"Output {output.name}: {what}, to {target} of datastore {store}{registered}, in {took:.1f} s.")


def _nothing(folder: Folder, output: Output) -> str:
    """Why there is nothing to upload: the script wrote nothing, or nothing that matches the globs."""
    others = len(written(_real(folder, output))) if output.globs else 0
    if not others:
        return "nothing was written"
    are = "is" if others == 1 else "are"
    return f"no file fits {', '.join(f'`{each}`' for each in output.globs)} ({inputs.files(others)} {are} there)"


def _refuse_replacing(
    folder: Folder, link: Link, output: Output, route: str, target: str, wanted: Sequence[str]
) -> None:
    """Raises Conflict when a file exists and must not be replaced. Files of this run's own, interrupted upload do not count."""
    mark = folder.root / f"delivering-{output.name}"
    if not output.overwrite and wanted and not mark.exists():
        there = {item["name"] for item in link.client.call("GET", route, params={"path": target})["items"]}
        if both := sorted(there.intersection(f"{target}/{name}" for name in wanted)):
            raise Conflict(f"{both[0]} is there already; as_upload(overwrite=True) would replace it")
    mark.touch()


def _real(folder: Folder, output: Output) -> Path:
    """The path of its files on this node. For a container, `/tmp` is mapped, and paths outside the run's folder are refused."""
    place = _place(folder, output)
    if not folder.container.exists():
        return place
    if place.is_relative_to(contained.TMP) and not place.is_relative_to(folder.root):
        place = folder.tmp / place.relative_to(contained.TMP)
    if not Path(os.path.realpath(place)).is_relative_to(os.path.realpath(folder.root)):
        raise InvalidInput(f"{output.source or place} is in the container alone, where the agent does not reach it")
    return place


def written(
    place: Path, globs: Sequence[str] = (), passed: list[tuple[str, str]] | None = None
) -> list[tuple[str, Path]]:
    """The files below a folder by their relative names, or the one file; skipped files are added to `passed`, with the reason.
    Links that lead outside are never followed: they could lead to any file of the machine."""
    if place.is_file() and not place.is_symlink():
        return [(names.path(place.name), place)]
    inside = Path(os.path.realpath(place))
    found = []
    for root, _, entries in os.walk(place):
        for entry in sorted(entries):
            path = Path(root, entry)
            name = path.relative_to(place).as_posix()
            if globs and not any(fnmatch.fnmatchcase(name, each) for each in globs):
                continue
            why = local_files.problem(str(path), name)
            if not why and not Path(os.path.realpath(path)).is_relative_to(inside):
                why = "it is a link that leads outside"
            if why:
                log.warning("%r of an output is not uploaded: %s.", name, why)
                if passed is not None:
                    passed.append((name, why))
                continue
            found.append((names.path(name), path))
    return found
