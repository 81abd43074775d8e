"""Prints what the shape of a tree of Python files is, as a table: `python tools/metrics.py [TREE …]`, `src` when none is given.

Of one tree: a row for each package and one for all of it. Of several trees: all of each first, then each package in every tree,
so that a change is read from row to row. Files are parsed and never imported; the standard library alone is used.

What is counted: `function` is every function and method, also nested ones, from its `def` to its last line. It is `annotated`
when its result and every parameter but `self` and `cls` are. `inside` are imports inside functions, for 1000 lines. `flat` is
the largest number of files directly in one folder. `docstrings` is the share of modules, and of classes, functions and methods
whose names begin without an underscore, that have one.
"""

import argparse
import ast
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LONG_FILE = 400
SKIPPED = {"tests", "test", "_tests", "__pycache__", "node_modules", "build"}
HEAD = (
    "",
    "files",
    "lines",
    "median",
    "largest",
    "95 % of functions up to",
    "annotated",
    "inside / 1000",
    "flat",
    f"over {LONG_FILE}",
    "docstrings",
)
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class File:
    """What is counted of one file."""

    path: Path
    """Within its tree."""
    lines: int
    lengths: tuple[int, ...] = ()
    """Of its functions, in lines."""
    annotated: int = 0
    inside: int = 0
    documentable: int = 0
    documented: int = 0


def measure(path: Path, tree: Path) -> File:
    """Reads one file. One that this Python cannot parse has its lines counted, and is named on stderr."""
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = len(text.splitlines())
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        print(f"{path}: not parsed: {error}", file=sys.stderr)
        return File(path.relative_to(tree), lines)
    functions = [node for node in ast.walk(module) if isinstance(node, _Function)]
    public = [node for node in _declared(module) if not node.name.startswith("_")]
    documented = (
        [ast.get_docstring(node, clean=False) is not None for node in (module, *public)] if text.strip() else []
    )
    return File(
        path.relative_to(tree),
        lines,
        tuple((node.end_lineno or node.lineno) - node.lineno + 1 for node in functions),
        annotated=sum(map(_is_annotated, functions)),
        inside=_imports_inside(functions),
        documentable=len(documented),
        documented=sum(documented),
    )


def _declared(node: ast.Module | ast.ClassDef) -> Iterator[ast.ClassDef | _Function]:
    """Classes, functions and methods; not those inside a function."""
    for child in node.body:
        if isinstance(child, ast.ClassDef | _Function):
            yield child
        if isinstance(child, ast.ClassDef):
            yield from _declared(child)


def _is_annotated(function: _Function) -> bool:
    given = function.args
    named = [*given.posonlyargs, *given.args]
    if named and named[0].arg in ("self", "cls"):
        del named[0]
    every = [*named, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    has_result = function.returns is not None or function.name == "__init__"
    return has_result and all(each.annotation is not None for each in every)


def _imports_inside(functions: Iterable[_Function]) -> int:
    nodes = {node for function in functions for node in ast.walk(function)}
    return sum(isinstance(node, ast.Import | ast.ImportFrom) for node in nodes)


def files_of(tree: Path) -> list[File]:
    """Every file of Python below a folder, but for tests and what is hidden."""
    found = []
    for path in sorted(tree.rglob("*.py")):
        folders = path.relative_to(tree).parts[:-1]
        if not any(part in SKIPPED or part.startswith(".") for part in folders):
            found.append(measure(path, tree))
    return found


def packages(files: Sequence[File]) -> dict[str, list[File]]:
    """Files by top-level folder; those of the largest one by the folder below."""
    tops: dict[str, list[File]] = {}
    for file in files:
        tops.setdefault(file.path.parts[0] if len(file.path.parts) > 1 else ".", []).append(file)
    largest = max(tops, key=lambda name: sum(file.lines for file in tops[name]), default="")
    groups: dict[str, list[File]] = {}
    for top, members in tops.items():
        for file in members:
            below = file.path.parts[1] if top == largest and len(file.path.parts) > 2 else ""
            groups.setdefault(f"{top}.{below}" if below else top, []).append(file)
    return dict(sorted(groups.items()))


def row(name: str, files: Sequence[File]) -> tuple[str, ...]:
    """The numbers of some files as cells, in the order of HEAD."""
    lines = [file.lines for file in files] or [0]
    lengths = sorted(length for file in files for length in file.lengths)
    flat: dict[Path, int] = {}
    for file in files:
        flat[file.path.parent] = flat.get(file.path.parent, 0) + 1
    folder = max(flat, key=lambda each: flat[each], default=Path())
    return (
        name,
        str(len(files)),
        str(sum(lines)),
        f"{statistics.median(lines):.0f}",
        str(max(lines)),
        str(lengths[max(0, -(-len(lengths) * 95 // 100) - 1)]) if lengths else "-",
        _share(sum(file.annotated for file in files), len(lengths)),
        f"{1000 * sum(file.inside for file in files) / max(1, sum(lines)):.1f}",
        f"{flat.get(folder, 0)} ({folder.as_posix()})",
        str(sum(count > LONG_FILE for count in lines)),
        _share(sum(file.documented for file in files), sum(file.documentable for file in files)),
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Markdown that also reads well in a terminal."""
    widths = [max(len(cells[column]) for cells in (HEAD, *rows)) for column in range(len(HEAD))]
    lines = [HEAD, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"
        for cells in lines
    )


def report(trees: Sequence[Path]) -> str:
    """The table of one tree, or of several beside each other."""
    measured = [(str(tree), files_of(tree)) for tree in trees]
    if len(measured) == 1:
        name, files = measured[0]
        return table([*(row(*group) for group in packages(files).items()), row(f"all of {name}", files)])
    grouped = [(name, packages(files)) for name, files in measured]
    names = sorted({package for _, groups in grouped for package in groups})
    rows = [row(f"all of {name}", files) for name, files in measured]
    for package in names:
        rows += [row(f"{package} of {name}", groups[package]) for name, groups in grouped if package in groups]
    return table(rows)


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="metrics.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "trees", metavar="TREE", nargs="*", type=Path, help="a folder with Python files; `src` when none is given"
    )
    trees = parser.parse_args(argv).trees or [Path("src")]
    missing = [tree for tree in trees if not tree.is_dir()]
    if missing:
        print(f"{missing[0]} is no folder", file=sys.stderr)
        return 2
    print(report(trees))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
