"""What every store promises of runs: making, finding, moving and claiming them (`roost.store.base.Runs`), as tests."""

import json

import pytest
from tests.contracts.store import HEADER, WS, StoreContract, at_once, event, ids, submission

from roost.domain import codec
from roost.domain.errors import Conflict, NotFound
from roost.domain.files import RunFile
from roost.domain.runs import Reason, Run, RunKind, RunSpec, RunStatus
from roost.domain.spools import decode
from roost.store.base import Order, RunQuery, Store


class RunsContract(StoreContract):
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

    def test_a_list_as_text_is_the_same_list(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        spec = RunSpec(script="a.py", arguments=("NaN", "ü"), environment_variables={"A": "b"}, timeout_seconds=3.5)
        self.make(store, "r1", spec=spec, tags={"k": None, "v": '"1"'}, properties={"p": "q"}, display_name="d")
        self.make(store, "r2", spec=spec, parent_id="r1")
        store.runs.apply("r1", event(RunStatus.FAILED, message="It\nfailed.", exit_code=3))
        query, order = RunQuery(workspace=WS, include_children=True), Order(column="name")
        listed, by_name = store.runs.list(query), store.runs.ranked(query, order)
        monkeypatch.setattr("roost.domain.codec.decode", lambda *_: pytest.fail("a specification was decoded"))
        texts = (store.runs.texts(query), store.runs.texts(query, order))
        monkeypatch.undo()
        for found, wanted in zip(texts, (listed, by_name), strict=True):
            assert [(key, codec.decode(Run, json.loads(text))) for key, text in found.items()] == [
                (run.id, run) for run in wanted
            ]
            assert [json.loads(text) for text in found.values()] == [codec.encode(run) for run in wanted]

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

    def test_replicas_are_listed_to_those_who_ask_for_them(self, store: Store) -> None:
        replica = RunSpec(kind=RunKind.REPLICA)
        self.make(store, "a")
        self.make(store, "b", RunStatus.QUEUED, spec=replica, experiment="other")
        self.make(store, "c", spec=replica, tags={"k": "1"})

        def found(**conditions: object) -> list[str]:
            return ids(store.runs.list(RunQuery(workspace=WS, **conditions)))  # type: ignore[arg-type]

        assert found() == found(include_children=True) == found(kind=RunKind.SCRIPT) == ["a"]
        assert found(status=[RunStatus.QUEUED]) == found(tags={"k": None}) == []
        assert found(kind=RunKind.REPLICA) == ["c", "b"]
        assert found(kind=RunKind.REPLICA, status=[RunStatus.QUEUED]) == found(experiment="other") == ["b"]
        assert found(kind=RunKind.REPLICA, tags={"k": "1"}) == ["c"]
        assert found(experiment="train") == ["c", "a"]

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
        described = store.runs.annotate("r1", description="why")
        assert (described.description, described.display_name) == ("why", "x")
        assert store.runs.get("r1") == described and described.revision > run.revision
        assert self.make(store, "r2", description="from the start").description == "from the start"
        assert store.runs.get("r2").description == "from the start"
        assert ids(store.runs.list(RunQuery(workspace=WS, tags={"a": "3"}))) == ["r1"]
        for gone in ({"a": "1"}, {"b": None}, {"a": "9"}):
            assert store.runs.list(RunQuery(workspace=WS, tags=gone)) == []

    def test_hearing_of_a_run_is_no_change(self, store: Store) -> None:
        before = self.make(store, "r1")
        heard = store.runs.heard("r1", 77.0)
        assert (heard.heard_at, heard.revision) == (77.0, before.revision)
        assert store.runs.get("r1") == heard

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
        run = store.runs.claim(target, limit, event=lambda _: event(RunStatus.PROVISIONING))
        return None if run is None else run.id

    def test_claims_of_many_never_exceed_the_limit(self, store: Store) -> None:
        for i in range(30):
            self.make(store, f"r{i}", RunStatus.QUEUED)
        claimed = at_once(lambda _: [self.claim(store, 10) for _ in range(10)], 8)
        taken = [run_id for row in claimed for run_id in row if run_id is not None]
        assert len(taken) == len(set(taken)) == store.runs.holding("local") == 10
        assert set(taken) == {f"r{i}" for i in range(10)}

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
