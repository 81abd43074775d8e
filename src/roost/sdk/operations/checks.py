"""The checks of `roost doctor`: everything Roost depends on. Each check yields findings; none starts or changes anything."""

import importlib.util
import os
import platform
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from roost.domain.conda import CHANNELS_ONLY, INDEX_FIRST, INDEX_IF_UNREACHABLE
from roost.domain.errors import RoostError
from roost.environments import places
from roost.environments.containers import engine as container_engine
from roost.machine import ports
from roost.sdk.connection import discovery, embedded
from roost.sdk.connection.connections import CHECK_ADDRESS, elsewhere
from roost.sdk.operations import systemd
from roost.transport.client import START_ONE, Client, Endpoint
from roost.version import API_LEVEL, VERSION
from roost_job import neighbours
from roost_job.exceptions import AzureMLException

OK, WARN, BAD = "ok", "warn", "bad"
_SKEW_SECONDS = 2.0
_NEARLY_FULL = 90
_SOURCES = {
    CHANNELS_ONLY: "From their channels alone",
    INDEX_IF_UNREACHABLE: "From their channels; from the package index where no channel can be reached",
    INDEX_FIRST: "From the package index; from their channels where it lacks one",
}
_NETWORKED = {"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "lustre", "gpfs", "ceph"}


@dataclass(frozen=True)
class Check:
    """One finding."""

    name: str
    level: str
    fact: str
    hint: str = ""


def _versions() -> Iterator[Check]:
    python = f"Python {platform.python_version()} at {sys.executable}"
    yield Check("roost", OK, f"{VERSION} (level {API_LEVEL}), {python}, {platform.system()} {platform.release()}")
    missing = [name for name in embedded.NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        yield Check(
            "packages",
            WARN,
            f"Without {', '.join(missing)} no control plane can be started here.",
            f"{sys.executable} -m pip install 'roost[server]'",
        )
    which = shutil.which("roost")
    own = Path(sys.executable).with_name("roost")
    if which and own.exists() and not os.path.samefile(which, own):
        yield Check("roost", WARN, f"`roost` on the PATH is {which}, but this Python's own is {own}.")


def _packages() -> Iterator[Check]:
    found = neighbours.find()
    spec = importlib.util.find_spec("azureml")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    ours = bool(folders) and os.path.exists(os.path.join(folders[0], "_lending.py"))
    mixed = neighbours.is_mixed(folders)
    if found or mixed or not ours:
        fact, hint = neighbours.words(found, mixed)
        whose = "Roost's" if ours else "not Roost's"
        where = folders[0] if folders else "nowhere"
        yield Check(
            "azureml", BAD if mixed or not ours else WARN, f"{fact} `import azureml` finds {where}, {whose}.", hint
        )
    else:
        yield Check("azureml", OK, f"`import azureml` finds Roost's, {folders[0]}")


def _home() -> Iterator[Check]:
    home = discovery.home()
    if not places.can_write(str(home)):
        yield Check("home", BAD, f"{home} cannot be written to.", "Set ROOST_HOME to a folder of yours.")
        return
    if not home.exists():
        yield Check("home", OK, f"{home} is not there yet; the first command that needs it makes it.")
        return
    kind = _file_system(home)
    if kind in _NETWORKED:
        hint = "Locks and the database want a local disk: set ROOST_HOME to a folder on one."
        yield Check("home", WARN, f"{home} is on a network file system ({kind}).", hint)
    elif stat.S_IMODE(home.stat().st_mode) & 0o077:
        mode = stat.S_IMODE(home.stat().st_mode)
        yield Check("home", WARN, f"{home} can be read by others (mode {mode:o}).", f"chmod 700 {home}")
    else:
        yield Check("home", OK, f"{home} ({kind or 'unknown file system'})")


def _jobs() -> Iterator[Check]:
    yield Check(
        "jobs",
        OK,
        "Runs are processes of the user who runs the control plane: a script can read its token, its database and the key of "
        "all secrets.",
        "Submit code that you trust with them (docs/guides/secrets.md).",
    )


def _file_system(path: Path) -> str:
    best, kind = "", ""
    try:
        for line in Path("/proc/self/mounts").read_text().splitlines():
            place, found = line.split()[1:3]
            if f"{path}/".startswith(f"{place.rstrip('/')}/") and len(place) >= len(best):
                best, kind = place, found
    except (OSError, ValueError, IndexError):
        return ""
    return kind


def _places() -> Iterator[Check]:
    """Finds another user's folders, in variables that `su` or an old shell kept."""
    for variable, shut in places.closed().items():
        verb, hint = "is", f"unset {variable}, or set it to a place of yours."
        if variable in places.LISTS:
            verb, hint = "has", f"Take what is not yours out of {variable}."
        yield Check(
            "places", WARN, f"{variable} {verb} {', '.join(shut)}, which this user may not use: passed over.", hint
        )


def _disk() -> Iterator[Check]:
    place = discovery.home()
    while not os.path.exists(place):
        place = place.parent
    total, used, free = shutil.disk_usage(place)
    percent = 100 * used / max(1, used + free)
    given = os.environ.get("ROOST_DISK_LIMIT") or str(_NEARLY_FULL)
    limit = int(given) if given.isdecimal() else _NEARLY_FULL  # the control plane reports an invalid value itself
    fact = f"{percent:.0f} % full, {free / 1e9:.1f} GB of {total / 1e9:.1f} GB free"
    if limit and percent >= limit:
        yield Check("disk", BAD, f"{fact}; from {limit} % on no new run is taken in.", "roost du, then roost gc")
    else:
        yield Check("disk", OK, fact)


def _control_plane() -> Iterator[Check]:
    home = discovery.home()
    try:
        named = elsewhere()
        if named is not None:
            yield from _answering(named, CHECK_ADDRESS)
            return
        record = embedded.find(home)
    except AzureMLException as error:
        yield Check("control plane", BAD, error.message, error.hint)
        return
    if record is None:
        yield Check("control plane", OK, "None runs; the first command that needs one starts it.")
        yield from _port(home)
        return
    yield from _answering(Endpoint(record.url, discovery.read_token(home)), START_ONE, record.pid)


def _port(home: Path) -> Iterator[Check]:
    """Checks that the last port is free."""
    last = discovery.read_record(home)
    place = urlsplit(last.url) if last else None
    if place is None or not place.port:
        return
    if ports.is_free(place.port, place.hostname or "127.0.0.1"):
        yield Check("port", OK, f"{place.port}, that of the last time, is free.")
    else:
        yield Check("port", WARN, f"{place.port}, that of the last time, is taken; another one will be used.")


def _answering(endpoint: Endpoint, hint: str, pid: int | None = None) -> Iterator[Check]:
    client = Client(lambda: endpoint, patience=0.0, hint=hint)
    try:
        asked = time.time()
        facts = client.call("GET", "/api/server", timeout=10.0)
        answered = time.time()
    except RoostError as error:
        yield Check("control plane", BAD, error.message, error.hint)
        return
    finally:
        client.close()
    of = f", process {pid}" if pid else ""
    fact = f"{facts['version']} answers at {endpoint.url}{of}, {facts['active_runs']} runs going on"
    if facts["api_level"] != API_LEVEL:
        hint = "roost down; roost up" if pid else "Install the version that the control plane has."
        yield Check(
            "control plane", BAD, f"{fact}; it speaks level {facts['api_level']}, this client {API_LEVEL}.", hint
        )
    elif facts["version"] != VERSION:
        yield Check("control plane", WARN, f"{fact}; this client is {VERSION}.", "It is replaced once it is idle.")
    else:
        yield Check("control plane", OK, fact)
    yield _clock(facts, asked, answered)
    if pid:
        yield from _engine(pid)


def _clock(facts: dict[str, Any], asked: float, answered: float) -> Check:
    """When both clocks agree, the server's time lies between request and answer."""
    now = facts.get("now")
    if now is None:
        return Check("clock", WARN, "The control plane does not tell its time.")
    skew = now - answered if now > answered else min(0.0, now - asked)
    fact = (
        f"{abs(skew):.2f} s {'ahead' if skew > 0 else 'behind'}" if skew else "the same here and at the control plane"
    )
    if abs(skew) > _SKEW_SECONDS:
        return Check("clock", WARN, f"The control plane's clock is {fact}.", "Let both set their clocks by NTP.")
    return Check("clock", OK, fact)


def _engine(server: int) -> Iterator[Check]:
    """The warm process, from which agents are forked, is a child of the server after its first use."""
    warm = [pid for pid in _children(server) if b"roost.agent.warm" in _command(pid)]
    if warm:
        yield Check("engine", OK, f"local, warm process {warm[0]}")
    else:
        log = discovery.log_path(discovery.home())
        yield Check("engine", WARN, "The local engine's warm process is not there.", f"A run starts it; else see {log}")


def _children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(each) for each in task.read_text().split()]
        except (OSError, ValueError):
            continue
    return found


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _service() -> Iterator[Check]:
    unit = systemd.place(discovery.home())
    if os.path.exists(unit):
        lingers = systemd.lingers()
        hint = "loginctl enable-linger" if lingers is False else ""
        when = "when you log in" if lingers is False else "with the machine"
        yield Check("service", OK, f"{unit.name} starts the control plane {when}.", hint)


def _git() -> Iterator[Check]:
    if shutil.which("git") is None:
        yield Check("git", WARN, "There is no git: runs do not say which commit they came from.", "Install git.")


def _containers() -> Iterator[Check]:
    """Most users need no container engine; a configured one that does not respond is a problem."""
    try:
        found = container_engine.find()
        yield Check("containers", OK, f"{found.name} {found.version} at {found.path}")
    except container_engine.NoEngine as none:
        named = any(os.environ.get(name) for name in ("DOCKER_HOST", "CONTAINER_HOST"))
        words = "Images and Dockerfiles of your own cannot be run; Azure's are built natively."
        yield Check("containers", WARN if named else OK, f"{none.message} {words}", none.hint if named else "")


def _conda() -> Iterator[Check]:
    """The source of conda packages for a control plane that is started from here."""
    source = os.environ.get("ROOST_CONDA_PACKAGES") or INDEX_IF_UNREACHABLE
    if source in _SOURCES:
        yield Check("conda packages", OK, f"{_SOURCES[source]} ({source}).")
    else:
        hint = f"Say one of: {', '.join(_SOURCES)}."
        yield Check(
            "conda packages", BAD, f"ROOST_CONDA_PACKAGES is {source!r}: no control plane starts with that.", hint
        )


CHECKS = (_versions, _packages, _home, _jobs, _places, _disk, _control_plane, _service, _git, _containers, _conda)
