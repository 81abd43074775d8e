"""The node's cache: bounded, the least lately used goes first, nothing that is in use; what killed processes held is let go."""

import contextlib
import errno
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.shared.disks import small_disk
from tests.shared.servers import Server, content

from roost.data import blocks
from roost.data.blocks import BLOCK, Part
from roost.data.cache import DEFAULT_LIMIT, Cache, limit_of
from roost.data.fetching import fetch
from roost.domain.datastores import Item
from roost.domain.errors import DiskFull, InvalidInput, NotFound

HOLDER = """
import sys
from pathlib import Path
from roost.data.cache import Cache
from roost.domain.datastores import Item
cache = Cache(Path(sys.argv[1]))
cache.find(dict.fromkeys(sys.argv[2:], Item(name="f")))
print("held", flush=True)
input()
"""


def old(path: Path, age: float) -> None:
    seen = path.stat()
    os.utime(path, (seen.st_atime - age, seen.st_mtime))


def test_a_file_is_kept_by_source_version_and_size(cache: Cache) -> None:
    item = Item(name="a", url="http://h/a?sig=1", source="s", size=3, etag="v1")
    assert cache.key(item) == cache.key(replace(item, name="b", url="http://h/a?sig=2"))
    for other in (replace(item, source="t"), replace(item, etag="v2"), replace(item, size=4)):
        assert cache.key(other) != cache.key(item)


def test_a_file_that_changed_is_fetched_again(server: Server, cache: Cache) -> None:
    before = server.put("f", b"one", etag='"1"')
    fetch([before], cache)
    after = server.put("f", b"two", etag='"2"')
    (path,) = fetch([after], cache)
    assert path.read_bytes() == b"two"


def test_what_has_no_version_is_not_shared_and_goes_with_the_cache(server: Server, cache: Cache) -> None:
    item = server.put("f", b"one", dated=False)
    fetch([item], cache)
    other = Cache(cache.home)
    (path,) = fetch([item], other)
    assert server.gets("f") == 2
    other.close()
    assert not path.exists()


def write(path: Path, text: bytes) -> None:
    """As a script does that may: as root, or after a chmod."""
    path.chmod(0o644)
    path.write_bytes(text)
    path.chmod(0o444)


class TestChangedInPlace:
    @pytest.mark.parametrize("size", [5, BLOCK + 1, 2 * BLOCK + 5], ids=["small", "whole", "stretches"])
    @pytest.mark.parametrize("dated", [True, False])
    @pytest.mark.parametrize("same_size", [True, False])
    def test_is_fetched_anew(self, server: Server, cache: Cache, size: int, dated: bool, same_size: bool) -> None:
        item = server.put("f", content(size), etag='"1"', dated=dated)
        (path,) = fetch([item], cache)
        write(path, b"x" * (size if same_size else 3))
        assert fetch([item], cache) == [path]
        assert path.read_bytes() == content(size)
        asked = len(server.asked)
        fetch([item], Cache(cache.home))
        assert len(server.asked) == asked, "what was fetched anew is good"

    def test_is_never_missing_for_others_who_were_given_it(self, server: Server, cache: Cache, tmp_path: Path) -> None:
        item = server.put("f", b"right", etag='"1"')
        (path,) = fetch([item], cache)
        write(path, b"wrong")
        server.files["f"].fails, server.files["f"].status = 10**6, 404
        with pytest.raises(NotFound):
            fetch([item], Cache(cache.home))
        assert path.exists()

    def test_is_not_what_an_address_was_last_seen_as(self, server: Server, cache: Cache) -> None:
        item = server.put("f", b"right", etag='"1"')
        (path,) = fetch([item], cache)
        cache.remember(item)
        assert cache.recall(item) == item
        write(path, b"wrong")
        assert cache.recall(item) is None

    def test_copies_of_undated_files_are_of_today(self, server: Server, cache: Cache, tmp_path: Path) -> None:
        item = server.put("f", b"right", etag='"1"', dated=False)
        began = time.time() - 60
        for number, way in enumerate((cache, None)):
            (path,) = fetch([item], way, tmp_path / str(number))
            assert path.stat().st_mtime > began

    @pytest.mark.parametrize("modified_at", [-1.0, 0.0, 1e11, 1_600_000_000.123456])
    def test_a_time_that_a_disk_may_not_keep(self, server: Server, cache: Cache, modified_at: float) -> None:
        item = replace(server.put("f", b"right", etag='"1"', dated=False), modified_at=modified_at)
        fetch([item], cache)
        fetch([item], Cache(cache.home))
        assert server.gets() == 1


