"""Endpoints: deployed, changed, read, deleted; their keys and tokens, their logs and records. The server loads no model: replicas
do (`services/replicas.py`), and requests go to the front (`services/fronts.py`).
"""

import contextlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from roost.domain import endpoints as rules
from roost.domain import names
from roost.domain.endpoints import Auth, Endpoint, EndpointSpec, EndpointState, Keys, Replica, checked_key, checked_name
from roost.domain.environments import BUILD_LOG
from roost.domain.errors import EndpointConflict, EndpointNotFound, InvalidEndpoint, NotFound
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.domain.runs import RunStatus
from roost.machine.ports import is_free
from roost.services import files, fronts, replicas, secrets, submissions, vault
from roost.services.context import Context
from roost.services.signals import CONTROL, endpoint_topic
from roost.serving import keys as front_keys

TOKEN_SECONDS = 12 * 3600.0
REFRESH_SECONDS = 10 * 3600.0
"""Clients should ask for a new token after this time."""
MAX_LINES = 100_000
MAX_LOG_BYTES = 8 * 1024 * 1024
MAX_RECORDS = 10_000
STD_LOG = "user_logs/std_log.txt"
_TRIES = 5


@dataclass(frozen=True, kw_only=True)
class Wish:
    """A person's request for an endpoint."""

    spec: EndpointSpec
    overwrite: bool = False
    """True: an existing endpoint may be changed. Like `update`, but a missing endpoint is made."""
    update: bool = False
    """True: the endpoint must exist, and is changed."""


class Which(StrEnum):
    PRIMARY = "Primary"
    SECONDARY = "Secondary"


@dataclass(frozen=True, kw_only=True)
class Token:
    token: str
    expires_at: float
    refresh_at: float


@dataclass(frozen=True, kw_only=True)
class Log:
    text: str
    run_id: str
    """The run of the replica that wrote it, the newest of several; empty when there is none yet."""
    note: str = ""
    """Names the replica when it is not one that serves."""


def put(context: Context, caller: Caller, workspace: str, name: str, wish: Wish) -> tuple[Endpoint, bool]:
    """Returns the endpoint and True when it is new. Everything is checked before anything changes; the present versions serve
    until the new ones are ready."""
    caller.require(Action.ENDPOINT_DEPLOY)
    place = context.store.workspaces.get(names.workspace(workspace)).name
    spec = _checked(context, place, checked_name(name), wish.spec)
    for _ in range(_TRIES):
        try:
            before = context.store.endpoints.standing(place, name)
        except EndpointNotFound:
            if wish.update:
                raise
            try:
                return _create(context, caller, place, name, spec), True
            except EndpointConflict:
                if wish.overwrite and is_there(context, place, name):
                    continue  # another caller made it first: theirs is replaced
                raise
        if before.deleting:
            raise EndpointConflict(f"Endpoint {name!r} is being deleted.", hint="Try again when it is gone.")
        if not (wish.overwrite or wish.update):
            raise EndpointConflict(
                f"There is an endpoint {name!r} in workspace {place!r} already.",
                hint="Give overwrite=True to replace it, or another name.",
                cli_hint="Give --overwrite to replace it, or another name.",
            )
        if spec.port not in (0, before.endpoint.port):
            raise InvalidEndpoint(
                f"Endpoint {name!r} keeps its port {before.endpoint.port}, got {spec.port}.",
                hint="Delete it first, or give no port.",
            )
        failed = before.endpoint.state is EndpointState.FAILED  # then even the same spec is tried again
        former = [*([before.good] if before.good else []), *([] if failed else [before.endpoint.spec])]
        numbered, last = rules.numbered(spec, former, before.generations)
        with contextlib.suppress(EndpointConflict):  # another caller was faster: the last request wins
            after = context.store.endpoints.ask(
                place, name, numbered, seen=before.asked, generations=last, at=context.clock()
            )
            _ring(context, after)
            return after, False
    raise EndpointConflict(f"Endpoint {name!r} is changed by others all the time.", hint="Try again in a moment.")


