"""How a server begins: what it writes, for whom, and how it says that it cannot."""

import fcntl
import os
import re
import resource
import socket
import stat
import subprocess
from pathlib import Path

import pytest
from tests.shared.clients import Client
from tests.shared.processes import ServerProcess, attempt, command, environment

from roost.machine.processes import known
from roost.version import API_LEVEL, VERSION


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_it_leaves_for_those_who_look_for_it(server: ServerProcess) -> None:
    facts = server.facts
    assert facts["url"] == server.url
    assert (facts["pid"], facts["pid_started"]) == (server.process.pid, known(server.process.pid).started)
    assert (facts["version"], facts["api_level"], facts["home"]) == (VERSION, API_LEVEL, str(server.home))
    assert Client(server.url).get("/api/health").json["instance"] == facts["instance"]
    said = server.person.get("/api/server").json
    assert (said["pid"], said["instance"], said["active_runs"]) == (server.process.pid, facts["instance"], 0)
    assert (Path(said["blob_folder"]) / f".roost-{facts['instance']}").exists()


def test_nobody_else_can_read_its_secrets(server: ServerProcess) -> None:
    assert _mode(server.home) == 0o700
    assert _mode(server.home / "token") == 0o600
    assert _mode(server.home / "server.json") == 0o600
    token = (server.home / "token").read_text().strip()
    kept = b"".join(path.read_bytes() for path in server.home.glob("roost.db*"))
    assert kept and token.encode() not in kept, "the store keeps its digest only"


def test_it_listens_on_loopback_only(server: ServerProcess) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", server.url)


def test_the_default_workspace_is_there(server: ServerProcess) -> None:
    assert server.person.get("/api/workspaces/default").json["name"] == "default"


def test_wrong_token_and_foreign_host(server: ServerProcess) -> None:
    assert Client(server.url, "wrong").get("/api/workspaces").error["code"] == "unauthorized"
    assert server.person.get("/api/workspaces", headers={"Host": "evil.example"}).error["code"] == "forbidden"
    assert server.person.get("/api/workspaces", headers={"Origin": "http://evil.example"}).error["code"] == "forbidden"


def test_a_second_one_on_the_same_home_ends_with_3(server: ServerProcess) -> None:
    second = attempt(server.home)
    assert second.returncode == 3
    assert str(server.home) in second.stderr
    assert server.person.get("/api/workspaces").status == 200


def _one_line(failed: "subprocess.CompletedProcess[str]") -> str:
    assert failed.returncode == 2, failed
    (line,) = failed.stderr.splitlines()
    return line


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert port in _one_line(attempt(tmp_path / "home", "--port", port))


def test_a_home_that_cannot_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert str(tmp_path / "file") in _one_line(attempt(tmp_path / "file"))
    assert str(tmp_path / "file") in _one_line(attempt(tmp_path / "file" / "home"))


def test_a_port_that_cannot_be_one(tmp_path: Path) -> None:
    assert "70000" in _one_line(attempt(tmp_path / "home", "--port", "70000"))


def test_a_disk_that_takes_nothing(tmp_path: Path) -> None:
    """A limit of no bytes for any file stands in for a disk without room."""
    failed = subprocess.run(
        command(tmp_path / "home"),
        env=environment() | {"PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )
    begin = "roost.server: The control plane cannot start: File too large: "
    assert _one_line(failed) == f"{begin}{tmp_path / 'home' / 'token'}."
    assert not (tmp_path / "home" / "server.json").exists()
    assert not (tmp_path / "home" / "token").exists()


def test_it_holds_its_lock_as_long_as_it_lives(server: ServerProcess) -> None:
    descriptor = os.open(server.home / "server.lock", os.O_RDWR)
    try:
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)
