"""The service: its text is what systemd reads, installing and removing call systemd, and without it says what to do."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from roost.domain.errors import Conflict, RoostError
from roost.sdk.operations import systemd

SYSTEMCTL = """#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in *$FAILS*) [ -z "$FAILS" ] || { echo "it said no" >&2; exit 1; };; esac
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A systemctl that writes down how it was called."""
    program = tmp_path / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text(SYSTEMCTL)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("FAILS", "")
    return tmp_path / "calls"


def test_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_DISK_LIMIT", "80")
    monkeypatch.setenv("ROOST_TOKEN", "secret")
    monkeypatch.setenv("ROOST_USER", 'An "odd" 100% $name')
    text = systemd.text(Path("/data/my home"), port=8080)
    assert f'ExecStart={sys.executable} -P -m roost.server --home "/data/my home" --port 8080\n' in text
    assert "Environment=ROOST_DISK_LIMIT=80\n" in text
    assert 'Environment="ROOST_USER=An \\"odd\\" 100%% $$name"\n' in text
    assert "secret" not in text
    assert "KillMode=process\n" in text
    assert "Restart=on-failure\n" in text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_nothing_wrong_with_it(tmp_path: Path) -> None:
    (tmp_path / "roost-test.service").write_text(systemd.text(tmp_path / "a home"))
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    argv = ["systemd-analyze", "verify", "--user", str(tmp_path / "roost-test.service")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, env=environment)
    assert "roost-test.service" not in done.stderr, done.stderr


def test_installing_and_removing(calls: Path, tmp_path: Path) -> None:
    home = tmp_path / "h"
    unit = systemd.install(home)
    assert unit.read_text() == systemd.text(home)
    assert unit.parent == tmp_path / "config/systemd/user"
    assert calls.read_text().splitlines()[-2:] == ["--user daemon-reload", f"--user enable --now {unit.name}"]
    assert systemd.uninstall(home)
    assert not unit.exists()
    assert f"--user disable --now {unit.name}" in calls.read_text().splitlines()
    assert not systemd.uninstall(home)


def test_each_home_has_a_service_of_its_own(tmp_path: Path) -> None:
    assert systemd.name(Path.home() / ".roost") == "roost.service"
    assert systemd.name(tmp_path / "a") != systemd.name(tmp_path / "b")


def test_where_there_is_no_systemd(calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILS", "show-environment")
    with pytest.raises(Conflict, match="no systemd") as refused:
        systemd.install(tmp_path / "h")
    assert "@reboot" in refused.value.hint
    assert not (tmp_path / "config").exists()


def test_what_systemd_refuses_is_passed_on(calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILS", "enable")
    with pytest.raises(RoostError, match="it said no"):
        systemd.install(tmp_path / "h")
