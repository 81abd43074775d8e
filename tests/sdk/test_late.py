"""The table by which objects of the SDK find each other."""

import ast
from pathlib import Path

import pytest

from roost.sdk import late

NAMES = {**late._MODULES, **late._CLASSES}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_name_is_there(name: str) -> None:
    found = getattr(late, name)
    assert getattr(found, "__name__", "").rpartition(".")[2] == NAMES[name].rpartition(".")[2] or found.__name__ == name


def test_type_checkers_see_the_same_table() -> None:
    tree = ast.parse(Path(late.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {}
    for statement in block.body:
        assert isinstance(statement, ast.ImportFrom)
        for alias in statement.names:
            is_module = alias.name in late._MODULES
            seen[alias.asname] = f"{statement.module}.{alias.name}" if is_module else statement.module
    assert seen == NAMES


def test_another_name_is_none() -> None:
    with pytest.raises(AttributeError, match="'Rnu'"):
        late.Rnu  # noqa: B018
