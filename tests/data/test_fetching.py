"""Fetching from servers that cut, lie, change, redirect or are gone: whole files or a clear error, never wrong bytes."""

import base64
import fcntl
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.shared.servers import MODIFIED, Server, bytes_of, content, serving, until

from roost.data import blocks
from roost.data.blocks import BLOCK, Part
from roost.data.cache import Cache
from roost.data.fetching import fetch
from roost.data.web import Web
from roost.domain.codec import encode
from roost.domain.datastores import Item
from roost.domain.errors import Conflict, Forbidden, InvalidInput, NotFound, RoostError, Unavailable
from roost.transport.client import Endpoint

LARGE = 3 * BLOCK + 1234
HUGE = 20 * BLOCK + 77
Hasty = Callable[[], Web]


class TestWhole:
    def test_many_small_and_some_large_come_as_they_are(self, server: Server, cache: Cache) -> None:
        items = [server.put(f"d/{n}.bin", content(100 * n, str(n))) for n in range(60)]
        items += [
            server.put("large", content(LARGE), etag='"v1"'),
            server.put("huge", content(HUGE)),
            server.put("empty", b""),
        ]
        told: list[tuple[int, int]] = []
        paths = fetch(items, cache, progress=lambda done, total: told.append((done, total)))
        assert bytes_of(paths) == [server.files[item.name].content for item in items]
        total = sum(item.size or 0 for item in items)
        assert told[-1] == (total, total)
        assert all(not os.stat(path).st_mode & 0o222 for path in paths)

    def test_the_second_time_nothing_is_asked(self, server: Server, cache: Cache) -> None:
        items = [server.put("a", b"one"), server.put("b", content(LARGE))]
        fetch(items, cache)
        server.asked.clear()
        other = Cache(cache.home)
        assert bytes_of(fetch(items, other)) == [b"one", content(LARGE)]
        assert server.asked == []
        other.close()

    def test_a_target_gets_copies_of_its_own(self, server: Server, cache: Cache, tmp_path: Path) -> None:
        item = server.put("sub/a.txt", b"one")
        (made,) = fetch([item], cache, tmp_path / "out")
        assert made == tmp_path / "out" / "sub" / "a.txt"
        made.write_bytes(b"changed by the script")
        assert bytes_of(fetch([item], cache)) == [b"one"]

    def test_two_at_once_into_one_folder(self, cache: Cache, tmp_path: Path) -> None:
        (tmp_path / "local").write_bytes(b"one")
        item, turns = Item(name="f", path=str(tmp_path / "local"), size=3), iter([True])

        def meanwhile() -> None:
            if next(turns, False):
                fetch([item], cache, tmp_path / "out")

        assert bytes_of(fetch([item], cache, tmp_path / "out", meanwhile=meanwhile)) == [b"one"]
        assert os.listdir(tmp_path / "out") == [item.name]

    def test_an_old_server_is_asked_once_for_each(self, server: Server, cache: Cache) -> None:
        items = [server.put(f"{n}", content(100, str(n)), old=True) for n in range(100)]
        assert bytes_of(fetch(items, cache)) == [server.files[item.name].content for item in items]
        assert server.gets() == 100

    def test_files_of_several_servers(self, server: Server, cache: Cache) -> None:
        with serving() as other:
            items = [(server, other)[n % 2].put(f"{n}", content(100, str(n))) for n in range(100)]
            assert bytes_of(fetch(items, cache)) == [content(100, str(n)) for n in range(100)]

    def test_an_address_with_letters_that_must_be_quoted(self, server: Server, cache: Cache) -> None:
        server.put("%C3%BC%20x%41.csv", b"quoted")
        server.put("door", b"", location="/ü xA.csv".encode().decode("latin-1"))
        server.put("%C3%BC%20xA.csv", b"followed")
        item = Item(name="a", url=f"{server.url}/ü x%41.csv", size=6, modified_at=MODIFIED)
        door = Item(name="b", url=f"{server.url}/door", size=8, modified_at=MODIFIED)
        assert bytes_of(fetch([item, door], cache)) == [b"quoted", b"followed"]

    def test_one_file_under_two_names(self, server: Server, tmp_path: Path) -> None:
        item = server.put("a", b"one")
        assert bytes_of(fetch([item, replace(item, name="b")], None, tmp_path)) == [b"one", b"one"]

    def test_a_length_that_is_not_told_and_chunks(self, server: Server, cache: Cache) -> None:
        item = server.put("chunks", content(300_000), chunked=True)
        small = server.put("small", b"abc", chunked=True)
        assert bytes_of(fetch([replace(item, size=None), small], cache)) == [content(300_000), b"abc"]

    def test_through_the_control_plane_with_the_callers_token(self, server: Server, cache: Cache) -> None:
        item = replace(server.put("api/x", b"relayed"), url="/api/x", relayed=True)
        assert bytes_of(fetch([item], cache, locate=lambda: Endpoint(server.url, "token"))) == [b"relayed"]
        with pytest.raises(InvalidInput, match="no way to it"):
            fetch([replace(item, etag="other")], cache)


