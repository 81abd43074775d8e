"""Help with whole sentences at every width, and answers to commands that people try first."""

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from roost.cli import suggestions
from roost.cli.command_table import ROOT, Command, Noun
from roost.cli.main import app


def every_group() -> list[list[str]]:
    root = typer.main.get_command(app)
    named = [[name] for name, command in root.commands.items() if hasattr(command, "commands")]  # type: ignore[attr-defined]
    return [[], *named]


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("words", every_group(), ids=lambda words: " ".join(words) or "root")
def test_no_sentence_of_help_is_cut(words: list[str], width: int, home: Path) -> None:
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": str(width)}, terminal_width=width)
    usage, *rest = done.stdout.splitlines()
    assert usage.endswith("COMMAND [ARGS]...")
    assert not [line for line in rest if line.rstrip().endswith(("...", "…"))]
    assert max(map(len, rest)) <= width
    assert not home.exists()


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["job"], "roost run list"),
        (["jobs"], "roost run list"),
        (["ps"], "roost run list --status running"),
        (["logs"], "roost run logs ID"),
        (["compare", "a", "b"], "roost run compare ID"),
        (["lst"], "roost run list"),
        (["experiments"], "roost experiment list"),
        (["workspaces"], "roost workspace list"),
        (["environment"], "roost env list"),
        (["dataset", "list"], "roost data list"),
        (["submt", "train.py"], "roost submit"),
        (["rnu", "list"], "roost run"),
        (["evn"], "roost env"),
        (["run", "ls"], "roost run list"),
        (["run", "lsit"], "roost run list"),
        (["model", "rm"], "roost model delete"),
        (["datastore", "delete"], "roost datastore unregister"),
        (["endpoint", "stop"], ""),
        (["xyzzy"], ""),
    ],
)
def test_a_command_that_is_not_there_names_the_one_that_was_meant(words: list[str], meant: str, home: Path) -> None:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    said = done.stderr.splitlines()[-1]
    wrong = next(word for word in words if word not in ("run", "model", "datastore", "endpoint"))
    assert said == f"Error: There is no command {wrong!r}." + (f" Did you mean: {meant}" if meant else "")
    assert not home.exists()


def test_what_is_pointed_at_is_there() -> None:
    root = typer.main.get_command(app)
    for words in suggestions._MEANT.values():
        name, *rest = words.split()
        command = root.commands.get(name)  # type: ignore[attr-defined]
        assert command is not None or name == "--version", words
        if rest and hasattr(command, "commands"):
            assert rest[0] in command.commands, words


def every_command() -> dict[str, Command]:
    found = {}
    for word, entry in ROOT.items():
        found |= (
            {f"{word} {name}": each for name, each in entry.commands.items()}
            if isinstance(entry, Noun)
            else {word: entry}
        )
    return found


@pytest.mark.parametrize("words", every_command())
def test_a_command_of_the_table_is_a_function_that_says_what_it_does(words: str) -> None:
    module, _, name = every_command()[words].function.partition(":")
    function = getattr(import_module(f"roost.cli.commands.{module}"), name)
    assert inspect.getdoc(function)


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["job"]], ids=" ".join)
def test_no_command_is_loaded_that_was_not_typed(words: list[str]) -> None:
    assert loaded(words, "roost.cli.commands", "roost.sdk") == []


def test_the_command_that_was_typed_is_loaded_alone() -> None:
    assert loaded(["run", "list", "--help"], "roost.cli.commands.") == [
        "roost.cli.commands.runs",
        "roost.cli.commands.runs.columns",
        "roost.cli.commands.runs.listing",
        "roost.cli.commands.runs.metric_summaries",
        "roost.cli.commands.workspaces",
    ]


def test_values_that_have_their_type_are_not_converted() -> None:
    assert loaded(["run", "tag", "train_1"], "pydantic") == []


def loaded(words: list[str], *names: str) -> list[str]:
    """The modules below these names that are loaded when a command has ended, in a process of its own."""
    code = (
        "import sys\n"
        "from roost.cli.entry import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print('loaded', *sorted(name for name in sys.modules if name.startswith({names!r})))"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()[1:]
