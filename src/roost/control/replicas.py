"""The replicas of one endpoint at one moment: which are missing, surplus or failed. Reads the store and submits runs;
`control/endpoints.py` decides what that means for the endpoint.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from roost.domain.endpoints import Endpoint, Replica, Version
from roost.domain.errors import NotFound
from roost.domain.runs import Reason, Run, RunStatus
from roost.services import fronts, replicas
from roost.services.context import Context

log = logging.getLogger("roost.control")

Group = tuple[str, int]
"""A version's name and generation."""
KEPT = 10
"""The number of ended replicas that are kept, for their logs."""
SHORT_SECONDS = 60.0
"""A replica that ended sooner than this delays the start of the next one."""
LATELY_SECONDS = 600.0
LONGEST_PAUSE = 300.0
LOST_TRIES = 3
"""How often a replica's agent may be lost before the deployment fails."""
_NO_RUN_SECONDS = 10.0
_OWN_DOING = frozenset({Reason.AGENT_LOST, Reason.CANCELED_BY_USER, Reason.NONE})
"""Reasons of an end that are no evidence against the model or its code."""


def group_of(version: Version) -> Group:
    return version.name, version.generation


@dataclass(frozen=True)
class Seat:
    """A replica and its run."""

    replica: Replica
    run: Run

    @property
    def group(self) -> Group:
        return self.replica.version, self.replica.generation

    @property
    def lives(self) -> bool:
        return not self.run.status.is_terminal

    @property
    def serves(self) -> bool:
        """True when it may get requests, now or once it is ready."""
        return self.lives and not self.replica.leaving and self.run.status is not RunStatus.CANCEL_REQUESTED


@dataclass(frozen=True)
class Failure:
    """Why a version cannot start, and the run of the replica that failed."""

    why: str
    run_id: str = ""


class Seats:
    """All replicas of an endpoint at one moment."""

    def __init__(self, context: Context, endpoint: Endpoint) -> None:
        self._context = context
        self._endpoint = endpoint
        self.all: list[Seat] = []
        self.look()

    def look(self) -> None:
        found, gone = [], []
        now = self._context.clock()
        for replica in self._context.store.endpoints.replicas(self._endpoint.workspace, self._endpoint.name):
            try:
                found.append(Seat(replica, self._context.store.runs.get(replica.run_id)))
            except NotFound:
                if now - replica.created_at > _NO_RUN_SECONDS:
                    gone.append(replica)
        ended = [seat.replica for seat in found if not seat.lives][:-KEPT]
        self._forget([*gone, *ended])
        forgotten = {replica.run_id for replica in ended}
        self.all = [seat for seat in found if seat.replica.run_id not in forgotten]

    def _forget(self, old: Sequence[Replica]) -> None:
        if old:
            self._context.store.endpoints.forget([replica.run_id for replica in old])
            for replica in old:
                fronts.remove_socket(replica.socket)

    def living(self) -> list[Seat]:
        return [seat for seat in self.all if seat.lives]

    def serving(self, group: Group) -> list[Seat]:
        return [seat for seat in self.all if seat.serves and seat.group == group]

    def leaving(self) -> list[Seat]:
        return [seat for seat in self.all if seat.lives and not seat.serves]

    def failure(self, groups: Iterable[Group], since: float = 0.0) -> Failure | None:
        """Why one of these groups cannot start; None when no replica that was started since `since` has failed."""
        for group in groups:
            every = [seat for seat in self.all if seat.group == group and seat.replica.created_at >= since]
            ended = [seat.run for seat in every if not seat.lives]
            failed = [run for run in ended if run.status is not RunStatus.CANCELED and run.reason not in _OWN_DOING]
            if failed:
                last = failed[-1]
                return Failure(last.message or f"Replica {last.id} ended: {last.status.value}.", last.id)
            if len(ended) > LOST_TRIES:
                words = f"Replicas ended {len(ended)} times before one was ready. {ended[-1].message}"
                return Failure(words, ended[-1].id)
        return None

    def slow(self, versions: Iterable[Version], ready: Iterable[str], since: float = 0.0) -> Failure | None:
        """A replica that has exceeded its start time, counted from `since` at the earliest; None for none."""
        known, now = set(ready), self._context.clock()
        for version in versions:
            limit = version.limits.start_seconds
            for seat in self.serving(group_of(version)):
                began = seat.run.started_at
                if seat.replica.socket not in known and began is not None and now - max(began, since) > limit:
                    words = f"Replica {seat.run.id} is not ready after {limit:g} s: init() has not returned."
                    return Failure(words, seat.run.id)
        return None

    def bring_to(self, version: Version, count: int, ready: Iterable[str], *, at_once: bool) -> None:
        """Starts missing replicas, and dismisses surplus ones. Unless `at_once`, replicas that ended soon after their start delay
        the next one."""
        there = self.serving(group_of(version))
        for _ in range(count - len(there)):
            if not at_once and self._pause(group_of(version)) > 0:
                break
            replica = replicas.begin(self._context, self._endpoint, version)
            log.info("endpoint %s: replica %s of %s begins", self._endpoint.id, replica.run_id, version.name)
        known = set(ready)
        spare = sorted(there, key=lambda seat: (seat.replica.socket in known, -seat.replica.created_at))
        self.dismiss(spare[: len(there) - count] if len(there) > count else [])

    def dismiss(self, seats: Sequence[Seat]) -> None:
        if seats:
            self._context.store.endpoints.dismiss([seat.replica.run_id for seat in seats])

    def dismiss_all_but(self, groups: Iterable[Group]) -> None:
        kept = set(groups)
        self.dismiss([seat for seat in self.all if seat.serves and seat.group not in kept])

    def end(self, seat: Seat) -> None:
        replicas.end(self._context, self._endpoint, seat.run)

    def _pause(self, group: Group) -> float:
        """Seconds until the next replica of this group may start."""
        now = self._context.clock()
        ends = [
            seat.run.ended_at
            for seat in self.all
            if seat.group == group and seat.run.ended_at is not None and _short(seat.run, now)
        ]
        if len(ends) < 2:
            return 0.0
        return max(ends) + min(2.0 ** (len(ends) - 1), LONGEST_PAUSE) - now

    def last_words(self, groups: Iterable[Group]) -> str:
        """The message of the replica of these groups that ended last."""
        known = set(groups)
        ended = [seat.run for seat in self.all if not seat.lives and seat.group in known and seat.run.message]
        return ended[-1].message if ended else ""


def _short(run: Run, now: float) -> bool:
    ended = run.ended_at or now
    return ended - run.created_at < SHORT_SECONDS and now - ended < LATELY_SECONDS
