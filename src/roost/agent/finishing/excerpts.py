"""An excerpt from the end of a failed process's log: the traceback, with the frames of the user's own files, or the last lines.
Pure; start with `last_words`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

LINES = 20
"""An excerpt of this length is shown in full; a longer traceback loses its least useful frames."""
_LONGEST_LINE = 500
_OWN_FRAMES = 8
_ERROR_LINES = 12
_TRACEBACK = "Traceback (most recent call last):"
_CHAINS = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_UNSEEN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
_FRAME = re.compile(r'  File "([^"]*)", line \d+')
_PACKAGE = re.compile(r"/(?:site|dist)-packages/([^/]+)")
_STANDARD = re.compile(r"/lib/python\d[\d.]*/|^<frozen ")


@dataclass(frozen=True)
class _Frame:
    lines: tuple[str, ...]

    @property
    def owner(self) -> str:
        """The owner of the code: a package's name, `Python`, or empty for the user's own."""
        found = _FRAME.match(self.lines[0])
        path = found[1] if found else ""
        if package := _PACKAGE.search(path):
            return package[1].removesuffix(".py")
        return "Python" if _STANDARD.search(path) else ""


@dataclass(frozen=True)
class _Trace:
    """One traceback: its frames, and the lines of the error with any output after them."""

    frames: tuple[_Frame, ...]
    error: tuple[str, ...]
    chain: str = ""
    """The sentence between the previous traceback and this one."""


def last_words(text: str) -> str:
    """The traceback at the end of a log, else its last lines. Of a line that a progress bar rewrote with carriage returns, only
    the last version counts."""
    lines = [_cut(_UNSEEN.sub("", line.rstrip("\r").rpartition("\r")[2])) for line in text.split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    traces = _traces(lines)
    if not traces or len(traces[-1].error) > LINES:  # too much other output follows it
        return "\n".join(lines[-LINES:]).strip("\n")
    whole = list(_whole(traces[-1]))
    if len(traces) == 1 or _has_own(traces[-1]):
        shown = whole if len(whole) <= LINES else list(_brief(traces[-1]))
    else:  # the user's own files are in the earlier exception of the chain
        shown = [line for trace in traces for line in _brief(trace)]
    return "\n".join(shown).strip("\n")


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"


def _traces(lines: Sequence[str]) -> list[_Trace]:
    """The last traceback and those that caused it, the earliest first."""
    starts = [place for place, line in enumerate(lines) if line.startswith(_TRACEBACK)]
    found: list[_Trace] = []
    end = len(lines)
    for start in reversed(starts):
        before = [line for line in lines[:start] if line.strip()][-1:]
        chain = next((each for each in _CHAINS if before == [each]), "")
        found.insert(0, _read(lines[start + 1 : end], chain))
        if not chain:
            break
        end = max(place for place in range(start) if lines[place].startswith(chain))
    return found


def _read(lines: Sequence[str], chain: str) -> _Trace:
    frames: list[list[str]] = []
    for place, line in enumerate(lines):
        if _FRAME.match(line):
            frames.append([line])
        elif frames and line.startswith("  "):
            frames[-1].append(line)
        else:
            return _Trace(tuple(_Frame(tuple(each)) for each in frames), tuple(_stripped(lines[place:])), chain)
    return _Trace(tuple(_Frame(tuple(each)) for each in frames), (), chain)


def _stripped(lines: Sequence[str]) -> list[str]:
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()
    return kept


def _has_own(trace: _Trace) -> bool:
    return any(not frame.owner for frame in trace.frames)


def _whole(trace: _Trace) -> Iterator[str]:
    yield _TRACEBACK
    for frame in trace.frames:
        yield from frame.lines
    yield from trace.error


def _brief(trace: _Trace) -> Iterator[str]:
    """The frames of the user's own files, the frame that raised the error, and the error; counts omitted frames by owner."""
    own = [place for place, frame in enumerate(trace.frames) if not frame.owner]
    if len(own) > _OWN_FRAMES:  # a recursion
        own = [*own[:2], *own[2 - _OWN_FRAMES :]]
    shown = {*own, len(trace.frames) - 1}
    if trace.chain:
        yield from ("", trace.chain, "")
    yield _TRACEBACK
    places = enumerate(trace.frames)
    for (is_shown, owner), group in groupby(places, lambda each: (each[0] in shown, each[1].owner)):
        frames = [frame for _, frame in group]
        if is_shown:
            yield from (line for frame in frames for line in frame.lines)
        else:
            count = f"{len(frames)} frame{'' if len(frames) == 1 else 's'}"
            yield f"  … {count} of {owner or 'your own files'} left out"
    yield from trace.error[:_ERROR_LINES]
    if len(trace.error) > _ERROR_LINES:
        yield f"… {len(trace.error) - _ERROR_LINES} more lines"
        yield trace.error[-1]
