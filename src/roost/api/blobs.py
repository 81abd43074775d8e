"""Routes: single blobs, and many small ones at once."""

from dataclasses import dataclass

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from roost.api.answers import answer, content
from roost.api.bodies import BatchBytes, JsonBytes, hand_over, record
from roost.api.doors import Router, TheCaller, TheContext
from roost.domain import names
from roost.domain.permissions import Action, Scope
from roost.services import blobs

router = Router("blobs")


@dataclass(frozen=True, kw_only=True)
class BlobNames:
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class MissingBlobs:
    missing: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class BlobSize:
    size: int


@dataclass(frozen=True, kw_only=True)
class KeptBlob:
    name: str
    size: int


@dataclass(frozen=True, kw_only=True)
class BlobCount:
    count: int


@router.route("POST", "/api/blobs/missing", Action.BLOB_WRITE, Scope.SERVER, body=BlobNames, answer=MissingBlobs)
def missing(context: TheContext, caller: TheCaller, body: JsonBytes) -> Response:
    return answer(MissingBlobs(missing=tuple(blobs.missing(context, caller, record(BlobNames, body).names))))


@router.route("POST", "/api/blobs/batch", Action.BLOB_WRITE, Scope.SERVER, body=bytes, answer=BlobCount)
def batch(context: TheContext, caller: TheCaller, body: BatchBytes) -> Response:
    return answer(BlobCount(count=blobs.put_batch(context, caller, body)))


@router.route("POST", "/api/blobs/fetch", Action.BLOB_FETCH, Scope.SERVER, body=BlobNames, answer=bytes)
def fetch(context: TheContext, caller: TheCaller, body: JsonBytes) -> Response:
    pieces = blobs.fetch(context, caller, record(BlobNames, body).names)
    return StreamingResponse(pieces, media_type="application/octet-stream")


@router.route("POST", "/api/blobs", Action.BLOB_WRITE, Scope.SERVER, body=bytes, answer=KeptBlob)
async def put_unnamed(request: Request, context: TheContext, caller: TheCaller) -> Response:
    name, size = await hand_over(request, lambda pieces: blobs.put_unnamed(context, caller, pieces))
    return answer(KeptBlob(name=name, size=size))


@router.route("PUT", "/api/blobs/{name}", Action.BLOB_WRITE, Scope.SERVER, body=bytes, answer=BlobSize)
async def put(request: Request, context: TheContext, caller: TheCaller, name: str) -> Response:
    names.blob(name)  # refuses before a byte of it is read
    return answer(BlobSize(size=await hand_over(request, lambda pieces: blobs.put(context, caller, name, pieces))))


@router.route("GET", "/api/blobs/{name}", Action.BLOB_READ, Scope.SERVER, answer=bytes, statuses=(200, 206))
def get(request: Request, context: TheContext, caller: TheCaller, name: str) -> Response:
    size = blobs.size(context, caller, name)
    return content(request, size, lambda offset, length: context.blobs.open(name, offset, length))
