"""Everything killed with -9 while runs come and go and an endpoint serves; each test ends with a table of what was counted.

As a part of `make test-real` for minutes; `make soak` takes SOAK_SECONDS (an hour), a sixth of them for the workers.
"""

import itertools
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import end_all
from tests.journeys.endpoints import ECHO, Service, load
from tests.journeys.kills import logged, submit, text_of, until
from tests.real.storm import RECORDS, Storm
from tests.shared.disks import small_disk

from roost import Experiment, Workspace
from roost.domain.endpoints import Limits
from roost.domain.errors import RoostError

SOAK = float(os.environ.get("ROOST_SOAK_SECONDS") or 0)
STORM_SECONDS, STORM_EVERY = (SOAK * 5 / 6, 3.0) if SOAK else (120.0, 2.0)
WORKER_SECONDS, WORKER_EVERY = SOAK / 6 if SOAK else 60.0, 5.0
pytestmark = [pytest.mark.real, pytest.mark.timeout(int(SOAK) + 600)]

# Logs until the first file is there, waits for the second, keeps an output, and ends.
PATIENT = """
import os, sys, time
from azureml.core import Run

run, count = Run.get_context(), 0
while not os.path.exists(sys.argv[1]):
    run.log("loss", count)
    count += 1
    time.sleep(0.01)
print("logged", count, flush=True)
open(sys.argv[2], "w").write(str(count))
while not os.path.exists(sys.argv[3]):
    time.sleep(0.05)
open("outputs/model.txt", "w").write("weights")
"""


def test_no_record_is_lost_or_doubled_whatever_is_killed(
    workspace: Workspace, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = int(os.environ.get("ROOST_SOAK_SEED") or time.time())
    tally = Storm(Experiment(workspace, "storm"), home, tmp_path, seed).rage(STORM_SECONDS, STORM_EVERY)
    with capsys.disabled():
        print(f"\nA storm of {STORM_SECONDS:.0f} s (ROOST_SOAK_SEED={seed}):{tally.table()}")
    assert tally.written["points"] > 0
    assert {kind: (tally.lost[kind], tally.doubled[kind]) for kind in RECORDS} == dict.fromkeys(RECORDS, (0, 0))
    assert tally.processes_left == 0


def test_two_replicas_whose_workers_are_killed_every_five_seconds_fail_no_request(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    service = Service(workspace)
    endpoint = service.deploy(ECHO.format(text=""), limits=Limits(min_replicas=2, max_replicas=2))
    end, kills = time.monotonic() + WORKER_SECONDS, 0
    with load(endpoint.port) as requests:
        for turn in itertools.count():
            due = time.monotonic() + WORKER_EVERY
            ready = sorted(service.ready().items())
            if ready:
                os.kill(ready[turn % len(ready)][1], signal.SIGKILL)
                kills += 1
            if time.monotonic() + WORKER_EVERY > end:
                break
            time.sleep(max(0.0, due - time.monotonic()))
        requests.more(20)
    with capsys.disabled():
        print(f"\nworkers killed {kills:,}, requests {len(requests.answers):,}, failed {len(requests.failed):,}")
    assert kills >= 2
    assert requests.failed == []


@pytest.fixture
def small_home(home: Path) -> Iterator[Path]:
    """The home on a disk of its own, which a file can fill."""
    with small_disk(home, "64m"):
        yield home
        end_all(home)  # while its record can be read


def fill(home: Path) -> Path:
    filler = home / "filler"
    with open(filler, "wb", buffering=0) as file:
        piece = bytes(65536)
        while piece:
            try:
                file.write(piece)
            except OSError:
                piece = piece[: len(piece) // 2]
    return filler


def points(run: object) -> int:
    try:
        return len(logged(run))  # type: ignore[arg-type]
    except RoostError:
        return 0


@pytest.mark.parametrize("moment", ["while it runs", "when it ends"])
def test_a_full_disk_loses_nothing_that_was_written_and_the_run_ends_once_there_is_room(
    small_home: Path, tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOST_DISK_LIMIT", "0")
    enough, told, end = (tmp_path / name for name in ("enough", "told", "end"))
    run = submit(Experiment(Workspace(), "full"), tmp_path, PATIENT, str(enough), str(told), str(end))
    until(lambda: points(run) > 50)
    if moment == "when it ends":
        enough.touch()
        count = int(until(lambda: text_of(told)))
        filler = fill(small_home)
        end.touch()
        time.sleep(3)  # it ends, or tries to, with no room
        filler.unlink()
    else:
        filler = fill(small_home)
        time.sleep(3)
        filler.unlink()
        more = points(run)
        until(lambda: points(run) > more)
        enough.touch()
        count = int(until(lambda: text_of(told)))
        end.touch()
    until(lambda: run.get_status() in ("Completed", "Failed"), seconds=120)
    found = logged(run)
    assert found == sorted(set(found)), "none doubled, none out of order"
    if moment == "when it ends":
        assert found == list(range(count))
    else:
        assert found[:50] == list(range(50))
        assert found[-1] == count - 1, "what was logged once there was room"
    assert "user_logs/std_log.txt" in run.get_file_names()
