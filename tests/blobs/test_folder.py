"""Blobs in a folder: whole or not at all, whatever changes, races or is killed."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.blobs import copying
from roost.blobs.folder import FolderBlobs
from roost.blobs.hashing import hash_bytes, hash_file
from roost.domain.errors import DiskFull, InvalidInput, NotFound

SIZES = [0, 1, 10_000, 1024 * 1024, 1024 * 1024 + 1, 40 * 1024 * 1024 + 7]


@pytest.fixture
def blobs(tmp_path: Path) -> FolderBlobs:
    return FolderBlobs(tmp_path / "blobs")


def content(size: int) -> bytes:
    return (b"%032d" % size * (size // 32 + 1))[:size]


def leftovers(blobs: FolderBlobs) -> list[str]:
    return os.listdir(blobs.root / "tmp")


@pytest.mark.parametrize("size", SIZES)
def test_a_file_comes_back_as_it_was(blobs: FolderBlobs, tmp_path: Path, size: int) -> None:
    source, data = tmp_path / "source", content(size)
    source.write_bytes(data)
    name, stored = blobs.put_file(source)
    assert (name, stored) == (hash_bytes(data), size) == (hash_file(source), blobs.size(name))
    assert blobs.get(name) == data == b"".join(blobs.open(name))
    assert blobs.put_file(source) == (name, size)
    assert leftovers(blobs) == []
    target = tmp_path / "copy"
    blobs.copy_to(name, target, 0o755)
    assert target.read_bytes() == data
    assert stat.S_IMODE(target.stat().st_mode) == 0o755
    target.write_bytes(b"changed")
    assert blobs.get(name) == data


def test_what_is_stored_is_read_only_and_named_by_its_content(blobs: FolderBlobs) -> None:
    name = blobs.put(b"hello")
    path = blobs.root / name[:2] / name
    assert path.read_bytes() == b"hello"
    assert stat.S_IMODE(path.stat().st_mode) & 0o222 == 0
    before = path.stat()
    assert blobs.put(b"hello") == name
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_large_file_that_is_there_is_not_written_again(blobs: FolderBlobs, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(content(SIZES[-1]))
    name, _ = blobs.put_file(source)
    path = blobs.root / name[:2] / name
    before = path.stat().st_ino
    assert blobs.put_file(source)[0] == name
    assert path.stat().st_ino == before


def test_another_hash_than_expected_is_refused(blobs: FolderBlobs) -> None:
    for size in SIZES:
        with pytest.raises(InvalidInput, match=hash_bytes(content(size))):
            blobs.put_fetched("0" * 64, lambda path: path.write_bytes(content(size)))  # noqa: B023  called at once
        with pytest.raises(InvalidInput):
            blobs.put_stream([content(size)], expected="0" * 64)
    assert os.listdir(blobs.root) == ["tmp"]
    assert leftovers(blobs) == []


def test_a_stream_arrives_piece_by_piece(blobs: FolderBlobs) -> None:
    data = content(3_000_000)
    name = hash_bytes(data)
    pieces = [data[:1], b"", data[1:2_000_000], data[2_000_000:]]
    assert blobs.put_stream(iter(pieces), expected=name) == len(data)
    assert blobs.get(name) == data
    assert blobs.put_stream(iter(pieces), expected=name) == len(data)
    with pytest.raises(InvalidInput):
        blobs.put_stream([data[:-1]], expected=name)
    assert blobs.get(name) == data


def test_a_stream_that_breaks_off_leaves_nothing(blobs: FolderBlobs) -> None:
    def breaks() -> Iterator[bytes]:
        yield b"half"
        raise ConnectionResetError("gone")

    with pytest.raises(ConnectionResetError):
        blobs.put_stream(breaks(), expected=hash_bytes(b"half and half"))
    assert os.listdir(blobs.root) == ["tmp"]
    assert leftovers(blobs) == []


def test_parts_of_a_blob(blobs: FolderBlobs) -> None:
    data = content(3_000_000)
    name = blobs.put(data)
    for offset, limit in ((0, None), (5, None), (5, 10), (0, 0), (2_999_999, 10), (3_000_000, None), (9_000_000, 5)):
        expected = data[offset:] if limit is None else data[offset : offset + limit]
        assert b"".join(blobs.open(name, offset, limit)) == expected


def test_missing_ones_in_order_and_once(blobs: FolderBlobs) -> None:
    there = blobs.put(b"there")
    a, b = "a" * 64, "b" * 64
    assert blobs.missing([b, there, a, b, there]) == [b, a]
    assert blobs.missing([]) == []


def test_what_is_not_there(blobs: FolderBlobs, tmp_path: Path) -> None:
    absent = "a" * 64
    assert blobs.size(absent) is None
    target = tmp_path / "target"
    for ask in (
        lambda: blobs.get(absent),
        lambda: blobs.open(absent),  # at once, not at the first piece
        lambda: blobs.copy_to(absent, target, 0o644),
    ):
        with pytest.raises(NotFound, match=absent):
            ask()
    assert not target.exists()
    with pytest.raises(NotFound, match="nothing"):
        blobs.put_file(tmp_path / "nothing")


@pytest.mark.parametrize(
    "name", ["", "a", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 65, "a" * 64 + "\n", "tmp", None]
)
def test_only_hashes_are_names(blobs: FolderBlobs, tmp_path: Path, name: str) -> None:
    for ask in (
        lambda: blobs.get(name),
        lambda: blobs.open(name),
        lambda: blobs.size(name),
        lambda: blobs.missing([name]),
        lambda: blobs.copy_to(name, tmp_path / "x", 0o644),
        lambda: blobs.put_stream([b"x"], expected=name),
    ):
        with pytest.raises(InvalidInput):
            ask()


def test_only_files_are_stored(blobs: FolderBlobs, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(InvalidInput, match="not a file"):
            blobs.put_file(place)


def test_a_copy_never_follows_a_link(blobs: FolderBlobs, tmp_path: Path) -> None:
    name = blobs.put(b"mine")
    victim = tmp_path / "victim"
    victim.write_bytes(b"theirs")
    (tmp_path / "link").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        blobs.copy_to(name, tmp_path / "link", 0o644)
    assert victim.read_bytes() == b"theirs"


def test_a_file_that_changes_meanwhile_is_stored_under_the_hash_of_what_was_stored(
    blobs: FolderBlobs, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.write_bytes(content(30_000_000))
    stop = threading.Event()

    def scribble() -> None:
        number = 0
        with source.open("r+b") as file:
            while not stop.is_set():
                number += 1
                file.seek(number * 7919 % 29_000_000)
                file.write(b"%d" % number)
                file.flush()
                if number % 50 == 0:
                    file.truncate(29_000_000 - number % 3)  # a mapping of it would be fatal now

    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        names = {blobs.put_file(source)[0] for _ in range(8)}
    finally:
        stop.set()
        thread.join()
    assert len(names) > 1
    for name in names:
        assert hash_bytes(blobs.get(name)) == name


def test_many_put_the_same_at_once(blobs: FolderBlobs, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(content(2_000_000))
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: FolderBlobs(blobs.root).put_file(source), range(24)))
    assert found == {(hash_file(source), 2_000_000)}
    assert leftovers(blobs) == []


def test_many_fetch_the_same_at_once(blobs: FolderBlobs) -> None:
    data = content(2_000_000)
    name = hash_bytes(data)
    everyone = threading.Barrier(8)

    def fetch(path: Path) -> None:
        everyone.wait()
        path.write_bytes(data)
        everyone.wait()  # all of them are there, and none has been moved

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: blobs.put_fetched(name, fetch), range(8)))
    assert blobs.get(name) == data
    assert stat.S_IMODE((blobs.root / name[:2] / name).stat().st_mode) & 0o222 == 0
    assert leftovers(blobs) == []


def test_old_leftovers_are_swept_and_new_ones_kept(blobs: FolderBlobs) -> None:
    old, new = blobs.root / "tmp" / "old", blobs.root / "tmp" / "new"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (1.0, 1.0))
    FolderBlobs(blobs.root)
    assert leftovers(blobs) == ["new"]


def test_a_full_disk_is_said_and_leaves_nothing(
    blobs: FolderBlobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    source.write_bytes(content(2_000_000))
    kept = blobs.put(b"kept")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        patch.setattr(os, "copy_file_range", full)
        for act in (
            lambda: blobs.put(b"new"),
            lambda: blobs.put_file(source),
            lambda: blobs.put_stream([b"new"], expected=hash_bytes(b"new")),
            lambda: blobs.copy_to(kept, tmp_path / "copy", 0o644),
        ):
            with pytest.raises(DiskFull) as caught:
                act()
            assert caught.value.hint
    assert leftovers(blobs) == []
    assert blobs.missing([hash_bytes(b"new"), hash_file(source)]) == [hash_bytes(b"new"), hash_file(source)]


@pytest.mark.parametrize("refused", [("copy_file_range",), ("copy_file_range", "sendfile")])
def test_file_systems_that_cannot_copy_by_themselves(
    blobs: FolderBlobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: tuple[str, ...]
) -> None:
    source = tmp_path / "source"
    source.write_bytes(content(20_000_000))

    def cannot(*_: object) -> int:
        raise OSError(errno.EXDEV, "between file systems")

    for name in refused:
        monkeypatch.setattr(copying.os, name, cannot)
    name, size = blobs.put_file(source)
    assert (name, size) == (hash_file(source), 20_000_000)
    blobs.copy_to(name, tmp_path / "copy", 0o644)
    assert (tmp_path / "copy").read_bytes() == source.read_bytes()


@settings(max_examples=30, deadline=None)
@given(data=st.binary(max_size=3000))
def test_any_content(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    blobs = FolderBlobs(tmp_path_factory.getbasetemp() / "any")
    assert blobs.get(blobs.put(data)) == data


@pytest.mark.slow
def test_a_killed_process_leaves_no_half_blob(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from roost.blobs.folder import FolderBlobs
blobs = FolderBlobs(Path(sys.argv[1]))
source = Path(sys.argv[2])
for i in range(100_000):
    with source.open("r+b") as file:
        file.write(b"%d" % i)
    blobs.put(b"%d" % i * 1000)
    blobs.put_file(source)
    print(i, flush=True)
"""
    root, source = tmp_path / "blobs", tmp_path / "source"
    source.write_bytes(content(8_000_000))
    for after in (1, 4, 7):
        with subprocess.Popen([sys.executable, "-c", program, root, source], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for _ in range(after):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
    blobs = FolderBlobs(root)
    stored = [path for folder in root.iterdir() if len(folder.name) == 2 for path in folder.iterdir()]
    assert len(stored) >= 14
    for path in stored:
        assert hash_bytes(blobs.get(path.name)) == path.name
