"""Runs the programs of a builder: their output goes to the log, without addresses or secrets; nothing outlives the call.

uv reports every download, a compiler thousands of lines: `Words` selects what is logged, about one line a second at most, and
what is logged while a program prints nothing.
"""

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from roost.environments.base import BuildFailed, Meanwhile, Say, held

_PAUSE = 0.1
_LAST_LINES = 30
_FIRST_LINES, _LAST_OF_LONG = 4, 8
"""Of a longer error: its first and its last lines."""
_ERROR = re.compile(r"error: |\s*× ")
_IDLE = "hint: Build failures usually indicate"  # a hint of uv's without information
_LAST_WORDS = 2.0
"""Seconds for reading the last output of an ended program; a child in its own session may hold its pipe open."""
_QUIET = 10.0
_DOWNLOADING = re.compile(r"\s*Downloading (\S+) \(([\d.]+)\s*([KMG]?i?B)\)")
_DOWNLOADED = re.compile(r"\s*Downloaded (\S+)")
_MEGABYTES = {"B": 1e-6, "KiB": 1024e-6, "MiB": 1.048576, "GiB": 1073.741824}
_LONGEST = 100
_FILE = re.compile(r"(?<=\s)[^\s=-]\S*\.(?:cc|cpp|cxx|cu|c|o|so)\b")
_DETAIL = "DEBUG"  # uv's prefix for a compiler's output

Hint = Callable[[str], str]
"""The next step after a failure with this output; empty for none."""


class Words:
    """Selects the logged lines of a program. `task` is its work, in a word or two."""

    def __init__(self, task: str) -> None:
        self.task = task

    def heard(self, line: str) -> str:
        """The text to log for a line; empty for none."""
        return line

    def pulse(self, seconds: float, silent: float) -> str:
        """Called several times a second: a line to log now, or none. `silent` is the time since the last logged line."""
        return f"{self.task}: {seconds:.0f} s." if silent > _QUIET else ""


class Silent(Words):
    """The output is only for the caller; the log gets only the time that it takes."""

    def heard(self, line: str) -> str:  # noqa: ARG002 - none is told
        return ""


class Downloads(Words):
    """uv's installation: logs the downloads together, with their sizes, as they start and end."""

    def __init__(self, task: str) -> None:
        super().__init__(task)
        self._sizes: dict[str, float] = {}
        self._done: set[str] = set()
        self._changed = False

    def heard(self, line: str) -> str:
        if found := _DOWNLOADING.match(line):
            self._sizes[found[1]] = float(found[2]) * _MEGABYTES.get(found[3], 1.0)
        elif found := _DOWNLOADED.match(line):
            self._done.add(found[1])
        else:
            return line
        self._changed = True
        return ""

    def pulse(self, seconds: float, silent: float) -> str:
        if not self._sizes or silent < 1 or not (self._changed or silent > _QUIET):
            return super().pulse(seconds, silent)
        self._changed = False
        sizes = dict(self._sizes)
        done = [name for name in sizes if name in self._done]
        going = sorted((name for name in sizes if name not in self._done), key=lambda name: -sizes[name])
        there = f"{len(done)} of {len(sizes)} packages, {sum(map(sizes.__getitem__, done)):.0f} of {sum(sizes.values()):.0f} MB"
        rest = ", ".join(f"{name} ({sizes[name]:.0f} MB)" for name in going[:3])
        return f"Downloading: {there}, {seconds:.0f} s" + (f"; on its way: {rest}." if rest else ".")


class Compiling(Words):
    """A compiler: logs from time to time the current file, or else the last line."""

    def __init__(self, task: str) -> None:
        super().__init__(task)
        self._last = self._file = ""

    def heard(self, line: str) -> str:
        if not line.startswith(_DETAIL):
            return line
        files = _FILE.findall(line)  # of a compiler's many flags and warnings, the current file
        if files:
            self._file = files[-1]
        else:
            self._last = line.removeprefix(_DETAIL).strip() or self._last
        return ""

    def pulse(self, seconds: float, silent: float) -> str:
        if silent < _QUIET:
            return ""
        last = self._file or self._last
        return f"{self.task}: {seconds:.0f} s. {last if len(last) <= _LONGEST else f'…{last[-_LONGEST:]}'}".rstrip()


class Runner:
    """Runs programs one after the other, with the builder's log and its `meanwhile`."""

    def __init__(self, say: Say, meanwhile: Meanwhile, environment: Mapping[str, str]) -> None:
        self._say = say
        self._meanwhile = meanwhile
        self._environment = environment

    def run(
        self,
        command: Sequence[str],
        words: Words,
        *,
        scrub: Callable[[str], str],
        hint: Hint,
        folder: Path | None = None,
    ) -> list[str]:
        """The whole output, scrubbed; BuildFailed with its last part when it fails."""
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environment,
            cwd=folder,
            start_new_session=True,
            pass_fds=held(),  # if this process is killed, its programs still hold the locks
        )
        told = _Told(self._say, words, scrub)
        reader = threading.Thread(target=told.listen, args=(process,), name="listener", daemon=True)
        reader.start()
        try:
            while True:
                reader.join(
                    _PAUSE
                )  # the end of its words is heard at once; its own end would be asked for again and again
                if not reader.is_alive():
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(_PAUSE)
                ended = process.poll() is not None
                self._meanwhile()  # also after the end: canceled work has no next step
                if ended:
                    break
                told.pulse()
        finally:
            _end(process)
            reader.join(_LAST_WORDS)
            told.over = True
        if process.returncode:
            name = os.path.basename(command[0])
            last = last_words(told.lines) or f"{name} ended with {process.returncode}, silently."
            raise BuildFailed(last, hint=hint("\n".join(told.lines)))
        return told.lines


def last_words(lines: Sequence[str]) -> str:
    """The error of a failed program, from the line that names it; a long one without its middle."""
    kept = [line for line in lines if not line.startswith(_IDLE)]
    first = next((place for place, line in enumerate(kept) if _ERROR.match(line)), None)
    if first is None:
        return "\n".join(kept[-_LAST_LINES:]).strip()
    error = "\n".join(kept[first:]).strip().splitlines()
    if len(error) > _FIRST_LINES + _LAST_OF_LONG:
        error = [*error[:_FIRST_LINES], "…", *error[-_LAST_OF_LONG:]]
    return "\n".join(error).strip()


class _Told:
    """The output of one program, and the logged part of it."""

    def __init__(self, say: Say, words: Words, scrub: Callable[[str], str]) -> None:
        self.lines: list[str] = []
        self.over = False
        """True when the output is no longer read."""
        self._say, self._words, self._scrub = say, words, scrub
        self._begun = self._last = time.monotonic()

    def listen(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                if self.over:
                    return
                text = self._scrub(line.decode("utf-8", "replace").rstrip())
                if not text.startswith(_DETAIL):
                    self.lines.append(text)
                self._tell(self._words.heard(text))

    def pulse(self) -> None:
        now = time.monotonic()
        self._tell(self._words.pulse(now - self._begun, now - self._last))

    def _tell(self, text: str) -> None:
        if text:
            self._say(text)
            self._last = time.monotonic()


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends the program and everything that it started, which may outlive it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
