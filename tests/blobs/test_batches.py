"""Many blobs in one body: as they were, or an error that says where it ends."""

import pytest

from roost.blobs import batches
from roost.blobs.hashing import hash_bytes
from roost.domain.errors import InvalidInput

CONTENTS = [b"one", b"", b"three" * 1000]
BODY = b"".join(batches.head(hash_bytes(data), len(data)) + data for data in CONTENTS)


def test_they_come_back_as_they_were() -> None:
    assert list(batches.read(BODY)) == [(hash_bytes(data), data) for data in CONTENTS]
    assert list(batches.read(b"")) == []


def test_a_body_that_is_cut_short() -> None:
    with pytest.raises(InvalidInput, match=f"cut short in blob {hash_bytes(CONTENTS[2])}: 5000 bytes said, 4999 there"):
        list(batches.read(BODY[:-1]))
    with pytest.raises(InvalidInput, match="cut short at byte 39 of 70"):
        list(batches.read(BODY[:70]))


def test_files_under_their_names() -> None:
    files = [("ä/b.txt", b"one"), ("empty", b""), ("c", bytes(1000))]
    body = b"".join(batches.named(name, data) for name, data in files)
    assert [(name, bytes(data)) for name, data in batches.read_named(body)] == files
    assert list(batches.read_named(b"")) == []


def test_files_that_are_cut_short_or_have_no_name() -> None:
    whole = batches.named("first", b"1") + batches.named("name", b"data")
    for end in range(len(batches.named("first", b"1")) + 1, len(whole)):
        with pytest.raises(InvalidInput, match="cut short in the file at byte 12 "):
            list(batches.read_named(whole[:end]))
    with pytest.raises(InvalidInput, match="name at byte 6 of the batch is not UTF-8"):
        list(batches.read_named(whole.replace(b"first", b"\xff\xfe\xfd\xfc\xfb")))
