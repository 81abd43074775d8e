"""Tables, sizes, sparklines: what they print where nobody watches, and how they fit where somebody does."""

import sys

import pytest

from roost.cli import rendering
from roost.domain.arguments import by_name


def test_a_table_in_a_pipe_is_plain_and_whole(capsys: pytest.CaptureFixture[str]) -> None:
    rendering.table(("run", "status", "name"), [("r1", "Failed", "x" * 300), ("r22", "Running", "")], cut=("name",))
    first, second, third = capsys.readouterr().out.splitlines()
    assert first == "run  status   name"
    assert second == f"r1   Failed   {'x' * 300}"
    assert third == "r22  Running"


def test_only_a_status_has_the_colour_of_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    rendering.table(("experiment", "status"), [("bad", "Failed")])
    assert capsys.readouterr().out.splitlines()[1] == "bad         \x1b[31mFailed\x1b[0m"


def test_wide_characters_are_counted_as_a_terminal_does(capsys: pytest.CaptureFixture[str]) -> None:
    rendering.table(("a", "b"), [("鳥の巣", "x"), ("nest", "y")])
    assert capsys.readouterr().out.splitlines()[1:] == ["鳥の巣  x", "nest    y"]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (123_456_789, "123 MB"), (5 * 10**12, "5.0 TB")],
)
def test_sizes(count: int, text: str) -> None:
    assert rendering.size(count) == text


def test_sparklines() -> None:
    assert rendering.sparkline([0.0, 1.0, 2.0, 3.0]) == "▁▃▆█"
    assert rendering.sparkline([1.0, 1.0]) == "▁▁"
    assert rendering.sparkline([0.0, None, 1.0]) == "▁ █"
    assert rendering.sparkline([None]) == ""
    assert len(rendering.sparkline([float(i) for i in range(1000)])) == 24


def test_arguments_by_name() -> None:
    words = ["data.csv", "--lr", "0.1", "--momentum=0.9", "--flag", "--low", "-3", "-v", "rest"]
    assert by_name(words) == {
        "#1": "data.csv",
        "--lr": "0.1",
        "--momentum": "0.9",
        "--flag": "yes",
        "--low": "-3",
        "-v": "rest",
    }
    assert by_name([]) == {}
