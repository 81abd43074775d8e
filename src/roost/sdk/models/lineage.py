"""The origin of a model: the run, code, data and environment that made it, as far as known. For people who examine a model or
a service's answer.
"""

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roost.domain.errors import NotFound
from roost.domain.runs import Run
from roost.sdk.calls import run_records
from roost.transport.client import path_of
from roost_job.data.dataset_types import is_saved

if TYPE_CHECKING:
    from roost.sdk.models.models import Model

_COMMIT, _DIRTY = "azureml.git.commit", "azureml.git.dirty"


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Unknown fields are empty."""

    model: str
    """Its id."""
    parent: str
    """Id of the model from which it was made."""
    run_id: str
    run_there: bool
    """False when that run has been deleted: then only its id and experiment are known."""
    experiment: str
    code: str
    """Script or command of the run."""
    snapshot: str
    """The snapshot of the source folder; `run.restore_snapshot()` restores it."""
    commit: str
    environment: str
    data: tuple[str, ...]
    """The datasets it was made with: the purpose, and the dataset's version."""


def origin(model: "Model") -> Origin:
    record, client = model._record, model.workspace._connection.client
    run: Run | None = None
    with contextlib.suppress(NotFound):
        run = run_records.get(client, record.run_id) if record.run_id else None
    read = _read(client, run) if run else {}
    wanted = [*record.datasets, *(("read by its run", dataset_id) for dataset_id in read)]
    once = {dataset_id: purpose for purpose, dataset_id in reversed(wanted)}
    found = [_dataset(client, record.workspace, once[each], each, read.get(each, "")) for each in reversed(once)]
    return Origin(
        model=record.id,
        parent=record.parent,
        run_id=record.run_id,
        run_there=run is not None,
        experiment=record.experiment,
        code=" ".join((run.spec.script, *run.spec.command)).strip() if run else "",
        snapshot=run.spec.snapshot if run else "",
        commit=_commit(run) if run else "",
        environment=_environment(run) if run else "",
        data=tuple(found),
    )


def _read(client: Any, run: Run) -> dict[str, str]:
    """The registered datasets that the run read: name and version at that time, by id."""
    uses = client.call("GET", path_of("runs", run.id, "datasets"))["uses"]
    read = [use for use in uses if use["direction"] == "input" and use["dataset_id"]]
    return {
        use["dataset_id"]: f"{use['dataset_name']}, version {use['dataset_version']}" if use["dataset_name"] else ""
        for use in read
    }


def _dataset(client: Any, workspace: str, purpose: str, dataset_id: str, was: str = "") -> str:
    try:
        known = client.call("GET", path_of("workspaces", workspace, "datasets", "by-id", dataset_id))
    except NotFound:
        return f"{purpose}: dataset {was or dataset_id}, not registered any more"
    if is_saved(known["name"]):
        return f"{purpose}: dataset {dataset_id}, not registered"
    return f"{purpose}: dataset {known['name']}, version {known['version']}"


def _commit(run: Run) -> str:
    commit = run.properties.get(_COMMIT, "")
    return f"{commit}, with changes" if commit and run.properties.get(_DIRTY, "").lower() == "true" else commit


def _environment(run: Run) -> str:
    use = run.spec.environment
    if use is None:
        return run.spec.interpreter
    return use.name + (f", version {use.version}" if use.version else "")
