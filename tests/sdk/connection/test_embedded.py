"""Finding and starting the embedded control plane: one for two clients, stale files, hung and older servers."""

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.shared.disks import small_disk
from tests.shared.folders import tree
from typer.testing import CliRunner

from roost import Experiment, ScriptRunConfig, Workspace
from roost.cli.main import app
from roost.domain.errors import Busy, Incompatible, Unauthorized, Unavailable
from roost.machine import processes
from roost.sdk.connection import connections, discovery, embedded, holders
from roost.sdk.runs import waiting
from roost.version import API_LEVEL, VERSION

pytestmark = pytest.mark.slow


def rewrite(home: Path, **facts: Any) -> None:
    record = json.loads((home / "server.json").read_bytes())
    (home / "server.json").write_text(json.dumps({**record, **facts}))


@pytest.fixture
def running(home: Path) -> discovery.ServerRecord:
    return embedded.ensure(home)


def test_clients_that_come_at_once_start_one(home: Path) -> None:
    code = "from roost.sdk.connection import discovery, embedded; print(embedded.ensure(discovery.home()).instance)"
    clients = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = [client.communicate(timeout=60) for client in clients]
    assert len({out for out, _ in said}) == 1
    assert [err for _, err in said if "starting the control plane" in err] == [
        f"Roost: starting the control plane on this machine. Its files are in {home}.\n"
    ]


def test_it_is_found_again_and_keeps_its_port(home: Path, running: discovery.ServerRecord) -> None:
    assert embedded.ensure(home) == running
    embedded.stop(running, home)
    assert embedded.find(home) is None
    again = embedded.ensure(home)
    assert (again.url, again.instance != running.instance) == (running.url, True)


class TestStale:
    def test_killed(self, home: Path, running: discovery.ServerRecord) -> None:
        os.kill(running.pid, signal.SIGKILL)
        assert embedded.ensure(home).instance != running.instance

    def test_its_process_id_belongs_to_another_now(self, home: Path, running: discovery.ServerRecord) -> None:
        os.kill(running.pid, signal.SIGKILL)
        rewrite(home, pid=os.getpid())
        again = embedded.ensure(home)
        assert again.pid != os.getpid()

    def test_it_goes_while_another_is_started(self, home: Path, running: discovery.ServerRecord) -> None:
        """Its record says that it is gone, and it holds the home a moment longer."""
        os.kill(running.pid, signal.SIGSTOP)
        rewrite(home, pid=os.getpid())
        threading.Timer(1.5, os.kill, (running.pid, signal.SIGKILL)).start()
        assert embedded.ensure(home).instance != running.instance

    def test_its_port_is_taken_by_something_else(self, home: Path, running: discovery.ServerRecord) -> None:
        embedded.stop(running, home)
        port = int(running.url.rpartition(":")[2])
        with http.server.HTTPServer(("127.0.0.1", port), http.server.BaseHTTPRequestHandler) as other:
            serving = threading.Thread(target=other.serve_forever)
            serving.start()
            try:
                again = embedded.ensure(home)
                assert again.url != running.url
            finally:
                other.shutdown()
                serving.join()

    def test_nonsense_in_the_file(self, home: Path, running: discovery.ServerRecord) -> None:
        embedded.stop(running, home)
        (home / "server.json").write_text("{half a rec")
        assert embedded.ensure(home).pid != running.pid


