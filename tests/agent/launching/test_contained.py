"""What a run in a container sees of its node, and what the agent sees of the container. The containers themselves are in
`tests/real/test_containers.py`.
"""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from roost.agent.door.children import Family
from roost.agent.folder import Folder
from roost.agent.launching import contained
from roost.agent.link import Link
from roost.blobs.folder import FolderBlobs
from roost.domain.errors import InvalidInput
from roost.domain.files import Entry, write_manifest
from roost.domain.plans import Plan
from roost.domain.runs import RunSpec
from roost.environments.containers.box import Box, Mount
from roost.transport.carrying import Carrier
from roost.transport.client import Client


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "home" / "runs" / "run_1")
    made.work.mkdir(parents=True)
    made.spool.mkdir()
    return made


def seen(folder: Folder, interpreter: str) -> list[Mount]:
    plan = Plan(run_id="run_1", workspace="w", experiment="e", image="sha256:1", spec=RunSpec(interpreter=interpreter))
    variables = {"ROOST_DOOR": str(folder.root / "door.sock"), "PYTHONPATH": f"{folder.home}/cache/job/x:/more"}
    return contained.mounts(folder, plan, variables)


def test_a_run_sees_its_own_folders_and_no_others(folder: Folder) -> None:
    mounts = {mount.target or str(mount.source): mount for mount in seen(folder, "/usr/bin/python3")}
    assert set(mounts) == {
        "/tmp",
        str(folder.work),
        str(folder.spool),
        str(folder.inputs),
        str(folder.filled),
        str(folder.root / "door.sock"),
        str(folder.inputs),
        str(folder.filled),
        f"{folder.home}/cache/job/x",
    }
    assert mounts["/tmp"].source == folder.tmp and mounts[f"{folder.home}/cache/job/x"].read_only
    prefix = folder.home / "envs" / "abc"
    assert Mount(prefix) in seen(folder, str(prefix / "bin" / "python"))


class TestReach:
    def test_the_same_file_from_outside(self, folder: Folder) -> None:
        reach = contained.reach(seen(folder, "/usr/bin/python3"))
        assert reach(folder.work / "outputs" / "model.pt") == folder.work / "outputs" / "model.pt"
        assert reach(Path("/tmp/a/../note.txt")) == folder.tmp / "note.txt"

    @pytest.mark.parametrize("path", ["/etc/passwd", "/tmp/../etc/passwd", "/root/x"])
    def test_what_is_inside_alone_is_refused(self, folder: Folder, path: str) -> None:
        with pytest.raises(InvalidInput, match="in the container alone"):
            contained.reach(seen(folder, "/usr/bin/python3"))(Path(path))

    def test_no_link_leads_out(self, folder: Folder) -> None:
        (folder.work / "out").symlink_to("/etc")
        reach = contained.reach(seen(folder, "/usr/bin/python3"))
        with pytest.raises(InvalidInput):
            reach(folder.work / "out" / "passwd")
        (folder.work / "in").symlink_to(folder.tmp)
        assert reach(folder.work / "in" / "x") == folder.tmp / "x", (
            "no link is left in it that could be another one later"
        )

    def test_a_snapshot_is_restored_through_no_link(self, folder: Folder, tmp_path: Path) -> None:
        carrier = Carrier(cast(Client, None))
        carrier.shared = blobs = FolderBlobs(tmp_path / "blobs")
        script = Entry("conf/a", size=1, content=blobs.put(b"x"))
        link = cast(Link, SimpleNamespace(carrier=carrier))
        restore = Family(link, lambda: None, contained.reach(seen(folder, "/usr/bin/python3"))).ops["restore"]
        asked = {"path": str(folder.work / "old"), "snapshot": blobs.put(write_manifest([script]))}
        assert restore(asked) == {"count": 1} and (folder.work / "old/conf/a").read_text() == "x"
        (folder.work / "new").mkdir()
        (folder.work / "new/conf").symlink_to(tmp_path)
        with pytest.raises(InvalidInput, match="is a link"):
            restore({**asked, "path": str(folder.work / "new")})
        assert not (tmp_path / "a").exists()

    def test_what_of_the_home_is_not_mounted_is_not_reached(self, folder: Folder) -> None:
        mounts = [mount for mount in seen(folder, "/usr/bin/python3") if mount.target != "/tmp"]
        for path in (folder.root / "plan.json", folder.home / "cache" / "job" / "x" / "roost_job"):
            with pytest.raises(InvalidInput):
                contained.reach(mounts)(path)


@dataclass
class Ended:
    memory_kills: int
    memory_limit: int | None = None


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (Ended(0, 1024), ""),
        (Ended(1, 200 * 1024**2), "limit is 200 MiB, and the kernel ended one of its processes."),
        (Ended(3, 3 * 1024**3 // 2), "limit is 1.5 GiB, and the kernel ended 3 of its processes."),
        (Ended(1), "no limit of its own"),
    ],
)
def test_memory_is_told(ended: Ended, words: str) -> None:
    told = contained.memory_words(cast(Box, ended))
    assert words in told and bool(told) is bool(ended.memory_kills)


def test_a_run_without_containers_asks_no_engine(folder: Folder) -> None:
    contained.clear(folder)
    folder.container.write_text('{"engine": "/nowhere/engine.sock"}')
    contained.clear(folder)
