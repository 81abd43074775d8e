"""Routes: datasets of a workspace, the files that they mean, and what runs read and wrote."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fastapi import Response

from roost.api.answers import answer, plain_answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Desk, TheCaller, TheHouse
from roost.api.numbers import Whole
from roost.domain.datasets import Dataset, DataUse, Definition
from roost.domain.permissions import Action, Scope
from roost.services import datasets
from roost.services.datasets import Declared, Listing, NewDataset, Written

desk = Desk("datasets")


@dataclass(frozen=True, kw_only=True)
class DatasetList:
    datasets: tuple[Dataset, ...]


@dataclass(frozen=True, kw_only=True)
class DatasetChanges:
    tags: Mapping[str, str] = field(default_factory=dict)
    remove_tags: tuple[str, ...] = ()
    description: str | None = None


@dataclass(frozen=True, kw_only=True)
class DatasetCount:
    count: int


@dataclass(frozen=True, kw_only=True)
class ItemsWanted:
    definition: Definition
    shared: bool = False
    """Whether the asker sees the files of the control plane's machine."""
    limit: int | None = None
    """So many items at most; all when there is none. `count` in the answer counts all of them."""


@dataclass(frozen=True, kw_only=True)
class UseList:
    uses: tuple[DataUse, ...]


@desk.route(
    "POST",
    "/api/workspaces/{workspace}/datasets/items",
    Action.DATASET_READ,
    Scope.WORKSPACE,
    body=ItemsWanted,
    answer=Listing,
)
def items(house: TheHouse, caller: TheCaller, workspace: str, body: JsonBytes) -> Response:
    wanted = record(ItemsWanted, body)
    found = datasets.items(house, caller, workspace, wanted.definition, shared=wanted.shared, limit=wanted.limit)
    # Items are flat: a hundred thousand of them need not be looked at field by field.
    plain = [vars(item) for item in found.items]
    response = plain_answer({"items": plain, "urls": found.urls, "left_out": found.left_out, "count": found.count})
    response.headers["cache-control"] = "no-store"
    return response


@desk.route(
    "PUT",
    "/api/workspaces/{workspace}/datasets/{name}",
    Action.DATASET_REGISTER,
    Scope.WORKSPACE,
    body=NewDataset,
    answer=Dataset,
    statuses=(200, 201),
)
def register(house: TheHouse, caller: TheCaller, workspace: str, name: str, body: JsonBytes) -> Response:
    dataset, new = datasets.register(house, caller, workspace, name, record(NewDataset, body))
    return answer(dataset, 201 if new else 200)


@desk.route("GET", "/api/workspaces/{workspace}/datasets", Action.DATASET_READ, Scope.WORKSPACE, answer=DatasetList)
def listing(house: TheHouse, caller: TheCaller, workspace: str, name: str | None = None) -> Response:
    return answer(DatasetList(datasets=tuple(datasets.listing(house, caller, workspace, name))))


@desk.route("GET", "/api/workspaces/{workspace}/datasets/{name}", Action.DATASET_READ, Scope.WORKSPACE, answer=Dataset)
def get(house: TheHouse, caller: TheCaller, workspace: str, name: str, version: Whole | None = None) -> Response:
    return answer(datasets.get(house, caller, workspace, name, version))


@desk.route(
    "DELETE", "/api/workspaces/{workspace}/datasets/{name}", Action.DATASET_DELETE, Scope.WORKSPACE, answer=DatasetCount
)
def delete(house: TheHouse, caller: TheCaller, workspace: str, name: str) -> Response:
    return answer(DatasetCount(count=datasets.delete(house, caller, workspace, name)))


@desk.route(
    "GET",
    "/api/workspaces/{workspace}/datasets/by-id/{dataset_id}",
    Action.DATASET_READ,
    Scope.WORKSPACE,
    answer=Dataset,
)
def by_id(house: TheHouse, caller: TheCaller, workspace: str, dataset_id: str) -> Response:
    return answer(datasets.by_id(house, caller, workspace, dataset_id))


@desk.route(
    "PATCH",
    "/api/workspaces/{workspace}/datasets/by-id/{dataset_id}",
    Action.DATASET_CHANGE,
    Scope.WORKSPACE,
    body=DatasetChanges,
    answer=Dataset,
)
def annotate(house: TheHouse, caller: TheCaller, workspace: str, dataset_id: str, body: JsonBytes) -> Response:
    changes = record(DatasetChanges, body)
    return answer(datasets.annotate(house, caller, workspace, dataset_id, **vars(changes)))


@desk.route(
    "GET",
    "/api/workspaces/{workspace}/datasets/by-id/{dataset_id}/uses",
    Action.DATASET_TRACE,
    Scope.WORKSPACE,
    answer=UseList,
)
def uses_of_dataset(house: TheHouse, caller: TheCaller, workspace: str, dataset_id: str) -> Response:
    return answer(UseList(uses=tuple(datasets.uses_of_dataset(house, caller, workspace, dataset_id))))


@desk.route("GET", "/api/runs/{run_id}/datasets", Action.RUN_READ, Scope.RUN, answer=UseList)
def uses_of_run(house: TheHouse, caller: TheCaller, run_id: str) -> Response:
    return answer(UseList(uses=tuple(datasets.uses_of_run(house, caller, run_id))))


@desk.route("POST", "/api/runs/{run_id}/datasets", Action.RUN_DECLARE_DATA, Scope.RUN, body=Declared, answer=DataUse)
def declare(house: TheHouse, caller: TheCaller, run_id: str, body: JsonBytes) -> Response:
    return answer(datasets.declare(house, caller, run_id, record(Declared, body)))


@desk.route(
    "POST", "/api/runs/{run_id}/outputs/{name}", Action.RUN_DECLARE_DATA, Scope.RUN, body=Written, answer=DataUse
)
def note_written(house: TheHouse, caller: TheCaller, run_id: str, name: str, body: JsonBytes) -> Response:
    return answer(datasets.note_written(house, caller, run_id, name, record(Written, body)))
