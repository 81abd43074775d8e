"""What the studio draws, in a real browser: documents that a run logged, whatever is in them, and what its machine used."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.real.browsers import EVIL, NARROW, Browser, fits, let_in
from tests.shared.folders import tree

from roost import Experiment, Run, ScriptRunConfig, Workspace

pytestmark = [pytest.mark.real, pytest.mark.timeout(500)]


def matrix(labels: list[Any], rows: list[list[float]]) -> dict[str, Any]:
    return {"schema_type": "confusion_matrix", "data": {"class_labels": labels, "matrix": rows}}


def accuracy(labels: list[str], tables: list[list[list[int]]]) -> dict[str, Any]:
    thresholds = [0.0, 0.5, 1.0]
    data = {
        "probability_tables": tables,
        "percentile_tables": tables,
        "probability_thresholds": thresholds,
        "percentile_thresholds": thresholds,
        "class_labels": labels,
    }
    return {"schema_type": "accuracy_table", "data": data}


PERFECT = [[10, 30, 0, 0], [10, 0, 30, 0], [0, 0, 30, 10]]
"""At thresholds 0, 0.5 and 1: true positives, false positives, true negatives, false negatives."""
BY_CHANCE = [[10, 30, 0, 0], [5, 15, 15, 5], [0, 0, 30, 10]]


def test_a_confusion_matrix_is_a_table_with_what_each_cell_means(browser: Browser, workspace: Workspace) -> None:
    run = Experiment(workspace, "documents").start_logging()
    run.log_confusion_matrix("pets", matrix(["cat", EVIL], [[8, 2], [1, 9]]))
    run.complete()
    let_in(browser, workspace, run.id)
    browser.shows("pets", "cat", EVIL, "17 of 20 right, accuracy 85 %.", "80 %", place="#charts")
    assert browser.count(".matrix th[scope=row]") == browser.count(".matrix th[scope=col]") == 2
    browser.point(".matrix tbody td:nth-child(3)", 0.5, 0.5, "pointerenter")
    browser.shows(f"true cat, predicted {EVIL}: 2 (20 % of cat)", place=".readout")
    browser.click(".other summary")
    browser.shows("Recall", "Precision", "88.9 %", place=".other")
    browser.emulate("setDeviceMetricsOverride", NARROW)
    assert fits(browser)


def test_two_hundred_classes_are_a_map_with_the_worst_confusions(browser: Browser, workspace: Workspace) -> None:
    count = 200
    rows = [[50.0 if i == j else 0.0 for j in range(count)] for i in range(count)]
    rows[7][8] = 40.0
    run = Experiment(workspace, "documents").start_logging()
    run.log_confusion_matrix("birds", matrix([f"bird {i}" for i in range(count)], rows))
    run.complete()
    let_in(browser, workspace, run.id)
    browser.shows("Most often confused", "bird 7", "bird 8", "44.4 %", place="#charts")
    assert browser.count("#charts td") < 1000, "no cell of its own for each of 40 000"
    assert browser.run("return document.querySelector('canvas').getAttribute('aria-label')").startswith("Confusion")
    browser.point("canvas", 8.5 / count, 7.5 / count)
    browser.shows("true bird 7, predicted bird 8: 40", place=".readout")
    browser.emulate("setDeviceMetricsOverride", NARROW)
    assert fits(browser)


def test_an_accuracy_table_becomes_curves_with_their_areas(browser: Browser, workspace: Workspace) -> None:
    run = Experiment(workspace, "documents").start_logging()
    run.log_accuracy_table("few", accuracy(["sure", EVIL], [PERFECT, BY_CHANCE]))
    run.log_accuracy_table("many", accuracy([f"class {i}" for i in range(30)], [PERFECT] * 29 + [BY_CHANCE]))
    run.complete()
    let_in(browser, workspace, run.id)
    browser.shows("ROC", "Precision and recall", "sure, AUC 1", f"{EVIL}, AUC 0.5", place="#charts")
    browser.shows("all classes together, AUC 0.75", place="#charts")
    browser.click(".other summary")
    browser.shows("Average precision", place=".other")
    browser.point(".chart svg", 0.13, 0.1)
    browser.shows("sure: true positive rate 1, false positive rate 0, threshold 0.5", place=".readout")
    browser.click("#charts select option", "class 29")
    browser.shows("class 29, AUC 0.5", place="#charts")
    browser.emulate("setDeviceMetricsOverride", NARROW)
    assert fits(browser)


def test_residuals_and_predictions_are_histograms(browser: Browser, workspace: Workspace) -> None:
    run = Experiment(workspace, "documents").start_logging()
    bins = {"bin_edges": [-2, -1, 0, 1, 2], "bin_counts": [1, 5, 6, 2]}
    run.log_residuals("errors", {"schema_type": "residuals", "data": bins})
    values = {"bin_averages": [-1.4, -0.5, 0.4, 1.6], "bin_errors": [0.1, 0.2, 0.2, 0.3]}
    run.log_predictions("prices", {"schema_type": "predictions", "data": {**bins, **values}})
    run.complete()
    let_in(browser, workspace, run.id)
    browser.shows("errors", "Residual", "Cases", "prices", "True value", "Predicted", place="#charts")
    assert browser.count("#charts rect.c0") == browser.count("#charts rect.faint") == 4
    browser.point(".chart svg", 0.6, 0.5)
    browser.shows("0 to 1: 6 cases", place=".readout")
    browser.click(".chart:nth-child(2) summary")
    browser.shows("-2 to -1", "0.1", place=".chart:nth-child(2) .other")


HOSTILE: dict[str, tuple[str, str]] = {
    "not JSON": ("{", "It is damaged."),
    "no data": ('{"data": 3}', "It has no `data`."),
    "null": ("null", "It has no `data`."),
    "no matrix": ('{"data": {"class_labels": ["a"]}}', "It has no list `matrix`."),
    "ragged": ('{"data": {"class_labels": ["a", "b"], "matrix": [[1, 2], [3]]}}', "not one row and one column"),
    "nested": ('{"data": {"class_labels": ' + "[" * 100_000 + "]" * 100_000 + ', "matrix": []}}', "cannot be drawn"),
    "10 MB": (json.dumps({"data": {"class_labels": ["x" * 10_000_000], "matrix": [[1]]}}), "It has 10.0 MB"),
    "no numbers": (
        '{"data": {"class_labels": ["NaN", {"x": "NaN"}], "matrix": [[NaN, -Infinity], ["1", 1e999]]}}',
        "It has no cases.",
    ),
}


def test_documents_that_are_no_charts_are_said_and_offered(
    browser: Browser, workspace: Workspace, tmp_path: Path
) -> None:
    """The SDK lets none of these through; a program of anybody's may put them there."""
    run = Experiment(workspace, "documents").start_logging()
    for name, (text, _) in HOSTILE.items():
        run.log_confusion_matrix(name, matrix(["a"], [[1]]))
        replace(run, tmp_path, name, text)
    run.log_confusion_matrix("good", matrix(["a"], [[1]]))
    run.log("loss", 1.0)
    run.complete()
    let_in(browser, workspace, run.id)
    for name, (_, words) in HOSTILE.items():
        browser.shows(name, words, place="#charts")
    browser.shows("loss", place="#values")
    assert browser.count("#charts a[download]") == len(HOSTILE) + 1
    assert fits(browser)


