"""Ships the data that a killed process left of its interactive run. The next process that connects on this machine does it,
exactly once.

A living owner holds the folder's lock, so only one process can salvage it; the server stores each byte once, by offset.
"""

import json
import shutil
import threading
from contextlib import suppress
from pathlib import Path

from roost.domain import codec
from roost.domain.errors import NotFound
from roost.domain.runs import Reason, Run, RunStatus
from roost.machine.locks import FileLock
from roost.sdk.connection.connections import Connection
from roost.sdk.runs import interactive_outputs
from roost.sdk.runs.interactive import HEARTBEAT, LOCK, OWNER, report, spools_of
from roost.transport.client import path_of
from roost.transport.shipping import Shipper
from roost_job.exceptions import AzureMLException

_AFTER = 10 * HEARTBEAT
"""For so many seconds after its last sign of life, a busy process may still have written outputs."""


def begin(connection: Connection, url: str) -> threading.Thread | None:
    """Salvages in the background, if there is anything; returns the thread. The process waits for it before it ends: a short
    process may be the only one that connects."""
    try:
        if not any(spools_of(connection.home).iterdir()):
            return None
    except OSError:
        return None
    _ = connection.bytes.carrier  # loaded here, because a process that is ending cannot load modules that use threads
    thread = threading.Thread(target=salvage, args=(connection, url), name="roost-salvage")
    thread.start()
    return thread


def salvage(connection: Connection, url: str) -> list[str]:
    """Ships every folder whose owner is gone and whose control plane is this one; returns the runs' ids."""
    done: list[str] = []
    for folder in sorted(spools_of(connection.home).iterdir()):
        if not (folder / OWNER).is_file():
            continue
        lock = FileLock(folder / LOCK)
        # Data that cannot be shipped now stays for the next process; a process that is ending starts no thread for a large file.
        with suppress(AzureMLException, OSError, RuntimeError):
            if lock.acquire(wait=False):
                run_id = _ship(connection, folder, url)
                done += [run_id] if run_id else []
        lock.release()
    return done


def _ship(connection: Connection, folder: Path, url: str) -> str:
    """Ships one folder and ends its run; returns its id, empty when it belongs to another control plane."""
    try:
        owner = json.loads((folder / OWNER).read_bytes())
        run_id, at, pid, owns = str(owner["run_id"]), str(owner["url"]), int(owner["pid"]), bool(owner["owns"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    if at != url:
        return ""
    with suppress(NotFound):
        run = codec.decode(Run, connection.client.call("GET", path_of("runs", run_id)))
        last_sign = max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
        Shipper(connection.client, run_id).ship_spools(folder)
        if (tracked := interactive_outputs.read(folder)) is not None:
            tracked.keep(connection, run_id, until=last_sign + _AFTER)
        if owns and not run.status.is_terminal:
            words = (
                f"Process {pid}, which logged this run, ended without run.complete(); what it logged was sent later."
            )
            report(
                connection.client,
                run_id,
                RunStatus.FAILED,
                Reason.CLIENT_LOST,
                words,
                at=max(last_sign, run.heard_at or 0.0),
            )
        shutil.rmtree(folder, ignore_errors=True)
        return run_id
    return ""
