"""The line below a build's log while somebody watches: what is going on, and for how long. In a terminal only."""

import contextlib
import itertools
import os
import shutil
import threading
import time
from collections.abc import Iterator
from typing import TextIO, cast

from roost.domain.environments import BUILD_LOG

_EVERY = 0.12
_SIGNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_BEGIN, _END = f"Streaming {BUILD_LOG}", "Streaming "
_ERASE = "\r\x1b[2K"


class Phases:
    """Takes what `waiting.stream` prints and passes it on; between the title of the build log and the next title, the last line
    that was said stands once more at the bottom, with a sign that turns and the seconds since. Any thread may write."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._words = ""
        self._since = 0.0
        self._building = self._shown = False
        self._whole = True  # the cursor is at the beginning of a line
        threading.Thread(target=self._turn, name="phases", daemon=True).start()

    def write(self, text: str) -> int:
        with self._lock:
            self._erase()
            self._out.write(text)
            self._heed(text)
            self._whole = text.endswith("\n") if text else self._whole
        return len(text)

    def flush(self) -> None:
        with self._lock:
            self._out.flush()

    def close(self) -> None:
        """Nothing is drawn any more."""
        self._over.set()
        with self._lock:
            self._erase()
            self._out.flush()

    def _heed(self, text: str) -> None:
        for line in filter(None, map(str.strip, text.splitlines())):
            if line.startswith(_END) or line == "Execution Summary":
                self._building = line == _BEGIN
                self._words = ""
            elif self._building and line.strip("="):
                self._words, self._since = line, time.monotonic()

    def _turn(self) -> None:
        for sign in itertools.cycle(_SIGNS):
            if self._over.wait(_EVERY):
                return
            with self._lock:
                if self._building and self._words and self._whole:
                    width = shutil.get_terminal_size().columns - 1
                    seconds = time.monotonic() - self._since
                    line = f"{sign} {self._words}"[: max(10, width - 9)] + f" {seconds:.0f} s"
                    self._out.write(f"{_ERASE}{line}")
                    self._out.flush()
                    self._shown = True

    def _erase(self) -> None:
        if self._shown:
            self._out.write(_ERASE)
            self._shown = False


@contextlib.contextmanager
def below(out: TextIO) -> Iterator[TextIO]:
    """Where to print to: the same, with that line below it where it is a terminal that can draw."""
    if not out.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield out
        return
    phases = Phases(out)
    try:
        yield cast("TextIO", phases)
    finally:
        phases.close()
