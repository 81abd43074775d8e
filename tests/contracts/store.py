"""What every store promises (`roost.store.base`), as tests. A store's test file subclasses StoreContract and supplies `store`."""

import math
from array import array
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from roost.domain.compute import Compute
from roost.domain.errors import ComputeNotFound, Conflict, NotFound
from roost.domain.files import RunFile
from roost.domain.metrics import Encoding, Series, Space, in_order, points, read_back
from roost.domain.people import Token, TokenKind
from roost.domain.runs import Reason, Run, RunEvent, RunKind, RunSpec, RunStatus, Submission
from roost.domain.secrets import Secret
from roost.domain.spools import Batch, decode
from roost.domain.workspaces import Experiment, Workspace
from roost.store.base import RunQuery, Store
from roost_job import records

T = TypeVar("T")
WS = "default"
HEADER = records.header(space="user", rank=0)


def submission(run_id: str, **changes: object) -> Submission:
    values: dict[str, object] = {"id": run_id, "experiment": "train", "spec": RunSpec(script="train.py"), **changes}
    return Submission(**values)  # type: ignore[arg-type]


def event(to: RunStatus, at: float = 5.0, **changes: object) -> RunEvent:
    return RunEvent(to=to, at=at, **changes)  # type: ignore[arg-type]


def numbers(first: int, count: int, name: int = 1) -> bytes:
    """Frames of the numbers `first`, `first + 1`, …; each also its own step and time."""
    return b"".join(
        records.frame(records.FLOAT_BODY.pack(records.FLOAT, name, i, float(i), float(i)))
        for i in range(first, first + count)
    )


def logged(store: Store, run_id: str, name: str, space: Space = Space.USER) -> object:
    series = store.metrics.series(run_id, name, space)
    return read_back(in_order([[point for part in spool for point in points(part)] for spool in series]))


def ship(store: Store, run_id: str, spool: str, data: bytes) -> int:
    """Takes in what `data`, the spool's whole content so far, has beyond the mark; the new mark."""
    state = store.metrics.spool(run_id, spool)
    return store.metrics.append(run_id, spool, state.offset, decode(data[state.offset :], state.names))


def ids(found: Iterable[Run]) -> list[str]:
    return [run.id for run in found]


def at_once(work: Callable[[int], T], threads: int) -> list[T]:
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, range(threads)))


