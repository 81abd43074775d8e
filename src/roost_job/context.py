"""The run of this process: `job_here()` reads the variables that an agent sets, and returns the job, if any.

Also the two light objects that a script reaches through its run, `run.experiment` and `run.experiment.workspace`.
"""

import os
from typing import Any, Dict, Mapping, NamedTuple, NoReturn, Optional

from roost_job import outside
from roost_job.door import DoorClient
from roost_job.secrets import JobKeyvault

Job = NamedTuple(
    "Job",
    [
        ("run_id", str),
        ("spool", str),  # folder for spools
        ("door", str),  # path of the agent's socket; may be empty
        ("rank", int),
        ("experiment", str),
        ("workspace", str),
        ("subscription_id", str),
        ("resource_group", str),
    ],
)


def job_here(env: Optional[Mapping[str, str]] = None) -> Optional[Job]:
    """The job that this process belongs to, or None. Subprocesses and forked workers inherit the variables."""
    env = os.environ if env is None else env
    run_id, spool = env.get("ROOST_RUN_ID"), env.get("ROOST_SPOOL")
    if not run_id or not spool:
        return None
    rank = env.get("ROOST_RANK", "")
    return Job(
        run_id=run_id,
        spool=spool,
        door=env.get("ROOST_DOOR", ""),
        rank=int(rank) if rank.isdigit() else 0,
        experiment=env.get("AZUREML_ARM_PROJECT_NAME", ""),
        workspace=env.get("AZUREML_ARM_WORKSPACE_NAME", ""),
        subscription_id=env.get("AZUREML_ARM_SUBSCRIPTION", ""),
        resource_group=env.get("AZUREML_ARM_RESOURCEGROUP", ""),
    )


class JobWorkspace(object):
    """The workspace of a job's run, as far as it is available without the SDK."""

    def __init__(self, name: str, subscription_id: str = "", resource_group: str = "", door: str = "") -> None:
        self.name = name
        self.subscription_id = subscription_id
        self.resource_group = resource_group
        self._door = door

    @property
    def datasets(self) -> Any:
        """The newest version of each registered dataset, by name."""
        from roost_job.data.datasets import JobDatasets  # only for scripts that use data: it reads tables

        return JobDatasets(self._data_link())

    @property
    def datastores(self) -> Dict[str, Any]:
        """Every datastore of the workspace, by name; its own first."""
        from roost_job.data.datastores import every  # only for scripts that use data

        return every(self)

    def get_default_datastore(self) -> Any:
        """The datastore for data without a named place."""
        from roost_job.data.datastores import Datastore  # as above

        return Datastore(self)

    @property
    def models(self) -> Dict[str, Any]:
        """The newest version of each registered model, by name."""
        from roost_job.models.models import Model  # only for scripts that use models

        return {model.name: model for model in Model.list(self, latest=True)}

    def _data_link(self) -> DoorClient:
        return DoorClient(self._door)

    def _model_link(self) -> DoorClient:
        return DoorClient(self._door)

    def __getattr__(self, name: str) -> NoReturn:
        outside.refuse("Workspace", name, outside.WORKSPACE, dir(type(self)))

    def get_default_keyvault(self) -> JobKeyvault:
        """The secrets of the workspace, read-only."""
        return JobKeyvault(DoorClient(self._door))

    def __repr__(self) -> str:
        return "Workspace(name=%r, subscription_id=%r, resource_group=%r)" % (
            self.name,
            self.subscription_id,
            self.resource_group,
        )


class JobExperiment(object):
    """The experiment of a job's run."""

    def __init__(self, workspace: JobWorkspace, name: str) -> None:
        self.workspace = workspace
        self.name = name

    def __repr__(self) -> str:
        return "Experiment(name=%r, workspace=%r)" % (self.name, self.workspace.name)


def experiment_of(job: Job) -> JobExperiment:
    workspace = JobWorkspace(job.workspace, job.subscription_id, job.resource_group, job.door)
    return JobExperiment(workspace, job.experiment)