class TestFaults:
    def test_cut_in_the_middle_goes_on_where_it_was(self, server: Server, cache: Cache, hasty: Hasty) -> None:
        item = server.put("f", content(LARGE), cut_at=BLOCK + 5, cuts=3)
        small = server.put("s", content(5000), cut_at=100, cuts=2)
        assert bytes_of(fetch([item, small], cache, web=hasty())) == [content(LARGE), content(5000)]
        ranges = [asked for _, name, asked in server.asked if name == "f"]
        assert ranges[0].startswith("bytes=0-")
        assert ranges[1].startswith(f"bytes={BLOCK}-")  # the block that was whole is not asked for again

    def test_cut_again_and_again_is_an_error_and_the_next_try_goes_on(
        self, server: Server, cache: Cache, hasty: Hasty
    ) -> None:
        item = server.put("f?sig=secret", content(LARGE))
        file = server.files["f"] = server.files["f?sig=secret"]
        file.cut_at, file.cuts = BLOCK // 2, 100
        with pytest.raises(Unavailable, match="/f cannot be read: its server ended after") as caught:
            fetch([item], cache, web=hasty())
        assert "secret" not in str(caught.value)
        file.cuts = 0
        assert bytes_of(fetch([item], cache)) == [content(LARGE)]

    def test_a_server_without_ranges(self, server: Server, cache: Cache) -> None:
        item = server.put("f", content(HUGE), ranges=False)
        assert bytes_of(fetch([item], cache)) == [content(HUGE)]
        assert server.gets("f") == 1

    def test_a_server_without_ranges_that_cuts(self, server: Server, cache: Cache, hasty: Hasty) -> None:
        item = server.put("f", content(LARGE), ranges=False, cut_at=BLOCK + 7, cuts=2)
        assert bytes_of(fetch([item], cache, web=hasty())) == [content(LARGE)]

    @pytest.mark.parametrize("size", [1000, LARGE])
    @pytest.mark.parametrize("claims", [-10, 10])
    def test_a_wrong_length(self, server: Server, cache: Cache, hasty: Hasty, size: int, claims: int) -> None:
        item = server.put("f", content(size), claims=size + claims, ranges=False)
        with pytest.raises(RoostError, match="/f "):
            fetch([item], cache, web=hasty())
        assert not list(cache.root.glob("??/*[0-9a-f]")), "nothing of it counts as whole"

    @pytest.mark.parametrize("size", [1000, LARGE])
    @pytest.mark.parametrize("manners", [{"etag": '"v1"'}, {"etag": '"v1"', "conditions": False}])
    def test_changed_since_it_was_listed(
        self, server: Server, cache: Cache, size: int, manners: dict[str, object]
    ) -> None:
        item = server.put("f", content(size), **manners)
        server.put("f", content(size, "new"), **{**manners, "etag": '"v2"'})
        with pytest.raises(Conflict, match="/f has changed since it was listed"):
            fetch([item], cache)

    def test_another_size_is_noticed_without_any_version(self, server: Server, cache: Cache) -> None:
        for size in (1000, LARGE):
            item = server.put("f", content(size), dated=False)
            server.put("f", content(size + 1), dated=False)
            with pytest.raises(Conflict, match="has changed"):
                fetch([item], cache)

    def test_changed_while_it_comes(self, server: Server, cache: Cache, hasty: Hasty) -> None:
        """The first stretch of one version, the rest of another: nothing of it is used."""
        item = server.put("f", content(LARGE), etag='"v1"', conditions=False, cut_at=BLOCK + 1, cuts=1)

        def turn() -> None:
            if server.gets("f"):
                server.files["f"].etag = '"v2"'
                server.files["f"].content = content(LARGE, "new")

        web = hasty()
        ask = web.ask
        web.ask = lambda *args, **named: (turn(), ask(*args, **named))[1]  # type: ignore[method-assign]
        with pytest.raises(Conflict, match="another ETag"):
            fetch([item], cache, web=web)

    @pytest.mark.parametrize("size", [1000, LARGE])
    def test_of_another_time_than_it_was_listed_with(self, server: Server, cache: Cache, size: int) -> None:
        item = replace(server.put("f", content(size)), modified_at=MODIFIED - 60)
        with pytest.raises(Conflict, match="its server says that it is of Sun, 13 Sep 2020"):
            fetch([item], cache)

    def test_another_stretch_than_was_asked_for(self, server: Server, cache: Cache) -> None:
        item = server.put("f", content(LARGE), placed=f"bytes 5-{LARGE + 4}/{LARGE}")
        with pytest.raises(RoostError, match=rf"/f cannot be read: bytes 0-{LARGE - 1} were asked for, '5-"):
            fetch([item], cache)
        server.files["f"].placed = f"bytes 0-{LARGE - 1}/{LARGE + 9}"
        with pytest.raises(Conflict, match=f"it has {LARGE + 9} bytes, not {LARGE}"):
            fetch([item], cache)
        server.files["f"].placed = ""
        assert bytes_of(fetch([item], cache)) == [content(LARGE)]

    def test_what_its_server_gives_an_md5_for(self, server: Server, cache: Cache, hasty: Hasty) -> None:
        right = base64.b64encode(hashlib.md5(b"abc").digest()).decode()
        wrong = base64.b64encode(hashlib.md5(b"other").digest()).decode()
        assert bytes_of(fetch([server.put("right", b"abc", md5=right)], cache)) == [b"abc"]
        with pytest.raises(Unavailable, match="MD5"):
            fetch([server.put("wrong", b"abc", md5=wrong)], cache, web=hasty())

    def test_errors_that_pass_and_errors_that_stay(self, server: Server, cache: Cache, hasty: Hasty) -> None:
        passing = [server.put("p1", b"1", fails=3), server.put("p2", content(LARGE), fails=2, status=500)]
        assert bytes_of(fetch(passing, cache, web=hasty())) == [b"1", content(LARGE)]
        with pytest.raises(Unavailable, match="answers 503"):
            fetch([server.put("s", b"1", fails=99)], cache, web=hasty())
        with pytest.raises(NotFound, match="/gone is not there"):
            fetch([replace(passing[0], name="gone", url=f"{server.url}/gone", source="gone")], cache, web=hasty())

    def test_a_server_that_is_gone(self, cache: Cache, hasty: Hasty) -> None:
        with serving() as server:
            kept = server.put("kept", b"here")
            lost = server.put("lost", b"never came")
            fetch([kept], cache)
        assert bytes_of(fetch([kept], cache, web=hasty())) == [b"here"]
        with pytest.raises(Unavailable, match=r"/lost cannot be read: Connection refused"):
            fetch([kept, lost], cache, web=hasty())

    def test_a_silent_server_is_given_up(self, server: Server, cache: Cache) -> None:
        gate = threading.Event()
        for size in (10, 2 * BLOCK):
            items = [server.put("f", content(size), wait=gate), server.put("other", b"x")]
            with pytest.raises(Unavailable, match="/f cannot be read: its server says nothing for too long"):
                fetch(items, cache, web=Web(silence=0.05, pause=0.01))
        gate.set()

    @pytest.mark.parametrize("size", [10, LARGE])
    def test_whoever_does_not_want_it_any_more_ends_it(self, server: Server, cache: Cache, size: int) -> None:
        gate = threading.Event()
        item = server.put("f", content(size), wait=gate)

        def meanwhile() -> None:
            if server.asked:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fetch([item], cache, meanwhile=meanwhile)
        gate.set()
        assert bytes_of(fetch([item], cache)) == [content(size)]

    def test_a_signed_address_that_ran_out_is_signed_again(self, server: Server, cache: Cache, hasty: Hasty) -> None:
        new = server.put("new", b"content")
        server.put("old", b"", fails=99, status=403)
        old = replace(new, url=f"{server.url}/old?sig=1")
        assert bytes_of(fetch([old], cache, web=hasty(), again=lambda: [new])) == [b"content"]
        with pytest.raises(Forbidden, match="/old may not be read"):
            fetch([replace(old, source="x")], cache, web=hasty(), again=lambda: [old])

        def refuse() -> list[Item]:
            raise Unavailable("The control plane does not answer.")

        with pytest.raises(Forbidden, match="/old may not be read"):
            fetch([replace(old, source="y")], cache, web=hasty(), again=refuse)


