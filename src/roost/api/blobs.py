"""Routes: blobs, one by one and many small ones at once."""

from dataclasses import dataclass

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from roost.api.answers import answer, content
from roost.api.bodies import BatchBytes, JsonBytes, hand_over, record
from roost.api.doors import Access, Desk, TheHouse
from roost.domain import names
from roost.services import blobs

desk = Desk("blobs")


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


@desk.route("POST", "/api/blobs/missing", Access.ANY, body=BlobNames, answer=MissingBlobs)
def missing(house: TheHouse, body: JsonBytes) -> Response:
    return answer(MissingBlobs(missing=tuple(blobs.missing(house, record(BlobNames, body).names))))


@desk.route("POST", "/api/blobs/batch", Access.ANY, body=bytes, answer=BlobCount)
def batch(house: TheHouse, body: BatchBytes) -> Response:
    return answer(BlobCount(count=blobs.put_batch(house, body)))


@desk.route("POST", "/api/blobs/fetch", Access.ANY, body=BlobNames, answer=bytes)
def fetch(house: TheHouse, body: JsonBytes) -> Response:
    pieces = blobs.fetch(house, record(BlobNames, body).names)
    return StreamingResponse(pieces, media_type="application/octet-stream")


@desk.route("POST", "/api/blobs", Access.ANY, body=bytes, answer=KeptBlob)
async def put_unnamed(request: Request, house: TheHouse) -> Response:
    name, size = await hand_over(request, lambda pieces: blobs.put_unnamed(house, pieces))
    return answer(KeptBlob(name=name, size=size))


@desk.route("PUT", "/api/blobs/{name}", Access.ANY, body=bytes, answer=BlobSize)
async def put(request: Request, house: TheHouse, name: str) -> Response:
    names.blob(name)  # refused before a byte of it is read
    return answer(BlobSize(size=await hand_over(request, lambda pieces: blobs.put(house, name, pieces))))


@desk.route("GET", "/api/blobs/{name}", Access.ANY, answer=bytes, statuses=(200, 206))
def get(request: Request, house: TheHouse, name: str) -> Response:
    size = blobs.size(house, name)
    return content(request, size, lambda offset, length: house.blobs.open(name, offset, length))
