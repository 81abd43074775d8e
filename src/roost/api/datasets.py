"""Routes: datasets of a workspace, their files, and which of them runs read and wrote."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fastapi import Response

from roost.api.answers import answer, plain_answer
from roost.api.bodies import JsonBytes, record
from roost.api.doors import Router, TheCaller, TheContext
from roost.api.numbers import Whole
from roost.domain.datasets import Dataset, DataUse, Definition
from roost.domain.permissions import Action, Scope
from roost.services import datasets
from roost.services.datasets import Declared, Listing, NewDataset, Written

router = Router("datasets")


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
    """True when the caller sees the files of the control plane's machine."""
    limit: int | None = None
    """The most items to return; all when absent. `count` in the answer counts all of them."""


@dataclass(frozen=True, kw_only=True)
class UseList:
    uses: tuple[DataUse, ...]


@router.route(
    "POST",
    "/api/workspaces/{workspace}/datasets/items",
    Action.DATASET_READ,
    Scope.WORKSPACE,
    body=ItemsWanted,
    answer=Listing,
)
def items(context: TheContext, caller: TheCaller, workspace: str, body: JsonBytes) -> Response:
    wanted = record(ItemsWanted, body)
    found = datasets.items(context, caller, workspace, wanted.definition, shared=wanted.shared, limit=wanted.limit)
    # Items are flat: a hundred thousand of them need no encoding field by field.
    plain = [vars(item) for item in found.items]
    response = plain_answer({"items": plain, "urls": found.urls, "left_out": found.left_out, "count": found.count})
    response.headers["cache-control"] = "no-store"
    return response


@router.route(
    "PUT",
    "/api/workspaces/{workspace}/datasets/{name}",
    Action.DATASET_REGISTER,
    Scope.WORKSPACE,
    body=NewDataset,
    answer=Dataset,
    statuses=(200, 201),
)
def register(context: TheContext, caller: TheCaller, workspace: str, name: str, body: JsonBytes) -> Response:
    dataset, new = datasets.register(context, caller, workspace, name, record(NewDataset, body))
    return answer(dataset, 201 if new else 200)


@router.route("GET", "/api/workspaces/{workspace}/datasets", Action.DATASET_READ, Scope.WORKSPACE, answer=DatasetList)
def listing(context: TheContext, caller: TheCaller, workspace: str, name: str | None = None) -> Response:
    return answer(DatasetList(datasets=tuple(datasets.listing(context, caller, workspace, name))))


@router.route(
    "GET", "/api/workspaces/{workspace}/datasets/{name}", Action.DATASET_READ, Scope.WORKSPACE, answer=Dataset
)
def get(context: TheContext, caller: TheCaller, workspace: str, name: str, version: Whole | None = None) -> Response:
    return answer(datasets.get(context, caller, workspace, name, version))


@router.route(
    "DELETE", "/api/workspaces/{workspace}/datasets/{name}", Action.DATASET_DELETE, Scope.WORKSPACE, answer=DatasetCount
)
def delete(context: TheContext, caller: TheCaller, workspace: str, name: str) -> Response:
    return answer(DatasetCount(count=datasets.delete(context, caller, workspace, name)))


@router.route(
    "GET",
    "/api/workspaces/{workspace}/datasets/by-id/{dataset_id}",
    Action.DATASET_READ,
    Scope.WORKSPACE,
    answer=Dataset,
)
def by_id(context: TheContext, caller: TheCaller, workspace: str, dataset_id: str) -> Response:
    return answer(datasets.by_id(context, caller, workspace, dataset_id))


@router.route(
    "PATCH",
    "/api/workspaces/{workspace}/datasets/by-id/{dataset_id}",
    Action.DATASET_CHANGE,
    Scope.WORKSPACE,
    body=DatasetChanges,
    answer=Dataset,
)
def annotate(context: TheContext, caller: TheCaller, workspace: str, dataset_id: str, body: JsonBytes) -> Response:
    changes = record(DatasetChanges, body)
    return answer(datasets.annotate(context, caller, workspace, dataset_id, **vars(changes)))


@router.route(
    "GET",
    "/api/workspaces/{workspace}/datasets/by-id/{dataset_id}/uses",
    Action.DATASET_TRACE,
    Scope.WORKSPACE,
    answer=UseList,
)
def uses_of_dataset(context: TheContext, caller: TheCaller, workspace: str, dataset_id: str) -> Response:
    return answer(UseList(uses=tuple(datasets.uses_of_dataset(context, caller, workspace, dataset_id))))


@router.route("GET", "/api/runs/{run_id}/datasets", Action.RUN_READ, Scope.RUN, answer=UseList)
def uses_of_run(context: TheContext, caller: TheCaller, run_id: str) -> Response:
    return answer(UseList(uses=tuple(datasets.uses_of_run(context, caller, run_id))))


@router.route("POST", "/api/runs/{run_id}/datasets", Action.RUN_DECLARE_DATA, Scope.RUN, body=Declared, answer=DataUse)
def declare(context: TheContext, caller: TheCaller, run_id: str, body: JsonBytes) -> Response:
    return answer(datasets.declare(context, caller, run_id, record(Declared, body)))


@router.route(
    "POST", "/api/runs/{run_id}/outputs/{name}", Action.RUN_DECLARE_DATA, Scope.RUN, body=Written, answer=DataUse
)
def note_written(context: TheContext, caller: TheCaller, run_id: str, name: str, body: JsonBytes) -> Response:
    return answer(datasets.note_written(context, caller, run_id, name, record(Written, body)))
