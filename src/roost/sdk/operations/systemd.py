"""A systemd user unit that starts the control plane with the machine: written and enabled here.

`KillMode=process`: stopping the service ends only the control plane; agents and their scripts continue.
"""

import getpass
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from roost.domain.errors import Conflict, RoostError

_KEPT = ("PATH", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
"""Current variables that the service needs later, besides all that begin with ROOST_."""
_OURS_ALONE = ("ROOST_URL", "ROOST_TOKEN", "ROOST_HOME", "ROOST_RUN_ID")


def name(home: Path) -> str:
    """The unit's name: one for each home."""
    if home == Path.home() / ".roost":
        return "roost.service"
    return f"roost-{hashlib.sha256(os.fsencode(home)).hexdigest()[:8]}.service"


def place(home: Path) -> Path:
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "systemd" / "user" / name(home)


def text(home: Path, port: int | None = None) -> str:
    """The text of the unit file."""
    argv = [sys.executable, "-P", "-m", "roost.server", "--home", str(home)]
    argv += ["--port", str(port)] if port is not None else []
    kept = {key: value for key, value in os.environ.items() if key in _KEPT or _is_setting(key)}
    variables = [f"Environment={_quoted(f'{key}={value}')}" for key, value in sorted(kept.items())]
    lines = [
        "[Unit]",
        f"Description=Roost control plane of {home}".replace("%", "%%"),
        "",
        "[Service]",
        "Type=exec",
        f"ExecStart={' '.join(_quoted(word) for word in argv)}",
        *variables,
        "Restart=on-failure",
        "RestartSec=2",
        "# 2: it cannot start; 3: another one runs for this home already.",
        "RestartPreventExitStatus=2 3",
        "# Agents and their scripts go on when the control plane ends.",
        "KillMode=process",
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    return "\n".join(lines) + "\n"


def install(home: Path, port: int | None = None) -> Path:
    """Writes, enables and starts the service; returns the unit's path. Raises Conflict where this user has no systemd."""
    require_systemd(home)
    unit = place(home)
    unit.parent.mkdir(parents=True, exist_ok=True)
    unit.write_text(text(home, port), encoding="utf-8")
    unit.chmod(0o600)
    _systemctl("daemon-reload")
    _systemctl("enable", "--now", unit.name)
    return unit


def uninstall(home: Path) -> bool:
    """Stops and removes the service; True when there was one."""
    unit = place(home)
    if not os.path.exists(unit):
        return False
    if _has_systemd():
        _systemctl("disable", "--now", unit.name)
    unit.unlink(missing_ok=True)
    if _has_systemd():
        _systemctl("daemon-reload")
    return True


def lingers() -> bool | None:
    """True when this user's services start with the machine, before a login; None when unknown."""
    try:
        found = subprocess.run(
            ["loginctl", "show-user", getpass.getuser(), "--property=Linger", "--value"],
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, KeyError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() == "yes" if found.returncode == 0 else None


def _is_setting(key: str) -> bool:
    return key.startswith("ROOST_") and key not in _OURS_ALONE


def _quoted(word: str) -> str:
    """Quoted for systemd, which interprets `%` and `$`."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$").replace("\n", "\\n")
    return f'"{plain}"' if any(mark in plain for mark in " \t\"'\\;#") or not plain else plain


def _has_systemd() -> bool:
    if shutil.which("systemctl") is None:
        return False
    try:
        found = subprocess.run(["systemctl", "--user", "show-environment"], capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return found.returncode == 0


def require_systemd(home: Path) -> None:
    """Raises Conflict, with the alternative, where this user cannot run services."""
    if not _has_systemd():
        line = f"@reboot ROOST_HOME={home} {sys.executable} -m roost.cli.main up"
        raise Conflict(
            "There is no systemd that runs services for this user here; nothing was installed.",
            hint=f"Have `roost up` called when the machine starts, such as by this line of `crontab -e`:  {line}",
        )


def _systemctl(*words: str) -> None:
    done = subprocess.run(["systemctl", "--user", *words], capture_output=True, text=True, timeout=90)
    if done.returncode != 0:
        raise RoostError(
            f"`systemctl --user {' '.join(words)}` failed: {(done.stderr or done.stdout).strip()}",
            hint="journalctl --user -e says more.",
        )


def words_about(unit: Path) -> Sequence[str]:
    """Notes for the user about an installed service."""
    told = [
        f"The service {unit.name} brings it back with the machine ({unit}). Its log: journalctl --user -u {unit.name}"
    ]
    if lingers() is False:
        told.append("It starts when you log in. To have it start with the machine: loginctl enable-linger")
    return told
