"""Blobs in batches: the framing is checked before anything is stored, the hash before a blob is."""

import struct

import pytest
from tests.services.houses import ANN

from roost.blobs.hashing import hash_bytes
from roost.domain.errors import InvalidInput, NotFound
from roost.services import blobs
from roost.services.house import House


def _frame(name: str, data: bytes) -> bytes:
    return bytes.fromhex(name) + struct.pack("<I", len(data)) + data


def test_a_batch_comes_back_as_it_was_sent(house: House) -> None:
    contents = [b"one", b"", b"three" * 1000]
    names = [house.blobs.put(data) for data in contents]
    body = b"".join(_frame(name, data) for name, data in zip(names, contents, strict=True))
    assert blobs.put_batch(house, ANN, body) == 3
    assert b"".join(blobs.fetch(house, ANN, names)) == body


def test_a_batch_that_is_cut_short_stores_nothing(house: House) -> None:
    name = house.blobs.put(b"known")
    whole = _frame(name, b"known")
    for cut in (1, 35, len(whole) - 1):
        with pytest.raises(InvalidInput):
            blobs.put_batch(house, ANN, whole[:cut])


def test_a_batch_holds_a_limited_number_and_none_of_too_many_is_stored(house: House) -> None:
    name = hash_bytes(b"new")
    with pytest.raises(InvalidInput, match="more than 10000 blobs"):
        blobs.put_batch(house, ANN, _frame(name, b"new") * 10_001)
    assert blobs.missing(house, ANN, [name]) == [name]


def test_content_of_another_hash_is_refused(house: House) -> None:
    name = "ab" * 32
    with pytest.raises(InvalidInput):
        blobs.put_batch(house, ANN, _frame(name, b"something else"))
    with pytest.raises(InvalidInput):
        blobs.put(house, ANN, name, [b"something else"])
    assert blobs.missing(house, ANN, [name, name]) == [name]


def test_what_is_not_here(house: House) -> None:
    name = "cd" * 32
    with pytest.raises(NotFound):
        blobs.size(house, ANN, name)
    with pytest.raises(NotFound):
        blobs.fetch(house, ANN, [name])
    with pytest.raises(InvalidInput):
        blobs.missing(house, ANN, ["../../etc/passwd"])
