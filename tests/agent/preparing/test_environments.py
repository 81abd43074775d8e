import fcntl
import os
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from roost.agent.folder import Folder
from roost.agent.preparing import environments
from roost.agent.preparing.prepare import variables
from roost.domain.errors import InvalidInput
from roost.domain.plans import Access, Plan
from roost.domain.runs import RunSpec
from roost.environments import base, notes

LOCK = "cd" * 32


class Nobody:
    """A control plane and orders that must not be asked."""

    def __getattr__(self, name):
        raise AssertionError(f"asked for {name}")


def plan(lock):
    spec = RunSpec(script="train.py", interpreter="/usr/bin/python3")
    return Plan(run_id="exp_1_ab", workspace="ws1", experiment="exp", spec=spec, lock=lock)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "runs" / "exp_1_ab")


def test_without_a_lock_the_interpreter_stays(folder):
    assert environments.install(folder, plan(""), Nobody(), Nobody()) == plan("")


def test_a_prefix_that_is_there_needs_nobody(folder):
    prefix = folder.home / "envs" / LOCK
    prefix.mkdir(parents=True)
    (prefix / ".ready").touch()
    found = environments.install(folder, plan(LOCK), Nobody(), Nobody())
    assert found.spec.interpreter == str(prefix / "bin" / "python")
    own = {"PATH": "/usr/bin", "VIRTUAL_ENV": "/server", "PYTHONHOME": "/server"}
    env = variables(found, Access(url="", token=""), folder, folder.home, folder.root, own)
    assert env["VIRTUAL_ENV"] == str(prefix)
    assert env["PATH"].startswith(f"{prefix}/bin:")
    assert "PYTHONHOME" not in env


def test_what_is_not_as_it_was_asked_for_is_said_by_every_run(folder):
    prefix = folder.home / "envs" / LOCK
    folder.root.mkdir(parents=True)

    class Builder:
        def install(self, lock, place):
            place.mkdir(parents=True)
            notes.add(place, ["Python 3.6.15, the nearest to 3.6.2 on this node."])

    said = ("Installed natively instead of in the image x.", "Python 3.6.15, the nearest to 3.6.2 on this node.")
    environments.make(Builder(), base.Lock(python="3.6.15", platform="p", notes=said, body=""), prefix)
    (prefix / ".ready").touch()
    environments.install(folder, plan(LOCK), Nobody(), Nobody())
    assert sorted(folder.std_log.read_text().splitlines()) == [f"Environment: {note}" for note in said]


def test_a_blob_that_is_no_lock():
    link = SimpleNamespace(carrier=SimpleNamespace(get=lambda _: b"\xff\xfe\x00"))
    with pytest.raises(InvalidInput, match="is not a lock"):
        environments.fetch(link, LOCK)


def test_a_prefix_that_is_dropped_while_a_run_begins_is_not_taken_for_there(folder):
    prefix = folder.home / "envs" / LOCK
    prefix.mkdir(parents=True)
    (prefix / ".ready").touch()
    use = os.open(prefix.parent / f".{LOCK}.use", os.O_RDWR | os.O_CREAT)
    fcntl.flock(use, fcntl.LOCK_EX)  # as `drop` does
    with ThreadPoolExecutor(1) as pool:
        begun = pool.submit(environments.install, folder, plan(LOCK), Nobody(), Nobody())
        until_somebody_waits_for(os.fstat(use).st_ino)
        shutil.rmtree(prefix)
        os.close(use)
        with pytest.raises(AssertionError, match="asked for carrier"):  # for the lock, to install it anew
            begun.result(30)


def until_somebody_waits_for(inode: int) -> None:
    """Until a process or thread of this machine waits for a lock on that file."""
    end = time.monotonic() + 30
    while not any("->" in line and f":{inode} " in line for line in Path("/proc/locks").read_text().splitlines()):
        assert time.monotonic() < end, "nobody waits"
        threading.Event().wait(0.01)
