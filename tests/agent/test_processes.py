"""Real processes: found by ancestry and mark, ended as a whole."""

import os
import select
import signal
import subprocess
import sys
import textwrap
import uuid

import pytest

from roost.agent.processes import MARK, Started, Tree, descendants, marked, wait
from roost.machine.processes import Known, known


@pytest.fixture
def run_id():
    """A mark that no other test has; whatever carries it at the end is ended."""
    mark = f"test_{uuid.uuid4().hex}"
    yield mark
    for process in marked(mark):
        os.kill(process.pid, signal.SIGKILL)


@pytest.fixture
def spawn(run_id, tmp_path):
    """Starts a Python script with the run's mark and waits until it has printed `ready`."""
    children = []

    def start(code, **env):
        child = subprocess.Popen(
            [sys.executable, "-u", "-c", textwrap.dedent(code)],
            env={**os.environ, MARK: run_id, **env},
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        children.append(child)
        assert child.stdout.readline() == b"ready\n"
        return child

    yield start
    for child in children:
        child.kill()
        child.wait()
        child.stdout.close()


DOUBLE_FORK = """
    import os, signal, sys, time
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(write, b"x")
            time.sleep(600)
        os._exit(0)
    os.wait(); os.read(read, 1)
    print("ready"); sys.stdout.flush()
    time.sleep(600)
"""


def test_a_tree_with_setsid_grandchildren_is_ended(run_id, spawn):
    child = spawn(DOUBLE_FORK)
    assert len(marked(run_id)) == 2
    assert Tree(run_id).end() == 2
    assert marked(run_id) == []
    assert child.wait() == -signal.SIGTERM


def test_a_process_that_ignores_sigterm_is_killed(run_id, spawn):
    child = spawn(
        """
        import signal, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("ready")
        time.sleep(600)
        """
    )
    assert Tree(run_id).end(polite=0.2) == 1
    assert child.wait() == -signal.SIGKILL


def test_without_patience_there_is_no_word_before(run_id, spawn):
    child = spawn(
        """
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
        print("ready")
        time.sleep(600)
        """
    )
    assert Tree(run_id).end(polite=0) == 1
    assert child.wait() == -signal.SIGKILL


def test_sigterm_comes_first_so_that_a_script_can_save_its_work(run_id, spawn, tmp_path):
    child = spawn(
        f"""
        import pathlib, signal, sys, time
        def save(*_):
            pathlib.Path({str(tmp_path / "saved")!r}).write_text("checkpoint")
            sys.exit(7)
        signal.signal(signal.SIGTERM, save)
        print("ready")
        time.sleep(600)
        """
    )
    Tree(run_id).end()
    assert child.wait() == 7
    assert (tmp_path / "saved").read_text() == "checkpoint"


def test_a_stopped_process_is_ended_too(run_id, spawn):
    child = spawn("import time; print('ready'); time.sleep(600)")
    os.kill(child.pid, signal.SIGSTOP)
    Tree(run_id).end()
    assert child.wait() == -signal.SIGTERM


def test_fifty_children_that_start_children_are_ended(run_id, spawn):
    child = spawn(
        """
        import os, signal, sys, time
        for _ in range(50):
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                for _ in range(3):
                    time.sleep(0.2)
                    os.fork()
                time.sleep(600)
        print("ready"); sys.stdout.flush()
        time.sleep(600)
        """
    )
    assert Tree(run_id).end(polite=0.3) >= 51
    child.wait()
    assert marked(run_id) == []


def test_descendants_are_found_without_a_mark(run_id, spawn):
    child = spawn(
        """
        import subprocess, sys
        inner = subprocess.Popen(["sleep", "600"], env={})
        print("ready"); sys.stdout.flush()
        inner.wait()
        """
    )
    [inner] = descendants(child.pid)
    assert Tree(run_id).members(marks=False) == []
    tree = Tree(run_id, known(child.pid))
    assert tree.members() == [inner]
    assert tree.end() == 1
    assert not inner.lives
    assert child.wait() == 0


def test_a_mark_is_taken_whole(run_id, spawn):
    spawn("import time; print('ready'); time.sleep(600)", **{MARK: run_id + "0"})
    assert marked(run_id) == []
    assert len(marked(run_id + "0")) == 1


def test_another_process_of_the_same_number_is_left_alone():
    me = known(os.getpid())
    assert me.lives
    assert not Known(me.pid, me.started - 1).lives


def test_started_has_one_log_and_a_session_of_its_own(tmp_path):
    log = tmp_path / "log"
    code = "import os, sys; print(os.getsid(0) == os.getpid()); sys.stdout.flush(); sys.stderr.write('err')"
    process = Started([sys.executable, "-c", code], folder=tmp_path, environment={}, log=log)
    read, write = os.pipe()
    try:
        assert wait([process], read, None)
        assert process.exit_code() == 0
        assert log.read_text() == "True\nerr"
    finally:
        os.close(read)
        os.close(write)
        os.close(process.fd)


def test_wait_returns_for_a_wake_and_for_a_deadline(tmp_path):
    process = Started(["sleep", "600"], folder=tmp_path, environment=dict(os.environ), log=tmp_path / "log")
    read, write = os.pipe()
    try:
        assert not wait([process], read, 0.0)
        os.write(write, b"!")
        assert wait([process], read, None)
        assert process.exit_code() is None
    finally:
        os.kill(process.pid, signal.SIGKILL)
        select.select([process.fd], [], [])
        assert process.exit_code() == -signal.SIGKILL
        for fd in (read, write, process.fd):
            os.close(fd)
