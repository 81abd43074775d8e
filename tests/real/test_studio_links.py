"""The studio in a real browser: ways between runs, data, models and endpoints; the log that is open; a run's name and tags."""

import base64
from pathlib import Path

import pytest
from tests.contracts.engine import eventually
from tests.real.browsers import EVIL, NARROW, Browser, fits, let_in
from tests.shared.folders import tree

from roost import Dataset, Datastore, Environment, Experiment, Model, Run, ScriptRunConfig, Workspace

pytestmark = [pytest.mark.real, pytest.mark.timeout(500)]

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
READ = (
    "return fetch([...document.links].find(each => each.innerText === arguments[0]).href).then(answer => answer.text())"
)


def refused(browser: Browser, status: str) -> None:
    """The console has this answer of the API, and no other complaint."""
    complaints = browser.complaints()
    assert complaints and all(status in text for text in complaints), complaints


def test_a_failed_build_opens_its_log(browser: Browser, workspace: Workspace, tmp_path: Path) -> None:
    tree(tmp_path / "source", {"train.py": "print('hello')", "bad.py": "print('begun')\nraise SystemExit('the cause')"})
    environment = Environment("broken")
    environment.python.conda_dependencies.add_pip_package("no-such-package-of-roost==9.9")
    source = str(tmp_path / "source")
    config = ScriptRunConfig(source_directory=source, script="train.py", environment=environment)
    run = Experiment(workspace, "builds").submit(config)
    run.wait_for_completion(raise_on_error=False)
    let_in(browser, workspace, run.id)
    browser.shows("Building environment 'broken'", "no-such-package-of-roost", place="#log")
    assert browser.run("return document.getElementById('stream').value") == "azureml-logs/20_image_build_log.txt"
    browser.click("#stream option", "user_logs/std_log.txt")
    browser.shows("Nothing was written here.", place="#log-note")
    failed = Experiment(workspace, "builds").submit(ScriptRunConfig(source_directory=source, script="bad.py"))
    failed.wait_for_completion(raise_on_error=False)
    browser.get(f"{workspace._connection.url}/runs/{failed.id}")
    browser.shows("begun", "the cause", place="#log")
    notes = Experiment(workspace, "builds").start_logging()
    notes.complete()
    browser.get(f"{workspace._connection.url}/runs/{notes.id}")
    browser.shows("Completed", place="#status")
    eventually(lambda: not browser.is_shown("#log-part"))  # a run with no process of Roost's has no log


def test_an_empty_workspace_leads_to_the_runs_of_another(browser: Browser, workspace: Workspace) -> None:
    Experiment(Workspace.create("other", exist_ok=True), "birds").start_logging().complete()
    let_in(browser, workspace)
    browser.shows("No runs yet.", "There are runs in: other", place="#empty")
    browser.click("#empty a", "other")
    browser.shows("birds", "Completed", place="#rows")
    browser.click("#statuses button", "Failed")
    browser.shows("No run fits these filters.", place="#empty")
    assert "other" not in browser.text("#empty")


def test_all_versions_of_a_model(browser: Browser, workspace: Workspace, tmp_path: Path) -> None:
    tree(tmp_path, {"a/net.txt": "first", "b/net.txt": "second", "data/x.csv": "x\n1\n"})
    store = Datastore.register_folder(workspace, "mine", str(tmp_path / "data"))
    data = Dataset.File.from_files((store, "x.csv")).register(workspace, "birds")
    run = Experiment(workspace, "birds").start_logging()
    run.upload_file("outputs/net.txt", str(tmp_path / "a" / "net.txt"))
    run.complete()
    run.register_model("net", "outputs/net.txt", model_framework="PyTorch", model_framework_version="2.1")
    both = [("training", data), ("validation", Dataset.File.from_files((store, "*.csv")))]
    Model.register(workspace, str(tmp_path / "b"), "net", tags={"note": EVIL}, description=EVIL, datasets=both)
    let_in(browser, workspace)
    browser.get(f"{workspace._connection.url}/serving")
    browser.click("#models a", "all versions")
    browser.shows("version 2", f"note: {EVIL}", "birds, version 1", "b/net.txt", "none: its files were brought")
    assert browser.run(READ, "b/net.txt") == "second"
    browser.click("summary b", "version 1")
    browser.shows("PyTorch 2.1", run.id, "roost model download net:1", place="#version-1")
    browser.emulate("setDeviceMetricsOverride", NARROW)
    assert fits(browser)
    browser.click("#version-1 a", run.id)
    browser.shows("net, version 1", place="#models")
    browser.click("#models a", "net, version 1")
    browser.shows(run.id, place="#version-1")
    browser.click("#versions b", "version 2")
    browser.shows("birds, version 1", place="#version-2")
    browser.shows("validation: a dataset that is not registered", place="#version-2")
    browser.click("#version-2 a", "birds, version 1")
    browser.shows("net:2", "model made with it", place="#uses")
    browser.get(f"{workspace._connection.url}/models/nothing")
    browser.shows("Not here", "nothing")
    refused(browser, "404")