def _create(context: Context, caller: Caller, workspace: str, name: str, spec: EndpointSpec) -> Endpoint:
    taken = context.store.endpoints.ports()
    if spec.port and (spec.port in taken or not is_free(spec.port)):
        raise EndpointConflict(f"Port {spec.port} is taken.", hint="Give another, or none.")
    numbered, last = rules.numbered(spec, (), 0)
    now = context.clock()
    endpoint = Endpoint(
        workspace=workspace,
        name=name,
        spec=numbered,
        port=spec.port or fronts.free_port(taken),
        user=caller.user,
        created_at=now,
        updated_at=now,
    )
    sealed = _seal(context, workspace, name, _Sealed.new())
    made = context.store.endpoints.create(endpoint, sealed, generations=last)
    _ring(context, made)
    return made


def _checked(context: Context, workspace: str, name: str, spec: EndpointSpec) -> EndpointSpec:
    """The spec with the full ids of its models; checks that every version could be submitted."""
    rules.checked(spec)
    submissions.check_labels(spec.tags, spec.properties)
    versions = []
    for version in spec.versions:
        submissions.check_labels(version.tags, {})
        each_once = tuple(dict.fromkeys(replicas.full_ids(context, workspace, version.models)))
        full = replace(version, models=each_once)
        replicas.check(context, workspace, name, full)
        versions.append(full)
    return replace(spec, versions=tuple(versions))


def get(context: Context, caller: Caller, workspace: str, name: str) -> Endpoint:
    caller.require(Action.ENDPOINT_READ)
    return _find(context, workspace, name)


def _find(context: Context, workspace: str, name: str) -> Endpoint:
    """For other deeds, which check permission themselves."""
    place = context.store.workspaces.get(names.workspace(workspace)).name
    return context.store.endpoints.get(place, checked_name(name))


def listing(context: Context, caller: Caller, workspace: str) -> Sequence[Endpoint]:
    """By name."""
    caller.require(Action.ENDPOINT_READ)
    return context.store.endpoints.list(context.store.workspaces.get(names.workspace(workspace)).name)


def using(context: Context, workspace: str, model_id: str) -> Sequence[str]:
    """Names of the endpoints that use the model."""
    return context.store.endpoints.using(workspace, model_id)


def delete(context: Context, caller: Caller, workspace: str, name: str) -> None:
    """It stops answering at once; its processes end, then its port and name are free. Safe twice, until it is gone."""
    caller.require(Action.ENDPOINT_DELETE)
    place = context.store.workspaces.get(names.workspace(workspace)).name
    standing = context.store.endpoints.standing(place, checked_name(name))
    with contextlib.suppress(EndpointNotFound):  # it is being deleted already
        context.store.endpoints.retire(place, name, at=context.clock())
        _ring(context, standing.endpoint)


def is_there(context: Context, workspace: str, name: str) -> bool:
    try:
        return bool(context.store.endpoints.standing(workspace, name))
    except EndpointNotFound:
        return False


def is_gone(context: Context, caller: Caller, workspace: str, name: str) -> bool:
    caller.require(Action.ENDPOINT_READ)
    try:
        return not context.store.endpoints.standing(workspace, name).deleting
    except EndpointNotFound:
        return True


def replicas_of(context: Context, caller: Caller, workspace: str, name: str) -> list[Replica]:
    """Oldest first, with the status of their runs."""
    caller.require(Action.ENDPOINT_READ)
    return _replicas(context, workspace, name)


def _replicas(context: Context, workspace: str, name: str) -> list[Replica]:
    endpoint = _find(context, workspace, name)
    ready = _ready(context, endpoint)
    found = []
    for replica in context.store.endpoints.replicas(endpoint.workspace, endpoint.name):
        with contextlib.suppress(NotFound):  # its run is about to be made
            run = context.store.runs.get(replica.run_id)
            shown = run.message if run.status.is_terminal else replicas.waits_for(run)
            is_ready = replica.socket in ready and not run.status.is_terminal
            words = "" if is_ready else shown
            found.append(replace(replica, status=run.status.value, ready=is_ready, message=words))
    return found


