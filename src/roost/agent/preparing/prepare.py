"""Everything before the script starts: the working copy, the job library, the variables. Whatever is missing is said here,
in words that help; the run then ends as Failed with PREPARE_FAILED.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from roost.agent.finishing.kept_files import note_laid
from roost.agent.folder import Folder, shared
from roost.agent.launching import contained
from roost.agent.preparing import job_library, snapshot_files
from roost.agent.preparing.inputs import Teller
from roost.agent.preparing.variables import passed
from roost.agent.processes import MARK
from roost.agent.shipping import shared_folders
from roost.domain import names
from roost.domain.errors import NotFound
from roost.domain.plans import Access, Plan
from roost.domain.runs import RunSpec
from roost.domain.topology import by_rank
from roost.domain.workspaces import NO_RESOURCE_GROUP, NO_SUBSCRIPTION
from roost.transport.carrying import Carrier, Meanwhile
from roost_job.listing import some

NO_TOKEN = "kept-by-the-agent"  # noqa: S105 - it is none
"""Scripts look whether there is a token; the real one is not for them (the door asks for them)."""


@dataclass(frozen=True)
class Prepared:
    environment: Mapping[str, str]
    """Of the script: what passes of the agent's own, the run's, and what `roost_job` needs."""
    plan: Plan
    """With the interpreter that the script runs with."""


def prepare(folder: Folder, plan: Plan, access: Access, carrier: Carrier, door: Path, meanwhile: Meanwhile) -> Prepared:
    """Raises RoostError or OSError, or what `meanwhile` raises; what it has made until then stands in the run's folder and goes
    with it."""
    lay_out(folder, plan.spec, carrier, meanwhile)
    if plan.spec.node_count > 1:
        _join(folder, plan, access)
    check(folder, plan.spec, plan.image)
    if by_rank(plan.spec.launch, plan.spec.node_count, plan.spec.topology):
        folder.ranks.mkdir(mode=0o700, exist_ok=True)
        shared(folder, plan.attempt).mkdir(mode=0o700, parents=True, exist_ok=True)
    library = job_library.ensure(folder.home)
    own = contained.variables(plan.image) if plan.image else os.environ
    return Prepared(variables(plan, access, folder, library, door, own), plan)


def _join(folder: Folder, plan: Plan, access: Access) -> None:
    """The folders of results are one for all nodes of this machine; where each has its own, the run's log says so."""
    if access.endpoint_file:
        shared_folders.join(folder, plan.attempt, snapshot_files.load(folder))
    elif plan.node_rank == 0:
        Teller(folder.std_log).say(shared_folders.OWN_FOLDERS)


def lay_out(folder: Folder, spec: RunSpec, carrier: Carrier, meanwhile: Meanwhile) -> None:
    """The working copy, with `./outputs` and `./logs` there for scripts that expect them."""
    for place in (folder.work, folder.spool, folder.staged):
        place.mkdir(mode=0o700, exist_ok=True)
    if spec.snapshot:
        try:
            carrier.lay_out(spec.snapshot, folder.work, meanwhile)
        finally:
            note_laid(folder)  # of a copy that was broken off too: none of it is the run's own
    for kept in ("outputs", "logs"):
        if not os.path.lexists(folder.work / kept):
            (folder.work / kept).mkdir()


def check(folder: Folder, spec: RunSpec, image: str = "") -> None:
    """A script needs itself and its interpreter, which an image has; a command is looked up when it starts."""
    if spec.command or (spec.serving and not spec.script):
        return
    script = folder.work / names.path(spec.script)
    if not script.is_file():
        near = sorted(path.name for path in folder.work.iterdir() if path.suffix == ".py")
        raise NotFound(
            f"The script {spec.script!r} is not in the snapshot.",
            hint=f"At its top are: {some(near, 10)}." if near else "The snapshot has no Python file at its top.",
        )
    interpreter = Path(spec.interpreter)
    if image:
        return
    if not os.path.isfile(interpreter):
        raise NotFound(
            f"The interpreter {spec.interpreter!r} is not on this node.",
            hint="Submit with a Python that is there, or with an environment.",
        )
    if not os.access(interpreter, os.X_OK):
        raise NotFound(f"The interpreter {spec.interpreter!r} may not be executed.", hint="Look at its permissions.")


def variables(
    plan: Plan, access: Access, folder: Folder, library: Path, door: Path, own: Mapping[str, str]
) -> dict[str, str]:
    """The script's environment. Pure: `own` is the agent's, or that of the image."""
    seen = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, plan.gpus))} if plan.gpus else {}
    given = {**(own if plan.image else passed(own)), **seen, **plan.spec.environment_variables}
    given.setdefault("PYTHONIOENCODING", "utf-8")  # Python 3.6 would take ASCII where no locale is set
    bin_folder = os.path.dirname(plan.spec.interpreter)
    own_prefix = not plan.image or Path(plan.spec.interpreter).is_relative_to(folder.home)
    if plan.lock and own_prefix:  # an environment of its own, whatever the control plane was started in
        given["VIRTUAL_ENV"] = os.path.dirname(bin_folder)
        given.pop("PYTHONHOME", None)
    return {
        **given,
        "PATH": _joined(bin_folder, given.get("PATH", os.defpath)),
        "PYTHONPATH": _joined(str(library), given.get("PYTHONPATH", "")),
        "PYTHONUNBUFFERED": "1",
        "ROOST_RUN_ID": plan.run_id,
        "ROOST_SPOOL": str(folder.spool),
        "ROOST_DOOR": str(door),
        "ROOST_NODE": plan.node,
        "ROOST_NODE_ADDRESS": plan.address,
        "ROOST_NODE_RANK": str(plan.node_rank),
        "ROOST_ATTEMPT": str(plan.attempt),
        **_several(plan, access, folder),
        MARK: folder.mark,
        "AZUREML_RUN_ID": plan.run_id,
        "AZUREML_ARM_SUBSCRIPTION": plan.subscription_id or NO_SUBSCRIPTION,
        "AZUREML_ARM_RESOURCEGROUP": plan.resource_group or NO_RESOURCE_GROUP,
        "AZUREML_ARM_WORKSPACE_NAME": plan.workspace,
        "AZUREML_ARM_PROJECT_NAME": plan.experiment,
        "AZUREML_EXPERIMENT_ID": plan.experiment,
        "AZUREML_WORKSPACE_ID": plan.workspace,
        "AZUREML_SERVICE_ENDPOINT": access.url,
        "AZUREML_RUN_TOKEN": NO_TOKEN,
    }


def _several(plan: Plan, access: Access, folder: Folder) -> dict[str, str]:
    """What only a run of several processes has: where ranks print to, and what its nodes share on the control plane's machine."""
    if not by_rank(plan.spec.launch, plan.spec.node_count, plan.spec.topology):
        return {}
    together = {"ROOST_SHARED": str(shared(folder, plan.attempt))} if access.endpoint_file else {}
    return {"ROOST_LOGS": str(folder.ranks), **together}


def _joined(*parts: str) -> str:
    return os.pathsep.join(part for part in parts if part)
