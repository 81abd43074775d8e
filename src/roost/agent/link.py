"""The agent's connection to the control plane: its current address, and an agent's few requests. It tries without limit while the
run's folder exists, so that no result is lost when the control plane is away. It gives up only when the control plane answers and
has not known the run for a while (`Link.is_forgotten`).
"""

import contextlib
import json
import logging
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from roost.agent.folder import Folder
from roost.domain.codec import decode, encode
from roost.domain.errors import DiskFull, RoostError, Unauthorized
from roost.domain.files import RunFile
from roost.domain.plans import Access
from roost.domain.runs import Reason, Run, RunStatus
from roost.transport.carrying import Carrier
from roost.transport.client import Client, Endpoint, path_of

T = TypeVar("T")
log = logging.getLogger("roost.agent")
_PAUSE = 2.0
_FILES_AT_ONCE = 5000
GIVE_UP_SECONDS = 600.0
"""The run counts as forgotten when its own control plane has not known its token for this long."""


class Link:
    """May be used from any thread."""

    def __init__(
        self, folder: Folder, access: Access, *, patience: float = math.inf, rank: int | None = None, attempt: int = 0
    ) -> None:
        """`patience`: seconds to try while the control plane is away; limited where a script waits or the run's folder is gone.
        `rank`: of this node, when there are several; the agent then reports for its node, and the control plane for the run."""
        self.run_id = folder.run_id
        self.rank = rank
        self.attempt = attempt
        self._access = access
        self._unknown_since: float | None = None
        self.client = Client(lambda: locate(access), patience=patience, wanted=folder.root.exists)
        self.carrier = Carrier(self.client, folder.home / "cache" / "blobs")

    def say(
        self,
        to: RunStatus,
        reason: Reason,
        message: str = "",
        exit_code: int | None = None,
        *,
        serving: bool = False,
        at: float | None = None,
    ) -> Run:
        """Reports an event that happened now, or `at` that time of this node. Safe twice. `serving`: no process the run waits
        for is left on this node."""
        event: dict[str, object] = {
            "to": to.value,
            "reason": reason.value,
            "message": message,
            "exit_code": exit_code,
            "attempt": self.attempt,
            "at": time.time() if at is None else at,
        }
        if serving and self.rank is not None:
            event["serving"] = True
        return decode(Run, self.client.call("POST", self.own_path("events"), json=event, clocked=True))

    def put_files(self, files: Sequence[RunFile], run_id: str = "", *, of_all: bool = False) -> None:
        """Adds blobs as files of the run, or of a run below it. `of_all`: files of all nodes, not of this node."""
        for start in range(0, len(files), _FILES_AT_ONCE):
            named = {"files": encode(files[start : start + _FILES_AT_ONCE])}
            node = {"node": self.rank} if self.rank and not run_id and not of_all else None
            self.client.call("PUT", path_of("runs", run_id or self.run_id, "files"), json=named, params=node)

    def is_forgotten(self) -> bool:
        """To be called after Unauthorized: True when the home's own control plane has not known the token for GIVE_UP_SECONDS.
        Answers of another control plane at this address do not count."""
        if not self._is_own_plane():
            self._unknown_since = None
            return False
        now = time.monotonic()
        self._unknown_since = now if self._unknown_since is None else self._unknown_since
        return now - self._unknown_since > GIVE_UP_SECONDS

    def is_known(self) -> None:
        """To be called after a successful request: resets `is_forgotten`."""
        self._unknown_since = None

    def _is_own_plane(self) -> bool:
        if not self._access.endpoint_file:
            return True  # on another machine only the address is known
        try:
            instance = json.loads(Path(self._access.endpoint_file).read_bytes())["instance"]
            return bool(self.client.call("GET", "/api/health")["instance"] == instance)
        except (OSError, ValueError, KeyError, TypeError, RoostError):
            return False

    def path(self, *parts: str) -> str:
        return path_of("runs", self.run_id, *parts)

    def own_path(self, *parts: str) -> str:
        """A route of this agent alone, when the run has several; else of the run."""
        return self.path(*parts) if self.rank is None else self.path("agents", str(self.rank), *parts)


def locate(access: Access) -> Endpoint:
    """The control plane's current address: on its own machine it writes it to a file."""
    url = access.url
    if access.endpoint_file:
        # While it is down or restarts, the address in `access` is used.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            url = str(json.loads(Path(access.endpoint_file).read_bytes())["url"])
    return Endpoint(url, access.token)


_held_up = 0.0


def held_up() -> float:
    """Seconds that this agent has waited so far because the control plane had a full disk or did not know the token."""
    return _held_up


def persist(deed: Callable[[], T], *, seconds: float = math.inf) -> T:
    """Repeats `deed` while it fails for a passing reason: a full disk of the control plane, or another control plane at this
    address, which does not know our token. Raises any other error, one that lasts for `seconds`, and Unauthorized that lasts for
    GIVE_UP_SECONDS."""
    global _held_up
    told, began = "", time.monotonic()
    while True:
        try:
            return deed()
        except (DiskFull, Unauthorized) as error:
            limit = min(seconds, GIVE_UP_SECONDS) if isinstance(error, Unauthorized) else seconds
            if time.monotonic() - began > limit:
                raise
            if error.message != told:
                told = error.message
                log.warning("Trying again: %s", told)
            paused = time.monotonic()
            time.sleep(_PAUSE)
            _held_up += time.monotonic() - paused
