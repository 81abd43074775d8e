"""Outputs kept while the script runs; files that a next attempt finds; ports that are held."""

import os
import socket
import threading
from pathlib import Path

import pytest

from roost.agent.folder import Folder
from roost.agent.preparing import meet, restoring
from roost.agent.shipping.syncing import EVERY_SECONDS, STABLE_SECONDS, Syncing
from roost.domain.files import RunFile
from roost.domain.plans import Plan
from roost.domain.runs import RunSpec


class Taking:
    """A link that takes everything, and remembers it."""

    def __init__(self) -> None:
        self.carrier = self
        self.put: list[str] = []

    def carry(self, paths: list[Path]) -> list[tuple[str, int]]:
        return [("0" * 64, path.stat().st_size) for path in paths]

    def put_files(self, files: list[RunFile]) -> None:
        self.put += [file.path for file in files]


def test_what_has_not_changed_for_a_while_is_kept_once(tmp_path: Path) -> None:
    now = 1_000_000.0
    folder, link = Folder(tmp_path / "runs" / "r"), Taking()
    (folder.work / "outputs").mkdir(parents=True)
    syncing = Syncing(folder, link, lambda: now)  # type: ignore[arg-type]

    def write(name: str, age: float) -> None:
        path = folder.work / "outputs" / name
        path.write_text(f"{name} at {now}")
        os.utime(path, (now - age, now - age))

    write("old", 60)
    write("fresh", STABLE_SECONDS / 2)
    assert syncing.round() == 1
    assert link.put == ["outputs/old"]
    now += EVERY_SECONDS
    assert syncing.round() == 1
    assert link.put == ["outputs/old", "outputs/fresh"]
    now += EVERY_SECONDS
    assert syncing.round() == 0
    write("old", STABLE_SECONDS * 2)
    now += EVERY_SECONDS
    assert syncing.round() == 1


class Slow(Taking):
    """One that takes its time."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go = threading.Event(), threading.Event()

    def carry(self, paths: list[Path]) -> list[tuple[str, int]]:
        self.asked.set()
        assert self.go.wait(60)
        return super().carry(paths)


def test_a_checkpoint_is_sent_beside_everything_else_and_before_the_end(tmp_path: Path) -> None:
    folder, link = Folder(tmp_path / "runs" / "r"), Slow()
    (folder.work / "outputs").mkdir(parents=True)
    path = folder.work / "outputs" / "checkpoint"
    path.write_text("large")
    os.utime(path, (1, 1))
    syncing = Syncing(folder, link, every=0.01)  # type: ignore[arg-type]
    syncing.start()
    assert link.asked.wait(60)
    end = threading.Thread(target=syncing.close)
    end.start()
    assert end.is_alive(), "the round under way is waited for"
    assert link.put == []
    link.go.set()
    end.join(60)
    assert link.put == ["outputs/checkpoint"]
    assert not syncing.is_alive()
    Syncing(folder, link).close()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rank", "own"),
    [
        (0, {"outputs/a": "a", "outputs/b": "b"}),
        (1, {"outputs/a": "a.node1", "outputs/b": "b"}),
        (2, {"outputs/a": "a", "outputs/b": "b.node2"}),
    ],
)
def test_each_node_finds_its_own(rank: int, own: dict[str, str]) -> None:
    names = ["a", "a.node1", "b", "b.node2"]
    files = {f"outputs/{name}": RunFile(path=f"outputs/{name}", blob=name, size=1, modified_at=0.0) for name in names}
    plan = Plan(run_id="r", workspace="w", experiment="e", spec=RunSpec(node_count=3), node_rank=rank, attempt=2)
    found = restoring._own(files, plan)
    assert {path: file.blob for path, file in found.items()} == own


class Giving:
    """A link that has these files, each with its path as its content."""

    def __init__(self, *paths: str) -> None:
        self.client = self.carrier = self
        self._paths = paths

    def path(self, *parts: str) -> str:
        return "/".join(parts)

    def call(self, *_: object, **__: object) -> object:
        return {"files": [{"path": each, "blob": each, "size": 1, "modified_at": 0.0} for each in self._paths]}

    def fetch(self, blob: str, target: Path) -> None:
        target.write_text(blob)


def test_nothing_is_restored_through_a_link_that_leads_outside(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "runs" / "r")
    (folder.work / "outputs").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (folder.work / "outputs/link").symlink_to(tmp_path / "elsewhere")
    plan = Plan(run_id="r", workspace="w", experiment="e", spec=RunSpec(), attempt=2)
    link = Giving("outputs/link/key", "outputs/link/new/key", "outputs/a/b")
    restoring.restore(folder, plan, link, lambda: None)  # type: ignore[arg-type]
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert (folder.work / "outputs/a/b").read_text() == "outputs/a/b"


def test_ports_are_nobody_elses_while_they_are_held() -> None:
    with meet._held(3) as ports:
        assert len(set(ports)) == 3
        for port in ports:
            with socket.socket() as other, pytest.raises(OSError):
                other.bind(("127.0.0.1", port))
    with socket.socket() as other:
        other.bind(("127.0.0.1", ports[0]))
