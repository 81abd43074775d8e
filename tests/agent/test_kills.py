"""Each process of a run killed with -9 while it works: what was logged is kept, and nothing stays behind."""

import json
import os
import shutil
import signal
import sys
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.agent.conftest import control_plane
from tests.contracts.engine import eventually

from roost.agent import link, orders
from roost.agent.door.door import place
from roost.agent.folder import Folder
from roost.agent.orders import Halt
from roost.agent.processes import marked
from roost.domain.names import new_run_id
from roost.domain.plans import Access, Plan
from roost.domain.runs import Reason, RunSpec, RunStatus
from roost.engines.base import AgentState
from roost.engines.local import LocalEngine
from roost.machine.processes import look

pytestmark = pytest.mark.slow

SCRIPT = """
    import os, pathlib, subprocess, sys, time
    from roost_job.tracking.spool import Writer
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    writer = Writer(os.environ["ROOST_SPOOL"])
    pathlib.Path("outputs/early.txt").write_text("kept")
    pathlib.Path("logs/a.log").write_text("a line")
    for step in range(100):
        writer.number("loss", float(step), step)
    print("ready", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def own_plane_far_down(tmp_path):
    """A home whose path is too long for a socket."""
    home = tmp_path / ("deep" * 30)
    home.mkdir()
    with control_plane(home) as plane:
        yield plane


def test_a_killed_agent_leaves_no_socket_where_paths_are_long(own_plane_far_down):
    plane = own_plane_far_down
    run = plane.submit({"train.py": SCRIPT})
    eventually(lambda: plane.says(run, "ready"))
    socket = place(Folder(plane.folder(run)))
    assert socket.exists()
    os.kill(plane.agent(run), signal.SIGKILL)
    assert plane.wait(run).reason is Reason.AGENT_LOST
    assert not socket.parent.exists()


def keeper_of(pid):
    return look(pid).parent


@pytest.fixture
def running(plane):
    run = plane.submit({"train.py": SCRIPT})
    eventually(lambda: plane.says(run, "ready"))
    return run


def assert_kept(plane, run):
    assert plane.metrics(run)["loss"] == [float(step) for step in range(100)]
    assert plane.log(run) == "ready\n"
    assert plane.read(run, "outputs/early.txt") == b"kept"
    assert plane.read(run, "logs/a.log") == b"a line"
    assert marked(Folder(plane.folder(run)).mark) == []
    eventually(lambda: not plane.folder(run).exists())


def test_a_killed_agent(plane, running):
    began = time.monotonic()
    os.kill(plane.agent(running), signal.SIGKILL)
    run = plane.wait(running)
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.AGENT_LOST)
    assert run.message.startswith("The run's agent ended unexpectedly, and the script was ended with it.")
    assert time.monotonic() - began < 30
    assert_kept(plane, run)


def test_a_killed_agent_and_its_keeper(plane, running):
    agent = plane.agent(running)
    os.kill(keeper_of(agent), signal.SIGKILL)
    os.kill(agent, signal.SIGKILL)
    run = plane.wait(running)
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.AGENT_LOST)
    assert_kept(plane, run)


def test_a_script_that_ends_by_itself_after_its_agent_and_keeper_were_killed_was_not_ended(plane, tmp_path):
    script = SCRIPT.replace('subprocess.Popen(["sleep", "600"], start_new_session=True)', "").replace(
        "time.sleep(600)", f"while not os.path.exists({str(tmp_path / 'enough')!r}): time.sleep(0.05)"
    )
    run = plane.submit({"train.py": script})
    eventually(lambda: plane.says(run, "ready"))
    agent = plane.agent(run)
    os.kill(keeper_of(agent), signal.SIGKILL)
    os.kill(agent, signal.SIGKILL)
    (tmp_path / "enough").touch()
    run = plane.wait(run)
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.AGENT_LOST)
    assert "the script ended unseen" in run.message
    assert "exit code is not known" in run.message
    assert "was ended" not in run.message
    assert_kept(plane, run)


def test_a_killed_keeper_changes_nothing(plane, running):
    agent = plane.agent(running)
    os.kill(keeper_of(agent), signal.SIGKILL)
    plane.cancel(running)
    run = plane.wait(running)
    assert run.status is RunStatus.CANCELED
    assert_kept(plane, run)


def test_an_agent_that_is_killed_after_the_script_s_end_still_tells_it(own_plane):
    plane = own_plane
    run = plane.submit({"train.py": SCRIPT.replace("time.sleep(600)", "time.sleep(1); sys.exit(3)")})
    eventually(lambda: plane.says(run, "ready"))
    plane.kill()  # the agent cannot report the end
    eventually((plane.folder(run) / "ended.json").exists)
    os.kill(plane.agent(run), signal.SIGKILL)
    plane.start()
    run = plane.wait(run)
    assert (run.status, run.reason, run.exit_code) == (RunStatus.FAILED, Reason.EXIT_CODE, 3)
    assert_kept(plane, run)


def test_a_killed_control_plane_is_waited_for(own_plane):
    plane = own_plane
    run = plane.submit(
        {
            "train.py": """
                import os, pathlib, time
                from roost_job.tracking.spool import Writer
                writer = Writer(os.environ["ROOST_SPOOL"])
                print("ready", flush=True)
                for step in range(2000):
                    writer.number("loss", float(step), step)
                    time.sleep(0.001)
                print("done", flush=True)
                pathlib.Path("outputs/model").write_text("m")
            """
        }
    )
    eventually(lambda: plane.says(run, "ready"))
    plane.kill()
    eventually((plane.folder(run) / "ended.json").exists)
    time.sleep(2)
    back_at = time.time()
    plane.start()
    run = plane.wait(run)
    assert run.status is RunStatus.COMPLETED
    events = plane.client.call("GET", f"/api/runs/{run.id}/events")["events"]
    assert [event["at"] < back_at for event in events if event["to"] == "Finalizing"] == [True], "when it happened"
    assert run.ended_at < time.time() - 1, "the time in which nobody answered is not the run's"
    assert plane.metrics(run)["loss"] == [float(step) for step in range(2000)]
    assert plane.log(run) == "ready\ndone\n"
    assert plane.read(run, "outputs/model") == b"m"


def test_a_run_that_the_control_plane_does_not_know_ends_and_its_folder_stays(tmp_path):
    class Stranger(BaseHTTPRequestHandler):
        def do_POST(self):
            body = b'{"error": {"code": "not_found", "message": "No such run.", "hint": ""}}'
            self.send_response(404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    command = (sys.executable, "-c", "import time; print('here', flush=True); time.sleep(600)")
    plan = Plan(run_id=new_run_id("exp", 1), workspace="ws1", experiment="exp", spec=RunSpec(command=command))
    folder = tmp_path / "runs" / plan.run_id
    with ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as server, closing(LocalEngine(tmp_path)) as engine:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        handle = engine.start(plan, Access(url=f"http://127.0.0.1:{server.server_port}", token="t"))
        eventually(lambda: engine.status(handle) is AgentState.GONE)
        server.shutdown()
    assert marked(Folder(folder).mark) == []
    assert "disowned" in (folder / "agent.log").read_text()  # heard of before or after the script began: that is a race
    assert f"does not know run {plan.run_id} any more" in (folder / "LEFT.txt").read_text()


class TestForgotten:
    """The control plane answers, and does not know the run's token."""

    @pytest.fixture
    def forgotten(self, own_plane, tmp_path, monkeypatch):
        monkeypatch.setattr(orders, "_PAUSE", 0.01)
        monkeypatch.setattr(link, "GIVE_UP_SECONDS", 0.05)
        folder = tmp_path / "runs" / "exp_1_00000001"
        folder.mkdir(parents=True)
        access = Access(url="", token="of another database", endpoint_file=str(tmp_path / "server.json"))
        made = orders.Orders(link.Link(Folder(folder), access))
        yield made
        made.close()
        made._link.client.close()
        folder.rmdir()

    def test_it_is_given_up_after_a_while(self, forgotten):
        forgotten.attend()
        eventually(lambda: forgotten.halted is Halt.DISOWNED)

    def test_not_while_another_one_is_at_its_address(self, forgotten, own_plane):
        file = own_plane.home / "server.json"
        facts = json.loads(file.read_text())
        file.write_text(json.dumps({**facts, "instance": "of this home, which is down"}))
        assert [forgotten._link.is_forgotten() for _ in range(3) if not time.sleep(0.1)] == [False] * 3
        file.write_text(json.dumps(facts))
        assert [forgotten._link.is_forgotten() for _ in range(3) if not time.sleep(0.1)] == [False, True, True]
        forgotten._link.is_known()
        assert not forgotten._link.is_forgotten()


