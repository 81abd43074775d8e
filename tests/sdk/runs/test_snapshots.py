"""Snapshots: what is part of one, what the cache saves, and what is refused by name."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.shared.folders import LocalBlobs, settle, tree
from tests.shared.users import folder_for_all

from roost.domain.errors import InvalidInput
from roost.domain.files import EntryKind
from roost.sdk.runs import snapshots, stat_cache


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    return LocalBlobs(tmp_path / "blobs")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    made = tmp_path / "source"
    made.mkdir()
    return made


def taken(source: Path, blobs: LocalBlobs, tmp_path: Path) -> set[str]:
    return set(blobs.entries(snapshots.take(str(source), blobs, tmp_path / "home")))


class TestWhatIsPartOfIt:
    def test_files_modes_links_and_empty_folders(self, source: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        tree(source, {"train.py": "print(1)", "lib/net.py": "x = 1", "run.sh": "#!/bin/sh"})
        (source / "run.sh").chmod(0o755)
        (source / "empty").mkdir()
        (source / "net.py").symlink_to("lib/net.py")
        (source / "lib/top.py").symlink_to(source / "train.py")
        entries = blobs.entries(snapshots.take(str(source), blobs, tmp_path / "home"))
        assert set(entries) == {"train.py", "lib/net.py", "run.sh", "empty", "net.py", "lib/top.py"}
        assert (entries["run.sh"].mode, entries["train.py"].mode) == (0o755, 0o644)
        assert blobs.folder.get(entries["train.py"].content) == b"print(1)"
        assert (entries["net.py"].kind, entries["net.py"].content) == (EntryKind.LINK, "lib/net.py")
        assert entries["lib/top.py"].content == "../train.py"
        assert entries["empty"].kind is EntryKind.FOLDER

    def test_two_equal_folders_have_one_name(self, blobs: LocalBlobs, tmp_path: Path) -> None:
        content = {"a.py": "1", "b/c.py": "2", "b.py": "3"}
        one, two = tree(tmp_path / "one", content), tree(tmp_path / "two", dict(reversed(content.items())))
        assert snapshots.take(str(one), blobs, tmp_path) == snapshots.take(str(two), blobs, tmp_path)

    def test_a_link_to_a_file_outside_is_that_file(self, source: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        (tmp_path / "shared.py").write_text("shared")
        (source / "shared.py").symlink_to(tmp_path / "shared.py")
        entry = blobs.entries(snapshots.take(str(source), blobs, tmp_path / "home"))["shared.py"]
        assert (entry.kind, blobs.folder.get(entry.content)) == (EntryKind.FILE, b"shared")

    def test_roost_home_inside_the_folder_is_left_out(self, source: Path, blobs: LocalBlobs) -> None:
        tree(source, {"train.py": "", ".roost/roost.db": "rows", "lib/.roost/kept.py": ""})
        entries = blobs.entries(snapshots.take(str(source), blobs, source / ".roost"))
        assert set(entries) == {"train.py", "lib/.roost/kept.py"}


class TestIgnoring:
    def test_a_back_up_of_everything_is_left_out(self, source: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        tree(source, {"train.py": "1", "all.roost.tar": "2", "old/x.roost.tar": "3", "data.tar": "4"})
        assert taken(source, blobs, tmp_path) == {"train.py", "data.tar"}

    def test_a_folder_that_this_one_is_to_be_without(self, source: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        tree(source, {"score.py": "", "models/a/1/x": "", "lib/models/y.py": ""})
        entries = blobs.entries(snapshots.take(str(source), blobs, tmp_path / "home", without=("models",)))
        assert set(entries) == {"score.py", "lib/models/y.py"}
        assert "models/a/1/x" in blobs.entries(snapshots.take(str(source), blobs, tmp_path / "home"))

    def test_folders_nobody_means_to_send(self, source: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        tree(source, {"train.py": "", ".git/HEAD": "", "lib/__pycache__/a.pyc": "", "myenv/pyvenv.cfg": ""})
        tree(source, {".venv/bin/python": "", "nb/.ipynb_checkpoints/n.ipynb": "", "myenv/lib/x.py": ""})
        assert taken(source, blobs, tmp_path) == {"train.py"}

    @pytest.mark.parametrize(
        ("rules", "left"),
        [
            ("data/\n", {"train.py", "keep.bin", "a.bin", "sub/data.py"}),
            ("*.bin\n!keep.bin\n", {"train.py", "keep.bin", "data/x.csv", "sub/data.py"}),
            ("/sub\n# a comment\n\n", {"train.py", "keep.bin", "a.bin", "data/x.csv"}),
            ("**/data*\n", {"train.py", "keep.bin", "a.bin"}),
        ],
    )
    def test_rules_are_gits(self, rules: str, left: set[str], source: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        tree(source, {"train.py": "", "keep.bin": "", "a.bin": "", "data/x.csv": "", "sub/data.py": ""})
        (source / ".amlignore").write_text(rules)
        assert taken(source, blobs, tmp_path) - {".amlignore"} == left

    def test_amlignore_counts_before_gitignore_and_only_at_the_root(
        self, source: Path, blobs: LocalBlobs, tmp_path: Path
    ) -> None:
        tree(source, {".gitignore": "a.py\n", "a.py": "", "b.py": "", "sub/.amlignore": "c.py\n", "sub/c.py": ""})
        assert taken(source, blobs, tmp_path) == {".gitignore", "b.py", "sub/.amlignore", "sub/c.py"}
        (source / ".amlignore").write_text("b.py\n")
        assert taken(source, blobs, tmp_path) == {
            ".gitignore", ".amlignore", "a.py", "sub/.amlignore", "sub/c.py"
        }  # fmt: skip

    def test_changed_rules_are_seen_by_a_warm_cache(self, source: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        tree(source, {f"f{i}.py": "" for i in range(50)} | {".amlignore": "f1.py\n"})
        assert "f1.py" not in taken(source, blobs, tmp_path)
        (source / ".amlignore").write_text("f2.py\n")
        assert {"f1.py", "f2.py"} & taken(source, blobs, tmp_path) == {"f1.py"}

    def test_a_script_that_a_rule_leaves_out_is_refused(self, source: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        tree(source, {"train.py": "", ".amlignore": "*.py\n"})
        with pytest.raises(InvalidInput, match=r"train\.py.*ignore rule"):
            snapshots.take(str(source), blobs, tmp_path / "home", needs="train.py")


class TestCache:
    @pytest.fixture
    def warm(self, source: Path, blobs: LocalBlobs, tmp_path: Path) -> Path:
        """A folder whose every file is in the cache."""
        tree(source, {f"f{i:03}.py": f"value = {i}" for i in range(100)})
        settle(source)
        snapshots.take(str(source), blobs, tmp_path / "home")
        blobs.read.clear()
        return source

    def test_unchanged_files_are_not_read_again(self, warm: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        assert len(taken(warm, blobs, tmp_path)) == 100
        assert blobs.read == []

    def test_a_change_is_seen_whatever_its_size_and_time(self, warm: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        before = (warm / "f001.py").stat()
        (warm / "f001.py").write_text("value = 7")
        os.utime(warm / "f001.py", ns=(before.st_atime_ns, before.st_mtime_ns))
        entries = blobs.entries(snapshots.take(str(warm), blobs, tmp_path / "home"))
        assert blobs.folder.get(entries["f001.py"].content) == b"value = 7"
        assert blobs.read == ["f001.py"]

    def test_deleted_and_added_files(self, warm: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        (warm / "f002.py").unlink()
        (warm / "new.py").write_text("")
        found = taken(warm, blobs, tmp_path)
        assert "f002.py" not in found
        assert "new.py" in found

    def test_a_file_that_became_a_link(self, warm: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        (warm / "f003.py").unlink()
        (warm / "f003.py").symlink_to("f004.py")
        entries = blobs.entries(snapshots.take(str(warm), blobs, tmp_path / "home"))
        assert entries["f003.py"].kind is EntryKind.LINK

    @pytest.mark.parametrize("damage", [b"", b"nonsense", None])
    def test_a_damaged_cache_is_thrown_away(
        self, damage: bytes | None, warm: Path, blobs: LocalBlobs, tmp_path: Path
    ) -> None:
        place = stat_cache.place(tmp_path / "home", os.path.realpath(warm))
        whole = place.read_bytes()
        place.write_bytes(whole[:-10] + b"0123456789" if damage is None else damage)
        assert len(taken(warm, blobs, tmp_path)) == 100
        assert len(blobs.read) == 100

    def test_blobs_that_are_gone_are_carried_again(self, warm: Path, tmp_path: Path) -> None:
        elsewhere = LocalBlobs(tmp_path / "another server")
        entries = elsewhere.entries(snapshots.take(str(warm), elsewhere, tmp_path / "home"))
        assert all(elsewhere.has(entry.content) for entry in entries.values())

    def test_a_file_changed_a_moment_ago_is_read_again(self, source: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        tree(source, {f"f{i:03}.py": "" for i in range(100)})
        settle(source)
        (source / "f000.py").write_text("just now")
        snapshots.take(str(source), blobs, tmp_path / "home")
        blobs.read.clear()
        snapshots.take(str(source), blobs, tmp_path / "home")
        assert blobs.read == ["f000.py"]


class TestRefused:
    def test_a_pipe_and_a_socket(self, source: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        os.mkfifo(source / "pipe")
        with pytest.raises(InvalidInput, match="pipe is a pipe"):
            snapshots.take(str(source), blobs, tmp_path / "home")
        (source / "pipe").unlink()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.relpath(source / "sock"))
            with pytest.raises(InvalidInput, match="sock is a socket"):
                snapshots.take(str(source), blobs, tmp_path / "home")

    def test_a_link_to_a_folder_outside_or_to_nothing(self, source: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        (source / "data").symlink_to(tmp_path)
        with pytest.raises(InvalidInput, match="data leads to"):
            snapshots.take(str(source), blobs, tmp_path / "home")
        (source / "data").unlink()
        (source / "gone").symlink_to("/nowhere/at/all")
        with pytest.raises(InvalidInput, match="which is not there"):
            snapshots.take(str(source), blobs, tmp_path / "home")

    @pytest.mark.parametrize("name", [b"line\nbreak", b"back\\slash", b"caf\xe9"])
    def test_names_that_no_manifest_holds(self, name: bytes, source: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        with open(os.fsencode(source) + b"/" + name, "w"):
            pass
        with pytest.raises(InvalidInput, match="has a name that a snapshot cannot hold"):
            snapshots.take(str(source), blobs, tmp_path / "home")

    def test_a_file_that_changes_each_time_it_is_read(self, source: Path, blobs: LocalBlobs, tmp_path: Path) -> None:
        tree(source, {"busy.log": ""})
        plain = blobs.carry

        def carry(paths: list[Path]) -> list[tuple[str, int]]:
            done = plain(paths)
            with (source / "busy.log").open("a") as file:
                file.write("more")
            return done

        blobs.carry = carry  # type: ignore[method-assign]
        with pytest.raises(InvalidInput, match=r"busy\.log changed each of the 3 times"):
            snapshots.take(str(source), blobs, tmp_path / "home")

    def test_an_unreadable_file_and_folder(self) -> None:
        """As another user, since root reads everything; so in a folder that others may enter, unlike a test's own."""
        place = folder_for_all("roost-source-")
        try:
            source = tree(place / "source", {"train.py": "", "secret.txt": "s", "closed/a.py": ""})
            (source / "secret.txt").chmod(0)
            (source / "closed").chmod(0)
            assert "closed cannot be read: Permission denied" in _take_as_nobody(source)
            (source / "closed").chmod(0o755)
            said = _take_as_nobody(source)
        finally:
            shutil.rmtree(place)
        assert "secret.txt" in said
        assert "cannot be read: Permission denied" in said


def _take_as_nobody(source: Path) -> str:
    code = """
import os, sys
from pathlib import Path
from roost.sdk.runs import snapshots
from roost.domain.errors import InvalidInput
from tests.shared.folders import LocalBlobs
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
try:
    snapshots.take(sys.argv[1], LocalBlobs(Path(sys.argv[2]) / "blobs"), Path(sys.argv[2]))
except InvalidInput as error:
    print(error.message)
"""
    root = Path(__file__).parents[3]
    kept = source.with_name("kept")
    kept.mkdir(exist_ok=True)
    kept.chmod(0o777)
    done = subprocess.run(
        [sys.executable, "-c", code, str(source), str(kept)],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout
