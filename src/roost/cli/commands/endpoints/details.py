"""`roost endpoint show`: one endpoint in full, for people or as JSON, from an answer back to the model, run, code, data and
environment behind it."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from roost.cli import rendering, session
from roost.cli.commands.models import origin_lines
from roost.cli.inputs.parameters import AS_JSON, ENDPOINT
from roost.domain import codec
from roost.domain.endpoints import Auth, Replica, Version
from roost.domain.errors import NotFound
from roost.domain.runs import RunStatus
from roost.sdk.calls import endpoints
from roost.sdk.models import lineage
from roost.sdk.models.models import Model
from roost.sdk.services.webservices import Webservice


def show(name: str = ENDPOINT, as_json: bool = AS_JSON) -> None:
    """Show an endpoint: its versions, the models they serve, and the run, code, data and environment behind each."""
    _show(Webservice(session.workspace(), name), as_json)


def _show(service: Webservice, as_json: bool) -> None:
    ws, record = service.workspace, service._record
    replicas, status = endpoints.replicas(ws, service.name), endpoints.status(ws, service.name)
    origins = _origins(service)
    if as_json:
        told = {
            "endpoint": codec.encode(record),
            "scoring_uri": service.scoring_uri,
            "swagger_uri": service.swagger_uri,
        }
        found = {"replicas": codec.encode(replicas), "status": status, "origins": codec.encode(origins)}
        rendering.as_json({**told, **found})
        return
    print(f"Endpoint {service.name}  {rendering.status(record.state.value)}")
    print(f"  address      {service.scoring_uri or 'none yet'}")
    print(f"  described at {service.swagger_uri or 'none yet'}")
    print(f"  callers show {'nothing' if record.spec.auth is Auth.NONE else record.spec.auth.value}")
    if record.spec.description:
        print(f"  description  {rendering.clean(record.spec.description)}")
    for key, value in sorted(record.spec.tags.items()):
        print(f"  tag          {rendering.clean(f'{key} = {value}')}")
    print(
        f"  made         {rendering.ago(record.created_at)} by {record.user}, changed {rendering.ago(record.updated_at)}"
    )
    if (line := _traffic(status)) is not None:
        print(f"  requests     {line}")
    if record.spec.recorded:
        print(f"  recorded     {record.spec.recorded * 100:g} % of them: roost endpoint records {service.name}")
    for version in record.spec.versions:
        shown = [each for each in replicas if each.version == version.name and _counts(each, version)]
        _version(version, shown, origins, status.get("restarts") or {})
    if record.error:
        print("Error")
        for line in record.error.splitlines():
            print(f"  {line}")
    if record.failed_replica:
        print(f"Failed replica\n  {record.failed_replica}, its log: roost endpoint logs {service.name}")
    print(f"Next\n  roost endpoint test {service.name} --data '{{\"data\": …}}'\n  roost endpoint logs {service.name}")


def _origins(service: Webservice) -> dict[str, lineage.Origin]:
    """What is behind each model, by its id."""
    found: dict[str, lineage.Origin] = {}
    for each in dict.fromkeys(each for version in service._record.spec.versions for each in version.models):
        with contextlib.suppress(NotFound):
            found[each] = lineage.origin(Model(service.workspace, id=each))
    return found


def _version(
    version: Version,
    replicas: Sequence[Replica],
    origins: Mapping[str, lineage.Origin],
    restarts: Mapping[str, Mapping[str, Any]],
) -> None:
    limits = version.limits
    scale = (
        f"{limits.min_replicas}"
        if limits.max_replicas == limits.min_replicas
        else f"{limits.min_replicas} to {limits.max_replicas}"
    )
    print(
        f"Version {version.name}: {version.traffic} % of the requests, generation {version.generation}, replicas {scale}"
    )
    if version.entry_script:
        print(f"  script       {version.entry_script}, snapshot {version.snapshot[:12]}")
    else:
        print(f"  no code      {version.handler}")
    use = version.environment
    where = f"{use.name}{f', version {use.version}' if use.version else ''}" if use else version.interpreter
    print(f"  runs in      {where}")
    for replica in replicas:
        state = "ready" if replica.ready else "leaving" if replica.leaving else replica.status
        words = f": {replica.message.splitlines()[0]}" if replica.message else ""
        print(f"  replica      {replica.run_id}, {state}{words}")
        if again := restarts.get(replica.socket):
            why = f"; the last time: {again['why']}" if again["why"] else ""
            print(f"               begun anew {rendering.count(int(again['count']), 'time')}{why}")
    for each in version.models:
        print(f"  model        {each}")
        for line in origin_lines(origins[each]) if each in origins else ():
            print(f"  {line}")


def _counts(replica: Replica, version: Version) -> bool:
    """Those that live, and those that failed to become what is asked for now."""
    ended = replica.status and RunStatus(replica.status).is_terminal
    return not ended or (replica.generation == version.generation and not replica.leaving)


def _traffic(status: Mapping[str, Any]) -> str | None:
    if not status.get("running"):
        return None
    requests, refused, errors = (int(status.get(each) or 0) for each in ("requests", "refused", "errors"))
    words = f"{requests:,}, of them {refused:,} refused (4xx), {errors:,} failed (5xx)"
    waiting = int(status.get("waiting") or 0) + int(status.get("in_flight") or 0)
    return f"{words}; {waiting} now" if waiting else words
