"""Prepares the working copy, the job library and the variables before the script starts. Anything missing is reported here, with
a hint; the run then ends as Failed with PREPARE_FAILED.
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
"""Scripts check that a token exists; they never get the real one, since the door makes their requests."""


@dataclass(frozen=True)
class Prepared:
    environment: Mapping[str, str]
    """Of the script: those passed on from the agent, those of the run, and those for `roost_job`."""
    plan: Plan
    """With the interpreter that the script runs with."""


def prepare(folder: Folder, plan: Plan, access: Access, carrier: Carrier, door: Path, meanwhile: Meanwhile) -> Prepared:
    """Raises RoostError or OSError, or what `meanwhile` raises; files made until then are deleted with the run's folder."""
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
    """Joins the shared result folders of the nodes of this machine; logs in the run when each node has its own."""
    if access.endpoint_file:
        shared_folders.join(folder, plan.attempt, snapshot_files.load(folder))
    elif plan.node_rank == 0:
        Teller(folder.std_log).say(shared_folders.OWN_FOLDERS)


def lay_out(folder: Folder, spec: RunSpec, carrier: Carrier, meanwhile: Meanwhile) -> None:
    """Makes the working copy, with `./outputs` and `./logs` for scripts that expect them."""
    for place in (folder.work, folder.spool, folder.staged):
        place.mkdir(mode=0o700, exist_ok=True)
    if spec.snapshot:
        try:
            carrier.lay_out(spec.snapshot, folder.work, meanwhile)
        finally:
            note_laid(folder)  # even when the copy was interrupted: none of it is the run's result
    for kept in ("outputs", "logs"):
        if not os.path.lexists(folder.work / kept):
            (folder.work / kept).mkdir()


def check(folder: Folder, spec: RunSpec, image: str = "") -> None:
    """Checks that the script and its interpreter exist; an image has its own. A command is looked up when it starts."""
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
    given.setdefault("PYTHONIOENCODING", "utf-8")  # without a locale, Python 3.6 would use ASCII
    bin_folder = os.path.dirname(plan.spec.interpreter)
    own_prefix = not plan.image or Path(plan.spec.interpreter).is_relative_to(folder.home)
    if plan.lock and own_prefix:  # the run's own environment, not that of the control plane
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
    """Variables of a run of several processes: the folder of ranks' logs, and on the control plane's machine the shared one."""
    if not by_rank(plan.spec.launch, plan.spec.node_count, plan.spec.topology):
        return {}
    together = {"ROOST_SHARED": str(shared(folder, plan.attempt))} if access.endpoint_file else {}
    return {"ROOST_LOGS": str(folder.ranks), **together}


def _joined(*parts: str) -> str:
    return os.pathsep.join(part for part in parts if part)
