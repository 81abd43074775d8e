"""The command line as a process of its own, forked. What starts it from nothing (the console script, Ctrl-C while it loads) is
tested with `ROOST` itself."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.forks import Forked

ROOST = str(Path(sys.executable).with_name("roost"))


@dataclass(frozen=True)
class Ended:
    returncode: int
    stdout: str
    stderr: str


class Command(Forked):
    """One that was begun."""

    def __init__(
        self, words: Sequence[str], stdin: int, stdout: int, stderr: int, env: Mapping[str, str] | None = None
    ) -> None:
        super().__init__("roost.cli.entry.main", [ROOST, *words], {0: stdin, 1: stdout, 2: stderr}, env=env)


def run(words: Sequence[str], given: str = "") -> Ended:
    """A command to its end: what it was given on stdin, what it printed."""
    with (
        tempfile.TemporaryFile("w+") as stdin,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        stdin.write(given)
        stdin.seek(0)
        code = Command(words, stdin.fileno(), out.fileno(), err.fileno()).wait()
        out.seek(0)
        err.seek(0)
        return Ended(code, out.read(), err.read())
