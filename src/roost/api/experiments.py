"""Routes: experiments."""

from dataclasses import dataclass

from fastapi import Response

from roost.api.answers import answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Router, TheCaller, TheContext
from roost.domain.permissions import Action, Scope
from roost.domain.workspaces import Experiment
from roost.services import experiments
from roost.services.experiments import Changes

router = Router("experiments")

ONE = "/api/workspaces/{workspace}/experiments/{name}"


@dataclass(frozen=True, kw_only=True)
class ExperimentList:
    experiments: tuple[Experiment, ...]


@router.route("PUT", ONE, Action.EXPERIMENT_CREATE, Scope.WORKSPACE, answer=Experiment)
def ensure(context: TheContext, caller: TheCaller, workspace: str, name: str) -> Response:
    return answer(experiments.ensure(context, caller, workspace, name))


@router.route("GET", ONE, Action.EXPERIMENT_READ, Scope.WORKSPACE, answer=Experiment)
def get(context: TheContext, caller: TheCaller, workspace: str, name: str) -> Response:
    return answer(experiments.get(context, caller, workspace, name))


@router.route("PATCH", ONE, Action.EXPERIMENT_CHANGE, Scope.WORKSPACE, body=Changes, answer=Experiment)
def change(context: TheContext, caller: TheCaller, workspace: str, name: str, body: JsonBytes) -> Response:
    return answer(experiments.change(context, caller, workspace, name, record(Changes, body)))


@router.route("DELETE", ONE, Action.EXPERIMENT_DELETE, Scope.WORKSPACE, statuses=(204,))
def delete(context: TheContext, caller: TheCaller, workspace: str, name: str) -> Response:
    experiments.delete(context, caller, workspace, name)
    return Response(status_code=204)


@router.route(
    "GET", "/api/workspaces/{workspace}/experiments", Action.EXPERIMENT_READ, Scope.WORKSPACE, answer=ExperimentList
)
def listing(context: TheContext, caller: TheCaller, workspace: str, replicas: bool = False) -> Response:
    """With `replicas`, also lists experiments that only ever held the replicas of an endpoint."""
    return answer(ExperimentList(experiments=tuple(experiments.listing(context, caller, workspace, replicas=replicas))))
