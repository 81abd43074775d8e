"""Brings an endpoint to its spec: starts its replicas, configures and restarts its front, rolls out a change, follows the load.
Each `act` is one step from the present state towards the spec. What is held in memory here may be lost, so a restarted control
plane continues. Meanwhile front and replicas serve by themselves.
"""

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from roost.control.replicas import Failure, Seats, group_of
from roost.domain.endpoints import Auth, Endpoint, EndpointSpec, EndpointState, Version, scaled
from roost.domain.errors import EndpointNotFound, RoostError
from roost.services import endpoints, fronts, replicas
from roost.services.context import Context
from roost.services.signals import endpoint_topic
from roost.serving import keys
from roost.serving.configuration import FrontConfig, FrontReplica, FrontVersion
from roost.serving.finding import is_alive
from roost.store.base import ENDPOINTS, Lease, Standing

log = logging.getLogger("roost.control")

CHANGING_SECONDS = 0.3
"""While an endpoint changes, `act` waits this long for the front to report a replica as ready."""
LOOK_SECONDS = 2.0
SCALE_SECONDS = 1.0
FAILED_SECONDS = 30.0
END_SECONDS = 0.2
DRAIN_SECONDS = 10.0
"""Added to a request's time limit; after that a dismissed replica is ended even with open requests."""
CALM_SECONDS = 30.0
"""The load must be lower for this long before a replica is dismissed."""
FRONT_TRIES = 3
DUMB_SECONDS = 15.0


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The outcome of one `act` on an endpoint."""

    after: Standing
    seconds: float
    gone: bool = False


class EndpointsControl:
    name = ENDPOINTS
    limit = 50
    in_order = False

    def __init__(self, context: Context) -> None:
        self._context = context
        self._dismissed: dict[str, dict[str, float]] = {}
        """When a replica was first seen leaving, by endpoint and run. Only one thread at a time works on an endpoint."""
        self._calm: dict[tuple[str, str], float] = {}
        """The time since which a version has had more replicas than it needs."""
        self._front_failures: dict[str, int] = {}
        self._dumb: dict[str, float] = {}
        """The time since which a front has not answered."""
        self._ending: dict[str, float] = {}

    def load(self, keys: Sequence[str]) -> Mapping[str, Standing]:
        found = {}
        for key in keys:
            with suppress(EndpointNotFound):
                found[key] = self._context.store.endpoints.standing(*key.split("/"))
        return found

    def act(self, standing: Standing) -> Verdict:
        seats = Seats(self._context, standing.endpoint)
        if standing.deleting:
            return self._end(standing, seats)
        if standing.endpoint.state is EndpointState.FAILED:
            return self._rest(standing, seats)
        return self._serve(standing, seats)

    def apply(self, lease: Lease, before: Standing, outcome: Verdict) -> float | None:
        store, after = self._context.store.endpoints, outcome.after
        workspace, name = before.endpoint.workspace, before.endpoint.name
        if outcome.gone:
            store.remove(workspace, name, lease=lease)
        elif not store.settle(before, after, lease=lease):
            return 0.0
        elif after.endpoint.state is not before.endpoint.state:
            log.info("endpoint %s is %s %s", after.endpoint.id, after.endpoint.state.value, after.endpoint.error[:200])
        if outcome.gone or after != before:
            self._context.signals.notify(endpoint_topic(workspace, name))
        return None if outcome.gone else outcome.seconds

    # ---- an endpoint that should serve

    def _serve(self, standing: Standing, seats: Seats) -> Verdict:
        endpoint, folder = standing.endpoint, self._folder(standing.endpoint)
        good = standing.good
        kept = {group_of(version): version.limits.min_replicas for version in good.versions} if good else {}
        coming = [version for version in endpoint.spec.versions if group_of(version) not in kept]
        growing = [
            version
            for version in endpoint.spec.versions
            if version.limits.min_replicas > kept.get(group_of(version), version.limits.min_replicas)
        ]
        status = self._status(endpoint, folder)
        ready = status.get("ready") or {}
        asked = endpoint.updated_at  # replicas from before the change are no evidence about the added ones
        if why := (
            seats.failure(map(group_of, coming))
            or seats.slow(coming, ready)
            or seats.failure(map(group_of, growing), asked)
            or seats.slow(growing, ready, asked)
        ):
            return self._failed(standing, why)
        try:
            self._populate(standing, seats, status)
        except RoostError as error:
            if coming or growing:
                return self._failed(standing, Failure(error.message))
            raise
        seats.look()
        try:
            # The front starts while the first replicas load their models.
            self._tell(standing, seats, folder)
            self._ensure_front(endpoint, folder)
        except RoostError as error:
            return self._without_front(standing, error)
        changing = endpoint.state is EndpointState.TRANSITIONING
        if changing and not coming and _down(seats, endpoint, ready):
            # Only shares or limits change: that need not wait for replicas that are restarted anyway.
            return self._judge(replace(standing, good=endpoint.spec), seats, ready)
        if changing and all(_is_up(seats, version, ready, version in coming) for version in (*coming, *growing)):
            return self._switch(standing, seats, folder)
        leaving = self._see_off(endpoint, seats, status)
        if changing or leaving:
            fronts.wait(folder, int(status.get("change") or 0), CHANGING_SECONDS)
            return Verdict(after=standing, seconds=0.0 if changing else END_SECONDS)
        return self._judge(standing, seats, ready)

    def _status(self, endpoint: Endpoint, folder: Path) -> Mapping[str, Any]:
        """The front's status report; empty when there is no front. A front that does not answer for too long is killed, and then
        started again."""
        status = fronts.status(folder)
        if status is not None or not is_alive(folder):
            self._dumb.pop(endpoint.id, None)
            return status or {}
        now = self._context.clock()
        if now - self._dumb.setdefault(endpoint.id, now) > DUMB_SECONDS:
            log.warning("the front of endpoint %s has not answered for %.0f s: ended", endpoint.id, DUMB_SECONDS)
            fronts.kill(folder)
        return {}

    def _ensure_front(self, endpoint: Endpoint, folder: Path) -> None:
        """Starts the front if it does not run, at the endpoint's port."""
        if not is_alive(folder):
            fronts.start(folder)
        self._front_failures.pop(endpoint.id, None)

    def _without_front(self, standing: Standing, error: RoostError) -> Verdict:
        """The front cannot be started or does not accept its configuration: tries again. An endpoint that never served fails
        after some tries."""
        endpoint = standing.endpoint
        failures = self._front_failures[endpoint.id] = self._front_failures.get(endpoint.id, 0) + 1
        log.warning("endpoint %s: %s", endpoint.id, error.message)
        if standing.good is None and failures >= FRONT_TRIES:
            self._front_failures.pop(endpoint.id, None)
            return self._failed(standing, Failure(error.message))
        if standing.good is not None and endpoint.state is not EndpointState.TRANSITIONING:
            endpoint = replace(endpoint, state=EndpointState.UNHEALTHY, error=error.message)
        return Verdict(after=replace(standing, endpoint=endpoint), seconds=min(failures * LOOK_SECONDS, FAILED_SECONDS))

    def _populate(self, standing: Standing, seats: Seats, status: Mapping[str, Any]) -> None:
        """Starts and dismisses replicas of each version to reach their number; dismisses all of other versions."""
        endpoint, good = standing.endpoint, standing.good
        ready = status.get("ready") or {}
        wanted = {group_of(version): version for version in (good.versions if good else ())}
        served = set(wanted)
        wanted.update((group_of(version), version) for version in endpoint.spec.versions)
        for group, version in wanted.items():
            if group in served:
                count = self._count(endpoint, version, seats, status)
            else:  # as many as serve this version now
                now = sum(len(seats.serving(each)) for each in served if each[0] == version.name)
                count = min(max(now, version.limits.min_replicas), version.limits.max_replicas)
            seats.bring_to(version, count, ready, at_once=group not in served)
        seats.dismiss_all_but(wanted)

    def _count(self, endpoint: Endpoint, version: Version, seats: Seats, status: Mapping[str, Any]) -> int:
        """The number of replicas by load, between the limits: raised at once, lowered one by one after a calm time."""
        limits, there = version.limits, len(seats.serving(group_of(version)))
        least = min(max(there, limits.min_replicas), limits.max_replicas)
        load = (status.get("by_version") or {}).get(version.name)
        if limits.min_replicas == limits.max_replicas or load is None:
            return least
        busy = float(load.get("in_flight", 0)) + float(load.get("waiting", 0))
        wanted = scaled(limits, there, busy)
        place, now = (endpoint.id, version.name), self._context.clock()
        if wanted >= least:
            self._calm.pop(place, None)
            return wanted
        if now - self._calm.setdefault(place, now) < CALM_SECONDS:
            return least
        self._calm[place] = now - CALM_SECONDS / 2  # the next one is dismissed sooner
        return least - 1

    def _switch(self, standing: Standing, seats: Seats, folder: Path) -> Verdict:
        """Every new replica is ready: the new spec serves from now on, and the old replicas end after their open requests."""
        endpoint = standing.endpoint
        stands = replace(endpoint, state=EndpointState.HEALTHY, error="", failed_replica="")
        after = replace(standing, good=endpoint.spec, endpoint=stands)
        self._tell(after, seats, folder)
        return Verdict(after=after, seconds=0.0)

    def _see_off(self, endpoint: Endpoint, seats: Seats, status: Mapping[str, Any]) -> bool:
        """Ends dismissed replicas that the front does not use any more; True while there are dismissed replicas."""
        held = {*(status.get("ready") or ()), *(status.get("draining") or ())} if status else set()
        longest = max(version.limits.timeout_seconds for version in endpoint.spec.versions) + DRAIN_SECONDS
        now = self._context.clock()
        leaving = seats.leaving()
        before = self._dismissed.pop(endpoint.id, {})
        if leaving:
            self._dismissed[endpoint.id] = since = {seat.run.id: before.get(seat.run.id, now) for seat in leaving}
        for seat in leaving:
            if seat.replica.socket not in held or now - since[seat.run.id] > longest:
                seats.end(seat)
        return bool(leaving)

    def _judge(self, standing: Standing, seats: Seats, ready: Mapping[str, Any]) -> Verdict:
        """Sets Healthy or Unhealthy: Unhealthy when a version with traffic has no ready replica."""
        endpoint = standing.endpoint
        down = _down(seats, endpoint, ready)
        after = endpoint
        if down:
            groups = map(group_of, down)
            words = seats.last_words(groups) or "its replicas are being brought back."
            error = f"No replica of {', '.join(version.name for version in down)} is ready: {words}"
            after = replace(endpoint, state=EndpointState.UNHEALTHY, error=error, failed_replica="")
        elif endpoint.state is EndpointState.UNHEALTHY:
            after = replace(endpoint, state=EndpointState.HEALTHY, error="", failed_replica="")
        scales = any(version.limits.max_replicas > version.limits.min_replicas for version in endpoint.spec.versions)
        seconds = END_SECONDS if down else SCALE_SECONDS if scales else LOOK_SECONDS
        return Verdict(after=replace(standing, endpoint=after), seconds=seconds)

    def _failed(self, standing: Standing, failure: Failure) -> Verdict:
        """The change failed: the earlier spec continues to serve. The replica that failed is noted, for its log."""
        endpoint, good = standing.endpoint, standing.good
        asked = [version for version in endpoint.spec.versions if good is None or version not in good.versions]
        why = replicas.explained(self._context, endpoint.workspace, asked, failure.why)
        if good is None:
            after = replace(endpoint, state=EndpointState.FAILED, error=why)
        else:
            words = f"The change failed, and the endpoint is as it was before. {why}"
            after = replace(endpoint, spec=good, state=EndpointState.HEALTHY, error=words)
        after = replace(after, failed_replica=failure.run_id)
        return Verdict(after=replace(standing, endpoint=after), seconds=0.0)

    def _tell(self, standing: Standing, seats: Seats, folder: Path) -> None:
        """Sends the front its list of replicas: those of a version that is coming up get no requests yet."""
        endpoint, good = standing.endpoint, standing.good
        serving = good or endpoint.spec
        versions = [_front(version, seats) for version in serving.versions]
        known = {group_of(version) for version in serving.versions}
        coming = [version for version in endpoint.spec.versions if group_of(version) not in known]
        versions += [
            replace(_front(version, seats), traffic=0, name=f"{version.name}@{version.generation}")
            for version in coming
        ]
        fronts.tell(folder, self._config(endpoint, serving, versions))

    def _config(self, endpoint: Endpoint, serving: EndpointSpec, versions: Sequence[FrontVersion]) -> FrontConfig:
        sealed = endpoints.sealed_keys(self._context, endpoint)
        by_key = serving.auth is not Auth.NONE
        return FrontConfig(
            workspace=endpoint.workspace,
            name=endpoint.name,
            kind=serving.kind,
            port=endpoint.port,
            auth=serving.auth,
            keys=tuple(keys.digest(key) for key in (sealed.primary, sealed.secondary)) if by_key else (),
            secret=sealed.secret if serving.auth is Auth.TOKEN else "",
            recorded=serving.recorded,
            versions=tuple(versions),
        )

    # ---- an endpoint that should not serve

    def _rest(self, standing: Standing, seats: Seats) -> Verdict:
        """It has failed: ends all its processes; none starts until a person requests another spec."""
        folder = self._folder(standing.endpoint)
        living = self._stop(standing.endpoint, seats, folder)
        return Verdict(after=standing, seconds=END_SECONDS if living else FAILED_SECONDS)

    def _end(self, standing: Standing, seats: Seats) -> Verdict:
        endpoint = standing.endpoint
        folder = self._folder(endpoint)
        if self._stop(endpoint, seats, folder):
            return Verdict(after=standing, seconds=END_SECONDS)
        fronts.remove(folder, [seat.replica.socket for seat in seats.all])
        log.info("endpoint %s is gone", endpoint.id)
        return Verdict(after=standing, seconds=0.0, gone=True)

    def _stop(self, endpoint: Endpoint, seats: Seats, folder: Path) -> bool:
        """Ends the front, which finishes its open requests, and then the replicas; True while one of them is left."""
        now = self._context.clock()
        limits = [version.limits for version in endpoint.spec.versions]
        longest = max(each.timeout_seconds + each.queue_seconds for each in limits) + DRAIN_SECONDS
        gone = fronts.stop(folder)
        late = not gone and now - self._ending.setdefault(endpoint.id, now) > longest
        if late:
            fronts.kill(folder)
        for seat in seats.living() if gone or late else ():
            seats.end(seat)
        left = not gone or bool(seats.living())
        if not left:
            self._ending.pop(endpoint.id, None)
        return left

    def _folder(self, endpoint: Endpoint) -> Path:
        return fronts.folder_of(self._context.facts.home, endpoint.workspace, endpoint.name)


