"""Files where somebody else works meanwhile: nothing is written through a link, wherever and whenever it is made."""

import os
from pathlib import Path

import pytest

from roost.blobs.folder import FolderBlobs
from roost.domain.errors import DiskFull, InvalidInput
from roost.domain.files import Entry, EntryKind
from roost.transport.guarded_files import held, lay, opened


@pytest.fixture
def source(tmp_path: Path) -> FolderBlobs:
    return FolderBlobs(tmp_path / "blobs")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    return tmp_path / "outside"


def file(source: FolderBlobs, path: str, text: str) -> Entry:
    return Entry(path, size=len(text), content=source.put(text.encode()))


def test_all_kinds_and_links_last(source: FolderBlobs, tmp_path: Path) -> None:
    entries = [
        Entry("a/link", EntryKind.LINK, content="../b/file"),
        Entry("a/nothing", EntryKind.FOLDER),
        file(source, "b/file", "new"),
    ]
    lay(source, entries, tmp_path / "new" / "here")
    lay(source, entries, tmp_path / "new" / "here")  # in place of what is there
    assert (tmp_path / "new/here/a/link").read_text() == "new"
    assert (tmp_path / "new/here/a/nothing").is_dir()
    assert sorted(path.name for path in (tmp_path / "new/here").rglob("*")) == ["a", "b", "file", "link", "nothing"]


def test_a_link_below_the_folder_is_not_followed(source: FolderBlobs, outside: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/sub").symlink_to(outside)
    for entry in (file(source, "sub/x", "bad"), Entry("sub/new", EntryKind.FOLDER)):
        with pytest.raises(InvalidInput, match="work/sub' is a link"):
            lay(source, [entry], tmp_path / "work")
    with pytest.raises(InvalidInput, match="is a link"):
        lay(source, [], tmp_path / "work/sub/deeper")
    assert not list(outside.iterdir())


def test_a_link_in_place_of_a_file_is_replaced(source: FolderBlobs, outside: Path, tmp_path: Path) -> None:
    (outside / "file").write_text("of the host")
    (tmp_path / "work").mkdir()
    (tmp_path / "work/x").symlink_to(outside / "file")
    lay(source, [file(source, "x", "new")], tmp_path / "work")
    assert (outside / "file").read_text() == "of the host"
    assert (tmp_path / "work/x").read_text() == "new" and not (tmp_path / "work/x").is_symlink()


def test_a_folder_that_is_held_stays_the_one_it_was(outside: Path, tmp_path: Path) -> None:
    with held(tmp_path / "work/sub") as place:
        (tmp_path / "work/sub").rename(tmp_path / "moved")
        (tmp_path / "work/sub").symlink_to(outside)
        (place / "x").touch()
    assert (tmp_path / "moved/x").exists() and not list(outside.iterdir())


def test_what_cannot_be_written_is_named(source: FolderBlobs, tmp_path: Path) -> None:
    (tmp_path / "work").touch()
    with pytest.raises(DiskFull, match=r"work cannot be written: Not a directory"):
        lay(source, [file(source, "x/y", "new")], tmp_path / "work")


class TestReading:
    def test_it_is_the_file_that_was_there(self, outside: Path, tmp_path: Path) -> None:
        (outside / "secret").write_text("of the host")
        (tmp_path / "work").mkdir()
        (tmp_path / "work/x").write_text("mine")
        with opened([tmp_path / "work/x"]) as (file,):
            (tmp_path / "work/x").unlink()
            (tmp_path / "work/x").symlink_to(outside / "secret")
            assert file.read_text() == "mine"

    @pytest.mark.parametrize("path", ["link", "sub/secret"])
    def test_no_link_is_followed(self, outside: Path, tmp_path: Path, path: str) -> None:
        (outside / "secret").write_text("of the host")
        (tmp_path / "work").mkdir()
        (tmp_path / "work/link").symlink_to(outside / "secret")
        (tmp_path / "work/sub").symlink_to(outside)
        with pytest.raises(InvalidInput, match="is a link"), opened([tmp_path / "work" / path]):
            pass

    def test_what_is_no_file_is_named_and_nothing_waits_for_it(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        for path in ("pipe", "", "gone"):
            with pytest.raises(OSError, match=path or tmp_path.name), opened([tmp_path / path]):
                pass
        assert not (tmp_path / "gone").exists()
