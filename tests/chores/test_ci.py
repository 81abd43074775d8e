"""`.ci/run` ends with the time of each part in one table, also when a step failed. A make of its own stands for the real one."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKE = """#!/bin/sh
echo "$@" >>calls
[ "$1" != "$BREAKS" ] || exit 2
[ "$1" != test-real ] || printf 'studio\\t7\\tpassed\\nbench\\t0\\tleft out\\n' >>"$ROOST_TEST_TIMES"
"""


def run(folder: Path, breaks: str) -> "subprocess.CompletedProcess[str]":
    (folder / ".ci").mkdir()
    (folder / "bin").mkdir()
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci")
    (folder / "bin" / "make").write_text(MAKE)
    (folder / "bin" / "make").chmod(0o755)
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "python").write_text('#!/bin/sh\n[ "$*" = "-m tests.skips" ] && echo root,fuse\n')
    (folder / ".venv" / "bin" / "python").chmod(0o755)
    own = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "BREAKS": breaks, "CI_SECONDS": "1000"}
    for name in ("REAL_SECONDS", "ROOST_TEST_REQUIRE"):
        own.pop(name, None)
    return subprocess.run(["bash", str(folder / ".ci" / "run")], env=own, capture_output=True, text=True)


def table(said: str) -> list[str]:
    return re.sub(r" +\d+ s", " N s", said[said.index("=== the time") :]).splitlines()


def test_the_time_of_each_part(tmp_path: Path) -> None:
    done = run(tmp_path, breaks="")
    assert (done.returncode, done.stderr) == (0, "")
    assert "=== tests may not skip for: root,fuse\n" in done.stdout
    assert table(done.stdout) == [
        "=== the time of each part",
        "    make install N s  passed",
        "    make system N s  passed",
        "    make lint N s  passed",
        "    make test N s  passed",
        "    studio N s  passed",
        "    bench N s  left out",
        "    make test-real N s  passed",
        "=== all of it: N s, passed; NOT RUN for want of time: bench",
    ]
    last = (tmp_path / "calls").read_text().splitlines()[-1]
    given = re.fullmatch(r"test-real REAL_SECONDS=(\d+)", last)
    assert given and 0 < int(given[1]) <= 940, "what is left of all the seconds"


@pytest.mark.parametrize("breaks", ["lint", "test"])
def test_a_step_that_fails_ends_it_and_is_named(tmp_path: Path, breaks: str) -> None:
    done = run(tmp_path, breaks)
    assert done.returncode == 2
    assert table(done.stdout)[-2:] == [f"    make {breaks} N s  failed", "=== all of it: N s, failed"]
