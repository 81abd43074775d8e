"""Charts that are documents: what is taken, what is refused and why, and where they go."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.roost_job.doors import FakeDoor

from roost_job.exceptions import UserErrorException
from roost_job.run import Run
from roost_job.tracking import documents
from roost_job.tracking.offline import _OfflineRun

GOOD: dict[str, dict[str, Any]] = {
    "confusion_matrix": {"class_labels": ["a", "b"], "matrix": [[1, 0], [2, 3]]},
    "accuracy_table": {
        "probability_tables": [[[1, 2, 3, 4]]],
        "percentile_tables": [[[1, 2, 3, 4]]],
        "probability_thresholds": [0.0, 1.0],
        "percentile_thresholds": [0.0, 1.0],
        "class_labels": ["a"],
    },
    "predictions": {"bin_averages": [0.5], "bin_errors": [0.1], "bin_counts": [3], "bin_edges": [0.0, 1.0]},
    "residuals": {"bin_edges": [0.0, 1.0, 2.0], "bin_counts": [3, 4]},
}


class Array:
    """As NumPy's, as far as it is looked at."""

    def __init__(self, content: list[Any]) -> None:
        self.content = content

    def tolist(self) -> list[Any]:
        return self.content


@pytest.fixture
def run(job_env: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, door: FakeDoor) -> Iterator[Run]:
    for name, value in job_env.items():
        if name.startswith(("ROOST_", "AZUREML_")):
            monkeypatch.setenv(name, value)
    found = Run.get_context()
    assert isinstance(found, Run)
    yield found


@pytest.mark.parametrize("kind", GOOD)
def test_kept_as_a_file_and_logged_as_its_address(run: Run, door: FakeDoor, kind: str, tmp_path: Path) -> None:
    given = {"schema_type": kind, "data": GOOD[kind]}
    (tmp_path / "chart.json").write_text(json.dumps(given))
    for value in (given, json.dumps(given), str(tmp_path / "chart.json"), tmp_path / "chart.json"):
        door.files.clear()
        getattr(run, f"log_{kind}")("a chart/ü", value)
        ((name, content),) = door.files.items()
        assert name.startswith("a_chart_ü_") and name.endswith(".json")
        assert json.loads(content)["data"] == GOOD[kind]
        assert json.loads(content)["schema_version"] in ("1.0.0", "1.0.1")


def test_arrays_are_taken() -> None:
    data = {"class_labels": Array(["a", "b"]), "matrix": Array([[1, 0], [2, 3]])}
    text = documents.text("confusion_matrix", "m", {"schema_type": "confusion_matrix", "data": data})
    assert json.loads(text)["data"] == GOOD["confusion_matrix"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (7, "needs a dict"),
        ("nowhere.json", "cannot be read"),
        ("{not json", "is not JSON"),
        ({"data": GOOD["confusion_matrix"]}, "'schema_type': 'confusion_matrix', got None"),
        ({"schema_type": "residuals", "data": {}}, "got 'residuals'"),
        ({"schema_type": "confusion_matrix"}, "no 'data'"),
        ({"schema_type": "confusion_matrix", "data": {"matrix": []}}, "needs a list 'class_labels'"),
        ({"schema_type": "confusion_matrix", "data": {"class_labels": ["a"], "matrix": [[1, 2]]}}, "1 rows of 1"),
    ],
)
def test_what_is_refused_leaves_nothing(run: Run, door: FakeDoor, value: Any, words: str) -> None:
    for each in (run, _OfflineRun()):
        with pytest.raises(UserErrorException, match=words):
            each.log_confusion_matrix("m", value)
    assert door.files == {}


def test_edges_and_counts_must_fit() -> None:
    with pytest.raises(UserErrorException, match="2 bin edges for 2 bin counts"):
        documents.text(
            "residuals", "r", {"schema_type": "residuals", "data": {"bin_edges": [0, 1], "bin_counts": [1, 2]}}
        )


def test_populate_reads_the_document(run: Run, door: FakeDoor) -> None:
    given = {"schema_type": "residuals", "data": GOOD["residuals"]}
    run.log_residuals("r", given)
    (name,) = door.files
    door.metrics = {"r": f"aml://artifactId/ExperimentRun/dcid.{run.id}/{name}", "loss": 1}
    assert run.get_metrics(populate=True)["r"]["data"] == given["data"]
    assert run.get_metrics(populate=True)["loss"] == 1
