"""What every store promises of leases (`roost.store.base.Leases`), and of what runs do with theirs, as tests."""

from collections.abc import Sequence

import pytest
from tests.contracts.store import StoreContract, at_once, event

from roost.domain.errors import Conflict
from roost.domain.runs import RunKind, RunSpec, RunStatus
from roost.store.base import NEW_RUNS, RUNS, Lease, Store

CHORES = "chores"


def take(store: Store, at: float, noun: str = RUNS, *, limit: int = 10) -> Sequence[Lease]:
    return store.leases.take(noun, at=at, seconds=30.0, limit=limit)


def keys(leases: Sequence[Lease]) -> list[str]:
    return [lease.key for lease in leases]


class LeasesContract(StoreContract):
    def test_a_lease_is_one_holders_until_it_runs_out(self, store: Store) -> None:
        self.make(store, "r1", RunStatus.RUNNING)
        (lease,) = take(store, 10.0)
        assert (lease.noun, lease.key, lease.until) == (RUNS, "r1", 40.0)
        assert take(store, 39.0) == []
        (taken,) = take(store, 40.0)
        assert taken.token != lease.token
        with pytest.raises(Conflict, match="r1"):
            store.runs.apply("r1", event(RunStatus.FAILED), lease=lease)
        assert store.runs.get("r1").status is RunStatus.RUNNING
        assert store.leases.renew([lease, taken], until=99.0) == [lease]
        store.leases.release(lease, due=0.0)  # lost: nothing happens
        store.leases.drop(lease)
        assert take(store, 98.0) == []
        assert store.runs.apply("r1", event(RunStatus.FINALIZING), lease=taken)[1]

    def test_an_expired_lease_that_nobody_took_still_holds(self, store: Store) -> None:
        self.make(store, "r1", RunStatus.RUNNING)
        (lease,) = take(store, 10.0)
        assert store.runs.apply("r1", event(RunStatus.FINALIZING, 1000.0), lease=lease)[1]

    def test_a_renewed_lease_lasts_longer(self, store: Store) -> None:
        store.leases.add(CHORES, "a")
        (lease,) = take(store, 10.0, CHORES)
        assert store.leases.renew([lease], until=100.0) == []
        assert take(store, 99.0, CHORES) == []
        assert len(take(store, 100.0, CHORES)) == 1

    def test_released_work_is_due_when_it_was_said(self, store: Store) -> None:
        store.leases.add(CHORES, "a")
        (lease,) = take(store, 10.0, CHORES)
        store.leases.release(lease, due=50.0)
        assert take(store, 49.0, CHORES) == []
        assert len(take(store, 50.0, CHORES)) == 1

    def test_a_touch_makes_it_due_also_while_it_is_leased(self, store: Store) -> None:
        store.leases.add(CHORES, "a")
        (lease,) = take(store, 10.0, CHORES)
        store.leases.release(lease, due=500.0)
        store.leases.touch(CHORES, "a")
        (lease,) = take(store, 11.0, CHORES)
        store.leases.touch(CHORES, "a")
        assert take(store, 12.0, CHORES) == []  # held
        assert store.leases.renew([lease], until=60.0) == []
        store.leases.release(lease, due=500.0)
        assert len(take(store, 13.0, CHORES)) == 1
        store.leases.touch(CHORES, "b")  # no loop looks after it
        assert take(store, 13.0, CHORES) == []

    def test_what_somebody_held_who_is_gone_is_due_at_once(self, store: Store) -> None:
        store.leases.add(CHORES, "a")
        store.leases.add(CHORES, "b")
        first, second = take(store, 10.0, CHORES)
        store.leases.release(second, due=50.0)
        store.leases.inherit()
        (lease,) = take(store, 11.0, CHORES)  # the other was given back, and keeps its time
        assert lease.key == first.key == "a"
        assert lease.token != first.token
        assert store.leases.renew([first], until=99.0) == [first]

    def test_leases_keep_to_their_noun_and_limit(self, store: Store) -> None:
        for i in range(5):
            store.leases.add(CHORES, f"c{i}")
        store.leases.add("sweeps", "c0")
        assert keys(take(store, 1.0, CHORES, limit=3)) == ["c0", "c1", "c2"]
        assert keys(take(store, 1.0, "sweeps")) == ["c0"]
        assert keys(take(store, 1.0, CHORES)) == ["c3", "c4"]
        assert take(store, 1.0, "others") == []

    def test_what_is_due_for_the_longest_time_comes_first_and_of_equals_what_was_added_first(
        self, store: Store
    ) -> None:
        for key, due in {"z": 5.0, "late": 9.0, "y": 5.0, "early": 3.0, "x": 5.0, "not yet": 11.0}.items():
            store.leases.add(CHORES, key, due=due)
        store.leases.add(CHORES, "late")  # it is there already
        assert keys(take(store, 10.0, CHORES)) == ["early", "z", "y", "x", "late"]

    def test_what_is_dropped_is_not_looked_after_any_more(self, store: Store) -> None:
        store.leases.add(CHORES, "a")
        (lease,) = take(store, 10.0, CHORES)
        store.leases.drop(lease)
        store.leases.touch(CHORES, "a")
        assert take(store, 100.0, CHORES) == []

    def test_two_loops_never_hold_one_key(self, store: Store) -> None:
        for i in range(40):
            store.leases.add(CHORES, f"c{i}")

        def work(_: int) -> list[str]:
            return [lease.key for _ in range(5) for lease in take(store, 1.0, CHORES, limit=3)]

        taken = [key for row in at_once(work, 8) for key in row]
        assert len(taken) == len(set(taken)) == 40

    def test_a_run_is_looked_after_by_the_loop_of_its_status(self, store: Store) -> None:
        self.make(store, "r1")
        (new,) = take(store, 10.0, NEW_RUNS)
        store.runs.apply("r1", event(RunStatus.PREPARING), lease=new)
        assert take(store, 1000.0, NEW_RUNS) == []
        (lease,) = take(store, 10.0)
        store.runs.apply("r1", event(RunStatus.QUEUED), lease=lease)
        with pytest.raises(Conflict):  # it went with the write
            store.runs.apply("r1", event(RunStatus.PROVISIONING), lease=lease)
        store.leases.touch(RUNS, "r1")
        assert [take(store, 1000.0, noun) for noun in (RUNS, NEW_RUNS)] == [[], []]
        store.runs.apply("r1", event(RunStatus.PROVISIONING))
        (lease,) = take(store, 10.0)
        store.leases.release(lease, due=20.0)
        for status in (RunStatus.RUNNING, RunStatus.NOT_RESPONDING, RunStatus.FINALIZING):
            store.runs.apply("r1", event(status))
            assert take(store, 19.0) == [], "a report of its agent is no reason to look"
        (lease,) = take(store, 20.0)
        store.runs.apply("r1", event(RunStatus.COMPLETED))
        store.leases.release(lease, due=0.0)
        assert [take(store, 1000.0, noun) for noun in (RUNS, NEW_RUNS)] == [[], []]

    def test_an_interactive_run_is_looked_after_once_it_has_begun(self, store: Store) -> None:
        self.make(store, "i1", spec=RunSpec(kind=RunKind.INTERACTIVE))
        assert [take(store, 10.0, noun) for noun in (RUNS, NEW_RUNS)] == [[], []]
        store.runs.apply("i1", event(RunStatus.RUNNING))
        assert keys(take(store, 10.0)) == ["i1"]

    def test_runs_of_a_pass_come_in_the_order_of_submission(self, store: Store) -> None:
        for name in ("c", "a", "b"):
            self.make(store, name)
        assert [run.id for run in store.runs.many(["a", "b", "c", "gone"])] == ["c", "a", "b"]
        assert store.runs.many([]) == []
        assert keys(take(store, 10.0, NEW_RUNS, limit=2)) == ["c", "a"]