class TestRedirects:
    def test_are_followed(self, server: Server, cache: Cache) -> None:
        for size in (10, LARGE):
            item = server.put(f"real{size}", content(size))
            server.put("door", b"", location=f"/real{size}")
            assert bytes_of(fetch([replace(item, url=f"{server.url}/door")], cache)) == [content(size)]

    @pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher:x"])
    def test_lead_to_nothing_but_the_web(self, server: Server, cache: Cache, place: str) -> None:
        item = server.put("f", b"x", location=place)
        with pytest.raises(InvalidInput, match="only http and https"):
            fetch([item], cache)

    def test_round_and_round(self, server: Server, cache: Cache) -> None:
        with pytest.raises(InvalidInput, match="from one address to the next"):
            fetch([server.put("f", b"x", location="/f")], cache)

    def test_a_token_stays_with_its_server(self, server: Server, cache: Cache) -> None:
        with serving() as other:
            target = other.put("x", b"there")
            server.put("api/x", b"", location=f"{other.url}/x")
            item = replace(target, url="/api/x", relayed=True)
            fetch([item], cache, locate=lambda: Endpoint(server.url, "secret"))
            assert set(server.tokens) == {"Bearer secret"}
            assert other.tokens == [""]


class TestNames:
    @pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "a\\b", ""])
    def test_that_leave_the_folder_are_refused(self, cache: Cache, name: str) -> None:
        with pytest.raises(InvalidInput):
            fetch([Item(name=name, url="http://127.0.0.1:1/x", size=1)], cache)

    def test_twice_the_same(self, server: Server, cache: Cache) -> None:
        item = server.put("f", b"x")
        with pytest.raises(InvalidInput, match="Two files"):
            fetch([item, item], cache)

    def test_a_local_file_that_is_gone(self, cache: Cache, tmp_path: Path) -> None:
        with pytest.raises(NotFound, match="not there any more"):
            fetch([Item(name="x", path=str(tmp_path / "x"))], cache)


