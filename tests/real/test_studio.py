"""The studio in a real browser: runs, data, models and endpoints. What it draws is in test_studio_charts.py."""

import base64
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from tests.contracts.engine import eventually
from tests.real.browsers import EVIL, NARROW, Browser, fits, let_in
from tests.shared.folders import tree

from roost import Dataset, Datastore, Experiment, InferenceConfig, Model, Run, ScriptRunConfig, Workspace

pytestmark = [pytest.mark.real, pytest.mark.timeout(500)]

SCRIPT = """
import os, sys
from azureml.core import Run
run = Run.get_context()
run.log("once", 41.5)
for step in range(20):
    run.log("loss", 1.0 / (step + 1), step=step)
run.log(sys.argv[1], 1.0); run.log(sys.argv[1], 2.0)
os.makedirs("outputs", exist_ok=True)
open("outputs/model.txt", "w").write("weights")
print("first line " + sys.argv[1], flush=True)
if len(sys.argv) > 2:
    import time
    while not os.path.exists(sys.argv[2]): time.sleep(0.05)
print("last line", flush=True)
"""


DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
MATRIX = {"class_labels": ["a", "b"], "matrix": [[1, 2], [3, 4]]}


@pytest.fixture
def source(tmp_path: Path) -> str:
    folder = tmp_path / "source"
    folder.mkdir()
    tree(folder, {"train.py": SCRIPT})
    return str(folder)


def test_without_a_session_the_page_says_how_to_get_one(browser: Browser, workspace: Workspace) -> None:
    url = workspace._connection.url
    browser.get(f"{url}/")
    browser.shows("Let this browser in", "roost open")
    browser.get(f"{url}/runs/train_1_ab")
    browser.shows("roost open train_1_ab")
    browser.get(f"{url}/login?code=nonsense")
    browser.shows("That link is used up")
    assert not browser.is_shown("#runs")


def test_runs_are_listed_filtered_and_paged(browser: Browser, workspace: Workspace, source: str) -> None:
    config = ScriptRunConfig(source_directory=source, script="train.py", arguments=["metric"])
    done = Experiment(workspace, "birds").submit(config, display_name=EVIL)
    done.wait_for_completion()
    for number in range(26):
        Experiment(workspace, "notes").start_logging(display_name=f"note {number}").complete()
    let_in(browser, workspace)
    browser.shows("note 25", "note 1", "Completed", "Page 1")
    assert browser.count("#rows tr") == 25
    browser.click("#older")
    browser.shows("note 0", EVIL, "Page 2")
    browser.click("#newer")
    browser.shows("note 25")
    browser.click("#experiment option[value=birds]")
    browser.shows(EVIL, "birds", place="#rows")
    assert browser.count("#rows tr") == 1
    assert "experiment=birds" in browser.url
    browser.click("button", "Failed")
    browser.shows("No run fits these filters.")
    browser.refresh()
    browser.shows("No run fits these filters.")
    browser.click("button", "All")
    browser.shows(EVIL)
    later = Experiment(workspace, "birds").start_logging(display_name="came later")
    browser.shows("came later", "Running")
    later.complete()
    browser.click("#rows a", EVIL)
    browser.shows(done.id, "first line")


def test_columns_are_chosen_and_the_list_is_ordered_by_one(browser: Browser, workspace: Workspace, source: str) -> None:
    config = ScriptRunConfig(source_directory=source, script="train.py", arguments=["metric", "--lr", "0.25"])
    arguments = Experiment(workspace, "birds").submit(config)
    for loss in range(30):
        run = Experiment(workspace, "birds").start_logging(display_name=f"note {loss}", tags={EVIL: str(loss)})
        run.log("the loss", (loss * 7) % 30)
        run.description = f"about {EVIL}"
        run.complete()
    arguments.cancel()
    arguments.wait_for_completion(raise_on_error=False)
    let_in(browser, workspace)
    browser.shows("note 29", f"about {EVIL}", place="#rows")
    browser.click("#picker summary")
    browser.shows("METRICS", "the loss", "ARGUMENTS", "lr", "TAGS", EVIL, place="#columns")
    browser.click("#columns label[title='the loss'] input")
    browser.click("#columns label[title='lr'] input")
    browser.click("#picker summary")
    browser.click("#head th[data-column='metrics.the loss'] button")
    shown = "return [...document.querySelectorAll('#rows tr td.own:nth-child(4)')].map(each => each.innerText)"
    eventually(lambda: browser.run(shown) == [str(value) for value in range(29, 4, -1)])
    browser.click("#older", "Next →")
    eventually(lambda: browser.run(shown)[:5] == ["4", "3", "2", "1", "0"])
    assert "0.25" in browser.text("#rows"), "the argument of the run without the metric, which comes last"
    browser.refresh()
    eventually(lambda: browser.run(shown)[:2] == ["29", "28"])
    assert browser.run("return document.querySelector('#head th[aria-sort]').getAttribute('aria-sort')") == "descending"
    browser.emulate("setDeviceMetricsOverride", NARROW)
    assert fits(browser)


