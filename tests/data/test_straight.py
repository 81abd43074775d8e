"""Downloads into a folder, with no cache: one at a time, whole, and what is wrong with the folder is said."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.shared.disks import small_disk
from tests.shared.servers import Server, bytes_of, content

from roost.data.fetching import fetch
from roost.domain.datastores import Item
from roost.domain.errors import DiskFull

LARGE = 9_000_000


def test_without_a_cache_it_goes_straight_to_the_target(server: Server, tmp_path: Path) -> None:
    local = tmp_path / "here.txt"
    local.write_text("local")
    items = [server.put("a/b.bin", content(LARGE)), server.put("c", b"c"), Item(name="here.txt", path=str(local))]
    made = fetch(items, None, tmp_path / "out")
    assert bytes_of(made) == [content(LARGE), b"c", b"local"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a", "c", "here.txt"]
    assert local.read_text() == "local"


def test_two_into_one_folder_wait_for_each_other(server: Server, tmp_path: Path) -> None:
    go_on = threading.Event()
    one = [server.put("one", content(LARGE), wait=go_on)]
    two = [server.put("two", b"two"), server.put("sub/three", b"three")]
    said: list[str] = []

    def waits(text: str) -> None:
        said.append(text)
        go_on.set()

    out = tmp_path / "out"
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(fetch, one, None, out)
        while not list(out.glob(".roost-download/cache/data/??/*.part")):
            assert not first.done()
        second = pool.submit(fetch, two, None, out, say=waits)
        assert bytes_of(second.result(60)) == [b"two", b"three"]
        assert bytes_of(first.result(60)) == [content(LARGE)]
    assert said == [f"Another download into {out} is going on; this one waits for it."]
    assert sorted(path.name for path in out.iterdir()) == ["one", "sub", "two"]


def test_the_same_by_many(server: Server, tmp_path: Path) -> None:
    items = [server.put(f"{number}", content(1000 * number, str(number))) for number in range(60)]
    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(lambda _: bytes_of(fetch(items, None, tmp_path / "out")), range(6)))
    assert made == [[server.files[item.name].content for item in items]] * 6
    assert not (tmp_path / "out/.roost-download").exists()


def test_one_that_waits_can_be_ended(server: Server, tmp_path: Path) -> None:
    go_on = threading.Event()
    one = server.put("one", content(LARGE), wait=go_on)

    def leave() -> None:
        raise KeyboardInterrupt

    def second() -> None:
        with pytest.raises(KeyboardInterrupt):
            fetch([server.put("two", b"two")], None, tmp_path, meanwhile=leave)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(fetch, [one], None, tmp_path)
        while not list(tmp_path.glob(".roost-download/cache/data/??/*.part")):
            assert not first.done()
        second()
        go_on.set()
        assert bytes_of(first.result(60)) == [content(LARGE)]


@pytest.mark.parametrize("size", [100_000, 40_000_000])
def test_a_full_disk_is_the_folders(server: Server, tmp_path: Path, size: int) -> None:
    item = server.put("f", content(size))
    with small_disk(tmp_path / "disk", "20m") as disk:
        if size < 1_000_000:
            (disk / "filler").write_bytes(bytes(20 * 1024 * 1024 - 50_000))
        with pytest.raises(DiskFull, match=rf"The disk of {disk}/out is full: the files take .* MB are free") as caught:
            fetch([item], None, disk / "out")
        assert "another disk" in caught.value.hint
        (disk / "filler").unlink(missing_ok=True)
        if size < 1_000_000:
            assert bytes_of(fetch([item], None, disk / "out")) == [content(size)]