BRINGER = """
import sys
from pathlib import Path
from roost.data.cache import Cache
from roost.data.fetching import fetch
from roost.domain.codec import decode
from roost.domain.datastores import Item
import json
items = [decode(Item, each) for each in json.loads(sys.argv[2])]
print("ready", flush=True)
paths = fetch(items, Cache(Path(sys.argv[1])))
print(*paths, sep="\\n", flush=True)
"""


def bringer(cache: Cache, items: list[Item]) -> "subprocess.Popen[str]":
    argv = [sys.executable, "-c", BRINGER, str(cache.home), json.dumps(encode(items))]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)


class TestAPartThatIsThere:
    """A small file that somebody is bringing, or was."""

    def held(self, cache: Cache, item: Item) -> tuple[Path, int]:
        place = cache.place(cache.key(item))
        file = blocks.make_held(f"{place}{blocks.DATA}")
        os.write(file, b"half of")
        return place, file

    def test_left_by_one_that_was_killed(self, server: Server, cache: Cache) -> None:
        items = [server.put(f"{n}", content(1000, str(n))) for n in range(3)]
        os.close(self.held(cache, items[1])[1])
        assert bytes_of(fetch(items, cache)) == [server.files[item.name].content for item in items]
        assert not list(cache.root.glob("??/*.part"))

    def test_held_by_one_that_brings_it(self, server: Server, cache: Cache) -> None:
        item = server.put("f", b"all of it")
        place, file = self.held(cache, item)

        def bring() -> None:
            os.pwrite(file, b"all of it", 0)
            blocks.seal(file, item.modified_at)
            os.rename(f"{place}{blocks.DATA}", place)
            os.close(file)

        assert bytes_of(fetch([item], cache, meanwhile=once(bring))) == [b"all of it"]
        assert server.gets() == 0

    def test_held_by_one_that_gives_up(self, server: Server, cache: Cache) -> None:
        item = server.put("f", b"all of it")
        _, file = self.held(cache, item)
        assert bytes_of(fetch([item], cache, meanwhile=once(lambda: os.close(file)))) == [b"all of it"]
        assert server.gets() == 1

    def test_whoever_does_not_want_it_any_more_does_not_wait(self, server: Server, cache: Cache) -> None:
        item = server.put("f", b"all of it")
        _, file = self.held(cache, item)

        def leave() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fetch([item], cache, meanwhile=leave)
        os.close(file)
        assert server.gets() == 0

    def test_is_made_by_one_alone(self, tmp_path: Path) -> None:
        path = str(tmp_path / "shelf" / "x")
        file = blocks.make_held(path)
        with pytest.raises(BlockingIOError):
            blocks.make_held(path)
        with pytest.raises(BlockingIOError):
            blocks.open_held(path, alone=True)
        os.close(file)
        os.close(blocks.open_held(path, alone=True))

    @pytest.mark.parametrize("deed", ["hold", "fill", "remove"])
    def test_another_is_faster_between_making_and_holding(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deed: str
    ) -> None:
        path, flock, others = tmp_path / "x", fcntl.flock, []

        def late(file: int, how: int) -> None:
            if deed == "hold":
                others.append(os.open(path, os.O_RDWR))
                flock(others[0], fcntl.LOCK_EX)
            elif deed == "fill":
                path.write_bytes(b"all of it")
            else:
                path.unlink()
            flock(file, how)

        monkeypatch.setattr(fcntl, "flock", late)
        with pytest.raises(BlockingIOError):
            blocks.make_held(str(path))
        for each in others:
            os.close(each)


