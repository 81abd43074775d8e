"""What an agent keeps: noted down on the way, so that the next one begins with what is there."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roost.agent.preparing import archiving
from roost.blobs.folder import FolderBlobs
from roost.domain.errors import DiskFull, NotFound, RoostError, Unauthorized
from roost.domain.files import read_manifest
from roost.environments.archiving.base import KeptFiles
from roost.environments.base import Lock

LOCK = "ab" * 32


class ControlPlane:
    """Blobs in a folder, and what was said last of the archive."""

    def __init__(self, folder: Path) -> None:
        self.blobs = FolderBlobs(folder)
        self.noted: list[dict[str, Any]] = []
        self.refuses: list[RoostError] = []
        carrier = SimpleNamespace(
            carry=lambda paths: [self.blobs.put_file(each) for each in paths], put=self.blobs.put, get=self.blobs.get
        )
        self.link: Any = SimpleNamespace(carrier=carrier, client=self, path=lambda *parts: "/".join(parts))

    def call(self, method: str, path: str, json: Any = None) -> Any:
        if method == "PUT":
            if self.refuses:
                raise self.refuses.pop()
            listed = read_manifest(self.blobs.get(json["manifest"]))
            self.noted.append({**json, "files": len(listed), "bytes": sum(each.size for each in listed)})
            return self.noted[-1]
        if path.endswith("missing"):
            return {"missing": self.blobs.missing(json["names"])}
        if not self.noted:
            raise NotFound("Nothing is kept.")
        return self.noted[-1]


class Builder:
    """Keeps three files, unless it is killed after some."""

    def __init__(self, folder: Path, until: int = 3, lacks: str = "") -> None:
        self.folder, self.until, self.lacks = folder, until, lacks
        self.fetched: list[str] = []

    def archive(self, lock: Lock, prefix: Path, kept: KeptFiles) -> None:
        for place, name in enumerate(("one", "two", "three")):
            if place >= self.until:
                raise KeyboardInterrupt
            if name == self.lacks:
                kept.lacks(name, "it is\n gone")
            elif not kept.has(f"pip/wheels/{name}.whl"):
                file = self.folder / f"{name}.whl"
                file.write_text(name)
                kept.add(f"pip/wheels/{name}.whl", file)
                self.fetched.append(name)


def test_the_next_agent_begins_with_what_a_killed_one_has_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archiving, "_NOTED_SECONDS", 0.0)
    plane = ControlPlane(tmp_path / "blobs")
    lock = Lock(python="3.6.15", platform="linux-x86_64", body="")
    said: list[str] = []

    def keep(builder: Any) -> Any:
        return archiving.keep(plane.link, LOCK, lock, tmp_path, builder, said.append)

    with pytest.raises(KeyboardInterrupt):
        keep(Builder(tmp_path, until=2))
    assert plane.noted[-1]["files"] == 2 and plane.noted[-1]["missing"], "what is noted on the way is not complete"
    second = Builder(tmp_path, lacks="three")
    assert keep(second).missing == ("three: it is gone",)
    assert second.fetched == [] and "Not kept: three: it is gone" in said
    third = Builder(tmp_path)
    archive = keep(third)
    assert (third.fetched, archive.complete, archive.files, archive.python) == (["three"], True, 3, "3.6.15")
    lost = read_manifest(plane.blobs.get(archive.manifest))[0]
    (tmp_path / "blobs" / lost.content[:2] / lost.content).unlink()
    fourth = Builder(tmp_path)
    assert keep(fourth).complete
    assert fourth.fetched == ["one"], "what is listed and not there is fetched again"


def test_a_control_plane_that_is_started_anew_or_has_no_room_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roost.agent.link._PAUSE", 0.01)
    plane = ControlPlane(tmp_path / "blobs")
    plane.refuses = [DiskFull("The disk is full."), Unauthorized("Another one.")]
    lock = Lock(python="3.6.15", platform="linux-x86_64", body="")
    builder: Any = Builder(tmp_path)
    assert archiving.keep(plane.link, LOCK, lock, tmp_path, builder, str).complete
    assert not plane.refuses and len(plane.noted) == 1