def test_one_that_hangs_is_named(home: Path, running: discovery.ServerRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_ANSWER_SECONDS", 0.5)
    os.kill(running.pid, signal.SIGSTOP)
    try:
        with pytest.raises(embedded.NotStarted) as raised:
            embedded.ensure(home)
    finally:
        os.kill(running.pid, signal.SIGCONT)
    assert f"process {running.pid}" in raised.value.message
    assert str(discovery.log_path(home)) in raised.value.hint


def test_one_that_is_at_work_is_waited_for_and_not_called_dead(
    home: Path, running: discovery.ServerRecord, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It listens and computes, and has no time to answer."""
    code = "import socket\ns = socket.create_server(('127.0.0.1', 0))\nprint(s.getsockname()[1], flush=True)\nwhile True: pass"
    embedded.stop(running, home)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as busy:
        assert busy.stdout is not None
        port = busy.stdout.readline().strip()
        rewrite(home, url=f"http://127.0.0.1:{port}", pid=busy.pid, pid_started=processes.started(busy.pid))
        monkeypatch.setattr(embedded, "_ANSWER_SECONDS", 0.3)
        monkeypatch.setattr(embedded, "_BUSY_SECONDS", 0.5)
        try:
            with pytest.raises(Busy) as raised:
                embedded.find(home)
        finally:
            busy.kill()
    assert f"process {busy.pid}" in raised.value.message
    assert "kill" not in raised.value.message + raised.value.hint
    assert capsys.readouterr().err.count("is busy; waiting for its answer") == 1


def test_one_that_cannot_start_says_why(home: Path) -> None:
    tree(home, {"logs/server.log": "of another day\n"})
    (home / "roost.db").mkdir()
    with pytest.raises(
        embedded.NotStarted, match=r"The control plane cannot start: .*roost\.db cannot be opened"
    ) as raised:
        embedded.ensure(home)
    assert "of another day" not in raised.value.message
    assert raised.value.hint == "Its folder must exist and be writable."


def test_on_a_full_disk_the_reason_is_that_of_this_start(home: Path, tmp_path: Path) -> None:
    with small_disk(home, "1m"):
        tree(home, {"logs/server.log": "RuntimeError: of another day\n"})
        with (home / "filler").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, os.statvfs(home).f_bavail * os.statvfs(home).f_frsize)
        with pytest.raises(embedded.NotStarted, match="room left on the disk") as raised:
            embedded.ensure(home)
        assert "of another day" not in str(raised.value)
        assert "Free some space" in raised.value.hint


HOLDER = """
import fcntl, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(1000)
"""


class TestSilent:
    """A process holds the home's lock, and answers nowhere."""

    @pytest.fixture(autouse=True)
    def soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(embedded, "_SILENT_SECONDS", 0.5)
        monkeypatch.setattr(embedded, "_ANSWER_SECONDS", 0.5)
        monkeypatch.setattr(embedded, "_PATIENT_SECONDS", 0.0)
        monkeypatch.setattr(holders, "_POLITE_SECONDS", 0.5)

    @pytest.fixture
    def holder(self, home: Path) -> Iterator["subprocess.Popen[bytes]"]:
        home.mkdir()
        argv = [sys.executable, "-c", HOLDER, str(home / "server.lock")]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            yield process
            process.kill()

    def test_it_is_named_and_taken_over(
        self, home: Path, holder: "subprocess.Popen[bytes]", capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(embedded.NotStarted, match=f"Process {holder.pid} holds {home}"):
            embedded.ensure(home)
        assert holder.poll() is None, "no client but `roost up` ends it"
        assert embedded.ensure(home, take_over=True).pid != holder.pid
        assert f"process {holder.pid}, which holds {home}, does not answer and is ended" in capsys.readouterr().err
        assert holder.wait(10) == -signal.SIGKILL

    def test_status_and_down_know_of_it(self, home: Path, holder: "subprocess.Popen[bytes]") -> None:
        shown = CliRunner().invoke(app, ["status"])
        assert shown.exit_code == 3
        assert f"Process {holder.pid} holds {home}" in shown.stdout
        ended = CliRunner().invoke(app, ["down"])
        assert (ended.exit_code, holder.wait(10)) == (0, -signal.SIGKILL)
        assert f"process {holder.pid}" in ended.stdout
        assert "No control plane runs" in CliRunner().invoke(app, ["down"]).stdout

    def test_one_that_was_announced(
        self, home: Path, running: discovery.ServerRecord, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        os.kill(running.pid, signal.SIGSTOP)
        monkeypatch.setattr(embedded, "_ANSWER_SECONDS", 2.0)
        again = embedded.ensure(home, take_over=True)
        assert again.pid != running.pid
        assert not discovery.is_alive(running)

    def test_one_that_answers_stays(self, home: Path, running: discovery.ServerRecord) -> None:
        assert embedded.ensure(home, take_over=True) == running

    def test_a_process_without_the_lock_is_left_alone(self, home: Path, holder: "subprocess.Popen[bytes]") -> None:
        found = holders.find(home)
        assert found is not None
        assert found.pid == holder.pid
        (home / "server.lock").unlink()  # another file has its name now: this home's lock is free
        assert holders.end(found, home)
        assert holder.poll() is None


def test_a_home_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(embedded.NotStarted, match="cannot write to its home") as raised:
        embedded.ensure(tmp_path / "file" / "home")
    assert "ROOST_HOME" in raised.value.hint


def test_a_run_starts_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_RUN_ID", "train_1_00000000")
    with pytest.raises(embedded.NotStarted, match="would end with the run"):
        embedded.ensure(home)


def test_a_large_log_is_put_aside(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_LARGEST_LOG", 100)
    tree(home, {"logs/server.log": "x" * 101})
    embedded.ensure(home)
    assert (home / "logs/server.log.1").read_text() == "x" * 101
    assert "xxx" not in (home / "logs/server.log").read_text()


def test_without_the_servers_packages_the_error_says_what_to_install(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "NEEDED", ("uvicorn", "no_such_package"))
    with pytest.raises(embedded.NotStarted, match="no_such_package") as raised:
        embedded.ensure(home)
    assert "pip install 'roost[server]'" in raised.value.hint


class TestVersions:
    def test_an_idle_older_one_is_replaced(self, home: Path, running: discovery.ServerRecord) -> None:
        rewrite(home, version="0.0.1", api_level=API_LEVEL - 1)
        again = embedded.ensure(home)
        assert (again.version, again.pid != running.pid) == (VERSION, True)
        assert processes.started(running.pid) != running.pid_started

    def test_a_busy_older_one_is_used_with_a_warning(
        self, home: Path, workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source = tree(tmp_path / "s", {"wait.py": "import time\nprint('on', flush=True)\ntime.sleep(600)"})
        run = Experiment(workspace, "busy").submit(ScriptRunConfig(str(source), script="wait.py"))
        assert waiting.Tail(workspace._connection.client, run.id).read() == "on\n"
        record = discovery.read_record(home)
        assert record
        rewrite(home, version="0.0.1")
        assert embedded.ensure(home).pid == record.pid
        assert "is version 0.0.1" in capsys.readouterr().err
        rewrite(home, version="0.0.1", api_level=API_LEVEL - 1)
        with pytest.raises(Incompatible, match=r"0\.0\.1"):
            embedded.ensure(home)
        rewrite(home, version=VERSION, api_level=API_LEVEL)
        run.cancel()
        assert run.wait_for_completion()["status"] == "Canceled"

    def test_a_newer_level_is_refused_with_a_hint(self, home: Path, running: discovery.ServerRecord) -> None:
        rewrite(home, version="99.0.0", api_level=API_LEVEL + 1)
        with pytest.raises(Incompatible) as raised:
            embedded.ensure(home)
        assert "99.0.0" in raised.value.message
        assert "Install" in raised.value.hint
        assert processes.started(running.pid) == running.pid_started

    def test_a_newer_version_of_the_same_level_is_used(
        self, home: Path, running: discovery.ServerRecord, capsys: pytest.CaptureFixture[str]
    ) -> None:
        capsys.readouterr()
        rewrite(home, version="99.0.0")
        assert embedded.ensure(home).pid == running.pid
        assert capsys.readouterr().err == ""


def test_waiting_does_not_undo_a_shutdown(home: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    from roost.domain.errors import Unavailable
    from roost.transport.client import Client

    record = discovery.read_record(home)
    assert record
    embedded.stop(record, home)
    finder = connections._Finder(home)
    watcher = Client(finder.watch, patience=0.2)
    with pytest.raises(Unavailable, match="was shut down"):
        watcher.call("GET", "/api/workspaces")
    assert embedded.find(home) is None
    assert workspace.experiments == {}, "asking for something does bring it back"


def test_another_control_plane_by_address(
    home: Path, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Experiment(workspace, "there")
    monkeypatch.setenv("ROOST_URL", workspace._connection.url + "/")
    monkeypatch.setenv("ROOST_TOKEN", discovery.read_token(home))
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert set(Workspace().experiments) == {"there"}
    assert not (tmp_path / "elsewhere" / "server.json").exists()
    run = Experiment(Workspace(), "there").start_logging()
    (owner,) = (tmp_path / "elsewhere").glob("spools/*/owner.json")
    assert f"{json.loads(owner.read_text())['url']}/" == os.environ["ROOST_URL"], "as salvage looks for it"
    run.complete()
    monkeypatch.setenv("ROOST_TOKEN", f"{discovery.read_token(home)}\r\n")
    assert set(Workspace().experiments) == {"there"}
    monkeypatch.setenv("ROOST_URL", "http://127.0.0.1:9")
    with pytest.raises(Unavailable, match="hint: Check ROOST_URL") as caught:
        Workspace()
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][-1] == "_remote"
    for wrong in ("to\nken", "鳥"):
        monkeypatch.setenv("ROOST_TOKEN", wrong)
        with pytest.raises(Unauthorized, match="ROOST_TOKEN holds characters that no token has"):
            Workspace()