def once(deed: Callable[[], object]) -> Callable[[], None]:
    """Does it the first time that it is called."""
    left = [deed]

    def called() -> None:
        if left:
            left.pop()()

    return called


class TestTwoProcesses:
    def test_the_same_files_are_fetched_once(self, server: Server, cache: Cache) -> None:
        gate = threading.Event()
        items = [server.put(f"s{n}", content(1000, str(n)), wait=gate) for n in range(20)]
        items.append(server.put("large", content(HUGE), wait=gate))
        both = [bringer(cache, items) for _ in range(2)]
        for each in both:
            assert each.stdout and each.stdout.readline() == "ready\n"
        gate.set()
        for each in both:
            out, _ = each.communicate(timeout=60)
            assert bytes_of([Path(line) for line in out.split()]) == [server.files[item.name].content for item in items]
        for item in items[:-1]:
            assert server.gets(item.name) == 1
        asked = [asked for _, name, asked in server.asked if name == "large"]
        assert len(asked) == len(set(asked)), "no stretch twice"

    def test_one_that_is_killed_leaves_what_is_whole(self, server: Server, cache: Cache) -> None:
        gate = threading.Event()
        item = server.put("large", content(LARGE), pause_at=2 * BLOCK + 9, wait=gate)
        process = bringer(cache, [item])
        marks = Path(f"{cache.place(cache.key(item))}.map")
        until(lambda: marks.exists() and len(marks.read_bytes()[:2].strip(b"\0")) == 2)
        process.kill()
        process.communicate()
        gate.set()
        server.files["large"].wait = None
        server.asked.clear()
        assert bytes_of(fetch([item], cache)) == [content(LARGE)]
        assert [asked for _, _, asked in server.asked] == [f"bytes={2 * BLOCK}-{LARGE - 1}"]


def test_a_part_knows_its_blocks(tmp_path: Path) -> None:
    part = Part(tmp_path / "x", LARGE)
    assert part.missing(0, 4) == (0, 4)
    part.write(memoryview(b"a" * BLOCK), BLOCK)
    part.mark(1)
    assert (part.missing(0, 4), part.missing(1, 4), part.present) == ((0, 1), (2, 4), BLOCK)
    assert part.read(BLOCK, 3) == b"aaa"
    assert part.read(0, 3) is None
    part.close()
