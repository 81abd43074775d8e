"""Every test can fail: it asserts something itself, or calls a function of the tests that does."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
WITHOUT = {
    "tests/journeys/test_public_code.py": "the code that it executes, as people wrote it, has the assertions",
}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[str, _Function]]:
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if "articles" not in path.parts:  # code blocks as their articles print them
            name = path.relative_to(ROOT).as_posix()
            yield from ((name, node) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, _Function))


def asserts(node: ast.AST) -> bool:
    """An assertion, an exception that is expected or raised, or a command that has to succeed."""
    for each in ast.walk(node):
        if isinstance(each, ast.Assert) and not isinstance(each.test, ast.Constant):
            return True
        if isinstance(each, ast.Raise) or (
            isinstance(each, ast.Attribute) and each.attr in ("raises", "warns", "fail")
        ):
            return True
        if isinstance(each, ast.keyword) and each.arg == "check" and getattr(each.value, "value", None) is True:
            return True
    return False


def called(node: ast.AST) -> set[str]:
    calls = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
    return {func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in calls}


def test_every_test_asserts_something() -> None:
    found = list(functions())
    helpers = {node.name: node for _, node in found if not node.name.startswith("test_")}
    trusted = {node.name for _, node in found if not node.name.startswith("test_") and asserts(node)}
    while more := {name for name, node in helpers.items() if name not in trusted and called(node) & trusted}:
        trusted |= more
    tests = [(name, node) for name, node in found if node.name.startswith("test_")]
    weak = {f"{name}::{node.name}" for name, node in tests if not asserts(node) and not called(node) & trusted}
    assert len(tests) > 1000
    assert {each for each in weak if each.partition("::")[0] not in WITHOUT} == set()


def test_what_counts_as_an_assertion() -> None:
    for text, counts in (
        ("def test_a(): assert x == 1", True),
        ("def test_a(): assert True", False),
        ("def test_a(): print(x)", False),
        ("def test_a():\n    with pytest.raises(ValueError): f()", True),
        ("def test_a(): subprocess.run(['x'], check=True)", True),
        ("def test_a(): subprocess.run(['x'], check=False)", False),
    ):
        assert asserts(ast.parse(text)) is counts, text
