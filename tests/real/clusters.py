"""A PostgreSQL of the test's own: in a temporary folder, as an unprivileged user, on loopback, ended with the tests."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from tests import skips
from tests.shared.users import folder_for_all

_SECONDS = 60
_PLACES = "/usr/lib/postgresql"
_SETTINGS = ("-clisten_addresses=127.0.0.1", "-cunix_socket_directories=", "-cfsync=off", "-cautovacuum=off")


@dataclass
class Cluster:
    port: int
    password: str
    count: int = 0

    def url(self, database: str) -> str:
        return f"postgresql://roost:{self.password}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """The address of an empty one."""
        self.count += 1
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE t{self.count}")  # type: ignore[call-overload]
        return self.url(f"t{self.count}")


def programs() -> Path:
    """Where PostgreSQL's programs are; skips with the reason where there are none."""
    skips.needs("postgresql")
    return _found()[-1]


def _found() -> list[Path]:
    places = [*Path(_PLACES).glob("*/bin")]
    if program := shutil.which("initdb"):
        places.append(Path(program).parent)
    return sorted(place for place in places if (place / "initdb").exists())


@contextmanager
def running() -> Iterator[Cluster]:
    bin_folder = programs()
    folder = folder_for_all("roost-postgres-")
    folder.chmod(0o700)
    user = "postgres" if os.getuid() == 0 else None  # initdb refuses root; its package brings this user
    if user:
        shutil.chown(folder, user)
    cluster = Cluster(_free_port(), secrets.token_hex(8))
    try:
        _make(bin_folder, folder, cluster.password, user)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [bin_folder / "postgres", "-D", folder / "data", "-p", str(cluster.port), *_SETTINGS],
                user=user,
                cwd=folder,
                stdout=log,
                stderr=log,
            )
        try:
            _until_ready(cluster, process, folder / "log")
            yield cluster
        finally:
            process.send_signal(signal.SIGINT)  # a fast shutdown
            process.wait(_SECONDS)
    finally:
        shutil.rmtree(folder)


def _make(bin_folder: Path, folder: Path, password: str, user: str | None) -> None:
    (folder / "password").write_text(password)
    (folder / "password").chmod(0o644)  # the folder around it is its owner's alone
    command = [bin_folder / "initdb", "-D", folder / "data", "-U", "roost", "-A", "scram-sha-256"]
    command += [f"--pwfile={folder / 'password'}", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
    done = subprocess.run(command, user=user, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _until_ready(cluster: Cluster, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + _SECONDS
    while True:
        try:
            psycopg.connect(cluster.url("postgres"), connect_timeout=5).close()
            return
        except psycopg.OperationalError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
