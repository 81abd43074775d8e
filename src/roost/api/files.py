"""Routes: a run's files."""

from dataclasses import dataclass

from fastapi import Request, Response

from roost.api.answers import answer, content
from roost.api.bodies import FilesBytes, record
from roost.api.doors import Router, TheCaller, TheContext
from roost.api.numbers import Whole
from roost.domain.files import RunFile
from roost.domain.permissions import Action, Scope
from roost.services import files

router = Router("files")


@dataclass(frozen=True, kw_only=True)
class FileList:
    files: tuple[RunFile, ...]


@dataclass(frozen=True, kw_only=True)
class Count:
    count: int


@router.route("GET", "/api/runs/{run_id}/files", Action.FILE_READ, Scope.RUN, answer=FileList)
def listing(context: TheContext, caller: TheCaller, run_id: str, prefix: str = "") -> Response:
    return answer(FileList(files=tuple(files.listing(context, caller, run_id, prefix))))


@router.route("PUT", "/api/runs/{run_id}/files", Action.FILE_WRITE, Scope.RUN, body=FileList, answer=Count)
def put(context: TheContext, caller: TheCaller, run_id: str, body: FilesBytes, node: Whole = 0) -> Response:
    return answer(Count(count=files.put(context, caller, run_id, record(FileList, body).files, node_rank=node)))


@router.route(
    "GET", "/api/runs/{run_id}/files/{path:path}", Action.FILE_READ, Scope.RUN, answer=bytes, statuses=(200, 206)
)
def get(request: Request, context: TheContext, caller: TheCaller, run_id: str, path: str) -> Response:
    size = files.size(context, caller, run_id, path)
    return content(request, size, lambda offset, length: files.read(context, caller, run_id, path, offset, length))
