"""The timer: it sweeps by itself, goes on after a failure, and ends when it is told to."""

import threading
from pathlib import Path

from tests.shared.contexts import make_house

from roost.control.upkeep import Upkeep
from roost.services.context import Context


class _Watched:
    """Blobs whose walk tells that a sweep has come, and fails the first time."""

    def __init__(self, context: Context) -> None:
        self._blobs, self.walks, self.enough = context.blobs, 0, threading.Event()

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
    context = make_house(tmp_path)
    context.blobs.put(b"nobody's")  # old: the context's clock is far ahead
    watched = _Watched(context)
    object.__setattr__(context, "blobs", watched)
    upkeep = Upkeep(context, first=0.0, every=0.01)
    upkeep.start()
    assert watched.enough.wait(30)
    upkeep.stop()
    upkeep.stop()
    assert list(watched._blobs.walk()) == []
    context.store.close()


def test_it_may_end_before_it_began(tmp_path: Path) -> None:
    context = make_house(tmp_path)
    context.blobs.put(b"nobody's")
    upkeep = Upkeep(context, first=0.0, every=0.01)
    upkeep.stop()
    upkeep.start()
    upkeep._thread.join(30)
    assert not upkeep._thread.is_alive()
    assert len(list(context.blobs.walk())) == 1, "nothing was swept"
    context.store.close()
