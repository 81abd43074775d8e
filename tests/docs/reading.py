"""Runs the code blocks of a page as a reader does: from top to bottom, in one folder, with one set of Python names.

`table.py` holds what a page does not show: files of the reader, values that stand for an id or a host, and blocks that need
more than one machine.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roost import Experiment, ScriptRunConfig, Workspace

BLOCK = re.compile(r"^```(python|sh|shell)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = 100


@dataclass(frozen=True)
class NotRun:
    """A block that does not run here."""

    reason: str


@dataclass(frozen=True)
class InJob:
    """A block of a training script: it runs as a submitted script."""

    before: str = ""
    """Lines of the script that the page leaves out."""
    arguments: Callable[[dict[str, Any]], list[object]] = lambda _: []
    """The script's arguments, made from the reader's names."""


@dataclass(frozen=True)
class Saved:
    """A block that the reader saves as this file."""

    path: str


@dataclass(frozen=True)
class Prepared:
    """A block that needs some Python before it."""

    before: str


Entry = NotRun | InJob | Saved | Prepared


@dataclass(frozen=True)
class Page:
    """How one page is read."""

    files: Mapping[str, str | bytes] = field(default_factory=dict)
    """Files in the reader's folder."""
    before: str = ""
    """Python that runs before the first block."""
    blocks: Mapping[str, Entry] = field(default_factory=dict)
    """By a piece of text that one block has and no other. A block that is not listed simply runs."""
    changes: Mapping[str, str | Callable[[dict[str, Any]], str]] = field(default_factory=dict)
    """Texts of blocks that this machine replaces, such as a host or `RUN`."""
    around: Callable[[Path], AbstractContextManager[object]] = lambda folder: nullcontext()
    """What the page needs around it. Its value is `given` among the reader's names."""


def blocks(text: str) -> list[tuple[str, str]]:
    """The language and the code of each Python and shell block."""
    return BLOCK.findall(text)


def way(page: Page, code: str) -> Entry | None:
    """The entry of a block in its page's table."""
    entries = [entry for piece, entry in page.blocks.items() if piece in code]
    assert len(entries) < 2, f"Two entries of the table fit this block:\n{code}"
    return entries[0] if entries else None


def read(text: str, page: Page, folder: Path) -> dict[str, int]:
    """Runs the page's blocks; the number of blocks by what was done with them."""
    for name, content in page.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    names: dict[str, Any] = {"__name__": "reader", "folder": folder, "runs": []}
    counts = dict.fromkeys(("run", "run in a job", "saved", "not run"), 0)
    with page.around(folder) as names["given"]:
        exec(page.before, names)
        for language, printed in blocks(text):
            code = _changed(printed, page, names)
            print(f"--- {language}\n{code}")
            entry = way(page, printed)
            match entry:
                case NotRun():
                    counts["not run"] += 1
                case Saved():
                    (folder / entry.path).write_text(code)
                    counts["saved"] += 1
                case InJob():
                    _run_in_job(entry, code, folder, names)
                    counts["run in a job"] += 1
                case Prepared() | None if language == "python":
                    exec(entry.before if entry else "", names)
                    exec(compile(code, "<block>", "exec"), names)
                    counts["run"] += 1
                case _:
                    _run_in_shell(code, folder)
                    counts["run"] += 1
    return counts


def _changed(code: str, page: Page, names: dict[str, Any]) -> str:
    for old, new in page.changes.items():
        if old in code:
            code = code.replace(old, new if isinstance(new, str) else new(names))
    return code


def _run_in_job(entry: InJob, code: str, folder: Path, names: dict[str, Any]) -> None:
    (folder / "block.py").write_text(entry.before + code)
    src = ScriptRunConfig(str(folder), script="block.py", arguments=entry.arguments(names))
    run = Experiment(Workspace.from_config(), "guides").submit(src)
    run.wait_for_completion(show_output=True)
    names["runs"].append(run)


def _run_in_shell(code: str, folder: Path) -> None:
    desktop = ("DISPLAY", "WAYLAND_DISPLAY")
    variables = {name: value for name, value in os.environ.items() if name not in desktop}
    variables |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", code],
        cwd=folder,
        env=variables,
        input="a secret\n",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, f"exit code {done.returncode}:\n{done.stdout[-3000:]}"