class StoreContract:
    @pytest.fixture
    def store(self) -> Store:
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _places(self, store: Store) -> None:
        store.workspaces.ensure(Workspace(name=WS, user="ann", created_at=1.0))
        for name in ("train", "other"):
            store.experiments.ensure(Experiment(id=f"id-{name}", workspace=WS, name=name, user="ann", created_at=1.0))

    def make(self, store: Store, run_id: str, *path: RunStatus, **changes: object) -> Run:
        run, _ = store.runs.create(WS, submission(run_id, **changes), user="ann", at=2.0)
        for status in path:
            run, _ = store.runs.apply(run_id, event(status))
        return run

    # Workspaces, experiments, compute.

    def test_a_workspace_stays_as_it_was_first_made(self, store: Store) -> None:
        first = Workspace(name="vision", user="ann", created_at=1.0, resource_group="rg")
        assert store.workspaces.ensure(first) == first
        assert store.workspaces.ensure(Workspace(name="vision", user="bob", created_at=9.0)) == first
        assert store.workspaces.get("vision") == first
        assert [w.name for w in store.workspaces.list()] == [WS, "vision"]
        with pytest.raises(NotFound, match="nowhere"):
            store.workspaces.get("nowhere")

    def test_an_experiment_is_found_by_workspace_and_name(self, store: Store) -> None:
        found = store.experiments.ensure(
            Experiment(id="another", workspace=WS, name="train", user="bob", created_at=9.0)
        )
        assert found.id == "id-train"
        assert store.experiments.get(WS, "train") == found
        assert [e.name for e in store.experiments.list(WS)] == ["other", "train"]
        with pytest.raises(NotFound, match="missing"):
            store.experiments.get(WS, "missing")
        with pytest.raises(NotFound, match="nowhere"):
            store.experiments.ensure(Experiment(id="x", workspace="nowhere", name="e", user="a", created_at=1.0))
        with pytest.raises(NotFound, match="nowhere"):
            store.experiments.list("nowhere")

    def test_experiments_are_tagged_put_away_and_deleted(self, store: Store) -> None:
        assert store.experiments.annotate(WS, "train", tags={"a": "1", "b": None, "ü": "é"}).tags["ü"] == "é"
        after = store.experiments.annotate(WS, "train", tags={"a": "2"}, remove_tags=["b", "nothing"])
        assert after == store.experiments.get(WS, "train")
        assert after.tags == {"a": "2", "ü": "é"}
        assert store.experiments.archive(WS, "train", 5.0).archived_at == 5.0
        assert [e.archived_at for e in store.experiments.list(WS)] == [None, 5.0]
        assert store.experiments.archive(WS, "train", None) == after
        self.make(store, "r1")
        with pytest.raises(Conflict, match="has runs"):
            store.experiments.delete(WS, "train")
        store.experiments.delete(WS, "other")
        assert [e.name for e in store.experiments.list(WS)] == ["train"]
        for name in ("other", "missing"):
            with pytest.raises(NotFound, match=name):
                store.experiments.delete(WS, name)
            with pytest.raises(NotFound, match=name):
                store.experiments.annotate(WS, name, tags={"a": "1"})
            with pytest.raises(NotFound, match=name):
                store.experiments.archive(WS, name, 1.0)

    def test_the_limit_of_a_compute_changes(self, store: Store) -> None:
        store.computes.ensure(Compute(name="local", engine="local", max_nodes=2))
        assert store.computes.ensure(Compute(name="local", engine="local", max_nodes=5)).max_nodes == 5
        assert store.computes.get(WS, "local").max_nodes == 5
        with pytest.raises(ComputeNotFound, match=r"^ComputeTargetNotFound"):
            store.computes.get(WS, "gpu")

    # Making and finding runs.

    def test_a_run_reads_back_as_it_was_made(self, store: Store) -> None:
        spec = RunSpec(
            script="a.py",
            arguments=("--x", "1", "ü"),
            environment_variables={"A": "b"},
            timeout_seconds=3.5,
            kind=RunKind.INTERACTIVE,
            command=("python",),
        )
        asked = submission("r1", spec=spec, tags={"k": None, "v": "1"}, properties={"p": "q"}, display_name="d")
        run, new = store.runs.create(WS, asked, user="bob", at=7.0)
        assert new
        assert store.runs.get("r1") == run
        assert (run.spec, run.number, run.user, run.created_at, run.status) == (
            spec,
            1,
            "bob",
            7.0,
            RunStatus.NOT_STARTED,
        )
        assert (dict(run.tags), dict(run.properties), run.display_name) == ({"k": None, "v": "1"}, {"p": "q"}, "d")
        assert [e.to for e in store.runs.events("r1")] == [RunStatus.NOT_STARTED]

    def test_a_submission_sent_twice_is_one_run(self, store: Store) -> None:
        first = self.make(store, "r1", tags={"a": "1", "b": "2"})
        store.runs.annotate("r1", tags={"a": "changed since"})
        again, new = store.runs.create(WS, submission("r1", tags={"b": "2", "a": "1"}), user="ann", at=99.0)
        assert (again.number, again.created_at, new) == (first.number, first.created_at, False)
        with pytest.raises(Conflict, match="r1"):
            store.runs.create(WS, submission("r1", display_name="another"), user="ann", at=3.0)

    def test_what_is_not_there_is_said_so(self, store: Store) -> None:
        with pytest.raises(NotFound, match="missing"):
            store.runs.create(WS, submission("r1", experiment="missing"), user="ann", at=1.0)
        with pytest.raises(NotFound, match="nobody"):
            store.runs.create(WS, submission("r1", parent_id="nobody"), user="ann", at=1.0)
        batch = decode(HEADER, {})
        for ask in (
            lambda: store.runs.get("r1"),
            lambda: store.runs.events("r1"),
            lambda: store.runs.apply("r1", event(RunStatus.RUNNING)),
            lambda: store.runs.annotate("r1", tags={"a": "b"}),
            lambda: store.runs.heard("r1", 1.0),
            lambda: store.metrics.spool("r1", "s"),
            lambda: store.metrics.append("r1", "s", 0, batch),
            lambda: store.metrics.summaries("r1"),
            lambda: store.metrics.series("r1", "loss"),
            lambda: store.streams.append("r1", "log", 0, b"x"),
            lambda: store.streams.names("r1"),
            lambda: store.files.put("r1", [RunFile(path="a", blob="0", size=1, modified_at=1.0)]),
            lambda: store.files.list("r1"),
            lambda: store.files.get("r1", "a"),
        ):
            with pytest.raises(NotFound, match="r1"):
                ask()

    def test_refused_runs_leave_no_gap(self, store: Store) -> None:
        self.make(store, "r1")
        with pytest.raises(NotFound):
            store.runs.create(WS, submission("r2", parent_id="nobody"), user="ann", at=1.0)
        with pytest.raises(Conflict):
            store.runs.create(WS, submission("r1", display_name="x"), user="ann", at=1.0)
        assert self.make(store, "r3").number == 2
        assert self.make(store, "r4", experiment="other").number == 1

    def test_lists_are_newest_first_and_page(self, store: Store) -> None:
        for i in range(7):
            self.make(store, f"r{i}", experiment="other" if i % 2 else "train")
        everything = RunQuery(workspace=WS)
        assert ids(store.runs.list(everything)) == ["r6", "r5", "r4", "r3", "r2", "r1", "r0"]
        assert ids(store.runs.list(RunQuery(workspace=WS, limit=2))) == ["r6", "r5"]
        assert ids(store.runs.list(RunQuery(workspace=WS, limit=2, before="r5"))) == ["r4", "r3"]
        assert ids(store.runs.list(RunQuery(workspace=WS, experiment="other", before="r5"))) == ["r3", "r1"]
        assert store.runs.list(RunQuery(workspace=WS, limit=0)) == []
        assert store.runs.list(RunQuery(workspace="nowhere")) == []
        with pytest.raises(NotFound):
            store.runs.list(RunQuery(workspace=WS, before="nobody"))

    def test_lists_filter(self, store: Store) -> None:
        self.make(store, "a", tags={"k": "1", "only": None}, properties={"p": "x" * 500})
        self.make(store, "b", RunStatus.RUNNING, tags={"k": "2"}, properties={"p": "x" * 500 + "y"})
        self.make(store, "c", RunStatus.RUNNING, RunStatus.FAILED, tags={"k": "1"}, parent_id="a")
        self.make(store, "d", RunStatus.QUEUED, spec=RunSpec(kind=RunKind.INTERACTIVE), experiment="other")

        def found(**conditions: object) -> list[str]:
            return ids(store.runs.list(RunQuery(workspace=WS, **conditions)))  # type: ignore[arg-type]

        assert found() == ["d", "b", "a"]
        assert found(include_children=True) == ["d", "c", "b", "a"]
        assert found(parent_id="a") == found(parent_id="a", status=[RunStatus.FAILED]) == ["c"]
        assert found(parent_id="a", status=[RunStatus.RUNNING]) == []
        assert found(status=[RunStatus.RUNNING]) == ["b"]
        assert found(status=[RunStatus.RUNNING, RunStatus.NOT_STARTED, RunStatus.RUNNING]) == ["b", "a"]
        assert found(status=[RunStatus.FAILED]) == []
        assert found(status=[RunStatus.FAILED, RunStatus.QUEUED], include_children=True) == ["d", "c"]
        assert found(status=[RunStatus.FAILED, RunStatus.QUEUED], include_children=True, limit=1) == ["d"]
        assert found(kind=RunKind.INTERACTIVE) == ["d"]
        assert found(tags={"k": None}) == ["b", "a"]
        assert found(tags={"k": "1"}) == found(tags={"only": None}) == found(tags={"k": "1", "only": None}) == ["a"]
        assert found(tags={"k": "1"}, include_children=True) == ["c", "a"]
        assert found(tags={"k": "1"}, include_children=True, before="c") == ["a"]
        assert found(tags={"k": "2", "only": None}) == found(tags={"nothing": None}) == []
        assert found(tags={"k": "2"}, status=[RunStatus.RUNNING]) == ["b"]
        assert found(properties={"p": "x" * 500}) == found(properties={"p": "x" * 500}, tags={"k": "1"}) == ["a"]
        assert found(tags={"p": None}) == []

    # Moving runs.

    def test_a_move_is_the_row_and_its_event(self, store: Store) -> None:
        before = self.make(store, "r1")
        run, moved = store.runs.apply(
            "r1", event(RunStatus.RUNNING, 8.0, reason=Reason.SCRIPT_STARTED, handle="h", message="m")
        )
        assert moved
        assert run == store.runs.get("r1")
        assert (run.status, run.started_at, run.handle, run.message) == (RunStatus.RUNNING, 8.0, "h", "m")
        assert run.revision > before.revision
        again, moved = store.runs.apply("r1", event(RunStatus.RUNNING, 9.0, reason=Reason.SCRIPT_STARTED, message="m"))
        assert (again, moved) == (run, False)
        store.runs.apply("r1", event(RunStatus.FAILED, 10.0, reason=Reason.EXIT_CODE, exit_code=-9))
        assert store.runs.get("r1").exit_code == -9
        with pytest.raises(Conflict):
            store.runs.apply("r1", event(RunStatus.RUNNING))
        steps = [(e.to, e.at, e.reason, e.exit_code) for e in store.runs.events("r1")][1:]
        assert steps == [
            (RunStatus.RUNNING, 8.0, Reason.SCRIPT_STARTED, None),
            (RunStatus.FAILED, 10.0, Reason.EXIT_CODE, -9),
        ]

    def test_annotations(self, store: Store) -> None:
        first = self.make(store, "r1", tags={"a": "1", "b": "2"}, properties={"p": "q"})
        run = store.runs.annotate(
            "r1", tags={"a": "3", "c": None}, remove_tags=["b"], properties={"n": "m"}, display_name="x"
        )
        assert run == store.runs.get("r1")
        assert dict(run.tags) == {"a": "3", "c": None}
        assert dict(run.properties) == {"p": "q", "n": "m"}
        assert run.display_name == "x"
        assert run.revision > first.revision
        assert store.runs.annotate("r1", properties={"p": "q"}).revision == run.revision
        with pytest.raises(Conflict, match="'q'"):
            store.runs.annotate("r1", tags={"a": "9"}, properties={"p": "other"})
        assert store.runs.get("r1") == run
        assert ids(store.runs.list(RunQuery(workspace=WS, tags={"a": "3"}))) == ["r1"]
        for gone in ({"a": "1"}, {"b": None}, {"a": "9"}):
            assert store.runs.list(RunQuery(workspace=WS, tags=gone)) == []

    def test_hearing_of_a_run_is_no_change(self, store: Store) -> None:
        before = self.make(store, "r1")
        heard = store.runs.heard("r1", 77.0)
        assert (heard.heard_at, heard.revision) == (77.0, before.revision)
        assert store.runs.get("r1") == heard

    # Claims.

    def test_claims_go_in_order_up_to_the_limit(self, store: Store) -> None:
        for i in range(4):
            self.make(store, f"r{i}", RunStatus.QUEUED)
        self.make(store, "elsewhere", RunStatus.QUEUED, spec=RunSpec(target="gpu"))
        claimed = [self.claim(store, 2) for _ in range(3)]
        assert claimed == ["r0", "r1", None]
        assert (store.runs.holding("local"), store.runs.holding("gpu"), store.runs.active()) == (2, 0, 2)
        store.runs.apply("r0", event(RunStatus.COMPLETED))
        assert self.claim(store, 2) == "r2"
        assert self.claim(store, 1, "gpu") == "elsewhere"
        assert self.claim(store, 9, "nothing") is None

    def claim(self, store: Store, limit: int, target: str = "local") -> str | None:
        run = store.runs.claim(target, limit, at=6.0, event=lambda _: event(RunStatus.PROVISIONING))
        return None if run is None else run.id

    def test_claims_of_many_never_exceed_the_limit(self, store: Store) -> None:
        for i in range(30):
            self.make(store, f"r{i}", RunStatus.QUEUED)
        claimed = at_once(lambda _: [self.claim(store, 10) for _ in range(10)], 8)
        taken = [run_id for row in claimed for run_id in row if run_id is not None]
        assert len(taken) == len(set(taken)) == store.runs.holding("local") == 10
        assert set(taken) == {f"r{i}" for i in range(10)}

    # Leases.

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

    # Many at once.

    def test_numbers_are_unique_and_have_no_gaps(self, store: Store) -> None:
        def make(thread: int) -> list[tuple[str, int]]:
            made = [
                self.make(store, f"r{thread}-{i}", experiment="train" if i % 2 else "other", tags={"t": str(i)})
                for i in range(25)
            ]
            return [(run.experiment, run.number) for run in made]

        made = [pair for row in at_once(make, 8) for pair in row]
        for name, count in (("train", 96), ("other", 104)):
            assert sorted(number for experiment, number in made if experiment == name) == list(range(1, count + 1))
        assert len(store.runs.list(RunQuery(workspace=WS, limit=1000))) == 200

    def test_one_submission_from_many_is_one_run(self, store: Store) -> None:
        made = at_once(lambda _: store.runs.create(WS, submission("r1"), user="ann", at=1.0), 8)
        assert sum(new for _, new in made) == 1
        assert {run.number for run, _ in made} == {1}

    # Metrics.

    def test_points_come_back_with_their_summary(self, store: Store) -> None:
        self.make(store, "r1")
        data = HEADER + records.name(1, "loss") + numbers(0, 3) + records.name(2, "rows")
        data += records.obj(2, records.NO_STEP, 4.0, "row", {"x": 1}) + records.obj(
            2, records.NO_STEP, 5.0, "row", {"x": 2}
        )
        assert ship(store, "r1", "s", data) == len(data)
        assert logged(store, "r1", "loss") == [0.0, 1.0, 2.0]
        assert logged(store, "r1", "rows") == {"x": [1, 2]}
        assert store.metrics.series("r1", "nothing") == []
        loss, rows = store.metrics.summaries("r1")
        assert (loss.name, loss.space, loss.kind, loss.count) == ("loss", Space.USER, "scalar", 3)
        assert (loss.last, loss.least, loss.most, loss.last_step, loss.last_at) == (2.0, 0.0, 2.0, 2, 2.0)
        assert (rows.kind, rows.count, rows.last, rows.least, rows.last_step, rows.last_at) == (
            "row",
            2,
            None,
            None,
            None,
            5.0,
        )

    def test_numbers_that_are_none_are_kept(self, store: Store) -> None:
        self.make(store, "r1")
        for spool, values in (("a", [1.0, math.nan]), ("b", [math.inf]), ("c", [-math.inf, math.nan])):
            store.metrics.append("r1", spool, 0, batch_of(spool, values))
        one, two, three = store.metrics.summaries("r1")
        assert (math.isnan(one.last or 0.0), one.least, one.most) == (True, 1.0, 1.0)
        assert (two.last, two.least, two.most) == (math.inf, None, None)
        assert (math.isnan(three.last or 0.0), three.least) == (True, None)
        store.metrics.append("r1", "a", 8, batch_of("a", [4.0]))
        assert store.metrics.summaries("r1")[0].last == 4.0
        assert str(logged(store, "r1", "a")) == "[1.0, nan, 4.0]"

    def test_only_the_mark_is_taken_in(self, store: Store) -> None:
        self.make(store, "r1")
        data = HEADER + records.name(1, "loss") + numbers(0, 10)
        batch = decode(data, {})
        assert store.metrics.append("r1", "s", 5, batch) == 0
        assert store.metrics.append("r1", "s", 0, batch) == len(data)
        assert store.metrics.append("r1", "s", 0, batch) == len(data)
        assert store.metrics.summaries("r1")[0].count == 10
        state = store.metrics.spool("r1", "s")
        assert (state.offset, dict(state.names), state.space, state.damaged) == (
            len(data),
            {1: "loss"},
            Space.USER,
            False,
        )
        assert store.metrics.spool("r1", "another").offset == 0

    def test_names_are_known_later(self, store: Store) -> None:
        self.make(store, "r1")
        data = HEADER
        for i in range(5):
            data += records.name(i, f"m{i}") + numbers(0, 1, i) + numbers(7, 1, 0)
            ship(store, "r1", "s", data)
        assert dict(store.metrics.spool("r1", "s").names) == {i: f"m{i}" for i in range(5)}
        assert logged(store, "r1", "m0") == [0.0, 7.0, 7.0, 7.0, 7.0, 7.0]
        assert logged(store, "r1", "m4") == 0.0

    def test_the_systems_metrics_stand_apart(self, store: Store) -> None:
        self.make(store, "r1")
        ship(store, "r1", "u", HEADER + records.name(1, "cpu") + numbers(1, 1))
        data = records.header(space="system") + records.name(1, "cpu") + numbers(2, 1)
        ship(store, "r1", "s", data)
        ship(store, "r1", "s", data + numbers(3, 1))  # a later stretch has no header
        assert logged(store, "r1", "cpu") == 1.0
        assert logged(store, "r1", "cpu", Space.SYSTEM) == [2.0, 3.0]
        assert [s.count for s in store.metrics.summaries("r1", Space.SYSTEM)] == [2]

    def test_spools_come_apart_and_in_order(self, store: Store) -> None:
        self.make(store, "r1")
        names = HEADER + records.name(1, "loss")
        for first in (0, 20, 40):
            for spool, shift in (("a", 0), ("b", 10)):
                data = names + b"".join(numbers(i, 5) for i in range(shift, first + shift + 1, 20))
                ship(store, "r1", spool, data)
        a, b = store.metrics.series("r1", "loss")
        assert store.metrics.every_series("r1") == {"loss": [a, b]}
        for spool, shift in ((a, 0), (b, 10)):
            values = [point.value for part in spool for point in points(part)]
            assert values == [float(i + shift + j) for i in (0, 20, 40) for j in range(5)]

    def test_damage_is_remembered(self, store: Store) -> None:
        self.make(store, "r1")
        good = HEADER + records.name(1, "loss") + numbers(0, 10)
        bad = bytearray(good + numbers(10, 1))
        bad[-1] ^= 1
        assert ship(store, "r1", "s", bytes(bad)) == len(good)
        state = store.metrics.spool("r1", "s")
        assert (state.offset, state.damaged) == (len(good), True)

    def test_a_slow_logger_leaves_few_chunks(self, store: Store) -> None:
        self.make(store, "r1")
        data = HEADER + records.name(1, "loss")
        ship(store, "r1", "s", data)
        at = len(data)
        for i in range(600):
            batch = decode(numbers(i, 1), {1: "loss"})
            at = store.metrics.append("r1", "s", at, batch)
        (spool,) = store.metrics.series("r1", "loss")
        assert len(spool) <= 12
        assert [point.value for part in spool for point in points(part)] == [float(i) for i in range(600)]

    def test_whole_and_broken_numbers_keep_their_type_and_leave_few_chunks(self, store: Store) -> None:
        self.make(store, "r1")
        expected: list[float] = []
        at = 0
        for i in range(40):
            values: list[float] = [i] if i % 3 else [i / 2, i]
            expected += values
            at = store.metrics.append("r1", "s", at, batch_of("x", values))
        (spool,) = store.metrics.series("r1", "x")
        found = [point.value for part in spool for point in points(part)]
        assert list(map(repr, found)) == list(map(repr, expected))
        assert len(spool) <= 12
        assert store.metrics.summaries("r1")[0].most == 39.0

    def test_ten_thousand_names_in_one_batch(self, store: Store) -> None:
        self.make(store, "r1")
        data = HEADER + b"".join(records.name(i, f"m{i:05}") for i in range(10_000))
        data += b"".join(numbers(i, 1, i) for i in range(10_000))
        assert ship(store, "r1", "s", data) == len(data)
        assert ship(store, "r1", "s", data + b"".join(numbers(i, 1, i) for i in range(10_000))) > len(data)
        summaries = store.metrics.summaries("r1")
        assert [s.last for s in summaries] == [float(i) for i in range(10_000)]
        assert {s.count for s in summaries} == {2}
        every = store.metrics.every_series("r1")
        assert list(every) == [s.name for s in summaries]
        assert every["m00042"] == store.metrics.series("r1", "m00042")

    def test_a_batch_is_taken_in_once_however_many_send_it(self, store: Store) -> None:
        self.make(store, "r1")
        data = HEADER + records.name(1, "loss") + numbers(0, 200)
        cuts = [len(HEADER), *range(len(data) - 200 * 37, len(data) + 1, 37 * 10)]

        def send(thread: int) -> int:
            mark = 0
            while mark < len(data):
                state = store.metrics.spool("r1", "s")
                mark = state.offset
                end = next((cut for cut in cuts if cut > mark), len(data))
                mark = store.metrics.append("r1", "s", mark, decode(data[mark:end], state.names))
            return mark

        assert set(at_once(send, 6)) == {len(data)}
        assert logged(store, "r1", "loss") == [float(i) for i in range(200)]
        assert store.metrics.summaries("r1")[0].count == 200

    # Streams.

    def test_a_stream_is_read_from_any_offset(self, store: Store) -> None:
        self.make(store, "r1")
        text = bytes(range(256)) * 4000  # more than a megabyte
        pieces = [text[:1], text[1:50], text[50:20_000], text[20_000:20_001], text[20_001:]]
        at = 0
        for piece in pieces:
            at = store.streams.append("r1", "log", at, piece)
        assert store.streams.size("r1", "log") == at == len(text)
        for offset, limit in (
            (0, 10),
            (0, 10**9),
            (49, 3),
            (19_999, 5),
            (262_143, 300_000),
            (len(text) - 1, 9),
            (5, 0),
        ):
            assert store.streams.read("r1", "log", offset, limit) == text[offset : offset + limit]
        assert store.streams.read("r1", "log", len(text), 9) == b""
        assert store.streams.read("r1", "nothing", 0, 9) == b""
        assert store.streams.size("r1", "nothing") is None

    def test_a_stream_takes_in_only_at_its_mark(self, store: Store) -> None:
        self.make(store, "r1")
        assert store.streams.append("r1", "log", 3, b"abc") == 0
        assert store.streams.append("r1", "log", 0, b"abc") == 3
        assert store.streams.append("r1", "log", 0, b"abc") == 3
        assert store.streams.append("r1", "log", 3, b"") == 3
        assert store.streams.read("r1", "log", 0, 99) == b"abc"

    def test_a_reset_begins_anew(self, store: Store) -> None:
        self.make(store, "r1")
        store.streams.append("r1", "log", 0, b"x" * 300_000)
        assert store.streams.append("r1", "log", 0, b"new", reset=True) == 3
        assert store.streams.append("r1", "log", 3, b"er") == 5
        assert store.streams.read("r1", "log", 0, 99) == b"newer"
        assert store.streams.append("r1", "log", 4, b"?", reset=True) == 0
        assert store.streams.append("r1", "fresh", 0, b"a", reset=True) == 1

    def test_streams_are_listed_and_dropped(self, store: Store) -> None:
        self.make(store, "r1")
        self.make(store, "r2")
        for run_id, name in (("r1", "b"), ("r1", "a"), ("r2", "a")):
            store.streams.append(run_id, name, 0, b"text")
        store.streams.append("r1", "empty", 0, b"")
        assert store.streams.names("r1") == ["a", "b", "empty"]
        store.streams.drop("r1", ["a", "empty", "nothing"])
        assert store.streams.names("r1") == ["b"]
        assert store.streams.size("r1", "a") is None
        assert store.streams.read("r2", "a", 0, 9) == b"text"

    def test_many_small_appends_by_many(self, store: Store) -> None:
        self.make(store, "r1")
        text = b"".join(b"line %04d\n" % i for i in range(400))

        def send(thread: int) -> None:
            at = 0
            while at < len(text):
                at = store.streams.append("r1", "log", at, text[at : at + 10])

        at_once(send, 4)
        assert store.streams.read("r1", "log", 0, 10**6) == text

    # Files.

    def test_files_by_path_and_folder(self, store: Store) -> None:
        self.make(store, "r1")
        paths = ["outputs/a", "outputs/b/c", "outputs2/a", "outputs", "outputs-x", "logs/ü", "Outputs/z"]
        store.files.put("r1", [RunFile(path=p, blob="0" * 64, size=1, modified_at=1.0) for p in paths])
        assert [f.path for f in store.files.list("r1")] == sorted(paths)
        for prefix in ("outputs", "outputs/"):
            assert [f.path for f in store.files.list("r1", prefix)] == ["outputs", "outputs/a", "outputs/b/c"]
        assert [f.path for f in store.files.list("r1", "outputs/b/c")] == ["outputs/b/c"]
        assert store.files.list("r1", "out") == []
        assert store.files.list("r1", "%") == []
        newer = RunFile(path="outputs/a", blob="1" * 64, size=2, modified_at=2.0)
        store.files.put("r1", [newer])
        assert store.files.get("r1", "outputs/a") == newer
        assert len(store.files.list("r1")) == len(paths)
        with pytest.raises(NotFound, match="outputs/nothing"):
            store.files.get("r1", "outputs/nothing")
        store.files.put("r1", [])

    # People.

    def test_tokens(self, store: Store) -> None:
        person = Token(digest="a" * 64, user="ann", run_id="", created_at=1.0, expires_at=None)
        runs = Token(digest="b" * 64, user="ann", run_id="r1", created_at=1.0, expires_at=None)
        for token in (person, runs, runs):
            store.people.add_token(token)
        assert store.people.find_token(person.digest) == person
        assert store.people.find_token("c" * 64) is None
        with pytest.raises(Conflict):
            store.people.add_token(Token(digest="a" * 64, user="eve", run_id="", created_at=1.0, expires_at=None))
        store.people.expire_run_tokens("r1", 50.0)
        store.people.expire_run_tokens("", 50.0)
        expiries = [found.expires_at for token in (runs, person) if (found := store.people.find_token(token.digest))]
        assert expiries == [50.0, None]

    def test_a_token_is_taken_once(self, store: Store) -> None:
        code = Token(digest="d" * 64, user="ann", run_id="", created_at=1.0, expires_at=60.0, kind=TokenKind.CODE)
        store.people.add_token(code)
        taken = at_once(lambda _: store.people.take_token(code.digest), 4)
        assert [found for found in taken if found] == [code]
        assert store.people.find_token(code.digest) is None

    def test_expired_tokens_of_a_kind_are_forgotten(self, store: Store) -> None:
        kinds = [TokenKind.CODE, TokenKind.SESSION, TokenKind.KEY]
        tokens = [
            Token(digest=f"{number}", user="ann", run_id="", created_at=1.0, expires_at=expires, kind=kind)
            for number, (kind, expires) in enumerate((kind, at) for kind in kinds for at in (10.0, 30.0, None))
        ]
        for token in tokens:
            store.people.add_token(token)
        store.people.forget_expired([TokenKind.CODE, TokenKind.SESSION], 20.0)
        left = [token for token in tokens if store.people.find_token(token.digest) == token]
        assert left == [each for each in tokens if each.kind is TokenKind.KEY or each.expires_at != 10.0]

    def test_secrets(self, store: Store) -> None:
        store.workspaces.ensure(Workspace(name="other", user="ann", created_at=1.0))
        assert not store.secrets.any_sealed()
        assert store.secrets.list(WS) == []
        store.secrets.put(WS, {"b": b"\x00one", "a": b"two"}, user="ann", at=5.0)
        store.secrets.put("other", {"a": b"three"}, user="ann", at=5.0)
        store.secrets.put(WS, {"a": b"four"}, user="bob", at=7.0)
        assert store.secrets.get(WS, ["a", "b", "c"]) == {"a": b"four", "b": b"\x00one"}
        assert store.secrets.get("other", ["a"]) == {"a": b"three"}
        assert store.secrets.list(WS) == [
            Secret(workspace=WS, name="a", user="bob", created_at=5.0, updated_at=7.0),
            Secret(workspace=WS, name="b", user="ann", created_at=5.0, updated_at=5.0),
        ]
        assert store.secrets.delete(WS, "a")
        assert not store.secrets.delete(WS, "a")
        assert store.secrets.get(WS, ["a"]) == {}
        assert store.secrets.any_sealed()

    def test_what_is_kept_of_a_workspace(self, store: Store) -> None:
        made = Workspace(
            name="whole", user="ann", created_at=1.0, location="here", sku="Basic", friendly_name="W", tags={"k": "v"}
        )
        assert store.workspaces.ensure(made) == store.workspaces.get("whole") == made
        assert made in store.workspaces.list()


def batch_of(name: str, values: list[float]) -> Batch:
    """A batch of one metric, as long as four bytes a value."""
    series = [
        Series(
            name,
            Encoding.FLOAT if isinstance(value, float) else Encoding.INT,
            1,
            array("q", [records.NO_STEP]).tobytes(),
            array("d", [1.0]).tobytes(),
            array("d" if isinstance(value, float) else "q", [value]).tobytes(),  # type: ignore[list-item]
        )
        for value in values
    ]
    return Batch(4 * len(values), {}, series, None, False)
