"""Routes: datastores of a workspace, and the files in them. No answer ever holds a credential."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fastapi import Request, Response

from roost.api import lanes
from roost.api.answers import answer, content, failure, plain_answer
from roost.api.bodies import BatchBytes, JsonBytes, hand_over, record
from roost.api.doors import Router, TheCaller, TheContext
from roost.domain import names
from roost.domain.datastores import Datastore, DatastoreKind, Item
from roost.domain.errors import Conflict
from roost.domain.permissions import Action, Scope
from roost.services import datastores, stored_files

router = Router("datastores")


@dataclass(frozen=True, kw_only=True)
class DatastoreSpec:
    kind: DatastoreKind
    settings: Mapping[str, str] = field(default_factory=dict)
    credential: Mapping[str, str] = field(default_factory=dict)
    """Sealed when it is received, and in no answer."""
    read_only: bool = False
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class DatastoreList:
    datastores: tuple[Datastore, ...]


@dataclass(frozen=True, kw_only=True)
class DatastoreName:
    name: str


@dataclass(frozen=True, kw_only=True)
class DatastoreCount:
    count: int


@dataclass(frozen=True, kw_only=True)
class ItemList:
    items: tuple[Item, ...]
    left_out: str = ""
    """A sentence about files that are left out because of their names; empty when there are none."""


@dataclass(frozen=True, kw_only=True)
class FilesAsked:
    files: Mapping[str, str]
    """The required ETag by path; empty for any."""


@dataclass(frozen=True, kw_only=True)
class FileSize:
    size: int


@dataclass(frozen=True, kw_only=True)
class FilesWritten:
    count: int
    size: int


@router.route(
    "GET", "/api/workspaces/{workspace}/datastores", Action.DATASTORE_READ, Scope.WORKSPACE, answer=DatastoreList
)
def listing(context: TheContext, caller: TheCaller, workspace: str) -> Response:
    return answer(DatastoreList(datastores=tuple(datastores.listing(context, caller, workspace))))


@router.route(
    "GET", "/api/workspaces/{workspace}/default-datastore", Action.DATASTORE_READ, Scope.WORKSPACE, answer=Datastore
)
def default(context: TheContext, caller: TheCaller, workspace: str) -> Response:
    return answer(datastores.get(context, caller, workspace, ""))


@router.route(
    "PUT",
    "/api/workspaces/{workspace}/default-datastore",
    Action.DATASTORE_SET_DEFAULT,
    Scope.WORKSPACE,
    body=DatastoreName,
    answer=Datastore,
)
def set_default(context: TheContext, caller: TheCaller, workspace: str, body: JsonBytes) -> Response:
    return answer(datastores.set_default(context, caller, workspace, record(DatastoreName, body).name))


@router.route(
    "PUT",
    "/api/workspaces/{workspace}/datastores/{name}",
    Action.DATASTORE_REGISTER,
    Scope.WORKSPACE,
    body=DatastoreSpec,
    answer=Datastore,
)
def register(context: TheContext, caller: TheCaller, workspace: str, name: str, body: JsonBytes) -> Response:
    spec = record(DatastoreSpec, body)
    return answer(datastores.register(context, caller, workspace, name, datastores.NewDatastore(**vars(spec))))


@router.route(
    "GET", "/api/workspaces/{workspace}/datastores/{name}", Action.DATASTORE_READ, Scope.WORKSPACE, answer=Datastore
)
def get(context: TheContext, caller: TheCaller, workspace: str, name: str) -> Response:
    return answer(datastores.get(context, caller, workspace, name))


@router.route(
    "DELETE",
    "/api/workspaces/{workspace}/datastores/{name}",
    Action.DATASTORE_DELETE,
    Scope.WORKSPACE,
    answer=DatastoreCount,
)
def unregister(context: TheContext, caller: TheCaller, workspace: str, name: str) -> Response:
    return answer(DatastoreCount(count=int(datastores.unregister(context, caller, workspace, name))))


@router.route(
    "GET",
    "/api/workspaces/{workspace}/datastores/{name}/items",
    Action.STORED_FILE_READ,
    Scope.WORKSPACE,
    answer=ItemList,
)
def items(
    context: TheContext, caller: TheCaller, workspace: str, name: str, path: str = "", shared: bool = False
) -> Response:
    found = stored_files.items(context, caller, workspace, name, path, shared=shared)
    told = {"items": [vars(item) for item in found.items], "left_out": names.left_out(found.odd)}
    return _private(plain_answer(told))


@router.route(
    "GET",
    "/api/workspaces/{workspace}/datastores/{name}/files/{path:path}",
    Action.STORED_FILE_READ,
    Scope.WORKSPACE,
    answer=bytes,
    statuses=(200, 206),
)
def read(request: Request, context: TheContext, caller: TheCaller, workspace: str, name: str, path: str) -> Response:
    """Returns the file with its ETag. Honours `If-Match` and `If-Range`, so that no answer mixes two versions of a file."""
    place, found = stored_files.head(context, caller, workspace, name, path)
    wanted = request.headers.get("if-match")
    if wanted is not None and found.etag and wanted not in (found.etag, "*"):
        return failure(Conflict(f"File {path!r} of datastore {name!r} is not the version {wanted} any more."), 412)
    asked = request
    if (known := request.headers.get("if-range")) is not None and known != found.etag:
        plain = [(key, value) for key, value in request.scope["headers"] if key != b"range"]
        asked = Request({**request.scope, "headers": plain})
    response = content(asked, found.size, lambda offset, length: stored_files.read(place, found, offset, length))
    if found.etag:
        response.headers["etag"] = found.etag
    return response


@router.route(
    "POST",
    "/api/workspaces/{workspace}/datastores/{name}/files",
    Action.STORED_FILE_FETCH,
    Scope.WORKSPACE,
    body=FilesAsked,
    answer=bytes,
)
def read_batch(context: TheContext, caller: TheCaller, workspace: str, name: str, body: JsonBytes) -> Response:
    """Returns the files that exist in the requested version, as many as fit into one answer."""
    found = stored_files.read_batch(context, caller, workspace, name, record(FilesAsked, body).files)
    return Response(found, media_type="application/octet-stream")


@router.route(
    "PUT",
    "/api/workspaces/{workspace}/datastores/{name}/files/{path:path}",
    Action.STORED_FILE_WRITE,
    Scope.WORKSPACE,
    body=bytes,
    answer=FileSize,
)
async def write(
    request: Request,
    context: TheContext,
    caller: TheCaller,
    workspace: str,
    name: str,
    path: str,
    overwrite: bool = False,
) -> Response:
    place = await lanes.run(
        stored_files.may_write, context, caller, workspace, name, [path], overwrite=overwrite
    )  # refuses before a byte of it is read
    return answer(FileSize(size=await hand_over(request, lambda pieces: stored_files.write(place, path, pieces))))


@router.route(
    "PUT",
    "/api/workspaces/{workspace}/datastores/{name}/files",
    Action.STORED_FILE_WRITE,
    Scope.WORKSPACE,
    body=bytes,
    answer=FilesWritten,
)
def write_batch(
    context: TheContext, caller: TheCaller, workspace: str, name: str, body: BatchBytes, overwrite: bool = False
) -> Response:
    count, size = stored_files.write_batch(context, caller, workspace, name, body, overwrite=overwrite)
    return answer(FilesWritten(count=count, size=size))


def _private(response: Response) -> Response:
    response.headers["cache-control"] = "no-store"
    return response
