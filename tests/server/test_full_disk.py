"""A start with no room left, at every step of it: it ends by itself with words about the disk, and later works."""

import fcntl
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.forks import Attempt, Forks, forks
from tests.shared.disks import small_disk

from roost.server import ending

KB = 1024


@pytest.fixture(scope="module")
def starts() -> Iterator[Forks]:
    with forks() as made:
        yield made


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", "32m") as place:
        yield place


def leave(disk: Path, room: int) -> None:
    """Fills the disk but for so many bytes."""
    filler = disk / "filler"
    filler.unlink(missing_ok=True)
    found = os.statvfs(disk)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, found.f_bavail * found.f_frsize - room)


def is_locked(home: Path) -> bool:
    try:
        with (home / "server.lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _check_refusal(attempt: Attempt, home: Path, room: int) -> None:
    assert attempt.code == 2, (room, attempt)
    assert "room left on the disk" in attempt.said, (room, attempt)
    assert not is_locked(home), room


def _first_that_starts(starts: Forks, disk: Path, rooms: range) -> int:
    """The room, of these, with which it starts; every start with less is refused in words."""
    home = disk / "home"
    for room in rooms:
        leave(disk, room)
        attempt = starts.start(home)
        if attempt.is_ready:
            assert attempt.code == 0, attempt
            return room
        _check_refusal(attempt, home, room)
    raise AssertionError(f"It does not start with {rooms.stop} bytes.")


def test_a_new_home(starts: Forks, disk: Path) -> None:
    home = disk / "home"
    for room in range(0, 40 * KB, 4 * KB):
        leave(disk, room)
        _check_refusal(starts.start(home), home, room)
    enough = _first_that_starts(starts, disk, range(64 * KB, 4096 * KB, 128 * KB))
    for path in (home / "roost.db", home / "server.json", home / "token"):
        path.unlink()
    for path in (home / "roost.db.mark",):
        path.unlink(missing_ok=True)
    fine = _first_that_starts(starts, disk, range(enough - 128 * KB, enough + 256 * KB, 8 * KB))
    assert fine
    (disk / "filler").unlink()
    assert starts.start(home).is_ready


@pytest.mark.parametrize("then", ["end", "kill"])
def test_a_home_that_is_in_use(starts: Forks, disk: Path, then: str) -> None:
    """Ended politely, or killed with its write-ahead log left behind."""
    home = disk / "home"
    assert starts.start(home, then=then).is_ready
    (home / "reserve").unlink(missing_ok=True)
    (home / "logs/server.log").write_bytes(b"RuntimeError: of another day\n")
    assert _first_that_starts(starts, disk, range(0, 512 * KB, 4 * KB))
    (disk / "filler").unlink()
    assert starts.start(home).is_ready


def test_the_reserve_is_given_up_for_a_start(starts: Forks, disk: Path) -> None:
    home = disk / "home"
    assert starts.start(home).is_ready
    assert (home / "reserve").stat().st_blocks * 512 >= 8 * KB * KB
    leave(disk, 0)
    assert starts.start(home).is_ready
    assert not (home / "reserve").exists()
    (disk / "filler").unlink()
    assert starts.start(home).is_ready
    assert (home / "reserve").exists()


STEPS = (
    "roost.server.home:prepare",
    "roost.server.home:lock",
    "roost.server.home:bind",
    "roost.server.logs:begin",
    "roost.server.home:token",
    "roost.server.wiring:open_store",
    "roost.server.home:sign_blobs",
    "roost.server.home:announce",
)
LATE = ("roost.server.serving:Control.start", "roost.server.serving:Upkeep.start")


@pytest.mark.parametrize("step", [*STEPS, *LATE])
def test_a_step_that_fails_ends_it(starts: Forks, tmp_path: Path, step: str) -> None:
    attempt = starts.start(tmp_path / "home", fault=f"{step}:raise")
    if step in STEPS:
        assert attempt.code == 1, attempt
        assert "RuntimeError: it cannot" in attempt.said
    else:
        assert attempt.is_ready
    assert not is_locked(tmp_path / "home")
    assert "RuntimeError: it cannot" in (tmp_path / "home/logs/server.log").read_text()
    assert starts.start(tmp_path / "home").is_ready


@pytest.mark.parametrize("step", STEPS)
def test_a_signal_ends_it_at_every_step(starts: Forks, tmp_path: Path, step: str) -> None:
    attempt = starts.start(tmp_path / "home", fault=f"{step}:hang")
    assert (attempt.said, attempt.code) == ("hangs\n", -signal.SIGTERM)
    assert not is_locked(tmp_path / "home")


@pytest.mark.parametrize("step", ["roost.server.serving:Control.stop", "roost.store.sql.store:SqlStore.close"])
def test_an_end_that_hangs_ends(starts: Forks, tmp_path: Path, step: str) -> None:
    attempt = starts.start(tmp_path / "home", fault=f"{step}:hang")
    assert attempt.is_ready
    assert attempt.code == 1
    assert "most recent call first" in (tmp_path / "home/logs/server.log").read_text()
    assert not is_locked(tmp_path / "home")


def test_the_bound_of_an_end_is_shorter_than_down_waits() -> None:
    assert ending.SECONDS < 15