def test_a_run_whose_folder_disappears_ends_with_all_its_processes(plane, running):
    agent = plane.agent(running)
    keeper = keeper_of(agent)
    shutil.rmtree(plane.folder(running))
    eventually(lambda: not marked(Folder(plane.folder(running)).mark))
    eventually(lambda: look(agent) is None and look(keeper) is None)


DELETING = """
    import os, shutil, sys, time
    from roost_job.tracking.spool import Writer
    writer = Writer(os.environ["ROOST_SPOOL"])
    for step in range(1000):
        writer.number("loss", float(step), step)
    print("before", flush=True)
    time.sleep({before})
    shutil.rmtree({place}, ignore_errors=True)
    for step in range(1000, 2000):
        writer.number("loss", float(step), step)
    print("after", flush=True)
    time.sleep({after})
"""
WHOLE = "os.path.dirname(os.getcwd())"


@pytest.mark.parametrize(("before", "after"), [(0, 600), (1, 600), (1, 0)])
def test_a_script_that_deletes_its_run_s_folder_loses_nothing_it_logged(plane, before, after):
    run = plane.run(DELETING.format(before=before, after=after, place=WHOLE))
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.FOLDER_GONE)
    assert run.message.startswith("The run's folder on the node was deleted while it ran")
    assert plane.metrics(run)["loss"] == [float(step) for step in range(2000)]
    assert plane.log(run) == "before\nafter\n"
    assert marked(Folder(plane.folder(run)).mark) == []
    eventually(lambda: not plane.folder(run).exists())


def test_a_script_that_deletes_its_spools_loses_nothing_it_logged(plane):
    run = plane.run(DELETING.format(before=1, after=0.5, place='os.environ["ROOST_SPOOL"]'))
    assert run.status is RunStatus.COMPLETED, run.message
    assert plane.metrics(run)["loss"] == [float(step) for step in range(2000)]
    assert plane.log(run) == "before\nafter\n"
