"""`./outputs` and `./logs` of several nodes: shared on one machine, each node's own elsewhere, and that is said."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from roost.agent import link as agent_link
from roost.agent.finishing import kept_files
from roost.agent.folder import Folder
from roost.agent.preparing import snapshot_files
from roost.agent.preparing.prepare import _join
from roost.agent.shipping import shared_folders
from roost.agent.shipping.masking import Masks
from roost.agent.shipping.ship import Cargo
from roost.agent.shipping.staging import Staging
from roost.domain.codec import encode
from roost.domain.files import RunFile
from roost.domain.plans import Access, Plan, seat
from roost.domain.runs import RunSpec

HERE = Access(url="http://127.0.0.1:1", token="t", endpoint_file="/home/server.json")
ELSEWHERE = replace(HERE, endpoint_file="")


def node(home: Path, rank: int, files: dict[str, str] | None = None, access: Access = HERE) -> Folder:
    """The folder of one node of two, its working copy laid out."""
    plan = Plan(run_id="exp_1_ab", workspace="w", experiment="exp", spec=RunSpec(node_count=2), node_rank=rank)
    folder = Folder(home / "runs" / seat(plan.run_id, rank))
    for top in ("outputs", "logs"):
        (folder.work / top).mkdir(parents=True)
    for name, text in (files or {}).items():
        (folder.work / name).write_text(text)
    folder.plan.write_text(json.dumps({"plan": encode(plan), "access": encode(access)}))
    kept_files.note_laid(folder)
    _join(folder, plan, access)
    return folder


class Link:
    """Takes files as the control plane would: by name, with whose they are."""

    def __init__(self) -> None:
        self.put: list[tuple[list[str], bool]] = []
        self.carrier = self

    def carry(self, paths: list[Path]) -> list[tuple[str, int]]:
        return [(path.read_text(), path.stat().st_size) for path in paths]

    def put_files(self, files: list[RunFile], *, of_all: bool = False) -> None:
        self.put.append(([f"{file.path}={file.blob}" for file in files], of_all))


def cargo(folder: Folder) -> Cargo:
    access = folder.read_plan()[1]
    return Cargo(folder, agent_link.Link(folder, access), Staging(folder), Masks(folder))


def test_what_one_node_writes_the_other_sees_and_each_file_is_kept_once(tmp_path: Path) -> None:
    stale_file = {"outputs/old.txt": "came with the snapshot"}
    first, second = node(tmp_path, 0, stale_file), node(tmp_path, 1, stale_file)
    (first.work / "outputs/a.txt").write_text("a")
    assert (second.work / "outputs/a.txt").read_text() == "a"
    (second.work / "logs/b.txt").write_text("b")
    link = Link()
    assert kept_files.keep_together(first, link, Masks(first), set) == []  # type: ignore[arg-type]
    assert link.put == [(["outputs/a.txt=a"], True)], "logs grow until the last has left"
    (second.work / "outputs/late.txt").write_text("late")
    assert kept_files.keep_together(second, link, Masks(second), set) == []  # type: ignore[arg-type]
    assert link.put[1:] == [(["outputs/late.txt=late", "logs/b.txt=b"], True)]
    assert [name for name, _ in kept_files.find(second).files] == [], "nothing of it is this node's own"
    shared_folders.remove(first, 1)
    assert list((tmp_path / "shared").iterdir()) == []


def test_a_node_that_never_began_is_not_waited_for(tmp_path: Path) -> None:
    first = node(tmp_path, 0)
    (first.work / "logs/b.txt").write_text("b")
    link = Link()
    kept_files.keep_together(first, link, Masks(first), lambda: {1})  # type: ignore[arg-type]
    assert link.put == [(["logs/b.txt=b"], True)]


def test_secrets_of_one_node_are_hidden_in_logs_that_the_other_ships(tmp_path: Path) -> None:
    first, second = node(tmp_path, 0), node(tmp_path, 1)
    shown = Masks(first)
    Masks(second).add(["hunter22"])
    (second.work / "logs/b.txt").write_text("the key is hunter22\n")
    path, _ = shown.shown("logs/b.txt", first.work / "logs/b.txt", last=True)
    assert path.read_text() == "the key is ***\n"
    assert shown.sealed("logs/b.txt", first.work / "logs/b.txt").read_text() == "the key is ***\n"


def test_secrets_may_be_learned_while_another_thread_reads_them(tmp_path: Path) -> None:
    first, second = node(tmp_path, 0), node(tmp_path, 1)
    mine, before = Masks(first), Masks(second)
    before.add(["hunter22"])
    reader = mine._values
    mine.sealed("logs/b.txt", first.std_log.parent / "plan.json")
    assert (reader, mine._values) == (set(), {"hunter22"}), "the set that a thread reads does not change under it"


def test_one_node_restores_for_all(tmp_path: Path) -> None:
    there = shared_folders.of(node(tmp_path, 0))
    assert there is not None
    with pytest.raises(OSError, match="gone"), shared_folders.once(there, "restored") as first:
        raise OSError("gone")
    done = []
    for _ in range(2):
        with shared_folders.once(there, "restored") as first:
            done.append(first)
    assert done == [True, False], "one that failed leaves it to the next"


def test_on_machines_of_their_own_each_node_has_its_own_and_that_is_said_once(tmp_path: Path) -> None:
    nodes = [node(tmp_path / str(rank), rank, access=ELSEWHERE) for rank in (0, 1)]
    assert [shared_folders.of(folder) for folder in nodes] == [None, None]
    assert nodes[0].std_log.read_text() == f"{shared_folders.OWN_FOLDERS}\n"
    assert not nodes[1].std_log.exists()
    (nodes[1].work / "outputs/a.txt").write_text("a")
    assert [name for name, _ in kept_files.find(nodes[1]).files] == ["outputs/a.txt"]
    assert not (nodes[1].work / "outputs").is_symlink()


def test_what_is_no_folder_in_the_snapshot_stays_as_it_is(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "runs" / "exp_1_ab")
    folder.work.mkdir(parents=True)
    (folder.work / "outputs").write_text("a file")
    (folder.work / "logs").mkdir()
    shared_folders.join(folder, 1, snapshot_files.load(folder))
    assert (folder.work / "outputs").read_text() == "a file"
    assert (folder.work / "logs").is_symlink()


def test_a_node_that_removed_its_links_still_keeps_what_the_others_made(tmp_path: Path) -> None:
    first, second = node(tmp_path, 0), node(tmp_path, 1)
    (first.work / "logs/a.txt").write_text("a")
    for top in ("outputs", "logs"):
        (second.work / top).unlink()
    link = Link()
    kept_files.keep_together(first, link, Masks(first), set)  # type: ignore[arg-type]
    kept_files.keep_together(second, link, Masks(second), set)  # type: ignore[arg-type]
    assert link.put == [(["logs/a.txt=a"], True)]


@pytest.mark.parametrize("moment", ["before it is read", "after it is read"])
def test_a_file_that_another_node_removes_meanwhile_is_no_loss(tmp_path: Path, moment: str) -> None:
    first, second = node(tmp_path, 0), node(tmp_path, 1)
    for name in ("a.txt", "a.txt.tmp"):
        (second.work / "outputs" / name).write_text(name)

    class Removing(Link):
        def carry(self, paths: list[Path]) -> list[tuple[str, int]]:
            gone = second.work / "outputs/a.txt.tmp"
            if moment == "before it is read":
                gone.unlink(missing_ok=True)
            found = super().carry(paths)
            gone.unlink(missing_ok=True)
            return found

    link = Removing()
    assert kept_files.keep_together(first, link, Masks(first), set) == []  # type: ignore[arg-type]
    assert "outputs/a.txt=a.txt" in link.put[0][0]


def test_what_cannot_be_kept_is_a_loss_of_the_last_node(tmp_path: Path) -> None:
    class Refusing(Link):
        def carry(self, paths: list[Path]) -> list[tuple[str, int]]:
            raise OSError(5, "Input/output error")

    first, second = node(tmp_path, 0), node(tmp_path, 1)
    (first.work / "outputs/a.txt").write_text("a")
    assert kept_files.keep_together(first, Refusing(), Masks(first), set) == []  # type: ignore[arg-type]
    losses = kept_files.keep_together(second, Refusing(), Masks(second), set)  # type: ignore[arg-type]
    assert losses == ["'outputs/a.txt' (Input/output error)"]


@pytest.mark.parametrize("place", ["the working copy", "the folder that is shared"])
def test_logs_that_became_a_link_to_elsewhere_are_not_streamed(tmp_path: Path, place: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/key.txt").write_text("not the run's")
    folder = node(tmp_path, 0)
    there = shared_folders.of(folder)
    assert there is not None
    logs = folder.work / "logs" if place == "the working copy" else there.root / "logs"
    (logs.unlink if logs.is_symlink() else logs.rmdir)()
    logs.symlink_to(tmp_path / "elsewhere")
    assert list(cargo(folder)._own_logs()) == []


def test_the_first_node_streams_the_logs_that_all_share(tmp_path: Path) -> None:
    first, second = node(tmp_path, 0), node(tmp_path, 1)
    (second.work / "logs/b.txt").write_text("b")
    found = [[name for name, _ in cargo(each)._own_logs()] for each in (first, second)]
    assert found == [["logs/b.txt"], []]
