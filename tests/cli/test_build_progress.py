"""The line below a build's log: in a terminal only, never in the middle of a line, and gone when the build is over."""

import io
import threading

import pytest

from roost.cli.rendering import build_progress
from roost.cli.rendering.build_progress import Phases
from roost.domain.environments import BUILD_LOG


class Screen(io.StringIO):
    """Remembers what was written, and says when a sign was drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        done = super().write(text)
        if "Resolving 3 requirements." in text and text.startswith("\r"):
            self.drawn.set()
        return done


def test_drawn_while_a_build_goes_on_and_taken_away_before_the_next_word() -> None:
    screen = Screen()
    shown = Phases(screen)
    shown.write(f"\nStreaming {BUILD_LOG}\n{'=' * 20}\n\n")
    shown.write("Resolving 3 requirements.\n")
    assert screen.drawn.wait(10)
    shown.write("Locked 9 packages.\n")
    assert screen.getvalue().endswith("\r\x1b[2KLocked 9 packages.\n")
    shown.write("\nStreaming user_logs/std_log.txt\n=====\n\nhello\n")
    shown.close()
    assert screen.getvalue().endswith("hello\n")


def test_a_line_that_is_not_whole_yet_is_left_alone() -> None:
    screen = Screen()
    shown = Phases(screen)
    shown.write(f"Streaming {BUILD_LOG}\nResolving 3 requirements.\n")
    assert screen.drawn.wait(10)
    shown.write("Downloading tor")
    shown.close()
    assert screen.getvalue().endswith("Downloading tor")


def test_a_pipe_or_a_plain_terminal_gets_the_log_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with build_progress.below(io.StringIO()) as out:
        assert isinstance(out, io.StringIO)
    monkeypatch.setenv("TERM", "dumb")
    with build_progress.below(Screen()) as out:
        assert isinstance(out, Screen)
    monkeypatch.setenv("TERM", "xterm")
    with build_progress.below(Screen()) as out:
        assert isinstance(out, Phases)
