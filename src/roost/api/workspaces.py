"""Routes: workspaces and their experiments."""

from dataclasses import dataclass

from fastapi import Response

from roost.api.answers import answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Access, Desk, TheCaller, TheHouse
from roost.domain.workspaces import Experiment, Workspace
from roost.services import workspaces

desk = Desk("workspaces")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a workspace stood in Azure; kept for the scripts that print it."""

    subscription_id: str = ""
    resource_group: str = ""
    location: str = "local"


@dataclass(frozen=True, kw_only=True)
class WorkspaceList:
    workspaces: tuple[Workspace, ...]


@dataclass(frozen=True, kw_only=True)
class ExperimentList:
    experiments: tuple[Experiment, ...]


@desk.route("PUT", "/api/workspaces/{name}", Access.PERSON, body=Origin, answer=Workspace)
def ensure(house: TheHouse, caller: TheCaller, name: str, body: JsonBytes) -> Response:
    given = record(Origin, body)
    return answer(
        workspaces.ensure(
            house,
            caller,
            name,
            subscription_id=given.subscription_id,
            resource_group=given.resource_group,
            location=given.location,
        )
    )


@desk.route("GET", "/api/workspaces", Access.PERSON, answer=WorkspaceList)
def listing(house: TheHouse) -> Response:
    return answer(WorkspaceList(workspaces=tuple(workspaces.listing(house))))


@desk.route("GET", "/api/workspaces/{name}", Access.PERSON, answer=Workspace)
def get(house: TheHouse, name: str) -> Response:
    return answer(workspaces.get(house, name))


@desk.route("PUT", "/api/workspaces/{workspace}/experiments/{name}", Access.PERSON, answer=Experiment)
def ensure_experiment(house: TheHouse, caller: TheCaller, workspace: str, name: str) -> Response:
    return answer(workspaces.ensure_experiment(house, caller, workspace, name))


@desk.route("GET", "/api/workspaces/{workspace}/experiments/{name}", Access.PERSON, answer=Experiment)
def get_experiment(house: TheHouse, workspace: str, name: str) -> Response:
    return answer(workspaces.get_experiment(house, workspace, name))


@desk.route("GET", "/api/workspaces/{workspace}/experiments", Access.PERSON, answer=ExperimentList)
def experiments(house: TheHouse, workspace: str) -> Response:
    return answer(ExperimentList(experiments=tuple(workspaces.experiments(house, workspace))))