def status(context: Context, caller: Caller, workspace: str, name: str) -> dict[str, Any]:
    """The front's own status report."""
    caller.require(Action.ENDPOINT_READ)
    endpoint = _find(context, workspace, name)
    said = fronts.status(_folder(context, endpoint))
    return {"running": said is not None, **(said or {})}


def logs(context: Context, caller: Caller, workspace: str, name: str, *, lines: int, replica: str = "") -> Log:
    """The last lines that replicas printed: of the one that is named, else of the one with which the last change failed, else of
    each that serves (several are headed by their names), else of the newest."""
    caller.require(Action.ENDPOINT_READ)
    endpoint = _find(context, workspace, name)
    if not 1 <= lines <= MAX_LINES:
        raise InvalidEndpoint(f"lines is 1 to {MAX_LINES}, got {lines}.")
    found = _replicas(context, workspace, name)
    tellers = _tellers(endpoint, found, replica)
    if not tellers:
        return Log(text="", run_id="")
    said = {
        each.run_id: _said(context, caller, endpoint, each, lines, MAX_LOG_BYTES // len(tellers)) for each in tellers
    }
    note = "" if replica else _note(endpoint, tellers[-1], found)
    whole = "\n".join(f"Replica {run_id}:\n{text}" for run_id, text in said.items())
    run_id = tellers[-1].run_id
    return Log(text=whole if len(said) > 1 else said[run_id], run_id=run_id, note=note)


def writes(context: Context, caller: Caller, workspace: str, name: str, *, replica: str = "") -> list[str]:
    """The running ones among the replicas that `logs` would show: they may have written lines that have not arrived yet."""
    caller.require(Action.ENDPOINT_READ)
    tellers = _tellers(_find(context, workspace, name), _replicas(context, workspace, name), replica)
    return [each.run_id for each in tellers if each.ready or each.status == RunStatus.RUNNING]


def _tellers(endpoint: Endpoint, found: Sequence[Replica], replica: str) -> list[Replica]:
    """The replicas whose log is shown, the newest last; empty when there is none yet."""
    if replica and replica not in {each.run_id for each in found}:
        raise NotFound(
            f"Endpoint {endpoint.name!r} has no replica {replica!r}.",
            hint=f"List them: roost endpoint show {endpoint.name}",
        )
    named = [each for each in found if each.run_id == (replica or endpoint.failed_replica)]
    serving = [each for each in found if each.ready and not each.leaving]
    return named or sorted(serving or found, key=_telling)[0 if serving else -1 :]


def _said(context: Context, caller: Caller, endpoint: Endpoint, replica: Replica, lines: int, most: int) -> str:
    try:
        offset = max(0, files.size(context, caller, replica.run_id, STD_LOG) - most)
        text = b"".join(files.read(context, caller, replica.run_id, STD_LOG, offset)).decode("utf-8", "replace")
    except NotFound:
        text = ""
    if not text and not replica.ready:
        text = f"{replica.message or endpoint.error}\n{_build_log(context, caller, replica.run_id)}".strip()
    return "".join(text.splitlines(keepends=True)[-lines:])


def _note(endpoint: Endpoint, chosen: Replica, found: Sequence[Replica]) -> str:
    """When other replicas serve: a note that this one does not."""
    serving = [each.run_id for each in found if each.ready and each is not chosen]
    if chosen.run_id != endpoint.failed_replica or not serving:
        return ""
    return (
        f"Replica {chosen.run_id}, with which the last change failed, wrote this. What serves: "
        f"roost endpoint logs {endpoint.name} --replica {serving[-1]}"
    )


def _build_log(context: Context, caller: Caller, run_id: str) -> str:
    """The build log of a replica's environment; empty when there is none."""
    with contextlib.suppress(NotFound):
        offset = max(0, files.size(context, caller, run_id, BUILD_LOG) - MAX_LOG_BYTES)
        return b"".join(files.read(context, caller, run_id, BUILD_LOG, offset)).decode("utf-8", "replace")
    return ""


def _telling(replica: Replica) -> tuple[bool, float]:
    return replica.ready, replica.created_at


def records(
    context: Context, caller: Caller, workspace: str, name: str, *, limit: int, before: float | None = None
) -> list[dict[str, Any]]:
    """The newest recorded requests, up to a time."""
    caller.require(Action.ENDPOINT_RECORD_READ)
    if not 1 <= limit <= MAX_RECORDS:
        raise InvalidEndpoint(f"limit is 1 to {MAX_RECORDS}, got {limit}.")
    return fronts.records(_folder(context, _find(context, workspace, name)), limit, before)


# ---- keys


@dataclass(frozen=True, kw_only=True)
class _Sealed:
    primary: str
    secondary: str
    secret: str
    """The key that signs tokens."""

    @classmethod
    def new(cls) -> "_Sealed":
        return cls(primary=front_keys.new_key(), secondary=front_keys.new_key(), secret=front_keys.new_secret())


def keys(context: Context, caller: Caller, workspace: str, name: str) -> Keys:
    caller.require(Action.ENDPOINT_KEY_READ)
    return _keys(context, _find(context, workspace, name))


def _keys(context: Context, endpoint: Endpoint) -> Keys:
    sealed = sealed_keys(context, endpoint)
    return Keys(primary=sealed.primary, secondary=sealed.secondary)


def regenerate(context: Context, caller: Caller, workspace: str, name: str, which: Which, key: str = "") -> Keys:
    """Replaces one of the two keys, by the given one or a new one. The other stays valid."""
    caller.require(Action.ENDPOINT_KEY_CHANGE)
    endpoint = _find(context, workspace, name)
    chosen = checked_key(key) if key else front_keys.new_key()
    key_file = secrets.key_file(context)
    about = endpoint.workspace, _sealed_name(endpoint.name)

    def renewed(sealed: bytes) -> bytes:
        opened = {**json.loads(vault.unseal(key_file, *about, sealed)), which.value.lower(): chosen}
        return vault.seal(key_file, *about, json.dumps(opened), may_make_key=False)

    _ring(context, context.store.endpoints.annotate(endpoint.workspace, endpoint.name, renewed))
    return _keys(context, endpoint)


def token(context: Context, caller: Caller, workspace: str, name: str) -> Token:
    """For an endpoint with token authentication: a token that is valid for twelve hours."""
    caller.require(Action.ENDPOINT_TOKEN_CREATE)
    endpoint = _find(context, workspace, name)
    if endpoint.spec.auth is not Auth.TOKEN:
        raise InvalidEndpoint(
            f"Endpoint {name!r} takes no tokens.", hint="Deploy it with token_auth_enabled=True, or use its keys."
        )
    now = context.clock()
    minted = front_keys.mint(sealed_keys(context, endpoint).secret, endpoint.id, now + TOKEN_SECONDS)
    return Token(token=minted, expires_at=now + TOKEN_SECONDS, refresh_at=now + REFRESH_SECONDS)


def sealed_keys(context: Context, endpoint: Endpoint) -> _Sealed:
    sealed = context.store.endpoints.standing(endpoint.workspace, endpoint.name).sealed
    opened = vault.unseal(secrets.key_file(context), endpoint.workspace, _sealed_name(endpoint.name), sealed)
    return _Sealed(**json.loads(opened))


def _seal(context: Context, workspace: str, name: str, opened: _Sealed) -> bytes:
    return vault.seal(
        secrets.key_file(context),
        workspace,
        _sealed_name(name),
        json.dumps(asdict(opened)),
        may_make_key=secrets.nothing_sealed(context),
    )


def _sealed_name(name: str) -> str:
    """No secret and no datastore can have such a name."""
    return f"endpoint/{name}"


def _ready(context: Context, endpoint: Endpoint) -> set[str]:
    said = fronts.status(_folder(context, endpoint)) or {}
    return set(said.get("ready", ()))


def _folder(context: Context, endpoint: Endpoint) -> Path:
    return fronts.folder_of(context.facts.home, endpoint.workspace, endpoint.name)


def _ring(context: Context, endpoint: Endpoint) -> None:
    context.signals.notify(CONTROL, endpoint_topic(endpoint.workspace, endpoint.name))