def replace(run: Run, folder: Path, name: str, text: str) -> None:
    """Puts these bytes in place of a document that was logged."""
    path = str(run.get_metrics(name)[name]).partition(run.id)[2].strip("/")
    kept = folder / "document.json"
    kept.write_text(text)
    client = run.experiment.workspace._connection.client
    data = kept.read_bytes()
    blob = client.call("POST", "/api/blobs", body=data)["name"]
    file = {"path": path, "blob": blob, "size": len(data), "modified_at": 1.0}
    client.call("PUT", f"/api/runs/{run.id}/files", json={"files": [file]})


def test_usage_has_units_and_the_time_since_the_start(browser: Browser, workspace: Workspace, tmp_path: Path) -> None:
    tree(tmp_path / "source", {"train.py": "import time\nx = bytearray(60 * 2**20)\ntime.sleep(9)\n"})
    config = ScriptRunConfig(source_directory=str(tmp_path / "source"), script="train.py")
    run = Experiment(workspace, "usage").submit(config)
    run.wait_for_completion()
    let_in(browser, workspace, run.id)
    browser.click("#machine summary")
    browser.shows("run/memory", "MiB", "GiB", "node/cpu", "%", "since the script began", place="#machine")
    text = browser.text("#machine")
    assert "_bytes" not in text and "_percent" not in text
    ticks = browser.run("return [...document.querySelectorAll('#machine svg text')].map(e => e.textContent)")
    assert "0 s" in ticks, ticks
    browser.point("#machine svg", 0.5, 0.5)
    browser.shows("% at ", place="#machine header b")
