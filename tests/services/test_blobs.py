"""Blobs in batches: the framing is checked before anything is stored, the hash before a blob is."""

import struct

import pytest
from tests.shared.contexts import ANN

from roost.blobs.hashing import hash_bytes
from roost.domain.errors import InvalidInput, NotFound
from roost.services import blobs
from roost.services.context import Context


def _frame(name: str, data: bytes) -> bytes:
    return bytes.fromhex(name) + struct.pack("<I", len(data)) + data


def test_a_batch_comes_back_as_it_was_sent(context: Context) -> None:
    contents = [b"one", b"", b"three" * 1000]
    names = [context.blobs.put(data) for data in contents]
    body = b"".join(_frame(name, data) for name, data in zip(names, contents, strict=True))
    assert blobs.put_batch(context, ANN, body) == 3
    assert b"".join(blobs.fetch(context, ANN, names)) == body


def test_a_batch_that_is_cut_short_stores_nothing(context: Context) -> None:
    name = context.blobs.put(b"known")
    whole = _frame(name, b"known")
    for cut in (1, 35, len(whole) - 1):
        with pytest.raises(InvalidInput):
            blobs.put_batch(context, ANN, whole[:cut])


def test_a_batch_holds_a_limited_number_and_none_of_too_many_is_stored(context: Context) -> None:
    name = hash_bytes(b"new")
    with pytest.raises(InvalidInput, match="more than 10000 blobs"):
        blobs.put_batch(context, ANN, _frame(name, b"new") * 10_001)
    assert blobs.missing(context, ANN, [name]) == [name]


def test_content_of_another_hash_is_refused(context: Context) -> None:
    name = "ab" * 32
    with pytest.raises(InvalidInput):
        blobs.put_batch(context, ANN, _frame(name, b"something else"))
    with pytest.raises(InvalidInput):
        blobs.put(context, ANN, name, [b"something else"])
    assert blobs.missing(context, ANN, [name, name]) == [name]


def test_what_is_not_here(context: Context) -> None:
    name = "cd" * 32
    with pytest.raises(NotFound):
        blobs.size(context, ANN, name)
    with pytest.raises(NotFound):
        blobs.fetch(context, ANN, [name])
    with pytest.raises(InvalidInput):
        blobs.missing(context, ANN, ["../../etc/passwd"])
