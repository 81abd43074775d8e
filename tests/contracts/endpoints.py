"""What every store promises of endpoints (`roost.store.base.Endpoints`), as tests."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.contracts.store import WS, StoreContract, at_once

from roost.domain.endpoints import Endpoint, EndpointSpec, EndpointState, Replica, Version
from roost.domain.errors import Conflict, EndpointConflict, EndpointNotFound
from roost.store.base import ENDPOINTS, Lease, Standing, Store

SPEC = EndpointSpec(versions=(Version(entry_script="score.py", models=("net:1",)),))
OTHER = EndpointSpec(versions=(Version(entry_script="score.py", models=("net:2",)),))


def made(store: Store, name: str = "birds", port: int = 20_001) -> Endpoint:
    endpoint = Endpoint(workspace=WS, name=name, spec=SPEC, port=port, user="ann", created_at=5.0, updated_at=5.0)
    return store.endpoints.create(endpoint, b"sealed", generations=1)


def taken(store: Store, at: float = 10.0) -> Sequence[Lease]:
    return store.leases.take(ENDPOINTS, at=at, seconds=5.0, limit=10)


def leased(store: Store, at: float = 10.0) -> tuple[Lease, Standing]:
    (lease,) = taken(store, at)
    return lease, store.endpoints.standing(WS, "birds")


class EndpointsContract(StoreContract):
    def test_an_endpoint_is_made_once(self, store: Store) -> None:
        assert not store.endpoints.any_sealed()
        endpoint = made(store)
        assert store.endpoints.get(WS, "birds") == endpoint
        assert store.endpoints.list(WS) == [endpoint]
        assert store.endpoints.list("other") == []
        assert store.endpoints.ports() == {20_001}
        assert store.endpoints.standing(WS, "birds").sealed == b"sealed"
        assert store.endpoints.any_sealed()
        for name, port in (("birds", 20_002), ("trees", 20_001)):
            with pytest.raises(EndpointConflict):
                made(store, name, port)
        with pytest.raises(EndpointNotFound, match="Did you mean 'birds'"):
            store.endpoints.get(WS, "bird")

    def test_of_two_who_make_it_at_once_one_does(self, store: Store) -> None:
        def work(number: int) -> bool:
            try:
                made(store, port=20_001 + number)
            except EndpointConflict:
                return False
            return True

        assert sum(at_once(work, 4)) == 1

    def test_what_is_asked_for_last_counts(self, store: Store) -> None:
        made(store)
        after = store.endpoints.ask(WS, "birds", OTHER, seen=1, generations=2, at=7.0)
        assert (after.spec, after.state, after.revision) == (OTHER, EndpointState.TRANSITIONING, 2)
        with pytest.raises(EndpointConflict, match="somebody else"):
            store.endpoints.ask(WS, "birds", SPEC, seen=1, generations=2, at=8.0)
        assert store.endpoints.using(WS, "net:2") == ["birds"]
        assert store.endpoints.using(WS, "net:1") == []

    def test_work_is_leased_to_one_and_written_only_by_its_holder(self, store: Store) -> None:
        made(store)
        lease, before = leased(store)
        assert taken(store, 11.0) == []
        good = replace(before, good=SPEC, endpoint=replace(before.endpoint, state=EndpointState.HEALTHY, error="x"))
        assert store.endpoints.settle(before, good, lease=lease)
        now = store.endpoints.get(WS, "birds")
        assert (now.state, now.error, now.revision) == (EndpointState.HEALTHY, "x", 2)
        assert store.endpoints.standing(WS, "birds").good == SPEC
        assert store.leases.renew([lease], until=30.0) == []
        assert taken(store, 20.0) == []
        store.leases.release(lease, due=25.0)
        assert taken(store, 24.0) == []
        _, again = leased(store, 25.0)
        assert store.leases.renew([lease], until=40.0) == [lease]
        with pytest.raises(Conflict, match="birds"):
            store.endpoints.settle(before, replace(before, good=OTHER), lease=lease)
        assert store.endpoints.standing(WS, "birds").good == SPEC
        assert again.good == SPEC

    def test_what_is_asked_meanwhile_is_neither_overwritten_nor_late(self, store: Store) -> None:
        made(store)
        lease, before = leased(store)
        store.endpoints.ask(WS, "birds", OTHER, seen=1, generations=2, at=11.0)
        assert not store.endpoints.settle(before, replace(before, good=SPEC), lease=lease)
        store.leases.release(lease, due=100.0)
        assert leased(store, 12.0)[1].endpoint.spec == OTHER

    def test_leases_of_one_that_is_gone_are_inherited(self, store: Store) -> None:
        made(store)
        leased(store)
        store.leases.inherit()
        leased(store, 10.5)

    def test_one_that_is_being_deleted_is_there_for_its_loop_alone(self, store: Store) -> None:
        made(store)
        lease, _ = leased(store)
        assert not store.endpoints.remove(WS, "birds", lease=lease)
        store.endpoints.retire(WS, "birds", at=11.0)
        with pytest.raises(EndpointNotFound):
            store.endpoints.get(WS, "birds")
        with pytest.raises(EndpointNotFound):
            store.endpoints.retire(WS, "birds", at=11.0)
        with pytest.raises(EndpointConflict, match="being deleted"):
            made(store)
        assert store.endpoints.list(WS) == []
        assert store.endpoints.using(WS, "net:1") == ["birds"]
        store.leases.release(lease, due=100.0)
        last, standing = leased(store, 12.0)
        assert standing.deleting
        with pytest.raises(Conflict, match="birds"):
            store.endpoints.remove(WS, "birds", lease=lease)
        assert store.endpoints.remove(WS, "birds", lease=last)
        assert taken(store, 1000.0) == []
        made(store)
        leased(store)

    def test_replicas(self, store: Store) -> None:
        made(store)
        first, second = (
            Replica(run_id=f"run{n}", version="default", generation=1, socket=f"/s/{n}", created_at=float(n))
            for n in (1, 2)
        )
        store.endpoints.add_replica(WS, "birds", second)
        store.endpoints.add_replica(WS, "birds", first)
        assert store.endpoints.replicas(WS, "birds") == [first, second]
        store.endpoints.dismiss(["run1"])
        assert store.endpoints.replicas(WS, "birds") == [replace(first, leaving=True), second]
        store.endpoints.forget(["run1"])
        assert store.endpoints.replicas(WS, "birds") == [second]
        assert store.endpoints.replicas(WS, "trees") == []

    def test_other_keys(self, store: Store) -> None:
        made(store)
        before = store.endpoints.standing(WS, "birds").sealed
        assert store.endpoints.annotate(WS, "birds", lambda sealed: sealed + b" and new").revision == 2
        assert store.endpoints.standing(WS, "birds").sealed == before + b" and new"
