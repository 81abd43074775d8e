"""The agent's way to the control plane: where it is now, and the few things an agent says. Patient without end, as long as
the run's folder is there: nothing that the run made is given up because nobody answers. Only a control plane that answers, and
has forgotten the run, is given up after a while (`Link.is_forgotten`).
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
"""For so long the run's own control plane may not know its token, until the run is taken for forgotten."""


class Link:
    """May be used from any thread."""

    def __init__(
        self, folder: Folder, access: Access, *, patience: float = math.inf, rank: int | None = None, attempt: int = 0
    ) -> None:
        """`patience` is how many seconds it tries while nobody answers; less than for ever only where a script waits. `rank` is
        that of the node among several: then this agent speaks for its node, and the control plane for the run."""
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
        """Reports an event that happened now, or `at` that time of this node. Said twice is said once. `serving`: this node has
        no process that the run goes on for."""
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
        """Names blobs as files of the run, or of one below it. `of_all`: not this node's own, but those of all nodes."""
        for start in range(0, len(files), _FILES_AT_ONCE):
            named = {"files": encode(files[start : start + _FILES_AT_ONCE])}
            node = {"node": self.rank} if self.rank and not run_id and not of_all else None
            self.client.call("PUT", path_of("runs", run_id or self.run_id, "files"), json=named, params=node)

    def is_forgotten(self) -> bool:
        """For whoever was told that the run's token is not known: whether that is so for long. Another control plane at this
        address may be in the way for a while; the home's own has lost the run."""
        if not self._is_own_plane():
            self._unknown_since = None
            return False
        now = time.monotonic()
        self._unknown_since = now if self._unknown_since is None else self._unknown_since
        return now - self._unknown_since > GIVE_UP_SECONDS

    def is_known(self) -> None:
        """For whoever was let in."""
        self._unknown_since = None

    def _is_own_plane(self) -> bool:
        if not self._access.endpoint_file:
            return True  # on another machine nothing but the address is known of it
        try:
            instance = json.loads(Path(self._access.endpoint_file).read_bytes())["instance"]
            return bool(self.client.call("GET", "/api/health")["instance"] == instance)
        except (OSError, ValueError, KeyError, TypeError, RoostError):
            return False

    def path(self, *parts: str) -> str:
        return path_of("runs", self.run_id, *parts)

    def own_path(self, *parts: str) -> str:
        """Of what concerns this agent alone, where the run has several."""
        return self.path(*parts) if self.rank is None else self.path("agents", str(self.rank), *parts)


def locate(access: Access) -> Endpoint:
    """The control plane's address now: on its own machine it writes down where it is."""
    url = access.url
    if access.endpoint_file:
        # While it is down, or about to come back, the last address is as good as any.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            url = str(json.loads(Path(access.endpoint_file).read_bytes())["url"])
    return Endpoint(url, access.token)


_held_up = 0.0


def held_up() -> float:
    """Seconds that this agent has waited so far because the control plane had no room, or did not know it."""
    return _held_up


def persist(deed: Callable[[], T], *, seconds: float = math.inf) -> T:
    """Does it until it succeeds, through refusals that pass by themselves: no room at the control plane, or another one at
    this address, which does not know our token. Any other error is the caller's, as is one that stays for so many seconds, and
    a token that stays unknown for GIVE_UP_SECONDS."""
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
