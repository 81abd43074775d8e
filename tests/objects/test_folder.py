"""A folder as a place, while somebody else changes it: links in circles, links that are swapped under a reader."""

import os
import threading
from pathlib import Path

import pytest

from roost.domain.errors import Conflict, Forbidden, NotFound, RoostError
from roost.objects.folder import FolderStorage


def test_a_link_in_a_circle_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("good")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "nowhere").symlink_to("gone")
    place = FolderStorage(tmp_path)
    assert [found.path for found in place.list("")] == ["good.txt"]
    assert place.head("circle") is None


def test_links_that_are_swapped_under_a_reader_end_in_words(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "folder" / "below").mkdir(parents=True)
    (root / "folder" / "below" / "file.txt").write_text("below")
    (root / "file.txt").write_text("file")
    os.mkfifo(root / "pipe")
    place, over, seen = FolderStorage(root, [root]), threading.Event(), set()

    def swap() -> None:
        targets = ["folder", "file.txt", "link", "gone", "pipe", str(tmp_path)]
        while not over.is_set():
            for target in targets:
                (root / "new").symlink_to(target)
                (root / "new").replace(root / "link")

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(600):
            seen |= {found.path for found in place.list("")}
            for path in ("link", "link/below/file.txt"):
                try:
                    if (found := place.head(path)) is not None:
                        assert b"".join(place.read(found, 0, found.size)) in (b"file", b"below")
                except (NotFound, Conflict, Forbidden) as error:
                    assert str(error)
    finally:
        over.set()
        swapping.join()
    assert "file.txt" in seen


def test_a_folder_that_goes_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(RoostError):
        list(FolderStorage(tmp_path / "gone").list(""))


def test_a_link_that_leads_elsewhere_once_it_was_looked_at_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "file").write_text("ours")
    place = FolderStorage(root, [root])
    found = place.head("file")
    assert found is not None
    (tmp_path / "outside").mkdir()
    (root / "file").rename(tmp_path / "outside" / "file")  # the same file, now outside
    looked = place._place

    def swapped(path: str) -> Path:
        checked = looked(path)
        (root / "file").symlink_to(tmp_path / "outside" / "file")
        return checked

    monkeypatch.setattr(place, "_place", swapped)
    with pytest.raises(Forbidden, match="leads outside"):
        place.read(found, 0, 4)


def test_a_link_that_goes_while_it_is_resolved_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("ours")
    (tmp_path / "link").symlink_to("file")
    place, real, lost = FolderStorage(tmp_path, [tmp_path]), os.readlink, []

    def readlink(path: str) -> str:
        if not lost:
            lost.append(path)
            raise FileNotFoundError(2, "No such file or directory", path)
        return real(path)

    monkeypatch.setattr(os, "readlink", readlink)
    assert [found.path for found in place.list("")] == ["file", "link"] and lost
