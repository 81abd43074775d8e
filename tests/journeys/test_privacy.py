"""Files of the home are for its owner alone, whatever umask the user has; what the user's programs write follows that umask."""

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.journeys.test_submit import submit

from roost import Dataset, Datastore, Experiment, Workspace

pytestmark = pytest.mark.slow

SCRIPT = """
import os, sys, time
from azureml.core import Run

run = Run.get_context()
run.log("loss", 1)
run.get_secrets(["db-password"])
umask = os.umask(0)
os.umask(umask)
print("umask %03o" % umask)
os.makedirs("outputs", exist_ok=True)
open("outputs/model.txt", "w").write("weights")
os.makedirs(sys.argv[1])
open(sys.argv[1] + "/file", "w").write("mine")
open(sys.argv[2], "w").close()
while not os.path.exists(sys.argv[3]):
    time.sleep(0.01)
"""


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0o002)
    yield
    os.umask(before)


def opened(home: Path) -> list[str]:
    """What others could read, had they a way to it; without the script's own files and sockets."""
    found = []
    for folder, folders, files in os.walk(home):
        if Path(folder).parent == home / "runs":
            folders[:] = [name for name in folders if name != "work"]
        for name in (*folders, *files):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            if not stat.S_ISLNK(mode) and mode & 0o077:
                found.append(f"{path.relative_to(home)} {stat.S_IMODE(mode):o}")
    return found


def test_the_home_is_closed_and_the_script_keeps_its_umask(
    open_umask: None, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    (home / "cache").mkdir(parents=True)
    (home / "old.log").touch()
    assert (home / "cache").stat().st_mode & 0o777 == 0o775
    (tmp_path / "disk").mkdir()
    workspace = Workspace()
    workspace.get_default_keyvault().set_secret("db-password", "hunter22")
    disk = Datastore.register_folder(workspace, "disk", str(tmp_path / "disk"))
    disk.upload_files([__file__], target_path="deep/er")
    workspace.get_default_datastore().upload_files([__file__], target_path="own")
    assert Dataset.File.from_files((disk, "deep")).download(str(tmp_path / "got"))
    begun, end, theirs = (tmp_path / name for name in ("begun", "end", "theirs"))
    run = submit(Experiment(workspace, "tests"), tmp_path, SCRIPT, theirs, begun, end)
    deadline = time.monotonic() + 60
    while not begun.exists():
        assert time.monotonic() < deadline and run.get_status() != "Failed", run.get_details()
        time.sleep(0.05)
    assert "\n".join(opened(home)) == "", "while it runs"
    end.touch()
    run.wait_for_completion()
    run.download_file("user_logs/std_log.txt", str(tmp_path / "log"))
    assert "umask 002" in (tmp_path / "log").read_text()
    assert "\n".join(opened(home)) == "", "when it has ended"
    for path, mode in ((theirs, 0o775), (theirs / "file", 0o664), (tmp_path / "disk" / "deep" / "er", 0o775)):
        assert stat.S_IMODE(path.stat().st_mode) == mode, path
    (stored,) = (tmp_path / "disk" / "deep" / "er").iterdir()
    assert stat.S_IMODE(stored.stat().st_mode) == 0o664
