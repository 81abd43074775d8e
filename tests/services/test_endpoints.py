"""Endpoints as people ask for them: every rule before anything changes, names, keys, tokens, and which models are in use."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.shared.contexts import ANN, Clock, snapshot, submission, submit

from roost.control.compute import ComputeControl
from roost.domain.endpoints import Auth, Endpoint, EndpointSpec, EndpointState, Keys, Limits, Version
from roost.domain.errors import EndpointConflict, EndpointNotFound, Forbidden, InvalidEndpoint, InvalidInput, RoostError
from roost.domain.files import Entry, write_manifest
from roost.domain.people import Caller
from roost.domain.permissions import Role
from roost.domain.runs import Reason, RunKind, RunStatus
from roost.services import endpoints, fronts, models, replicas, runs
from roost.services.context import Context
from roost.services.endpoints import Which, Wish
from roost.services.models import NewModel
from roost.serving import keys as front_keys
from roost.store.base import ENDPOINTS, Lease

WS = "vision"


def version(context: Context, **changes: object) -> Version:
    plain = Version(snapshot=snapshot(context, score="def run(x): return x"), entry_script="score.py")
    return replace(plain, **changes)  # type: ignore[arg-type]


def wish(context: Context, *, overwrite: bool = False, update: bool = False, **changes: object) -> Wish:
    spec = EndpointSpec(versions=(version(context),))
    return Wish(spec=replace(spec, **changes), overwrite=overwrite, update=update)  # type: ignore[arg-type]


def put(context: Context, name: str = "birds", **changes: object) -> Endpoint:
    return endpoints.put(context, ANN, WS, name, wish(context, **changes))[0]  # type: ignore[arg-type]


def lease(context: Context) -> Lease:
    (found,) = context.store.leases.take(ENDPOINTS, at=context.clock(), seconds=5, limit=10)
    return found


def test_a_new_one_has_a_port_and_keys_and_is_on_its_way(context: Context) -> None:
    endpoint, new = endpoints.put(context, ANN, WS, "birds", wish(context))
    assert new
    assert (endpoint.state, endpoint.user, endpoint.spec.versions[0].generation) == ("Transitioning", "ann", 1)
    assert fronts.is_free(endpoint.port)
    assert endpoints.get(context, ANN, WS, "birds") == endpoint
    assert list(endpoints.listing(context, ANN, WS)) == [endpoint]
    known = endpoints.keys(context, ANN, WS, "birds")
    assert len(known.primary) == len(known.secondary) == 32
    assert known.primary != known.secondary
    assert known.primary.encode() not in context.store.endpoints.standing(WS, "birds").sealed


@pytest.mark.parametrize("name", ["../birds", "a/b", "Birds", "..", "birds.", "x"])
def test_a_name_that_is_a_path_is_refused(context: Context, name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidEndpoint):
        put(context, name)
    assert not (tmp_path / "endpoints").exists()
    for ask in (endpoints.get, endpoints.delete, endpoints.status, endpoints.replicas_of):
        with pytest.raises(InvalidEndpoint):
            ask(context, ANN, WS, name)


@pytest.mark.parametrize(
    "changes",
    [
        {"models": ("net:1",)},
        {"snapshot": ""},
        {"snapshot": "0" * 64},
        {"entry_script": "none.py"},
        {"entry_script": "../score.py"},
        {"interpreter": "python"},
        {"environment_variables": {"A=B": "1"}},
        {"tags": {"": "x"}},
        {"limits": Limits(min_replicas=0)},
    ],
)
def test_what_cannot_be_deployed_is_refused_before_anything_changes(
    context: Context, changes: dict[str, object]
) -> None:
    with pytest.raises(RoostError):
        put(context, versions=(version(context, **changes),))
    assert list(endpoints.listing(context, ANN, WS)) == []


def test_who_may_replace_replaces_what_came_up_meanwhile(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    create = context.store.endpoints.create

    def overtaken(*given: Any, **named: Any) -> Endpoint:
        monkeypatch.setattr(context.store.endpoints, "create", create)
        put(context)
        return create(*given, **named)

    monkeypatch.setattr(context.store.endpoints, "create", overtaken)
    after, new = endpoints.put(context, ANN, WS, "birds", wish(context, overwrite=True, tags={"mine": "yes"}))
    assert (new, after.spec.tags) == (False, {"mine": "yes"})


def test_one_that_is_there_is_changed_only_when_that_is_asked_for(context: Context) -> None:
    first = put(context)
    with pytest.raises(EndpointConflict, match="already"):
        put(context)
    with pytest.raises(EndpointNotFound):
        put(context, "trees", update=True)
    other = version(context, environment_variables={"A": "1"})
    after, new = endpoints.put(context, ANN, WS, "birds", wish(context, overwrite=True, versions=(other,)))
    assert not new
    assert after.port == first.port
    assert after.spec.versions[0].generation == 2
    with pytest.raises(InvalidEndpoint, match="keeps its port"):
        put(context, update=True, port=first.port + 1)


def test_a_port_is_one_endpoints_alone(context: Context) -> None:
    port = put(context).port
    with pytest.raises(EndpointConflict, match="taken"):
        put(context, "trees", port=port)


def test_one_that_failed_is_tried_anew_though_it_is_the_same(context: Context) -> None:
    put(context)
    standing = context.store.endpoints.standing(WS, "birds")
    failed = replace(standing.endpoint, state=EndpointState.FAILED, error="no")
    context.store.endpoints.settle(standing, replace(standing, endpoint=failed), lease=lease(context))
    after = put(context, overwrite=True)
    assert (after.state, after.error, after.spec.versions[0].generation) == ("Transitioning", "", 2)


def test_keys_are_changed_one_by_one_and_no_browser_reads_them(context: Context) -> None:
    put(context)
    before = endpoints.keys(context, ANN, WS, "birds")
    after = endpoints.regenerate(context, ANN, WS, "birds", Which.PRIMARY)
    assert after.secondary == before.secondary
    assert after.primary != before.primary
    assert endpoints.regenerate(context, ANN, WS, "birds", Which.SECONDARY, "k" * 20).secondary == "k" * 20
    assert endpoints.keys(context, ANN, WS, "birds").primary == after.primary
    for bad in ("short", "with a space in it", "x" * 257, "ü" * 20):
        with pytest.raises(InvalidEndpoint):
            endpoints.regenerate(context, ANN, WS, "birds", Which.PRIMARY, bad)
    page = Caller(user="ann", role=Role.BROWSER)
    with pytest.raises(Forbidden):
        endpoints.keys(context, page, WS, "birds")
    with pytest.raises(Forbidden):
        endpoints.records(context, page, WS, "birds", limit=1)


def test_a_token_is_good_for_its_own_endpoint_and_time(context: Context, clock: Clock) -> None:
    put(context)
    with pytest.raises(InvalidEndpoint, match="takes no tokens"):
        endpoints.token(context, ANN, WS, "birds")
    endpoint = put(context, update=True, auth=Auth.TOKEN)
    made = endpoints.token(context, ANN, WS, "birds")
    secret = endpoints.sealed_keys(context, endpoint).secret
    assert front_keys.valid(made.token.encode(), secret, "vision/birds", clock())
    assert not front_keys.valid(made.token.encode(), secret, "vision/trees", clock())
    clock.pass_by(endpoints.TOKEN_SECONDS + 1)
    assert not front_keys.valid(made.token.encode(), secret, "vision/birds", clock())


def test_a_replica_is_a_run_that_nobody_else_submits(context: Context) -> None:
    endpoint = put(context)
    replica = replicas.begin(context, endpoint, endpoint.spec.versions[0])
    run = runs.get(context, ANN, replica.run_id)
    assert (run.spec.kind, run.experiment, run.spec.launch) == (RunKind.REPLICA, "endpoint-birds", "serve")
    assert run.spec.serving is not None
    assert len(run.spec.serving.socket) <= 100
    assert [each.run_id for each in endpoints.replicas_of(context, ANN, WS, "birds")] == [run.id]
    with pytest.raises(InvalidInput, match="made by its endpoint"):
        runs.submit(context, ANN, WS, submission(context, kind=RunKind.REPLICA))
    with pytest.raises(InvalidInput, match="made by its endpoint"):
        runs.submit(context, ANN, WS, submission(context, serving=run.spec.serving))


def test_replicas_take_no_place_of_runs_and_wait_for_none(context: Context) -> None:
    endpoint = put(context)
    waiting = [submit(context) for _ in range(3)]
    replica = replicas.begin(context, endpoint, endpoint.spec.versions[0])
    for run_id in (*(run.id for run in waiting), replica.run_id):
        runs.move(context, run_id, RunStatus.QUEUED, Reason.WAITING_FOR_NODE, "")
    ComputeControl(context).turn()
    assert [runs.get(context, ANN, run.id).status for run in waiting] == ["Provisioning", "Provisioning", "Queued"]
    assert runs.get(context, ANN, replica.run_id).status == "Provisioning"
    assert context.store.runs.active() == 2


def test_one_that_is_deleted_is_not_found_though_it_is_still_ending(context: Context) -> None:
    put(context)
    endpoints.delete(context, ANN, WS, "birds")
    with pytest.raises(EndpointNotFound):
        endpoints.get(context, ANN, WS, "birds")
    with pytest.raises(EndpointConflict, match="being deleted"):
        put(context)
    endpoints.delete(context, ANN, WS, "birds")  # whoever asks again waits with the first
    assert not endpoints.is_gone(context, ANN, WS, "birds")
    context.store.endpoints.remove(WS, "birds", lease=lease(context))
    assert endpoints.is_gone(context, ANN, WS, "birds")
    with pytest.raises(EndpointNotFound):
        endpoints.delete(context, ANN, WS, "birds")


def test_both_keys_renewed_at_once_are_new(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    put(context)
    annotate = context.store.endpoints.annotate

    def overtaken(workspace: str, name: str, change: Callable[[bytes], bytes]) -> Endpoint:
        """Right before it is written, somebody else renews the other key."""
        monkeypatch.setattr(context.store.endpoints, "annotate", annotate)
        endpoints.regenerate(context, ANN, WS, "birds", Which.SECONDARY, "s" * 20)
        return annotate(workspace, name, change)

    monkeypatch.setattr(context.store.endpoints, "annotate", overtaken)
    endpoints.regenerate(context, ANN, WS, "birds", Which.PRIMARY, "p" * 20)
    assert endpoints.keys(context, ANN, WS, "birds") == Keys(primary="p" * 20, secondary="s" * 20)


def test_a_model_that_is_given_twice_is_there_once(context: Context) -> None:
    kept = context.blobs.put(b"weights")
    manifest = context.blobs.put(write_manifest([Entry("net", size=7, content=kept)]))
    models.register(context, ANN, WS, NewModel(name="net", key="k" * 32, manifest=manifest))
    given = version(context, models=("net", "net:1"))
    assert put(context, versions=(given,)).spec.versions[0].models == ("net:1",)


def test_sockets_are_short_wherever_the_home_is(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 200)
    assert fronts.socket_for(Path("/h/endpoints/a.b"), "01234567") == "/h/endpoints/a.b/01234567/s"
    assert len(fronts.socket_for(deep, "01234567")) <= 100
    assert fronts.socket_for(deep, "01234567") != fronts.socket_for(tmp_path / ("y" * 200), "01234567")
