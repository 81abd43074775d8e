import os
import subprocess

from roost.machine import processes


def test_a_process_with_any_name_is_read() -> None:
    found = processes.look(os.getpid())
    assert found and found.parent == os.getppid() and found.state == "R" and found.ticks > 0
    shell = subprocess.Popen(["bash", "-c", "exec -a 'a) Z 1 (b' sleep 100"])
    try:
        there = processes.look(shell.pid)
        assert there and there.parent == os.getpid() and not there.is_zombie
    finally:
        shell.kill()
        shell.wait()


def test_one_that_has_ended_lives_no_more_before_and_after_it_is_reaped() -> None:
    child = subprocess.Popen(["sleep", "100"])
    known = processes.known(child.pid)
    assert known.lives and processes.started(child.pid) == known.started
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    found = processes.look(child.pid)
    assert found and found.is_zombie
    assert not known.lives and processes.started(child.pid) is None
    child.wait()
    assert processes.look(child.pid) is None
    assert processes.known(child.pid) == processes.Known(child.pid, 0) and not processes.known(child.pid).lives


def test_a_number_that_was_given_again_is_another_process() -> None:
    assert not processes.Known(os.getpid(), processes.known(os.getpid()).started - 1).lives
