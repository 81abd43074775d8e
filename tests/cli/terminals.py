"""The command line as a person in a terminal meets it: a pty of a given width, and what stood on it."""

import fcntl
import os
import pty
import re
import struct
import termios
from dataclasses import dataclass

from tests.cli import commands

ANSI = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@dataclass(frozen=True)
class Screen:
    code: int
    raw: str

    @property
    def text(self) -> str:
        return ANSI.sub("", self.raw).replace("\r\n", "\n")

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def is_coloured(self) -> bool:
        return bool(re.search(r"\x1b\[3\dm", self.raw))


def on_terminal(words: list[str], *, width: int = 80, typed: str = "", after: str = "", **variables: str) -> Screen:
    """What a command shows. `typed` is typed at once, or when `after` stands on the screen: prompts for secrets forget what came
    before them."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", **variables}
    environment.pop("COLUMNS", None)
    command = commands.Command(words, theirs, theirs, theirs, environment)
    os.close(theirs)
    if typed and not after:
        os.write(ours, typed.encode())
    said = b""
    while piece := _read(ours):
        waited = after.encode() not in said
        said += piece
        if after and waited and after.encode() in said:
            os.write(ours, typed.encode())
    code = command.wait()
    os.close(ours)
    return Screen(code, said.decode())


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the last who had the other end is gone
        return b""
