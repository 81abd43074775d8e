"""Data as a folder: links to what is local, the cache where there is no FUSE; and a real mount, killed, cut off, too large."""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests import skips
from tests.shared.disks import small_disk
from tests.shared.servers import MODIFIED, Server, content, serving, until

from roost.data import mounting, supervising
from roost.data.blocks import BLOCK
from roost.data.cache import Cache
from roost.data.fetching import fetch
from roost.data.mounting import Mount, Way, mount
from roost.domain.datastores import Item
from roost.domain.errors import Conflict, InvalidInput
from roost.transport.client import Endpoint

LARGE = 3 * BLOCK + 1234


class TestLinks:
    def test_local_files_are_linked_not_copied(self, cache: Cache, tmp_path: Path) -> None:
        items = []
        for name in ("a.txt", "b/c.txt"):
            file = tmp_path / "data" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(name)
            items.append(Item(name=name, path=str(file), size=len(name)))
        with mount(items, tmp_path / "m", cache) as made:
            assert (made.way, made.note, made.path, made.mount_point) == (
                Way.LINKS,
                "",
                tmp_path / "m",
                str(tmp_path / "m"),
            )
            assert (made.path / "b" / "c.txt").read_text() == "b/c.txt"
            assert (made.path / "a.txt").is_symlink()
        assert not (tmp_path / "m").exists()
        assert (tmp_path / "data" / "a.txt").read_text() == "a.txt"

    def test_a_dataset_of_one_file_is_that_file(self, cache: Cache, tmp_path: Path) -> None:
        (tmp_path / "x.csv").write_text("1")
        made = mount([Item(name="x.csv", path=str(tmp_path / "x.csv"))], None, cache)
        assert made.path.read_text() == "1"
        assert made.path.name == "x.csv"
        made.close()
        made.close()
        assert not made.folder.exists()

    def test_a_folder_that_is_not_empty_is_refused_and_stays(self, cache: Cache, tmp_path: Path) -> None:
        with pytest.raises(Conflict, match="not empty"):
            mount([Item(name="x", path=__file__)], Path(__file__).parent, cache)

    @pytest.mark.parametrize("target", ["file", "file/m"])
    def test_a_folder_that_cannot_be_made_is_named(self, cache: Cache, tmp_path: Path, target: str) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(InvalidInput, match=f"Nothing can be mounted at {tmp_path}/{target}: ") as caught:
            mount([Item(name="x", path=__file__)], tmp_path / target, cache)
        assert "can be written" in caught.value.hint

    def test_nor_can_one_that_takes_no_links(
        self, cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

        monkeypatch.setattr(os, "symlink", refuse)
        with pytest.raises(InvalidInput, match=f"at {tmp_path}/m: Read-only file system"):
            mount([Item(name="x", path=__file__)], tmp_path / "m", cache)

    def test_what_a_script_put_beside_them_stays(self, cache: Cache, tmp_path: Path) -> None:
        with mount([Item(name="x", path=__file__)], tmp_path / "m", cache) as made:
            (made.folder / "own.txt").write_text("mine")
        assert [path.name for path in (tmp_path / "m").iterdir()] == ["own.txt"]


def local(folder: Path, *names: str) -> list[Item]:
    items = []
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text(name)
        seen = (folder / name).stat()
        items.append(
            Item(name=name, path=str(folder / name), size=seen.st_size, modified_at=seen.st_mtime, etag=f'"{name}"')
        )
    return items


class TestWrittenThrough:
    """Links lead to the files themselves: what a script writes there is told at the end."""

    def test_names_what_was_changed(self, cache: Cache, tmp_path: Path) -> None:
        told: list[tuple[str, str]] = []
        made = mount(local(tmp_path / "data", "a", "b", "c", "d"), tmp_path / "m", cache)
        made.at_change = lambda *words: told.append(words)
        for name in ("b", "c", "d"):
            (made.path / name).write_text("x" if name == "b" else name)
        (made.path / "own").write_text("mine")
        left: list[Sequence[str]] = []
        made.at_left = left.append
        made.close()
        made.close()
        assert left == [["own"]]
        assert told == [("b and 2 more were changed", "a mount of files of this machine is the files themselves")]

    def test_is_taken_away_whatever_becomes_of_the_telling(self, cache: Cache, tmp_path: Path) -> None:
        ended: list[bool] = []
        made = mount(local(tmp_path / "data", "a", "b"), tmp_path / "m", cache)
        made.at_end.append(lambda: ended.append(True))

        def full(_: Sequence[str]) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        made.at_left = full
        (made.path / "own").write_text("mine")
        with pytest.raises(OSError, match="No space"):
            made.close()
        assert ended == [True]

    def test_says_nothing_where_nothing_was(self, cache: Cache, tmp_path: Path) -> None:
        told: list[tuple[str, str]] = []
        made = mount(local(tmp_path / "data", "a", "b"), tmp_path / "m", cache)
        made.at_change = lambda *words: told.append(words)
        (made.path / "a").read_text()
        (made.path / "a").unlink()
        (made.path / "a").write_text("a file of its own in the link's place")
        (tmp_path / "data" / "b").unlink()
        made.close()
        assert told == []

    def test_looks_no_longer_than_a_moment(self, cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        told: list[str] = []
        made = mount(local(tmp_path / "data", *(str(n) for n in range(600))), tmp_path / "m", cache)
        made.at_change = lambda what, _: told.append(what)
        for path in made.path.iterdir():
            path.write_text("changed")
        now = iter([0.0, 1.0, 3.0])
        monkeypatch.setattr(mounting.time, "monotonic", lambda: next(now))
        made.close()
        assert told == ["0 and 255 more were changed"]

    def test_the_cache_does_not_serve_it_again(self, server: Server, cache: Cache, tmp_path: Path) -> None:
        told: list[str] = []
        item = server.put("t.csv", b"1,2,3")
        fetch([item], cache)
        made = mount([item], tmp_path / "m", cache)
        made.at_change = lambda what, why: told.append(f"{what}: {why}")
        made.path.resolve().chmod(0o644)
        made.path.write_text("9,9,9")
        made.close()
        assert [words.partition(":")[0] for words in told] == ["t.csv was changed"]
        assert "cache's own files" in told[0]
        with mount([item], tmp_path / "m2", Cache(cache.home), fuse=False) as again:
            assert again.path.read_bytes() == b"1,2,3"


class TestCacheInstead:
    def test_where_there_is_no_fuse_it_is_fetched_and_said(self, server: Server, cache: Cache, tmp_path: Path) -> None:
        items = [server.put("a", b"abc"), server.put("b", content(LARGE))]
        with mount(items, tmp_path / "m", cache, fuse=False) as made:
            assert made.way is Way.CACHE
            assert "fetched" in made.note
            assert (made.path / "b").read_bytes() == content(LARGE)

    @pytest.mark.usefixtures("fuse")  # with it, they are fetched for what they are
    def test_archives_are_fetched_and_stay_files(self, server: Server, cache: Cache, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
            archive.writestr("inside.txt", "text")
        item = server.put("x.zip", (tmp_path / "x.zip").read_bytes())
        with mount([item], tmp_path / "m", cache) as made:
            assert made.way is Way.CACHE
            assert "x.zip (an archive)" in made.note
            assert zipfile.ZipFile(made.path).read("inside.txt") == b"text"


@pytest.fixture(scope="session")
def fuse() -> None:
    """Skips with the reason where nothing can be mounted."""
    skips.needs("fuse")
    if reason := supervising.why_not():
        skips.skip("fuse", reason)


@pytest.fixture
def told() -> list[str]:
    return []


Mounted = Callable[..., Mount]


@pytest.fixture
def mounted(cache: Cache, tmp_path: Path, told: list[str]) -> Iterator[Mounted]:
    """Mounts for real; whatever is left of it is taken away."""
    made: list[Mount] = []

    def go(items: list[Item], **more: object) -> Mount:
        result = mount(items, tmp_path / f"m{len(made)}", more.pop("cache", cache), tell=told.append, **more)  # type: ignore[arg-type]
        assert result.way is Way.FUSE, result.note
        made.append(result)
        return result

    yield go
    for each in made:
        each.close()
    assert supervising.clear(tmp_path) == 0


@pytest.mark.usefixtures("fuse")
@pytest.mark.slow
class TestFuse:
    def test_files_and_folders_as_they_are(self, server: Server, mounted: Mounted, tmp_path: Path) -> None:
        (tmp_path / "local").write_text("local")
        items = [server.put("a/b/c.txt", b"small"), server.put("a/large", content(LARGE)), server.put("empty", b"")]
        made = mounted([*items, Item(name="here", path=str(tmp_path / "local"))])
        assert sorted(os.path.relpath(path, made.path) for path in made.path.rglob("*")) == sorted(
            ["a", "a/b", "a/b/c.txt", "a/large", "empty", "here"]
        )
        assert server.gets() == 0, "looking brings nothing"
        assert (made.path / "a" / "b" / "c.txt").read_bytes() == b"small"
        assert (made.path / "a" / "large").read_bytes() == content(LARGE)
        assert (made.path / "empty").read_bytes() == b""
        assert (made.path / "here").read_text() == "local"
        assert (made.path / "a" / "large").stat().st_mtime == MODIFIED
        with pytest.raises(OSError, match="Read-only"):
            (made.path / "new").write_text("no")
        with pytest.raises(FileNotFoundError):
            (made.path / "nothing").read_bytes()

    @pytest.mark.parametrize("size", [9, LARGE])
    def test_what_was_changed_in_the_cache_is_brought_anew(
        self, server: Server, mounted: Mounted, cache: Cache, size: int
    ) -> None:
        items = [server.put("a", content(size)), server.put("b", b"not here yet")]
        (path,) = fetch(items[:1], cache)
        path.chmod(0o644)
        path.write_bytes(b"x" * size)
        assert (mounted(items).path / "a").read_bytes() == content(size)

    def test_a_read_brings_its_block_alone(self, server: Server, mounted: Mounted) -> None:
        item = server.put("large", content(9 * BLOCK))
        made = mounted([item])
        with open(made.path, "rb", buffering=0) as file:
            file.seek(6 * BLOCK + 100)
            assert file.read(50) == content(9 * BLOCK)[6 * BLOCK + 100 : 6 * BLOCK + 150]
        assert [asked for _, _, asked in server.asked] == [f"bytes={6 * BLOCK}-{7 * BLOCK - 1}"]

    def test_what_was_read_is_there_for_a_download_and_for_the_next_mount(
        self, server: Server, mounted: Mounted, cache: Cache
    ) -> None:
        item = server.put("large", content(LARGE))
        first = mounted([item])
        with open(first.path, "rb", buffering=0) as file:
            file.seek(2 * BLOCK)
            file.read(10)
        (path,) = fetch([item], cache)
        assert path.read_bytes() == content(LARGE)
        asked = [asked for _, _, asked in server.asked]
        assert len(asked) == len(set(asked)) == 3
        server.asked.clear()
        with mount([item], None, cache) as next_one:
            assert (next_one.way, next_one.note) == (Way.CACHE, "All of it was here already.")
            assert next_one.path.read_bytes() == content(LARGE)
        assert server.asked == []

    def test_a_server_without_ranges(self, server: Server, mounted: Mounted) -> None:
        item = server.put("large", content(LARGE), ranges=False)
        with open(mounted([item]).path, "rb", buffering=0) as file:
            file.seek(2 * BLOCK)
            assert file.read(10) == content(LARGE)[2 * BLOCK : 2 * BLOCK + 10]
            assert Path(file.name).read_bytes() == content(LARGE)

    @pytest.mark.parametrize("left", [0, BLOCK])
    def test_a_full_disk_is_told_to_the_reader_and_in_words(
        self, server: Server, mounted: Mounted, told: list[str], tmp_path: Path, left: int
    ) -> None:
        items = [server.put("large", content(LARGE)), server.put("small", b"small")]
        with small_disk(tmp_path / "disk", f"{BLOCK + left + 65536}") as disk, Cache.of_node(disk) as cache:
            made = mounted(items, cache=cache)
            with contextlib.suppress(OSError), open(disk / "other", "wb", buffering=0) as other:
                other.write(bytes(BLOCK + 65536))
            with pytest.raises(OSError, match="No space left on device"):
                (made.path / "large").read_bytes()
            until(lambda: bool(told))
            assert told[0].startswith(f"large cannot be read: The disk of the data cache {cache.root} is full.")
            (disk / "other").unlink()
            assert (made.path / "small").read_bytes() == b"small"
            made.close()

    def test_changed_since_it_was_listed_is_an_error_in_words(
        self, server: Server, mounted: Mounted, told: list[str]
    ) -> None:
        item = server.put("large", content(LARGE), etag='"1"')
        made = mounted([item])
        server.put("large", content(LARGE, "new"), etag='"2"')
        with pytest.raises(OSError, match="Input/output error"):
            made.path.read_bytes()
        until(lambda: bool(told))
        assert "large cannot be read" in told[0]
        assert "has changed since it was listed" in told[0]

    def test_the_server_gone_what_is_here_still_works(self, mounted: Mounted, told: list[str]) -> None:
        with serving() as server:
            items = [server.put("kept", content(LARGE)), server.put("lost", b"never")]
            made = mounted(items)
            assert (made.path / "kept").read_bytes() == content(LARGE)
        assert (made.path / "kept").read_bytes() == content(LARGE)
        with pytest.raises(OSError, match="Input/output error"):
            (made.path / "lost").read_bytes()
        until(lambda: bool(told))
        assert "/lost cannot be read: Connection refused" in told[0]

    def test_the_token_stays_with_whoever_mounted(self, server: Server, mounted: Mounted) -> None:
        item = replace(server.put("api/x", b"relayed"), url="/api/x", relayed=True)
        made = mounted([item], locate=lambda: Endpoint(server.url, "secret"))
        assert made.path.read_bytes() == b"relayed"
        assert server.tokens == ["Bearer secret"]
        assert made.pid
        for name in ("environ", "cmdline"):
            assert b"secret" not in Path(f"/proc/{made.pid}/{name}").read_bytes()

    def test_killed_it_is_started_again(self, server: Server, mounted: Mounted, told: list[str]) -> None:
        item = server.put("large", content(LARGE))
        made = mounted([item, server.put("small", b"small")])
        (made.path / "small").read_bytes()
        before = made.pid
        assert before
        os.kill(before, signal.SIGKILL)
        until(lambda: bool(told))
        assert "was killed by SIGKILL and was started again" in told[0]
        assert made.pid != before
        assert (made.path / "large").read_bytes() == content(LARGE)
        assert (made.path / "small").read_bytes() == b"small"

    def test_killed_again_and_again_it_is_given_up_in_words(
        self, server: Server, mounted: Mounted, told: list[str]
    ) -> None:
        made = mounted([server.put("small", b"small")])
        for count in range(6):
            os.kill(made.pid or 0, signal.SIGKILL)
            until(lambda count=count: len(told) > count)  # type: ignore[misc]
        assert "cannot be started again" in told[-1]
        assert not supervising.is_mounted(made.folder), "no dead mount is left"

    def test_it_goes_with_whoever_mounted(self, server: Server, cache: Cache, tmp_path: Path) -> None:
        item = server.put("a", b"abc")
        code = (
            "import sys\nfrom pathlib import Path\nfrom roost.data.cache import Cache\n"
            "from roost.data.mounting import mount\nfrom roost.domain.datastores import Item\n"
            "item = Item(name='a', url=sys.argv[1], size=3, modified_at=float(sys.argv[4]))\n"
            "m = mount([item], Path(sys.argv[2]), Cache(Path(sys.argv[3])))\n"
            "print(m.pid, flush=True)\ninput()\n"
        )
        argv = [sys.executable, "-c", code, item.url, str(tmp_path / "m"), str(cache.home), str(MODIFIED)]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout
        pid = int(process.stdout.readline())
        assert (tmp_path / "m" / "a").read_bytes() == b"abc"
        process.kill()
        process.communicate()
        until(lambda: not supervising.is_mounted(tmp_path / "m") and not os.path.exists(f"/proc/{pid}/cmdline"))

    def test_more_than_the_cache_holds_can_be_read(self, server: Server, mounted: Mounted, tmp_path: Path) -> None:
        item = server.put("large", content(10 * BLOCK))
        small = Cache(tmp_path / "small", 5 * BLOCK)
        made = mounted([item], cache=small)
        assert made.path.read_bytes() == content(10 * BLOCK)
        used = sum(file.room for file in small._walk())
        assert used <= 7 * BLOCK
        small.close()

    def test_the_kernel_reads_far_ahead_where_we_may_say_so(self, server: Server, mounted: Mounted) -> None:
        made = mounted([server.put("large", content(LARGE))])
        device = os.stat(made.path).st_dev
        told = Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")
        if not os.access(told, os.W_OK):
            skips.skip("root", "only root says how far")
        assert told.read_text() == "1024\n"

    def test_what_is_no_mount_keeps_how_far_is_read(self, tmp_path: Path) -> None:
        device = os.stat(tmp_path).st_dev
        told = Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")
        before = told.read_text() if told.exists() else ""
        supervising._read_far(tmp_path)
        assert (told.read_text() if told.exists() else "") == before

    def test_many_readers_at_once(self, server: Server, mounted: Mounted) -> None:
        item = server.put("large", content(LARGE))
        made = mounted([item])
        seen: list[bool] = []
        threads = [
            threading.Thread(target=lambda: seen.append(made.path.read_bytes() == content(LARGE))) for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [True] * 6
        asked = [asked for _, _, asked in server.asked]
        assert len(asked) == len(set(asked)), "no block twice"

    def test_archives_are_whole_first_and_said(self, server: Server, mounted: Mounted) -> None:
        made = mounted([server.put("a.tar.gz", b"archive"), server.put("b", b"plain")])
        assert "Fetched first, not by the block: a.tar.gz (an archive)." in made.note
        assert [asked for _, asked, _ in server.asked] == ["a.tar.gz"]
        assert (made.path / "a.tar.gz").read_bytes() == b"archive"

    def test_a_machine_that_cannot_start_it_falls_back(
        self, server: Server, cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FUSE_LIBRARY_PATH", "/nowhere/libfuse.so")
        with mount([server.put("a", b"abc")], tmp_path / "m", cache) as made:
            assert made.way is Way.CACHE
            assert "its process does not start" in made.note
            assert made.path.read_bytes() == b"abc"


def test_names_that_leave_the_folder_are_refused(cache: Cache, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        mount([Item(name="../x", path=__file__)], tmp_path / "m", cache)
    assert not (tmp_path / "x").exists()
