"""Laying out a working copy, broken off in the middle."""

from pathlib import Path

import pytest

from roost.blobs.folder import FolderBlobs
from roost.domain import files
from roost.transport.carrying import Carrier
from roost.transport.client import Client, Endpoint

_STEP = 16 * 1024 * 1024


class Enough(Exception):
    """Raised in the middle."""


class Times:
    """Raises at the call of that number."""

    def __init__(self, most: int) -> None:
        self.left = most

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Enough


@pytest.fixture
def blobs(tmp_path: Path) -> FolderBlobs:
    return FolderBlobs(tmp_path / "blobs")


@pytest.fixture
def carrier(blobs: FolderBlobs) -> Carrier:
    """Of a process on the control plane's own machine."""
    made = Carrier(Client(lambda: Endpoint("http://127.0.0.1:9", "t")))
    made.shared = blobs
    return made


@pytest.mark.parametrize("count", [20, 500])
def test_it_ends_between_files(carrier: Carrier, blobs: FolderBlobs, tmp_path: Path, count: int) -> None:
    content = blobs.put(b"x")
    manifest = blobs.put(files.write_manifest([files.Entry(f"f{n}", size=1, content=content) for n in range(count)]))
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(Enough):
        carrier.lay_out(manifest, work, Times(10))
    assert 0 < len(list(work.iterdir())) <= 10


def test_it_ends_within_a_large_file(carrier: Carrier, blobs: FolderBlobs, tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(4 * _STEP)
    content, size = blobs.put_file(large)
    manifest = blobs.put(files.write_manifest([files.Entry("large", size=size, content=content)]))
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(Enough):
        carrier.lay_out(manifest, work, Times(2))
    assert (work / "large").stat().st_size < size


def test_what_is_likely_there_is_not_copied_and_what_is_not_is(
    carrier: Carrier, blobs: FolderBlobs, tmp_path: Path
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"a" * 1_000_000)
    new.write_bytes(b"b" * 1_000_000)
    known = blobs.put_file(old)
    (tmp_path / "blobs/tmp").rmdir()  # nothing can be copied now
    assert carrier.carry([old], likely={1_000_000}) == [known]
    (tmp_path / "blobs/tmp").mkdir()
    (name, size), again = carrier.carry([new, old], likely={1_000_000})
    assert (size, again) == (1_000_000, known)
    assert blobs.get(name) == new.read_bytes()
