"""What every store promises of leases on runs (`roost.store.base.Runs`), as tests."""

import pytest
from tests.contracts.store import StoreContract, at_once, event

from roost.domain.errors import Conflict
from roost.domain.runs import RunStatus
from roost.store.base import Store


class LeasesContract(StoreContract):
    def test_a_lease_is_one_holders_until_it_runs_out(self, store: Store) -> None:
        self.make(store, "r1", RunStatus.RUNNING)
        (lease,) = self.lease(store, 10.0)
        assert (lease.run.id, lease.until) == ("r1", 40.0)
        assert self.lease(store, 39.0) == []
        (taken,) = self.lease(store, 40.0)
        assert taken.token != lease.token
        with pytest.raises(Conflict, match="r1"):
            store.runs.apply("r1", event(RunStatus.FAILED), lease=lease.token)
        assert store.runs.get("r1").status is RunStatus.RUNNING
        assert not store.runs.renew("r1", lease.token, until=99.0)
        store.runs.release("r1", lease.token, due_at=0.0)  # lost: nothing happens
        assert self.lease(store, 41.0) == []
        assert store.runs.apply("r1", event(RunStatus.FINALIZING), lease=taken.token)[1]

    def test_an_expired_lease_that_nobody_took_still_holds(self, store: Store) -> None:
        self.make(store, "r1", RunStatus.RUNNING)
        (lease,) = self.lease(store, 10.0)
        assert store.runs.apply("r1", event(RunStatus.FINALIZING, 1000.0), lease=lease.token)[1]

    def test_a_renewed_lease_lasts_longer(self, store: Store) -> None:
        self.make(store, "r1", RunStatus.RUNNING)
        (lease,) = self.lease(store, 10.0)
        assert store.runs.renew("r1", lease.token, until=100.0)
        assert self.lease(store, 99.0) == []
        assert len(self.lease(store, 100.0)) == 1

    def test_a_released_run_is_due_when_it_was_said(self, store: Store) -> None:
        self.make(store, "r1", RunStatus.RUNNING)
        (lease,) = self.lease(store, 10.0)
        store.runs.release("r1", lease.token, due_at=50.0)
        assert self.lease(store, 49.0) == []
        assert len(self.lease(store, 50.0)) == 1

    def test_a_touch_makes_it_due_also_while_it_is_leased(self, store: Store) -> None:
        self.make(store, "r1", RunStatus.RUNNING)
        (lease,) = self.lease(store, 10.0)
        store.runs.release("r1", lease.token, due_at=500.0)
        store.runs.touch("r1")
        (lease,) = self.lease(store, 11.0)
        store.runs.touch("r1")
        assert self.lease(store, 12.0) == []  # held
        assert store.runs.renew("r1", lease.token, until=60.0)
        store.runs.release("r1", lease.token, due_at=500.0)
        assert len(self.lease(store, 13.0)) == 1

    def test_what_somebody_held_who_is_gone_is_due_at_once(self, store: Store) -> None:
        self.make(store, "r1", RunStatus.RUNNING)
        self.make(store, "r2", RunStatus.RUNNING)
        first, second = self.lease(store, 10.0)
        store.runs.release("r2", second.token, due_at=50.0)
        store.runs.inherit()
        (lease,) = self.lease(store, 11.0)  # the other was given back, and keeps its time
        assert lease.run.id == first.run.id == "r1"
        assert lease.token != first.token
        assert not store.runs.renew("r1", first.token, until=99.0)

    def test_leases_keep_to_statuses_and_limit(self, store: Store) -> None:
        for i in range(5):
            self.make(store, f"r{i}", RunStatus.RUNNING)
        self.make(store, "q", RunStatus.QUEUED)
        assert len(store.runs.lease(statuses=[RunStatus.RUNNING], at=1.0, seconds=30.0, limit=3)) == 3
        assert [x.run.id for x in store.runs.lease(statuses=[RunStatus.QUEUED], at=1.0, seconds=30.0, limit=9)] == ["q"]
        assert store.runs.lease(statuses=[], at=1.0, seconds=30.0, limit=9) == []

    def test_two_loops_never_hold_one_run(self, store: Store) -> None:
        for i in range(40):
            self.make(store, f"r{i}", RunStatus.RUNNING)

        def take(_: int) -> list[str]:
            found = [store.runs.lease(statuses=[RunStatus.RUNNING], at=1.0, seconds=9.0, limit=3) for _ in range(5)]
            return [lease.run.id for leases in found for lease in leases]

        taken = [run_id for row in at_once(take, 8) for run_id in row]
        assert len(taken) == len(set(taken)) == 40

    def lease(self, store: Store, at: float):  # type: ignore[no-untyped-def]
        return store.runs.lease(statuses=[RunStatus.RUNNING, RunStatus.FINALIZING], at=at, seconds=30.0, limit=10)
