import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from roost.machine import locks

HOLDER = """
import sys, time
from pathlib import Path
from roost.machine import locks
descriptor = locks.hold(Path(sys.argv[1]), shared=sys.argv[2] == "shared")
print("held", flush=True)
time.sleep(100)
"""


def begin(path: Path, how: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path), how], stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "held\n"
    return process


def end(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_lock_keeps_others_out_until_its_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = begin(path, "alone")
    assert locks.is_held(path)
    assert locks.try_hold(path) is None
    with locks.tried(path) as alone:
        assert not alone
    assert not locks.FileLock(path).acquire(wait=False)
    end(holder)
    assert not locks.is_held(path)
    with locks.tried(path) as alone:
        assert alone and locks.is_held(path)
    assert not locks.is_held(path)


def test_shared_ones_go_together_and_keep_one_that_wants_to_be_alone_out(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = begin(path, "shared")
    with locks.held(path, shared=True):
        assert locks.try_hold(path) is None
    end(holder)
    descriptor = locks.try_hold(path)
    assert descriptor is not None
    os.close(descriptor)


def test_a_program_that_the_holder_starts_does_not_hold_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = locks.FileLock(path)
    with lock:
        child = subprocess.Popen(["sleep", "100"])
    try:
        assert not locks.is_held(path)
        lock.release()  # twice
    finally:
        child.kill()
        child.wait()


def test_no_file_is_held_by_nobody_and_a_link_can_be_refused(tmp_path: Path) -> None:
    assert not locks.is_held(tmp_path / "missing")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        locks.try_hold(tmp_path / "link", flags=os.O_NOFOLLOW)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOLCK, "No locks available")])
def test_one_who_was_interrupted_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path, flock = tmp_path / "lock", fcntl.flock

    def interrupted(file: int, how: int) -> None:
        flock(file, how)
        raise error

    for hold in (locks.hold, locks.try_hold):
        before = os.listdir("/proc/self/fd")
        with monkeypatch.context() as patch, pytest.raises(type(error)):
            patch.setattr(fcntl, "flock", interrupted)
            hold(path)
        assert os.listdir("/proc/self/fd") == before
        assert not locks.is_held(path)
