"""Writing that can fail: links, commands, settings, error codes and the context must be what the pages say they are."""

import dataclasses
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest
import typer.main

from roost.cli.main import app
from roost.domain.errors import BY_CODE
from roost.server.settings import Settings
from roost_job.absent import ABSENT

ROOT = Path(__file__).parents[2]
# A link or picture of Markdown, without its title; code is taken out before.
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)[^)]*\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


@cache
def tracked() -> list[Path]:
    """The files of the project: what git knows or would add; everything there is when this is no checkout."""
    argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(argv, cwd=ROOT, capture_output=True)
    if found.returncode == 0:
        names = [name for name in found.stdout.decode().split("\0") if name]
    else:
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if not {".venv", ".git"} & set(path.parts)]
    return [ROOT / name for name in names if (ROOT / name).is_file() and not (ROOT / name).is_symlink()]


def pages() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".md"]


def written_pages() -> list[Path]:
    """The pages of this project, without the articles of others."""
    return [path for path in pages() if "articles" not in path.parts]


def anchors(page: Path) -> set[str]:
    """The anchors that headings make, as GitHub names them."""
    headings = re.findall(r"^#{1,6} (.+)$", CODE.sub(lambda code: code[0].strip("`"), page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> Iterator[str]:
    for target in LINK.findall(CODE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        place, _, anchor = target.partition("#")
        file = (page.parent / place).resolve() if place else page
        if not file.exists():
            yield f"{target}: no such file"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield f"{target}: no such heading"


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_inside_the_project_resolve(page: Path) -> None:
    assert list(broken_links(page)) == []


WIDTH = 120


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """The lines of a page, numbered, without code blocks and tables."""
    in_code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = line.lstrip().startswith("```")
        if not in_code and not fence and not line.startswith("|"):
            yield number, line
        in_code ^= fence


@pytest.mark.parametrize("page", written_pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_prose_fits_the_width(page: Path) -> None:
    """A word that is longer by itself, such as a link, may stand alone on its line."""
    wide = [number for number, line in prose(page) if len(line) > WIDTH and len(line.split()) > 1]
    assert wide == [], f"wrap these lines at {WIDTH} columns"


@pytest.mark.parametrize("page", written_pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_exist(page: Path) -> None:
    """`control/runs.py` is the end of a path of this project; names without a folder may be the reader's own."""
    paths = [f"/{path.relative_to(ROOT)}" for path in tracked()]
    named = set(
        re.findall(r"`((?:[a-z_]+/)+\w+\.(?:py|toml))`", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))
    )
    readers = {"serve/score.py"}
    assert [name for name in sorted(named - readers) if not any(path.endswith(f"/{name}") for path in paths)] == []


def test_the_index_lists_every_decision() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(
        r"^\| \[(\d{3})\]\(([^)]+)\) \| (.+) \| .+ \|$", (folder / "README.md").read_text(), re.MULTILINE
    )
    decisions = sorted(path for path in folder.glob("*.md") if path.name != "README.md")
    titles = [path.read_text().splitlines()[0].removeprefix("# ").partition(" — ") for path in decisions]
    assert listed == [(number, path.name, title) for path, (number, _, title) in zip(decisions, titles, strict=True)]
    assert all(path.name.startswith(f"{number}-") for path, (number, _, _) in zip(decisions, titles, strict=True))


def reference() -> str:
    """Everything under docs/reference, as one text."""
    return "\n".join(path.read_text() for path in sorted((ROOT / "docs" / "reference").rglob("*.md")))


def commands(command: click.Command, name: str) -> Iterator[str]:
    """Every command that a person can type: `roost run list`."""
    subcommands = getattr(command, "commands", None)
    if not subcommands:
        yield name
        return
    for word, below in subcommands.items():
        if not below.hidden:
            yield from commands(below, f"{name} {word}")


def test_every_command_is_in_the_reference() -> None:
    every = list(commands(typer.main.get_command(app), "roost"))
    assert len(every) > 5, "the walk through the commands found hardly any"
    text = reference()
    assert [command for command in every if command not in text] == []


def test_every_setting_is_in_the_reference() -> None:
    every = [field.metadata["variable"] for field in dataclasses.fields(Settings)]
    text = reference()
    assert [variable for variable in every if f"`{variable}`" not in text] == []


def test_every_error_code_is_in_the_reference() -> None:
    text = reference()
    assert [code for code in BY_CODE if f"`{code}`" not in text] == []


def test_what_is_not_there_is_listed_as_the_code_has_it() -> None:
    rows = [
        f"| {each.what}: {', '.join(f'`{path}`' for path in each.paths)} | "
        f"{'planned' if each.planned else 'not planned'} | {each.instead} |"
        for each in ABSENT
    ]
    _, _, table = (ROOT / "docs/guides/from-azure-ml.md").read_text().partition("## What is not there\n")
    assert [line for line in table.splitlines() if line.startswith("| ") and "azureml." in line] == rows
    readme = (ROOT / "README.md").read_text()
    assert [path for each in ABSENT if each.planned for path in each.paths[:1] if f"`{path}`" not in readme] == []


def test_commands_of_the_readme_are_targets_of_make() -> None:
    code = "\n".join(CODE.findall((ROOT / "README.md").read_text()))
    asked = set(re.findall(r"\bmake ([a-z][a-z-]*)", code))
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"demo", "test"} <= asked, "README names the two commands that do everything"
    assert asked <= targets


def test_every_target_of_make_says_what_it_does() -> None:
    text = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.+)$", text, re.MULTILINE)
    assert phony
    explained = set(re.findall(r"^([a-z][a-z-]*):.*## \w", text, re.MULTILINE))
    assert set(phony[1].split()) == explained


def test_the_drawing_of_the_house_lists_its_rooms() -> None:
    """ARCHITECTURE.md names exactly the folders of src/roost: `  domain/   meanings …` lines below `src/roost/`."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    context = re.search(r"^src/roost/\s*\n((?:(?:  .*)?\n)+)", text, re.MULTILINE)
    assert context, "ARCHITECTURE.md draws the context below a line `src/roost/`"
    drawn = set(re.findall(r"^  ([a-z_]+)/", context[1], re.MULTILINE))
    rooms = {path.parent.name for path in (ROOT / "src" / "roost").glob("*/__init__.py")}
    assert drawn == rooms


@pytest.mark.parametrize("room", ["roost/sdk", "roost/agent", "roost_job"])
def test_the_house_is_drawn_with_the_folders_of_its_large_rooms(room: str) -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    indent = "  " if room == "roost_job" else "    "
    head = f"src/{room}/" if room == "roost_job" else f"  {room.rpartition('/')[2]}/"
    part = re.search(rf"^{head} .*\n((?:{indent}.*\n)+)", text, re.MULTILINE)
    assert part
    drawn = set(re.findall(rf"^{indent}([a-z_]+)/", part[1], re.MULTILINE))
    assert drawn == {path.parent.name for path in (ROOT / "src" / room).glob("*/__init__.py")}


def test_no_file_names_this_machine_or_a_registry() -> None:
    """Absolute home folders and package registries belong to one machine, not to the project."""
    # Quoted in pieces, so that this very file does not count. A bare root folder is allowed: tests climb towards it.
    places = [r"/home/\w+/", r"/Us" r"ers/\w+/", r"/ro" r"ot/\.(?!ssh)", r"/op" r"t/(?:pypi|wheels)"]
    registries = [r"pypi\.or" r"g/simple", r"files\.python" r"hosted"]
    forbidden = re.compile("|".join([*places, *registries]).encode())
    found = {}
    for path in tracked():
        if hit := forbidden.search(path.read_bytes()):
            found[str(path.relative_to(ROOT))] = hit[0].decode()
    assert found == {}


def test_constraints_pin_exact_versions_and_name_no_place() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9A-Za-z.+!]*", line)] == []


def test_every_promise_has_its_test() -> None:
    page = (ROOT / "docs/how-it-works/security.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 20
    for row in rows:
        named = re.search(r"`([\w/]+\.py)((?:::\w+)+)` \|$", row)
        assert named, f"no test is named: {row}"
        source = (ROOT / "tests" / named[1]).read_text()
        assert all(
            re.search(rf"^\s*(def|class) {name}\b", source, re.MULTILINE) for name in named[2].split("::")[1:]
        ), row
