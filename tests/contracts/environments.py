"""What every store promises of environments and their builds (`roost.store.base`), as tests."""

import pytest
from tests.contracts.store import WS, StoreContract, at_once, event, submission

from roost.domain.environments import Archive, Build, Environment
from roost.domain.errors import NotFound
from roost.domain.runs import RunStatus
from roost.store.base import RUNS, Store


def environment(name: str = "mine", **definition: object) -> Environment:
    return Environment(workspace=WS, name=name, version="", definition=definition, user="ann", created_at=3.0)


class EnvironmentsContract(StoreContract):
    def preparing(self, store: Store, run_id: str) -> str:
        store.runs.create(WS, submission(run_id), user="ann", at=2.0)
        store.runs.apply(run_id, event(RunStatus.PREPARING))
        return run_id

    def test_versions_count_up_and_the_same_definition_is_the_same_version(self, store: Store) -> None:
        first, new = store.environments.register(environment(a=1, b={"c": [2]}))
        assert (first.version, new, first.definition) == ("1", True, {"a": 1, "b": {"c": [2]}})
        assert store.environments.register(environment(b={"c": [2]}, a=1)) == (first, False)
        second, _ = store.environments.register(environment(a=2))
        assert second.version == "2"
        assert store.environments.register(environment(a=1, b={"c": [2]})) == (first, False)
        assert store.environments.register(environment("other", a=1))[0].version == "1"

    def test_found_by_name_and_version(self, store: Store) -> None:
        for number in range(3):
            store.environments.register(environment(a=number))
        store.environments.register(environment("another"))
        assert store.environments.get(WS, "mine").version == "3"
        assert store.environments.get(WS, "mine", "1").definition == {"a": 0}
        assert [(each.name, each.version) for each in store.environments.list(WS)] == [("another", "1"), ("mine", "3")]
        assert [each.version for each in store.environments.list(WS, "mine")] == ["3", "2", "1"]
        assert store.environments.list(WS, "nobody's") == []

    @pytest.mark.parametrize("version", ["4", "0", "-1", "latest", "9" * 30, ""])
    def test_what_is_not_there_is_named(self, store: Store, version: str) -> None:
        store.environments.register(environment())
        with pytest.raises(NotFound, match="mine"):
            store.environments.get(WS, "mine", version)

    def test_a_name_nearby_is_offered(self, store: Store) -> None:
        store.environments.register(environment("vision-torch"))
        with pytest.raises(NotFound) as caught:
            store.environments.get(WS, "vision-toch")
        assert caught.value.hint == "Did you mean 'vision-torch'? List them with: roost env list"

    def test_a_lock_is_forgotten(self, store: Store) -> None:
        store.environments.forget_lock("key", "linux")
        store.environments.end_build("key", "linux", lock="l" * 64)
        store.environments.forget_lock("key", "mac")
        assert store.environments.build("key", "linux").lock == "l" * 64
        store.environments.forget_lock("key", "linux")
        store.environments.forget_lock("key", "linux")
        assert store.environments.build("key", "linux") == Build(key="key", platform="linux")

    def test_many_at_once_get_versions_of_their_own(self, store: Store) -> None:
        made = at_once(lambda number: store.environments.register(environment(a=number % 5))[0].version, 20)
        assert set(made) == {"1", "2", "3", "4", "5"}

    def test_of_many_runs_one_builds(self, store: Store) -> None:
        runs = [self.preparing(store, f"run_{number}") for number in range(6)]
        assert store.environments.build("k", "p") == Build(key="k", platform="p")
        seen = at_once(lambda number: store.environments.claim_build("k", "p", runs[number], 2).builder, 6)
        assert len(set(seen)) == 1
        assert store.environments.claim_build("k", "p", seen[0], 2).builder == seen[0], "claimed twice is claimed once"
        known = store.environments.end_build("k", "p", lock="l")
        assert (known.lock, known.builder) == ("l", "")
        assert store.environments.claim_build("k", "p", runs[1], 2) == known, "what is known is built by nobody"
        assert store.environments.build("k", "q").lock == "", "another platform is another build"
        assert store.environments.claim_build("k", "p", runs[1], 2, lost="other").lock == "l"
        lost = store.environments.claim_build("k", "p", runs[1], 2, lost="l")
        assert (lost.lock, lost.builder) == ("", runs[1])

    def test_so_many_builds_at_once(self, store: Store) -> None:
        runs = [self.preparing(store, f"run_{number}") for number in range(3)]
        builders = [store.environments.claim_build(f"k{n}", "p", run, 2).builder for n, run in enumerate(runs)]
        assert builders == [runs[0], runs[1], ""]
        store.environments.end_build("k0", "p", lock="l")
        assert store.environments.claim_build("k2", "p", runs[2], 2).builder == runs[2]

    def test_a_builder_that_has_gone_leaves_its_place(self, store: Store) -> None:
        first, second = self.preparing(store, "first"), self.preparing(store, "second")
        store.environments.claim_build("k", "p", first, 1)
        assert store.environments.claim_build("k", "p", second, 1).builder == first
        store.runs.apply(first, event(RunStatus.CANCELED))
        assert store.environments.claim_build("k", "p", second, 1).builder == second

    def test_a_failure_is_remembered_until_the_next_success(self, store: Store) -> None:
        run = self.preparing(store, "first")
        store.environments.claim_build("k", "p", run, 1)
        failed = store.environments.end_build("k", "p", at=7.0, message="no such package")
        assert (failed.failed_at, failed.message, failed.builder) == (7.0, "no such package", "")
        assert store.environments.claim_build("k", "p", run, 1).builder == run
        assert store.environments.end_build("k", "p", lock="l") == Build(key="k", platform="p", lock="l")

    def test_all_runs_in_a_status_are_made_due(self, store: Store) -> None:
        first, second, run = (self.preparing(store, name) for name in ("first", "second", "third"))
        for status in (RunStatus.QUEUED, RunStatus.PROVISIONING):
            store.runs.apply(run, event(status))
        for lease in store.leases.take(RUNS, at=10.0, seconds=5.0, limit=9):
            store.leases.release(lease, due=100.0)
        assert store.leases.take(RUNS, at=20.0, seconds=5.0, limit=9) == []
        store.runs.touch_all(RunStatus.PREPARING)
        assert [lease.key for lease in store.leases.take(RUNS, at=20.0, seconds=5.0, limit=9)] == [first, second]

    def test_what_is_kept_of_a_lock_is_put_replaced_and_dropped(self, store: Store) -> None:
        assert store.environments.archive("ab" * 32) is None
        first = Archive(
            lock="ab" * 32, manifest="cd" * 32, python="3.6.15", files=2, bytes=5_000_000_000, missing=("a: gone",)
        )
        store.environments.put_archive(first)
        assert store.environments.archive(first.lock) == first
        whole = Archive(lock=first.lock, manifest="ef" * 32, python="", files=3, bytes=7, kept_at=9.0)
        store.environments.put_archive(whole)
        other = Archive(lock="01" * 32, manifest="23" * 32, python="", files=1, bytes=1, kept_at=5.0)
        store.environments.put_archive(other)
        assert list(store.environments.archives()) == [whole, other]
        assert whole.manifest in store.upkeep.references().archives
        assert store.environments.drop_archive(first.lock)
        assert not store.environments.drop_archive(first.lock)
        assert list(store.environments.archives()) == [other]
        assert whole.manifest not in store.upkeep.references().others