class TestBound:
    def test_the_least_lately_used_goes_first(self, server: Server, tmp_path: Path) -> None:
        items = [server.put(f"f{n}", content(100_000, str(n))) for n in range(4)]
        first = Cache(tmp_path, 350_000)
        paths = fetch(items[:3], first)
        first.close()
        for path, age in zip(paths, (50, 90, 10), strict=True):
            old(path, age)
        second = Cache(tmp_path, 350_000)
        fetch(items[3:], second)
        assert [path.exists() for path in paths] == [True, False, True]
        second.close()

    def test_what_is_in_use_stays(self, server: Server, tmp_path: Path) -> None:
        items = [server.put(f"f{n}", content(100_000, str(n))) for n in range(4)]
        user, other = Cache(tmp_path, 350_000), Cache(tmp_path, 350_000)
        paths = fetch(items[:3], user)
        with pytest.raises(DiskFull, match="what is in it is in use"):
            fetch(items[3:], other)
        assert all(path.exists() for path in paths)
        user.close()
        fetch(items[3:], other)
        other.close()

    def test_what_a_killed_process_used_is_let_go(self, server: Server, tmp_path: Path) -> None:
        items = [server.put(f"f{n}", content(100_000, str(n))) for n in range(4)]
        keys = [Cache(tmp_path).key(item) for item in items]
        argv = [sys.executable, "-c", HOLDER, str(tmp_path), *keys]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout and process.stdin
        process.stdout.readline()
        first = Cache(tmp_path, 350_000)
        fetch(items[:3], first)
        first.close()
        second = Cache(tmp_path, 350_000)
        with pytest.raises(DiskFull):
            fetch(items[3:], second)
        process.kill()
        process.wait()
        process.stdout.close()
        process.stdin.close()
        fetch(items[3:], second)
        assert len(list((second.root / "holds").iterdir())) == 1
        second.close()

    def test_more_than_fits_is_refused_before_anything_is_asked(self, server: Server, tmp_path: Path) -> None:
        cache = Cache(tmp_path, 50_000)
        with pytest.raises(DiskFull, match=r"do not fit into the cache of 0\.05 MB") as caught:
            fetch([server.put("f", content(100_000))], cache)
        assert "ROOST_DATA_CACHE_GB" in caught.value.hint
        assert server.asked == []
        cache.close()

    def test_blocks_of_a_file_in_use_go_and_are_seen_to_be_gone(self, tmp_path: Path) -> None:
        cache = Cache(tmp_path, 3 * BLOCK)
        key = "ab" + "0" * 62
        part = Part(cache.place(key), 4 * BLOCK)
        for block in range(3):
            part.write(memoryview(content(BLOCK, str(block))), block * BLOCK)
            part.mark(block)
        with part._reading(0):
            cache.make_room(2 * BLOCK - 8192)
        assert part.has(0), "somebody reads it"
        assert [part.has(1), part.has(2)].count(True) == 0
        assert part.read(BLOCK, 10) is None
        assert os.stat(f"{cache.place(key)}.part").st_blocks * 512 <= BLOCK + 4096
        part.close()
        cache.make_room(3 * BLOCK - 8192)
        assert not os.path.exists(f"{cache.place(key)}.part"), "nobody has it open"
        cache.close()

    def test_a_part_that_is_taken_away_while_it_is_opened(self, tmp_path: Path) -> None:
        Part(tmp_path / "x", 10).close()
        assert blocks.remove(tmp_path / "x")
        part = Part(tmp_path / "x", 10)
        assert not blocks.remove(tmp_path / "x")
        assert part.missing(0, 1) == (0, 1)
        part.close()


@pytest.mark.parametrize("told", ["0", "-1", "much", "nan"])
def test_a_limit_that_is_none(told: str) -> None:
    with pytest.raises(InvalidInput, match="ROOST_DATA_CACHE_GB"):
        limit_of({"ROOST_DATA_CACHE_GB": told})
    assert limit_of({"ROOST_DATA_CACHE_GB": "1.5"}) == 1_500_000_000
    assert limit_of({}) == DEFAULT_LIMIT


