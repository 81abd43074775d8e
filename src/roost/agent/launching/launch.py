"""Starts the processes that the run's launch gives for this node, with `$VAR` in their arguments filled in."""

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from roost import launch
from roost.agent.folder import Folder
from roost.agent.launching import contained, limits, ranks
from roost.agent.processes import Running, Started
from roost.domain.errors import RoostError
from roost.domain.plans import Plan
from roost.domain.runs import RunSpec
from roost.environments.curated import machine
from roost.launch.base import Place
from roost.launch.expansion import expand

NO_GPU = (
    "Nccl is asked for, and this node has no GPU: torch.distributed fails with it. Give communication_backend='Gloo' to "
    "PyTorchConfiguration, and 'gloo' to the script."
)


@dataclass(frozen=True)
class Launched:
    """A process of the run on this node."""

    running: Running
    rank: int
    log: Path
    waited_for: bool


def advise(spec: RunSpec) -> str:
    """A warning about this node for the user, also added to the message of a failure; empty when there is none."""
    return NO_GPU if spec.topology.backend == "nccl" and not machine.has_gpu() else ""


def start(folder: Folder, plan: Plan, environment: Mapping[str, str], place: Place) -> list[Launched]:
    """Starts all processes. When one fails, raises RoostError; those already started are in the run's tree and end with it."""
    started: list[Launched] = []
    for process in launch.find(plan.spec.launch)(plan.spec, place):
        env = {**environment, **process.env, "ROOST_RANK": str(max(process.rank, 0))}
        argv = expand(process.argv, env) if process.expands else process.argv
        log = ranks.log_of(folder, process.rank)
        if advice := advise(plan.spec):
            with open(log, "ab", buffering=0) as file:
                file.write(f"{advice}\n".encode())
        running = start_one(folder, plan, argv, env, log, str(process.rank))
        started.append(Launched(running, process.rank, log, process.waited_for))
    return started


def start_one(
    folder: Folder, plan: Plan, argv: Sequence[str], environment: Mapping[str, str], log: Path, name: str
) -> Running:
    """Starts one process, on the node itself or in a container; `name` is unique for this agent."""
    if plan.image:
        return contained.start(folder, plan, argv, environment, log, name)
    held = limits.inside(limits.group(folder.mark), argv, environment.get("PATH", os.defpath))
    try:
        return Started(held, folder=folder.work, environment=environment, log=log)
    except (OSError, ValueError) as error:
        raise _explain(tuple(argv), error) from error


def _explain(argv: tuple[str, ...], error: OSError | ValueError) -> RoostError:
    program = argv[0] if argv else ""
    fact = f"{program!r} cannot be started: {(isinstance(error, OSError) and error.strerror) or error}."
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.ENOENT and os.sep in program:
        return RoostError(
            fact, hint="Paths are seen from the top of the snapshot; its first line may name a missing program."
        )
    if number == errno.ENOENT:
        return RoostError(fact, hint="No program of that name is on the node's PATH.")
    if number == errno.EACCES:
        return RoostError(
            fact, hint="Give it the permission to be executed (chmod +x), or start it through its interpreter."
        )
    if number == errno.ENOEXEC:
        return RoostError(fact, hint="Its first line should name its interpreter, such as #!/bin/sh.")
    if number == errno.E2BIG:
        return RoostError(fact, hint="Arguments and environment variables together are too long for the kernel.")
    return RoostError(fact)
