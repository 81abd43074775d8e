"""Blobs over the wire: which are missing, single ones, and many small ones in one body."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from roost.blobs import batches
from roost.blobs.base import Inflow
from roost.domain import names
from roost.domain.errors import InvalidInput, NotFound
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.services.context import Context

MAX_NAMES = 100_000


def missing(context: Context, caller: Caller, wanted: Sequence[str]) -> list[str]:
    caller.require(Action.BLOB_WRITE)
    return context.blobs.missing(_checked(wanted))


def size(context: Context, caller: Caller, name: str) -> int:
    """Its size in bytes; NotFound when it is not stored."""
    caller.require(Action.BLOB_READ)
    return _size(context, name)


def _size(context: Context, name: str) -> int:
    found = context.blobs.size(names.blob(name))
    if found is None:
        raise NotFound(f"No blob {name}.", hint="Put it first: PUT /api/blobs/{hash}.")
    return found


def put(context: Context, caller: Caller, name: str, chunks: Inflow | Iterable[bytes | memoryview]) -> int:
    caller.require(Action.BLOB_WRITE)
    return context.blobs.put_stream(chunks, expected=names.blob(name))


def put_unnamed(context: Context, caller: Caller, chunks: Inflow | Iterable[bytes | memoryview]) -> tuple[str, int]:
    """For a sender that has not computed the hash; returns hash and size."""
    caller.require(Action.BLOB_WRITE)
    return context.blobs.put_unnamed(chunks)


def put_batch(context: Context, caller: Caller, body: bytes) -> int:
    """Stores the framed blobs of one body; stores none when the framing is damaged."""
    caller.require(Action.BLOB_WRITE)
    frames = list(islice(batches.read(body), batches.MAX_COUNT + 1))
    if len(frames) > batches.MAX_COUNT:
        raise InvalidInput(f"The batch has more than {batches.MAX_COUNT} blobs.", hint="Send them in several.")
    for name, data in frames:
        context.blobs.put_stream((data,), expected=name)
    return len(frames)


def fetch(context: Context, caller: Caller, wanted: Sequence[str]) -> Iterator[bytes]:
    """The framed content of these blobs, in that order; NotFound, before the first byte, when one is not stored."""
    caller.require(Action.BLOB_FETCH)
    checked = _checked(wanted)
    lost = context.blobs.missing(checked)
    if lost:
        raise NotFound(f"{len(lost)} of {len(checked)} blobs are not here, the first is {lost[0]}.")
    return _framed(context, checked)


def _framed(context: Context, wanted: Sequence[str]) -> Iterator[bytes]:
    for name in wanted:
        yield batches.head(name, _size(context, name))
        yield from context.blobs.open(name)


def _checked(wanted: Sequence[str]) -> list[str]:
    if len(wanted) > MAX_NAMES:
        raise InvalidInput(f"{len(wanted)} blobs were named; at most {MAX_NAMES} go in one request.")
    return [names.blob(name) for name in wanted]
