import contextlib
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from roost.domain.errors import InvalidInput
from roost.environments import base

NAME = "ab" * 32


def quiet(_: str) -> None:
    """Says nothing."""


def nothing() -> None:
    """Has nothing to do."""


def test_a_lock_reads_back_as_it_was_written() -> None:
    lock = base.Lock(python="3.8.18", platform="linux-x86_64", body="six==1.16.0 \\\n    --hash=sha256:00\n")
    assert base.read_lock(lock.text) == lock
    assert base.read_lock(base.Lock(python="3.11.7", platform="p", body="").text).body == ""


@pytest.mark.parametrize(
    "text", ["", "six==1.16.0\n", "# roost-lock 1\n# python 3.8\n", "# roost-lock 1\n# python 3.8.1\n"]
)
def test_what_is_no_lock_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a lock"):
        base.read_lock(text)


def test_a_prefix_is_there_once_it_is_whole(tmp_path: Path) -> None:
    assert base.find(tmp_path, NAME) is None

    def install(prefix: Path) -> None:
        assert not prefix.exists()
        (prefix / "bin").mkdir(parents=True)
        assert base.find(tmp_path, NAME) is None, "nobody uses it before all of it is there"

    made = base.ensure(tmp_path, NAME, install, quiet, nothing)
    assert base.find(tmp_path, NAME) == made == tmp_path / "envs" / NAME


def test_what_failed_or_was_killed_half_way_is_made_anew(tmp_path: Path) -> None:
    def fails(prefix: Path) -> None:
        prefix.mkdir()
        (prefix / "half").touch()
        raise base.BuildFailed("no")

    with pytest.raises(base.BuildFailed):
        base.ensure(tmp_path, NAME, fails, quiet, nothing)
    made = base.ensure(tmp_path, NAME, Path.mkdir, quiet, nothing)
    assert not (made / "half").exists()


def test_of_many_at_once_one_installs_and_the_others_wait(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()
    count: list[Path] = []
    said: list[str] = []

    def install(prefix: Path) -> None:
        count.append(prefix)
        prefix.mkdir()
        begun.set()
        assert go_on.wait(30)

    def wait() -> Path:
        return base.ensure(tmp_path, NAME, install, said.append, go_on.set)

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(wait)
        assert begun.wait(30)
        others = [pool.submit(wait) for _ in range(3)]
        assert {each.result() for each in (first, *others)} == {tmp_path / "envs" / NAME}
    assert len(count) == 1
    assert said
    assert all("waiting" in line for line in said)


def test_a_prefix_that_lost_what_it_needs_is_made_anew(tmp_path: Path) -> None:
    made = base.ensure(tmp_path, NAME, Path.mkdir, quiet, nothing)
    (made / "old").touch()

    def usable(prefix: Path) -> bool:
        return not (prefix / "old").exists()

    assert base.ensure(tmp_path, NAME, Path.mkdir, quiet, nothing) == made
    assert (made / "old").exists()
    assert base.ensure(tmp_path, NAME, Path.mkdir, quiet, nothing, usable) == made
    assert usable(made)
    assert base.find(tmp_path, NAME) == made
    (made / "new").touch()
    assert base.ensure(tmp_path, NAME, Path.mkdir, quiet, nothing, usable) == made
    assert (made / "new").exists(), "it is made anew once"


def test_a_prefix_goes_when_it_is_old_and_nobody_has_it(tmp_path: Path) -> None:
    made = base.ensure(tmp_path, NAME, Path.mkdir, quiet, nothing)
    os.utime(made / base.READY, (100, 100))
    assert base.unused(tmp_path, 100) == []
    assert base.unused(tmp_path, 101) == [made]
    held = base.hold(tmp_path, NAME)
    assert not base.drop(made)
    assert base.find(tmp_path, NAME) == made
    assert base.unused(tmp_path, 101) == [], "looking for it to use it counts as use"
    os.close(held)
    assert base.drop(made)
    assert not made.exists()
    assert base.ensure(tmp_path, NAME, Path.mkdir, quiet, nothing) == made


def test_what_was_left_half_made_goes_unless_somebody_makes_it(tmp_path: Path) -> None:
    half = tmp_path / "envs" / NAME
    kept: list[bool] = []

    def install(prefix: Path) -> None:
        (prefix / "bin").mkdir(parents=True)
        os.utime(prefix, (100, 100))
        assert base.unused(tmp_path, 101) == [half]
        kept.append(not base.drop(prefix))
        raise base.BuildFailed("no")

    with pytest.raises(base.BuildFailed):
        base.ensure(tmp_path, NAME, install, quiet, nothing)
    assert kept == [True], "it is being made"
    assert base.unused(tmp_path, 100) == []
    held = base.hold(tmp_path, NAME)
    assert not base.drop(half), "somebody is about to make it"
    os.close(held)
    assert base.drop(half)
    assert base.unused(tmp_path, 101) == []


def test_waiting_ends_when_it_is_not_wanted_any_more(tmp_path: Path) -> None:
    class Enough(Exception):
        """Raised while waiting."""

    def never() -> None:
        raise Enough

    def install(prefix: Path) -> None:
        with pytest.raises(Enough):
            base.ensure(tmp_path, NAME, Path.mkdir, quiet, never)
        prefix.mkdir()

    base.ensure(tmp_path, NAME, install, quiet, nothing)


HOLDER = """
import os, sys
from pathlib import Path
from roost.environments import base
from roost.environments.running import Runner, Words
with base.alone(Path(sys.argv[1]), print, lambda: None, ""):
    Runner(lambda line: print(line, flush=True), lambda: None, os.environ).run(
        ["sh", "-c", "echo $$; exec sleep 1000"], Words(""), scrub=str, hint=str)
"""


def test_what_a_killed_process_has_started_keeps_others_out(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        program = int(holder.stdout.readline())
        holder.kill()
    waited = []

    def end() -> None:
        waited.append(program)
        with contextlib.suppress(ProcessLookupError):
            os.kill(program, signal.SIGKILL)

    with base.alone(path, waited.append, end, "waiting"):
        assert waited[:2] == ["waiting", program]
        assert len(base.held()) == 1
    assert base.held() == ()
