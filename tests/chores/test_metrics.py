"""`tools/metrics.py`: the table of a small tree, counted by hand."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.shared.folders import tree

ROOT = Path(__file__).parents[2]
MODULE = '''"""A module."""

import os


class Public:
    """A class."""

    def __init__(self, a: int) -> None:
        self.a = a

    def bare(self, b):
        import json

        def inner() -> None:
            from sys import path

        return json, inner, path


def _hidden(*args: int, **kwargs) -> None: ...
'''


def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-S", str(ROOT / "tools" / "metrics.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def rows(*arguments: object) -> dict[str, dict[str, str]]:
    """The cells of every row by the heads of their columns."""
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    head, _, *body = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()]
    return {cells[0]: dict(zip(head[1:], cells[1:], strict=True)) for cells in body}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return tree(
        tmp_path / "old",
        {
            "big/__init__.py": "",
            "big/one.py": MODULE,
            "big/sub/long.py": "x = 1\n" * 401,
            "big/sub/deep/a.py": '"""A."""\n',
            "small/b.py": "def f(a, /, *, c): ...\n",
            "small/tests/test_b.py": MODULE,
            "small/.hidden/c.py": MODULE,
        },
    )


def test_a_tree_by_package_and_in_total(old: Path) -> None:
    found = rows(old)
    assert list(found) == ["big", "big.sub", "small", f"all of {old}"]
    assert found[f"all of {old}"] == {
        "files": "5",
        "lines": "424",
        "median": "1",
        "largest": "401",
        "95 % of functions up to": "7",
        "annotated": "40.0 %",  # __init__ and inner of five
        "inside / 1000": "4.7",  # two of 424
        "flat": "2 (big)",
        "over 400": "1",
        "docstrings": "42.9 %",  # two modules of four that are not empty, Public; not bare, not f
    }
    assert found["small"]["annotated"] == "0.0 %"
    assert (found["big.sub"]["annotated"], found["big.sub"]["files"]) == ("-", "2")


def test_two_trees_stand_beside_each_other(old: Path, tmp_path: Path) -> None:
    new = tree(tmp_path / "new", {"big/one.py": MODULE, "more/b.py": ""})
    found = rows(old, new)
    assert list(found) == [
        f"all of {old}",
        f"all of {new}",
        *(f"big of {each}" for each in (old, new)),
        f"big.sub of {old}",
        f"more of {new}",
        f"small of {old}",
    ]
    assert (found[f"all of {old}"]["over 400"], found[f"all of {new}"]["over 400"]) == ("1", "0")


def test_what_cannot_be_parsed_has_its_lines_counted(tmp_path: Path) -> None:
    done = run(tree(tmp_path / "src", {"a.py": "print 'x'\n"}))
    assert "a.py: not parsed" in done.stderr and "| 1     | 1     |" in done.stdout
    assert (run(tmp_path / "gone").returncode, run(tmp_path / "gone").stderr) == (
        2,
        f"{tmp_path / 'gone'} is no folder\n",
    )


def test_this_repository_s_own() -> None:
    assert {"roost.domain", "roost.sdk", "roost_job", "azureml", "all of src"} <= set(rows())
