"""What every store promises of runs by a value (`roost.store.base.Order`), as tests."""

import math

import pytest
from tests.contracts.metrics import batch_of
from tests.contracts.store import WS, StoreContract, ids

from roost.domain.errors import InvalidInput
from roost.domain.runs import RunSpec, RunStatus
from roost.store.base import Order, RunColumns, RunQuery, Store


class RankingContract(StoreContract):
    """Runs by a value: every run of the selection is considered, and what has no value comes last."""

    def filled(self, store: Store) -> None:
        for number, (rate, score) in enumerate([("0.1", 0.5), ("10", math.nan), ("2e-3", 0.9), ("auto", 0.7)]):
            run_id = f"r{number}"
            spec = RunSpec(script="train.py", arguments=("--lr", rate, f"--seed={number}", "--fast"))
            self.make(store, run_id, spec=spec, tags={"odd": str(number % 2)})
            store.metrics.append(run_id, "score", 0, batch_of("score", [0.0, score]))
        self.make(store, "r4", spec=RunSpec(command=("python", "train.py", "--lr", "5")))
        self.make(store, "elsewhere", experiment="other")

    def test_by_metrics_arguments_tags_and_fields(self, store: Store) -> None:
        self.filled(store)

        def found(column: str, skip: int = 0, **conditions: object) -> list[str]:
            order = Order(column=column.removeprefix("-"), descending=column.startswith("-"), skip=skip)
            query = RunQuery(workspace=WS, **{"experiment": "train", **conditions})  # type: ignore[arg-type]
            return ids(store.runs.ranked(query, order))

        assert found("metrics.score") == ["r0", "r3", "r2", "r4", "r1"]
        assert found("-metrics.score") == ["r2", "r3", "r0", "r4", "r1"]
        assert found("-metrics.score", limit=2) == ["r2", "r3"]
        assert found("-metrics.score", limit=2, skip=2) == ["r0", "r4"]
        assert found("metrics.nothing") == ["r4", "r3", "r2", "r1", "r0"]
        assert found("params.lr") == ["r2", "r0", "r4", "r1", "r3"]
        assert found("-params.lr") == ["r1", "r4", "r0", "r2", "r3"]
        assert found("params.fast") == ["r3", "r2", "r1", "r0", "r4"]
        assert found("-tags.odd", tags={"odd": None}) == ["r3", "r1", "r2", "r0"]
        assert found("-metrics.score", tags={"odd": "0"}) == ["r2", "r0"]
        assert found("id", status=[RunStatus.NOT_STARTED, RunStatus.FAILED]) == ["r0", "r1", "r2", "r3", "r4"]
        assert found("duration") == found("-created")
        assert found("created", since=1e12) == []
        with pytest.raises(InvalidInput, match="cannot be sorted by 'nonsense'"):
            found("nonsense")

    def test_what_a_selection_has(self, store: Store) -> None:
        self.filled(store)
        assert store.runs.columns(RunQuery(workspace=WS)) == RunColumns(
            params=("fast", "lr", "seed"), metrics=("score",), tags=("odd",)
        )
        assert store.runs.columns(RunQuery(workspace=WS, experiment="other")) == RunColumns(
            params=(), metrics=(), tags=()
        )

    def test_summaries_of_many_runs(self, store: Store) -> None:
        self.filled(store)
        store.metrics.append("r0", "more", 0, batch_of("more", [1.0]))
        many = [f"r{number}" for number in range(5)] + ["nobody"]
        found = store.metrics.summaries_of(many)
        assert {run_id: [each.name for each in metrics] for run_id, metrics in found.items()} == {
            "r0": ["more", "score"],
            **{run_id: ["score"] for run_id in ("r1", "r2", "r3")},
        }
        assert {run_id: metrics[0].last for run_id, metrics in store.metrics.summaries_of(many, ["more"]).items()} == {
            "r0": 1.0
        }
