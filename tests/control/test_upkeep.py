"""The timer: it sweeps by itself, goes on after a failure, and ends when it is told to."""

import threading
from pathlib import Path

from tests.services.houses import make_house

from roost.control.upkeep import Upkeep
from roost.services.house import House


class _Watched:
    """Blobs whose walk tells that a sweep has come, and fails the first time."""

    def __init__(self, house: House) -> None:
        self._blobs, self.walks, self.enough = house.blobs, 0, threading.Event()

    def __getattr__(self, word: str) -> object:
        return getattr(self._blobs, word)

    def walk(self) -> object:
        self.walks += 1
        if self.walks == 1:
            raise OSError("the disk is away")
        if self.walks == 3:
            self.enough.set()
        return self._blobs.walk()


def test_it_sweeps_again_and_again(tmp_path: Path) -> None:
    house = make_house(tmp_path)
    house.blobs.put(b"nobody's")  # old: the house's clock is far ahead
    watched = _Watched(house)
    object.__setattr__(house, "blobs", watched)
    upkeep = Upkeep(house, first=0.0, every=0.01)
    upkeep.start()
    assert watched.enough.wait(30)
    upkeep.stop()
    upkeep.stop()
    assert list(watched._blobs.walk()) == []
    house.store.close()


def test_it_may_end_before_it_began(tmp_path: Path) -> None:
    house = make_house(tmp_path)
    house.blobs.put(b"nobody's")
    upkeep = Upkeep(house, first=0.0, every=0.01)
    upkeep.stop()
    upkeep.start()
    upkeep._thread.join(30)
    assert not upkeep._thread.is_alive()
    assert len(list(house.blobs.walk())) == 1, "nothing was swept"
    house.store.close()