def _front(version: Version, seats: Seats) -> FrontVersion:
    limits = version.limits
    return FrontVersion(
        name=version.name,
        generation=version.generation,
        traffic=version.traffic,
        models=version.models,
        concurrency=limits.concurrency,
        timeout_seconds=limits.timeout_seconds,
        queue_seconds=limits.queue_seconds,
        max_request_bytes=limits.max_request_bytes,
        replicas=tuple(
            FrontReplica(socket=seat.replica.socket, run=seat.replica.run_id)
            for seat in seats.serving(group_of(version))
        ),
    )


def _ready(seats: Seats, version: Version, ready: Mapping[str, Any]) -> int:
    return sum(seat.replica.socket in ready for seat in seats.serving(group_of(version)))


def _is_up(seats: Seats, version: Version, ready: Mapping[str, Any], coming: bool) -> bool:
    """True when enough replicas are ready; for a version that is coming up, all that were started."""
    begun = len(seats.serving(group_of(version))) if coming else 0
    return _ready(seats, version, ready) >= max(begun, version.limits.min_replicas)


def _down(seats: Seats, endpoint: Endpoint, ready: Mapping[str, Any]) -> list[Version]:
    """Versions that get requests and have no ready replica."""
    return [version for version in endpoint.spec.versions if version.traffic and not _ready(seats, version, ready)]
