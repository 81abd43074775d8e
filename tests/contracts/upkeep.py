"""What every store promises of deleting and upkeep (`roost.store.base`), as tests; the rest is in `store.py`."""

import sqlite3
from pathlib import Path

import pytest
from tests.contracts.store import HEADER, WS, event, numbers, ship, submission

from roost.domain.errors import Conflict, NotFound
from roost.domain.files import RunFile
from roost.domain.people import Token
from roost.domain.runs import Run, RunSpec, RunStatus
from roost.domain.workspaces import Experiment, Workspace
from roost.store.base import RunQuery, Store
from roost_job.tracking import records

DONE = (RunStatus.RUNNING, RunStatus.COMPLETED)


def file(path: str, blob: str) -> RunFile:
    return RunFile(path=path, blob=blob * 64, size=1, modified_at=1.0)


class UpkeepContract:
    shrinks = True
    """Whether `compact` itself gives room back, rather than the database in its own time."""

    @pytest.fixture
    def store(self) -> Store:
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _place(self, store: Store) -> None:
        store.workspaces.ensure(Workspace(name=WS, user="ann", created_at=1.0))
        store.experiments.ensure(Experiment(id="id-train", workspace=WS, name="train", user="ann", created_at=1.0))

    def make(self, store: Store, run_id: str, *path: RunStatus, **changes: object) -> Run:
        run, _ = store.runs.create(WS, submission(run_id, **changes), user="ann", at=2.0)
        for status in path:
            run, _ = store.runs.apply(run_id, event(status))
        return run

    def test_a_deleted_run_leaves_nothing(self, store: Store) -> None:
        for run_id in ("r1", "r2"):
            self.make(store, run_id, *DONE, tags={"a": "b"}, properties={"p": "q"})
            ship(store, run_id, "s", HEADER + records.name(1, "loss") + numbers(0, 10))
            store.streams.append(run_id, "logs/a", 0, b"text")
            store.files.put(run_id, [file("outputs/a", "a")])
            store.people.add_token(Token(digest=run_id, user="ann", run_id=run_id, created_at=1.0, expires_at=None))
        assert store.runs.delete("r1") == ["r1"]
        assert store.runs.delete("r1") == []
        for look in (store.runs.get, store.runs.events, store.files.list, store.streams.names, store.metrics.summaries):
            with pytest.raises(NotFound):
                look("r1")
        assert store.people.find_token("r1") is None
        assert [run.id for run in store.runs.list(RunQuery(workspace=WS, tags={"a": "b"}))] == ["r2"]
        assert store.files.list("r2") == [file("outputs/a", "a")]
        assert store.streams.read("r2", "logs/a", 0, 10) == b"text"
        assert store.metrics.summaries("r2")[0].count == 10
        assert store.people.find_token("r2") is not None

    def test_its_number_and_its_rows_are_not_given_to_another(self, store: Store) -> None:
        self.make(store, "r1", *DONE)
        ship(store, "r1", "s", HEADER)
        store.runs.delete("r1")
        again, new = store.runs.create(WS, submission("r1"), user="ann", at=3.0)
        assert (again.number, new) == (2, True)
        assert store.metrics.spool("r1", "s").offset == 0

    def test_a_run_goes_with_those_below_it_or_not_at_all(self, store: Store) -> None:
        self.make(store, "top", *DONE)
        self.make(store, "child", *DONE, parent_id="top")
        self.make(store, "below", RunStatus.RUNNING, parent_id="child")
        self.make(store, "apart", *DONE)
        with pytest.raises(Conflict, match=r"below.*Running"):
            store.runs.delete("top")
        assert store.runs.get("top").id == "top"
        store.runs.apply("below", event(RunStatus.FAILED))
        assert store.runs.delete("top") == ["top", "child", "below"]
        assert [run.id for run in store.runs.list(RunQuery(workspace=WS, include_children=True))] == ["apart"]

    @pytest.mark.parametrize("status", [None, RunStatus.QUEUED, RunStatus.RUNNING])
    def test_a_run_that_has_not_ended_stays(self, store: Store, status: RunStatus | None) -> None:
        self.make(store, "r1", *([status] if status else []))
        with pytest.raises(Conflict, match="has not ended"):
            store.runs.delete("r1")
        assert store.runs.get("r1").id == "r1"

    def test_blobs_that_rows_refer_to(self, store: Store) -> None:
        self.make(store, "r1", *DONE, spec=RunSpec(script="train.py", snapshot="a" * 64))
        self.make(store, "r2", *DONE, spec=RunSpec(script="train.py", snapshot="b" * 64), properties={"p": "c" * 64})
        store.files.put("r1", [file("x", "d"), file("y", "e")])
        store.files.put("r2", [file("x", "d")])
        found = store.upkeep.references()
        assert found.files == {"d" * 64, "e" * 64}
        # A submission is kept as a digest, which looks like a name too: more may be named than there are.
        assert {letter * 64 for letter in "abc"} <= found.others
        rest = store.upkeep.references(without=["r1"])
        assert rest.files == {"d" * 64}
        assert {"b" * 64, "c" * 64} <= rest.others
        assert "a" * 64 not in rest.others
        store.runs.delete("r2")
        assert store.upkeep.references().files == {"d" * 64, "e" * 64}
        assert not {"b" * 64, "c" * 64} & store.upkeep.references().others

    def test_sizes_by_experiment(self, store: Store) -> None:
        assert store.upkeep.sizes() == []
        self.make(store, "r1", *DONE)
        self.make(store, "r2", *DONE)
        store.files.put("r1", [file("x", "d"), file("y", "e")])
        (size,) = store.upkeep.sizes()
        assert (size.workspace, size.experiment, size.runs, size.bytes) == (WS, "train", 2, 2)

    def test_a_copy_holds_all_rows_of_one_moment(self, store: Store, tmp_path: Path) -> None:
        for number in range(50):
            self.make(store, f"r{number}")
        store.upkeep.copy_to(tmp_path / "copy.db")
        self.make(store, "later")
        copy = sqlite3.connect(tmp_path / "copy.db")
        assert copy.execute("SELECT count(*) FROM runs").fetchall() == [(50,)]
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        copy.close()

    def test_compacting_changes_no_row(self, store: Store) -> None:
        for run_id in ("r1", "r2"):
            self.make(store, run_id, *DONE)
            for start in range(0, 4_000_000, 200_000):
                store.streams.append(run_id, "logs/a", start, bytes(200_000))
        store.runs.delete("r1")
        before = store.upkeep.size()
        freed = store.upkeep.compact()
        assert store.upkeep.size() == before - freed
        assert freed > 3_000_000 or before == 0 or not self.shrinks  # in memory nothing is on disk
        assert store.streams.size("r2", "logs/a") == 4_000_000
        assert store.upkeep.compact() == 0
