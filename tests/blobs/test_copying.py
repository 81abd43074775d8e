"""From a socket to a file: inside the kernel, and through memory where the kernel refuses."""

import errno
import os
import select
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.blobs import copying
from roost.blobs.copying import pour

DATA = os.urandom(3_000_000)
Refuses = Callable[[int, int], bool]
"""Whether the kernel is to refuse a splice from one file to another."""


@pytest.mark.parametrize(
    "refuses",
    [
        lambda given, source: False,
        lambda given, source: given == source,
        lambda given, source: given != source,
    ],
    ids=["nothing", "sockets", "files"],
)
def test_all_of_it_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses) -> None:
    ours, theirs = socket.socketpair()
    splice = os.splice

    def spliced(given: int, into: int, count: int) -> int:
        if refuses(given, ours.fileno()):
            raise OSError(errno.EINVAL, "not there")
        return splice(given, into, count)

    monkeypatch.setattr(copying.os, "splice", spliced)
    ours.setblocking(False)
    sender = threading.Thread(target=theirs.sendall, args=(DATA,))
    sender.start()
    taken: list[int] = []
    there: list[int] = []
    with ours, theirs, (tmp_path / "f").open("wb", buffering=0) as file:
        wait = lambda: select.select([ours], [], [], 30)  # noqa: E731
        assert pour(ours, file.fileno(), len(DATA), wait, there.append, taken.append) == len(DATA)
        sender.join()
    assert (tmp_path / "f").read_bytes() == DATA
    assert sum(taken) == sum(there) == len(DATA)


def test_what_a_full_disk_did_not_take_has_left_the_socket() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    taken: list[int] = []
    there: list[int] = []
    with ours, theirs, open("/dev/full", "wb", buffering=0) as full:
        theirs.sendall(bytes(50_000))
        with pytest.raises(OSError, match="No space left"):
            pour(ours, full.fileno(), 50_000, lambda: None, there.append, taken.append)
        left = 0
        while left + sum(taken) < 50_000:
            left += len(ours.recv(50_000))
    assert there == []
