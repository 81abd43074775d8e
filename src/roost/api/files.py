"""Routes: a run's files."""

from dataclasses import dataclass

from fastapi import Request, Response

from roost.api.answers import answer, content
from roost.api.bodies import FilesBytes, record
from roost.api.doors import Access, Desk, TheHouse
from roost.api.numbers import Whole
from roost.domain.files import RunFile
from roost.services import files

desk = Desk("files")


@dataclass(frozen=True, kw_only=True)
class FileList:
    files: tuple[RunFile, ...]


@dataclass(frozen=True, kw_only=True)
class Count:
    count: int


@desk.route("GET", "/api/runs/{run_id}/files", Access.RUN, answer=FileList)
def listing(house: TheHouse, run_id: str, prefix: str = "") -> Response:
    return answer(FileList(files=tuple(files.listing(house, run_id, prefix))))


@desk.route("PUT", "/api/runs/{run_id}/files", Access.RUN, body=FileList, answer=Count)
def put(house: TheHouse, run_id: str, body: FilesBytes, node: Whole = 0) -> Response:
    return answer(Count(count=files.put(house, run_id, record(FileList, body).files, node_rank=node)))


@desk.route("GET", "/api/runs/{run_id}/files/{path:path}", Access.RUN, answer=bytes, statuses=(200, 206))
def get(request: Request, house: TheHouse, run_id: str, path: str) -> Response:
    size = files.size(house, run_id, path)
    return content(request, size, lambda offset, length: files.read(house, run_id, path, offset, length))
