"""Files that are here in part, with several at them at once: nothing that is not here is ever read as if it were."""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.shared.servers import content

from roost.data import blocks
from roost.data.blocks import BLOCK, Part

SIZE = 2 * BLOCK + 100
DATA = content(SIZE)
Opened = Callable[[], Part]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "file"


@pytest.fixture
def opened(place: Path) -> Iterator[Opened]:
    made: list[Part] = []

    def go() -> Part:
        made.append(Part(place, SIZE))
        return made[-1]

    yield go
    for each in made:
        each.close()


def fill(part: Part, first: int = 0, last: int = 3) -> Part:
    for block in range(first, last):
        part.write(memoryview(DATA)[block * BLOCK : (block + 1) * BLOCK], block * BLOCK)
        part.mark(block)
    return part


class TestFinishing:
    def test_every_block_is_here_and_it_is_a_file(self, place: Path, opened: Opened) -> None:
        part = fill(opened())
        assert part.finish(place, 1.0)
        assert place.read_bytes() == DATA and os.listdir(place.parent) == [place.name]
        assert part.read(BLOCK, 10) == DATA[BLOCK : BLOCK + 10], "who has it open goes on reading"

    def test_a_block_that_was_taken_away_is_brought_again_first(self, place: Path, opened: Opened) -> None:
        part = fill(opened())
        assert blocks.take_away(place, 1) == BLOCK
        assert not part.finish(place, None) and not place.exists()
        assert fill(part, 1, 2).finish(place, None) and place.read_bytes() == DATA

    def test_the_slower_of_two_does_not_finish_what_somebody_else_began(self, place: Path, opened: Opened) -> None:
        first, second = fill(opened()), opened()
        assert first.finish(place, None)
        place.unlink()
        third = fill(opened(), 0, 1)
        assert second.finish(place, None) and not place.exists()
        assert third.read(0, 10) == DATA[:10] and third.read(BLOCK, 10) is None

    def test_finished_while_another_opens_it(
        self, place: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first, plain, files = fill(opened()), blocks._open, iter([True])

        def after_it_is_finished(path: str, how: int = 0) -> int:
            if path.endswith(blocks.MAP) and next(files, False):
                first.finish(place, None)
            return plain(path, how)

        monkeypatch.setattr(blocks, "_open", after_it_is_finished)
        fill(opened(), 0, 1)
        assert opened().read(0, 10) == DATA[:10], "a map goes with its own file only"
        assert place.read_bytes() == DATA

    def test_killed_while_finishing(self, place: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
        def killed(path: str) -> None:
            raise SystemExit

        first = fill(opened())
        with monkeypatch.context() as patched, pytest.raises(SystemExit):
            patched.setattr(blocks.os, "unlink", killed)
            first.finish(place, None)
        place.unlink()
        assert opened().read(0, 10) is None, "the map that was left is of no file"

    def test_what_is_finished_is_not_taken_away_as_a_part(
        self, place: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first, plain, news = fill(opened()), fcntl.flock, []

        def flock(file: object, how: int) -> None:
            if how & fcntl.LOCK_EX and not news:
                first.finish(place, None)
                first.close()
                news.append(fill(opened(), 0, 1))
            plain(file, how)  # type: ignore[arg-type]

        monkeypatch.setattr(blocks.fcntl, "flock", flock)
        assert not blocks.remove(place)
        assert opened().read(0, 10) == DATA[:10] and place.read_bytes() == DATA


class TestReading:
    def test_what_has_come_is_read_while_the_rest_is_filled(self, opened: Opened) -> None:
        part, other = opened(), opened()
        with part.filling(0, 3):
            assert other.read(0, 10) is None
            fill(part, 0, 1)
            assert other.read(0, 10) == DATA[:10] and other.comes(0)
        assert not other.comes(1), "nobody is at it"

    def test_a_block_in_use_stays(self, place: Path, opened: Opened) -> None:
        part = fill(opened(), 0, 2)
        with part.filling(0, 1), part._reading(1):
            assert [blocks.take_away(place, block) for block in (0, 1)] == [0, 0]
        assert part.has(0) and part.has(1)

    def test_who_waits_for_a_block_holds_nobody_up(self, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
        part, waiting, plain, came = fill(opened()), threading.Event(), time.sleep, []

        def sleep(seconds: float) -> None:
            waiting.set()
            plain(seconds)

        monkeypatch.setattr(blocks.time, "sleep", sleep)
        with part._map_again() as file:
            assert blocks._lock(file, fcntl.F_WRLCK, 0, 1)
            reader = threading.Thread(target=lambda: came.append(part.read(0, 10)), daemon=True)
            reader.start()
            assert waiting.wait(30)
            other = threading.Thread(target=lambda: came.append(part.read(BLOCK, 10)), daemon=True)
            other.start()
            other.join(10)
            assert came == [DATA[BLOCK : BLOCK + 10]]
        reader.join(10)
        assert came[1:] == [DATA[:10]]
