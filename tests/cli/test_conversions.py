"""Parameters get the values that Typer's own conversion gives them, whether they are converted or kept."""

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.core import TyperCommand
from typer.testing import CliRunner

from roost.cli.conversions import convert_when_needed


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Quick(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return convert_when_needed(super().get_params(ctx))


def received(cls: type[TyperCommand], words: list[str]) -> tuple[int, str, dict[str, Any]]:
    """The exit code, the words on stderr, and what the command got."""
    values: dict[str, Any] = {}
    app = typer.Typer(rich_markup_mode=None, add_completion=False)

    @app.command(cls=cls)
    def command(
        name: Annotated[str, typer.Argument()] = "nobody",
        others: Annotated[list[str] | None, typer.Argument()] = None,
        text: Annotated[str | None, typer.Option()] = None,
        words: Annotated[list[str], typer.Option()] = [],  # noqa: B006 - as commands have it
        count: Annotated[int, typer.Option(min=1)] = 3,
        counts: Annotated[list[int], typer.Option()] = [],  # noqa: B006
        share: Annotated[float | None, typer.Option()] = None,
        folder: Annotated[Path | None, typer.Option()] = None,
        colour: Annotated[Colour, typer.Option()] = Colour.RED,
        switch: Annotated[bool, typer.Option()] = True,
    ) -> None:
        values.update(locals())

    done = CliRunner().invoke(app, words)
    values.pop("values", None)
    return done.exit_code, done.stderr, {key: (type(value), value) for key, value in values.items()}


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["a"],
        ["a", "b", "c"],
        ["--text", "", "--words", "x", "--words", "y"],
        ["--count", "5", "--counts", "1", "--counts", "2", "--share", "0.5"],
        ["--folder", "/tmp", "--colour", "blue", "--no-switch"],
        ["--count", "0"],
        ["--count", "many"],
        ["--counts", "1", "--counts", "x"],
        ["--share", "x"],
        ["--colour", "green"],
        ["--text"],
        ["--nothing"],
    ],
    ids=" ".join,
)
def test_values_and_errors_are_those_of_typer(words: list[str]) -> None:
    assert received(Quick, words) == received(TyperCommand, words)
