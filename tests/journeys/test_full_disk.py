"""A full disk, from beginning to end: a run that goes on, its times, and room that is made when there is none."""

import contextlib
import os
import re
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.shared.disks import small_disk
from tests.shared.folders import tree
from tests.shared.servers import until
from typer.testing import CliRunner

from roost import Experiment, ScriptRunConfig, Workspace
from roost.cli.main import app
from roost.sdk.connection import embedded

pytestmark = pytest.mark.slow


@pytest.fixture
def full_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """On a disk of 48 MB that `fill` fills."""
    monkeypatch.setenv("ROOST_DISK_LIMIT", "0")
    with small_disk(home, "48m") as place:
        yield place
        (place / "filler").unlink(missing_ok=True)
        embedded.end(place)


def fill(disk: Path, room: int = 0) -> None:
    """Leaves so many bytes, as far as nobody else writes at the same time."""
    (disk / "filler").unlink(missing_ok=True)
    with (disk / "filler").open("wb") as file:
        for _ in range(100):
            found = os.statvfs(disk)
            with contextlib.suppress(OSError):
                os.posix_fallocate(file.fileno(), 0, found.f_bavail * found.f_frsize - room)
                return
    raise AssertionError(f"{disk} does not get full.")


def roost(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, (done.output, done.exception)
    return done.output


def test_the_time_without_room_is_not_the_run_s(full_home: Path, tmp_path: Path) -> None:
    script = """
        import os, time
        while not os.path.exists(os.environ["GO"]):
            time.sleep(0.01)
        open(os.environ["DONE"], "w").close()
    """
    tree(tmp_path, {"code/train.py": textwrap.dedent(script)})
    config = ScriptRunConfig(source_directory=str(tmp_path / "code"), script="train.py")
    config.environment_variables = {"GO": str(tmp_path / "go"), "DONE": str(tmp_path / "done")}
    run = Experiment(Workspace(), "train").submit(config)
    until(lambda: run.get_status() == "Running")
    (full_home / "reserve").unlink(missing_ok=True)
    fill(full_home)
    (tmp_path / "go").touch()
    until((tmp_path / "done").exists)
    time.sleep(4)  # nothing can be awaited: its agent tries, and is refused
    freed_at = time.time()
    (full_home / "filler").unlink()
    assert run.wait_for_completion(raise_on_error=False)["status"] == "Completed"
    ended_at = Workspace()._connection.client.call("GET", f"/api/runs/{run.id}")["ended_at"]
    assert ended_at < freed_at, "when the script ended, not when there was room to say so"


def test_an_agent_without_room_says_so(home: Path, tmp_path: Path) -> None:
    """Its folder alone is on the full disk, with room for ever more of what is written first, until it is enough."""
    tree(tmp_path, {"code/train.py": "print('Traceback (most recent call last): of another day')"})
    config = ScriptRunConfig(source_directory=str(tmp_path / "code"), script="train.py")
    experiment = Experiment(Workspace(), "train")
    ends = []
    with small_disk(home / "runs", "16m") as runs:
        for pages in range(12):
            fill(runs, 4096 * pages)
            run = experiment.submit(config)
            ends.append(run.wait_for_completion(raise_on_error=False)["status"])
            if ends[-1] == "Completed":
                break
            message = run.get_details()["error"]["error"]["message"]
            assert re.search("No space left|[Nn]o room (is )?left", message), (pages, message)
    assert ends[:4] == ["Failed"] * 4
    assert ends[-1] == "Completed"


def test_gc_frees_room_where_there_is_none(full_home: Path, tmp_path: Path) -> None:
    tree(tmp_path, {"code/train.py": "open('outputs/model.bin', 'wb').write(bytes(range(256)) * 40_000)"})
    config = ScriptRunConfig(source_directory=str(tmp_path / "code"), script="train.py")
    run = Experiment(Workspace(), "train").submit(config)
    assert run.wait_for_completion()["status"] == "Completed"
    for path in (full_home / "blobs").glob("*/*"):  # older than the grace
        os.utime(path, (1, 1))
    fill(full_home)
    said = roost("gc", "--experiment", "train", "--yes")
    assert "1 run deleted." in said
    assert "10.2 MB in" in said
    assert os.statvfs(full_home).f_bavail > 0


def test_gc_starts_a_control_plane_where_there_is_no_room(full_home: Path) -> None:
    Workspace()
    until((full_home / "reserve").exists)
    embedded.end(full_home)
    fill(full_home)
    assert "stored files freed" in roost("gc"), "the reserve is what it starts with"
    embedded.end(full_home)
    (full_home / "filler").unlink()
    (full_home / "reserve").unlink(missing_ok=True)
    tree(full_home, {"cache/snapshots/old": "x" * 3_000_000})
    os.utime(full_home / "cache/snapshots/old", (1, 1))
    fill(full_home)
    assert "3.0 MB of caches and environments dropped" in roost("gc"), "caches went first"