class TestFullDisk:
    def test_is_told_before_anything_is_asked(self, server: Server, tmp_path: Path) -> None:
        with small_disk(tmp_path / "disk", "20m") as disk:
            cache = Cache(disk)
            with pytest.raises(DiskFull, match=r"disk of the data cache .* is full: 0.02\d* GB are needed, 0.01\d* GB"):
                fetch([server.put("f", content(24_000_000))], cache)
            assert server.asked == []
            cache.close()

    @pytest.mark.parametrize("size", [1_000_000, 8_000_000])
    def test_that_fills_up_while_it_comes(self, server: Server, tmp_path: Path, size: int) -> None:
        with small_disk(tmp_path / "disk", "500k") as disk:
            cache = Cache(disk)
            cache.make_room = lambda need: None  # type: ignore[method-assign]  as if another had filled it since
            with pytest.raises(DiskFull, match=r"disk of the data cache.* is full"):
                fetch([server.put("f", content(size))], cache)
            assert not list(cache.root.glob("??/" + "[0-9a-f]" * 64))
            cache.close()

    def test_that_fills_up_while_many_small_ones_come(self, server: Server, tmp_path: Path) -> None:
        items = [server.put(f"{n}", content(100_000, str(n))) for n in range(10)]
        with small_disk(tmp_path / "disk", "600k") as disk:
            cache = Cache(disk)
            cache.make_room = lambda need: None  # type: ignore[method-assign]  as above
            with pytest.raises(DiskFull, match=r"disk of the data cache.* is full"):
                fetch(items, cache)
            whole = [path for path in cache.root.glob("??/*") if not path.suffix]
            assert {path.stat().st_size for path in whole} <= {100_000}
            cache.close()


@pytest.mark.parametrize("facts", ["", "{", "[]", '{"size": 3}'])
def test_facts_that_a_crash_left_half_written_are_none(cache: Cache, facts: str) -> None:
    item = Item(name="f", url="http://nowhere/f", source="http://nowhere/f")
    cache.remember(replace(item, size=3, etag='"v1"'))
    (written,) = (cache.root / "facts").iterdir()
    written.write_text(facts)
    assert cache.recall(item) is None


def test_many_threads_hold_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, together = os.open, threading.Barrier(2)

    def slow(path: Any, *args: Any, **kwargs: Any) -> int:
        if "/holds/" in str(path):
            with contextlib.suppress(threading.BrokenBarrierError):
                together.wait(0.5)  # who comes second is here before the first has its file
        return plain(path, *args, **kwargs)

    with Cache(tmp_path, 10**9) as cache:
        monkeypatch.setattr(os, "open", slow)
        items = [Item(name=name, url=f"http://host/{name}", source=name, size=1, etag=name) for name in "ab"]
        done: list[object] = []
        threads = [
            threading.Thread(target=lambda item=item: done.append(cache.find({cache.key(item): item})), daemon=True)
            for item in items
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert done == [set(), set()]
        assert len(os.listdir(tmp_path / "cache" / "data" / "holds")) == 1


class TestUntouched:
    """A whole file is known to be as it was sealed by its size and time."""

    def seen(self, tmp_path: Path, modified_at: float) -> os.stat_result:
        file = os.open(tmp_path / "a", os.O_RDWR | os.O_CREAT)
        os.write(file, b"abc")
        blocks.seal(file, modified_at)
        os.close(file)
        return os.stat(tmp_path / "a")

    def test_a_disk_that_keeps_whole_seconds(self, tmp_path: Path) -> None:
        seen = self.seen(tmp_path, 1_600_000_000.0)
        assert blocks.untouched(seen, Item(name="a", size=3, modified_at=1_600_000_000.73))
        assert not blocks.untouched(seen, Item(name="a", size=4, modified_at=1_600_000_000.73))

    def test_one_that_was_stored_again_with_the_same_content(self, tmp_path: Path) -> None:
        seen = self.seen(tmp_path, 1_600_000_000.0)
        assert blocks.untouched(seen, Item(name="a", size=3, etag='"x"', modified_at=1_600_500_000.0))
        assert not blocks.untouched(seen, Item(name="a", size=3, modified_at=1_600_500_000.0))

    @pytest.mark.parametrize("etag", ["", '"x"'])
    def test_one_that_was_written_to(self, tmp_path: Path, etag: str) -> None:
        self.seen(tmp_path, 1_600_000_000.0)
        (tmp_path / "a").chmod(0o644)
        (tmp_path / "a").write_bytes(b"xyz")
        item = Item(name="a", size=3, etag=etag, modified_at=1_600_000_000.0)
        assert not blocks.untouched(os.stat(tmp_path / "a"), item)


class TestAHomeThatCannotBeWritten:
    def test_is_told_with_the_next_step(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(InvalidInput, match=f"ROOST_HOME, {tmp_path}/file/home, cannot be written") as caught:
            Cache.of_node(tmp_path / "file/home")
        assert "ROOST_HOME" in caught.value.hint

    def test_also_when_its_folders_are_there_already(self, tmp_path: Path) -> None:
        Cache.of_node(tmp_path).close()
        (tmp_path / "cache/data/lock").unlink()
        (tmp_path / "cache/data/lock").mkdir()  # root may write where others may not
        with pytest.raises(InvalidInput, match="cannot be written: Is a directory"):
            Cache.of_node(tmp_path)

    def test_a_full_disk_is_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object, **__: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(Path, "mkdir", full)
        with pytest.raises(DiskFull, match=f"{tmp_path}/cache/data is full"):
            Cache.of_node(tmp_path)