def test_a_dataset_shows_its_files_the_beginning_of_one_and_its_runs(
    browser: Browser, workspace: Workspace, tmp_path: Path
) -> None:
    rows = "".join(f'bird {i};"a; ""{EVIL}"""\n' for i in range(300))
    tree(
        tmp_path,
        {
            "data/t.csv": "name;note\n" + rows,
            "data/page.html": EVIL,
            "data/z.txt": "",
            "source/train.py": "print('read')",
        },
    )
    (tmp_path / "data" / "dot.png").write_bytes(DOT)
    store = Datastore.register_folder(workspace, "mine", str(tmp_path / "data"))
    table = Dataset.Tabular.from_delimited_files((store, "t.csv"), separator=";").register(workspace, "my table")
    files = Dataset.File.from_files((store, "**")).register(workspace, "files", tags={"kind": EVIL}, description=EVIL)
    arguments = ["--data", files.as_named_input("birds").as_mount()]
    config = ScriptRunConfig(source_directory=str(tmp_path / "source"), script="train.py", arguments=arguments)
    run = Experiment(workspace, "birds").submit(config)
    run.wait_for_completion()
    let_in(browser, workspace, run.id)
    browser.shows("--data <birds>", place="#facts")
    browser.shows("read as birds, mount", place="#data")
    browser.click("#data a", "files, version 1")
    browser.shows("dot.png", "page.html", "t.csv", place="#files")
    browser.shows(run.id, "read it", place="#uses")
    browser.shows(f"kind: {EVIL}", "mine:**")
    assert browser.run("return document.querySelector('#preview img').decode().then(() => 1)") == 1
    browser.click("#files li:nth-child(2) button")
    browser.shows(EVIL, place="#preview")
    kind = "return fetch(document.querySelector(arguments[0]).href).then(answer => answer.headers.get('content-type'))"
    assert browser.run(kind, "#files li:nth-child(2) a") == "application/octet-stream", "opened, it is no page"
    browser.click("#files li:nth-child(4) button")
    browser.shows("It is empty.", place="#preview")
    browser.get(f"{workspace._connection.url}/data")
    browser.click("#datasets a", table.name)
    browser.shows("name", "note", "bird 0", f'a; "{EVIL}"', "bird 19", place="#preview")
    assert browser.count("#preview tbody tr") == 20
    browser.shows("None yet.", place="#uses")
    browser.emulate("setDeviceMetricsOverride", NARROW)
    assert fits(browser)
    lines = Dataset.Tabular.from_delimited_files((store, "t.csv"), separator="\n", header=False)
    lines.register(workspace, "lines")
    browser.get(f"{workspace._connection.url}/data/lines")
    browser.shows("Column1", "name;note", 'bird 0;"a; ""', place="#preview")
    assert (browser.count("#preview th"), browser.count("#preview tbody tr")) == (1, 20)
    (tmp_path / "data" / "p.parquet").write_bytes(b"PAR1")
    Dataset.Tabular.from_parquet_files((store, "p.parquet"), validate=False).register(workspace, "columns")
    browser.get(f"{workspace._connection.url}/data/columns")
    browser.shows("Parquet has no preview here.", 'get_by_name(ws, "columns").take(5)', place="#files-note")
    browser.get(f"{workspace._connection.url}/data/{table.name}")
    (tmp_path / "data" / "t.csv").unlink()
    browser.refresh()
    browser.shows("There is no file there now.", place="#files-note")


def test_name_description_and_tags_are_shown_and_changed(browser: Browser, workspace: Workspace) -> None:
    run = Experiment(workspace, "birds").start_logging(tags={"team": "vision", "old": "yes"})
    run.complete()
    let_in(browser, workspace, run.id)
    browser.shows("team: vision", "old: yes", place="#tags")
    browser.click("#edit")
    set_value = "const place = document.querySelector(arguments[0]); place.value = arguments[1]"
    browser.run(set_value, "#edit-name", EVIL)
    browser.run(set_value, "#edit-description", "what it\nis for")
    browser.click("#edit-tags li:nth-child(1) button")  # tags are sorted: old, team
    browser.click("#edit-add")
    browser.run(set_value, "#edit-tags li:nth-child(3) input:nth-child(1)", "stage")
    browser.run(set_value, "#edit-tags li:nth-child(3) input:nth-child(2)", "test")
    browser.click("#edit-save")
    browser.shows("stage: test", "team: vision", place="#tags")
    browser.shows(EVIL, place="#title")
    browser.shows("what it\nis for", place="#description")
    changed = Run.get(workspace, run.id)
    assert changed.tags == {"team": "vision", "stage": "test"}
    assert (changed.display_name, changed.description) == (EVIL, "what it\nis for")
    browser.click("#edit")
    browser.run(set_value, "#edit-name", "x" * 100_000)
    browser.click("#edit-save")
    browser.shows("at most", place="#edit-note")
    assert browser.is_shown("#edit-form")
    refused(browser, "400")
