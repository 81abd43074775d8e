"""Blobs over the wire: which are missing, one by one, and many small ones in one body."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from roost.blobs import batches
from roost.blobs.base import Inflow
from roost.domain import names
from roost.domain.errors import InvalidInput, NotFound
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.services.house import House

MAX_NAMES = 100_000


def missing(house: House, caller: Caller, wanted: Sequence[str]) -> list[str]:
    caller.require(Action.BLOB_WRITE)
    return house.blobs.missing(_checked(wanted))


def size(house: House, caller: Caller, name: str) -> int:
    """Bytes; NotFound when it is not there."""
    caller.require(Action.BLOB_READ)
    return _size(house, name)


def _size(house: House, name: str) -> int:
    found = house.blobs.size(names.blob(name))
    if found is None:
        raise NotFound(f"No blob {name}.", hint="Put it first: PUT /api/blobs/{hash}.")
    return found


def put(house: House, caller: Caller, name: str, chunks: Inflow | Iterable[bytes | memoryview]) -> int:
    caller.require(Action.BLOB_WRITE)
    return house.blobs.put_stream(chunks, expected=names.blob(name))


def put_unnamed(house: House, caller: Caller, chunks: Inflow | Iterable[bytes | memoryview]) -> tuple[str, int]:
    """For a sender that does not know the hash yet: hash and size."""
    caller.require(Action.BLOB_WRITE)
    return house.blobs.put_unnamed(chunks)


def put_batch(house: House, caller: Caller, body: bytes) -> int:
    """Stores the framed blobs of one body; nothing of it when the framing is damaged."""
    caller.require(Action.BLOB_WRITE)
    frames = list(islice(batches.read(body), batches.MAX_COUNT + 1))
    if len(frames) > batches.MAX_COUNT:
        raise InvalidInput(f"The batch has more than {batches.MAX_COUNT} blobs.", hint="Send them in several.")
    for name, data in frames:
        house.blobs.put_stream((data,), expected=name)
    return len(frames)


def fetch(house: House, caller: Caller, wanted: Sequence[str]) -> Iterator[bytes]:
    """The framed content of these blobs, in that order; NotFound, before the first byte, when one is not there."""
    caller.require(Action.BLOB_FETCH)
    checked = _checked(wanted)
    lost = house.blobs.missing(checked)
    if lost:
        raise NotFound(f"{len(lost)} of {len(checked)} blobs are not here, the first is {lost[0]}.")
    return _framed(house, checked)


def _framed(house: House, wanted: Sequence[str]) -> Iterator[bytes]:
    for name in wanted:
        yield batches.head(name, _size(house, name))
        yield from house.blobs.open(name)


def _checked(wanted: Sequence[str]) -> list[str]:
    if len(wanted) > MAX_NAMES:
        raise InvalidInput(f"{len(wanted)} blobs were named; at most {MAX_NAMES} go in one request.")
    return [names.blob(name) for name in wanted]