def test_a_control_plane_that_is_down_is_said(browser: Browser, workspace: Workspace) -> None:
    let_in(browser, workspace)
    browser.shows("No runs yet.")
    browser.run("window.fetch = () => Promise.reject(new TypeError('Failed to fetch'))")
    browser.shows("the control plane does not answer", place="#live")
    browser.click("button", "Failed")
    browser.shows("Nobody answers", "roost up")


def test_one_run_with_its_log_metrics_events_and_files(
    browser: Browser, workspace: Workspace, source: str, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    config = ScriptRunConfig(source_directory=source, script="train.py", arguments=[EVIL, str(gate)])
    run = Experiment(workspace, "birds").submit(config, tags={EVIL: EVIL}, display_name=EVIL)
    let_in(browser, workspace, run.id)
    browser.shows("Running", f"first line {EVIL}", f"{EVIL}: {EVIL}", "41.5", "loss")
    assert "last line" not in browser.text("#log")
    gate.touch()
    browser.shows("last line", place="#log")
    browser.shows("Completed", place="#status")
    browser.shows("outputs/model.txt", "user_logs/std_log.txt", place="#files")
    browser.shows("Queued", "Running", "Completed", place="#events")
    assert browser.count(".chart svg path.line") == 2
    link = "[...document.links].find(e => e.innerText === arguments[0]).href"
    follow = f"return fetch({link}).then(answer => answer.text())"
    assert browser.run(follow, "outputs/model.txt") == "weights"
    assert browser.run("return document.cookie") == ""
    browser.click("#machine summary")
    browser.shows("node/memory", "GiB", place="#machine")


def test_lists_rows_tables_texts_and_pictures(browser: Browser, workspace: Workspace, tmp_path: Path) -> None:
    run = Experiment(workspace, "figures").start_logging()
    picture = tmp_path / "dot.png"
    picture.write_bytes(DOT)
    run.log("note", EVIL)
    run.log_list("losses", [0.5, float("nan"), EVIL])
    for epoch in range(150):
        run.log_row("epochs", epoch=epoch, **{EVIL: epoch / 2})
    run.log_table("table", {"x": [1, 2], "y": ["left", "right"]})
    run.log_image("dot", path=str(picture))
    run.log_confusion_matrix("matrix", {"schema_type": "confusion_matrix", "schema_version": "v1", "data": MATRIX})
    run.complete()
    let_in(browser, workspace, run.id)
    browser.shows("note", EVIL, place="#values")
    browser.shows("losses", "0.5", "NaN", EVIL, "epoch", "49.5", "and 50 more rows", "left", "right", place="#charts")
    browser.shows("matrix", "confusion matrix", "accuracy 50 %", ".json", place="#charts")
    width = "const img = document.querySelector('.figure img'); img.scrollIntoView(); return img.naturalWidth"
    eventually(lambda: browser.run(width) == 1)
    assert fits(browser)
    browser.emulate("setDeviceMetricsOverride", NARROW)
    assert fits(browser)


def test_children_and_lines_that_are_rewritten(browser: Browser, workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "bars"
    folder.mkdir()
    text = "import sys\nsys.stdout.write('\\r 10 %\\x1b[31m red\\x1b[0m\\r 90 %\\nnext\\r\\n')\nsys.stdout.write('\\rlast')"
    tree(folder, {"train.py": text})
    run = Experiment(workspace, "bars").submit(ScriptRunConfig(source_directory=str(folder), script="train.py"))
    run.wait_for_completion()
    run.register_model("bars", "user_logs/std_log.txt")
    let_in(browser, workspace, run.id)
    browser.shows("last", place="#log")
    browser.shows("bars, version 1", place="#models")
    assert browser.run("return document.getElementById('log').textContent") == " 90 %\nnext\nlast"
    assert not browser.is_shown("#children-part")


def test_a_run_is_cancelled_from_the_page(browser: Browser, workspace: Workspace, source: str) -> None:
    config = ScriptRunConfig(source_directory=source, script="train.py", arguments=["metric", "/nowhere/at/all"])
    run = Experiment(workspace, "birds").submit(config)
    let_in(browser, workspace, run.id)
    browser.shows("first line")
    browser.click("#cancel")
    browser.shows("Canceled", place="#status")
    assert Run.get(workspace, run.id).get_status() == "Canceled"
    assert not browser.is_shown("#cancel")


def test_datasets_and_datastores(browser: Browser, workspace: Workspace, tmp_path: Path) -> None:
    let_in(browser, workspace)
    browser.shows("No runs yet.")
    browser.click("a.back", "Data")
    browser.shows("No datasets yet.", "workspaceblobstore", "default")
    tree(tmp_path / "birds", {"a.csv": "x\n1\n"})
    store = Datastore.register_folder(workspace, "mine", str(tmp_path / "birds"))
    Dataset.File.from_files((store, "a.csv")).register(workspace, "birds", tags={"kind": EVIL})
    table = Dataset.Tabular.from_delimited_files([(store, "a.csv"), (store, "*.csv")])
    table.register(workspace, "table")
    browser.refresh()
    browser.shows(
        "birds", "version 1", f"kind: {EVIL}", "mine:a.csv", "table, delimited", "and 1 more", place="#datasets"
    )
    browser.shows("mine", "folder", str(tmp_path / "birds"), place="#datastores")
    assert (browser.count("#datasets tr"), browser.count("#datastores tr")) == (2, 3)
    assert not browser.is_shown("#none")
    browser.emulate("setDeviceMetricsOverride", NARROW)
    assert fits(browser)


@pytest.mark.parametrize("dark", [False, True])
def test_narrow_and_dark(browser: Browser, workspace: Workspace, source: str, dark: bool) -> None:
    config = ScriptRunConfig(source_directory=source, script="train.py", arguments=["m" * 200])
    run = Experiment(workspace, "birds").submit(config, display_name="x" * 200)
    run.wait_for_completion()
    browser.emulate("setDeviceMetricsOverride", NARROW)
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    browser.emulate("setEmulatedMedia", {"features": scheme})
    let_in(browser, workspace)
    browser.shows("birds")
    assert fits(browser)
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert (int(ground.partition("(")[2].partition(",")[0]) < 60) == dark
    browser.get(f"{workspace._connection.url}/runs/{run.id}")
    browser.shows("last line")
    assert fits(browser)


def test_models_and_endpoints(browser: Browser, workspace: Workspace, tmp_path: Path) -> None:
    tree(
        tmp_path, {"words.txt": "hello", "serve/score.py": "def init():\n    pass\n\ndef run(data):\n    return data\n"}
    )
    let_in(browser, workspace)
    browser.shows("Runs")
    browser.click("a.back", "Models and endpoints")
    browser.shows("No endpoints yet", "No models yet")
    run = Experiment(workspace, "birds").start_logging()
    run.upload_file("outputs/words.txt", "words.txt")
    run.complete()
    model = run.register_model("words", "outputs/words.txt", description=EVIL, model_framework="ONNX")
    service = Model.deploy(workspace, "birds", [model], InferenceConfig("serve/score.py"))
    service.wait_for_deployment()
    assert service.run("1") == "1"
    with pytest.raises(HTTPError, match="404"):
        urlopen(f"{service.scoring_uri}/none", timeout=30)
    browser.shows("birds", "words:1")
    browser.shows("Healthy", "default 100 %", "ready", place="#endpoint-birds")
    browser.shows(f":{service._record.port}/score", "2, of them 1 refused, 0 failed", place="#endpoint-birds")
    browser.shows("words", "version 1", place="#models")
    assert fits(browser)
    browser.emulate("setDeviceMetricsOverride", NARROW)
    assert fits(browser)
    framework, made_by = browser.run(
        "return [...document.querySelectorAll('#models .exp')].map((each) => each.getBoundingClientRect().top)"
    )
    assert framework < made_by, "one below the other"
    browser.click("a.back", "Data")
    browser.shows("Datastores", "workspaceblobstore")
    assert fits(browser)
    browser.click("a.back", "Models and endpoints")
    browser.shows("birds", "words:1", "ready")
    browser.click(".versions a", "ready")
    browser.shows("endpoint-birds")
    service.delete()
