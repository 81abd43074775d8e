"""Programs that a builder runs: their words go into the log, without addresses or secrets; nothing outlives the call.

uv tells each download by itself, a compiler thousands of lines: `Words` say what of that is told, at most about a line a second,
and what is told while a program is silent.
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
"""Of an error that is longer: what it is, and how it ended."""
_ERROR = re.compile(r"error: |\s*× ")
_IDLE = "hint: Build failures usually indicate"  # of uv: it says nothing
_LAST_WORDS = 2.0
"""Seconds in which what an ended program has said is read; one that it left in a session of its own may hold its pipe open."""
_QUIET = 10.0
_DOWNLOADING = re.compile(r"\s*Downloading (\S+) \(([\d.]+)\s*([KMG]?i?B)\)")
_DOWNLOADED = re.compile(r"\s*Downloaded (\S+)")
_MEGABYTES = {"B": 1e-6, "KiB": 1024e-6, "MiB": 1.048576, "GiB": 1073.741824}
_LONGEST = 100
_FILE = re.compile(r"(?<=\s)[^\s=-]\S*\.(?:cc|cpp|cxx|cu|c|o|so)\b")
_DETAIL = "DEBUG"  # how uv marks what a compiler says

Hint = Callable[[str], str]
"""The next step after a failure with these last words; empty for none."""


class Words:
    """What is told of a program. `task` is what it does, in a word or two."""

    def __init__(self, task: str) -> None:
        self.task = task

    def heard(self, line: str) -> str:
        """What is told of a line; empty for nothing."""
        return line

    def pulse(self, seconds: float, silent: float) -> str:
        """Asked several times a second: a line to tell now, or none. `silent` is how long nothing was told."""
        return f"{self.task}: {seconds:.0f} s." if silent > _QUIET else ""


class Silent(Words):
    """Its words are for whoever runs it; only that it takes its time is told."""

    def heard(self, line: str) -> str:  # noqa: ARG002 - none is told
        return ""


class Downloads(Words):
    """uv installing: the downloads told together, with their sizes, as they come and go."""

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
    """A compiler at work: now and then the file that it is at, or else its last line."""

    def __init__(self, task: str) -> None:
        super().__init__(task)
        self._last = self._file = ""

    def heard(self, line: str) -> str:
        if not line.startswith(_DETAIL):
            return line
        files = _FILE.findall(line)  # of a compiler's thousand flags and warnings, the file that it is at
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
    """Runs programs one after the other, with the builder's log and patience."""

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
        """All that it said, scrubbed; BuildFailed with the last of it when it fails."""
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environment,
            cwd=folder,
            start_new_session=True,
            pass_fds=held(),  # should this process be killed, nobody is let in beside what it has started
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
                self._meanwhile()  # also after the last of it: what nobody wants any more has no next step
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
    """What a program that failed has to say: its error from the line that names it, without the middle of a long one."""
    kept = [line for line in lines if not line.startswith(_IDLE)]
    first = next((place for place, line in enumerate(kept) if _ERROR.match(line)), None)
    if first is None:
        return "\n".join(kept[-_LAST_LINES:]).strip()
    error = "\n".join(kept[first:]).strip().splitlines()
    if len(error) > _FIRST_LINES + _LAST_OF_LONG:
        error = [*error[:_FIRST_LINES], "…", *error[-_LAST_OF_LONG:]]
    return "\n".join(error).strip()


class _Told:
    """What one program has said, and what of it was told."""

    def __init__(self, say: Say, words: Words, scrub: Callable[[str], str]) -> None:
        self.lines: list[str] = []
        self.over = False
        """Nobody listens any more."""
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
    """The program and whatever it started, which may outlive it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
