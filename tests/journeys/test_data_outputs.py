"""What a run writes becomes data, also where its agent is killed; the older references."""

import json
import os
import signal
from pathlib import Path

import pytest
from tests.journeys.data_runs import log_of, submit
from tests.journeys.test_submit import until
from tests.shared.folders import tree

from roost import (
    Dataset,
    Experiment,
    OutputFileDatasetConfig,
    RunConfiguration,
    ScriptRunConfig,
    Workspace,
)
from roost_job.exceptions import ActivityFailedException

pytestmark = pytest.mark.slow
WRITES = """
import os, sys
from azureml.core import Run
run = Run.get_context()
folder = sys.argv[1]
assert run.output_datasets["result"] == folder == os.environ["result"]
os.makedirs(os.path.join(folder, "deep"))
open(os.path.join(folder, "a.csv"), "w").write("x,y\\n1,2\\n")
open(os.path.join(folder, "deep", "b.csv"), "w").write("x,y\\n3,4\\n")
open(os.path.join(folder, "notes.txt"), "w").write("not this")
open(os.path.join(folder, "empty.csv"), "w").close()
os.symlink("/etc/passwd", os.path.join(folder, "link.csv"))
sys.exit(int(sys.argv[2]))
"""


def test_what_a_run_writes_becomes_data(workspace: Workspace, experiment: Experiment, tmp_path: Path) -> None:
    store = workspace.get_default_datastore()
    result = (
        OutputFileDatasetConfig("result", destination=(store, "made/{run-id}/{output-name}"))
        .as_upload(source_globs=["*.csv"])
        .register_on_complete("numbers", description="made by a run", tags={"kind": "made"})
    )
    run = submit(experiment, tmp_path, WRITES, result, 0)
    run.wait_for_completion()
    numbers = Dataset.get_by_name(workspace, "numbers")
    assert sorted(numbers.to_path()) == ["/a.csv", "/deep/b.csv", "/empty.csv"]  # type: ignore[union-attr]
    assert (numbers.description, numbers.tags) == ("made by a run", {"kind": "made"})
    assert run.output_datasets["result"].id == numbers.id
    (use,) = run.get_details()["outputDatasets"]
    assert use["dataset"]["id"] == numbers.id
    assert f"to made/{run.id}/result of datastore workspaceblobstore, registered as 'numbers', in " in log_of(run)
    assert [each.id for each in numbers.get_runs()] == [run.id]

    failed = submit(experiment, tmp_path, WRITES, result, 3)
    failed.wait_for_completion(raise_on_error=False)
    assert failed.get_status() == "Failed"
    assert failed.output_datasets == {}, "half of it would look like all of it"


def test_an_output_that_would_replace_something_fails_the_run_and_is_not_lost(
    workspace: Workspace, experiment: Experiment, tmp_path: Path, home: Path
) -> None:
    store = workspace.get_default_datastore()
    tree(tmp_path / "up", {"a.csv": "older"})
    store.upload(str(tmp_path / "up"), target_path="fixed", show_progress=False)
    result = OutputFileDatasetConfig("result", destination=(store, "fixed"))
    run = submit(experiment, tmp_path, WRITES, result.as_upload(), 0)
    with pytest.raises(ActivityFailedException, match=r"fixed/a\.csv is there already"):
        run.wait_for_completion()
    assert (home / "runs" / run.id / "filled" / "result" / "a.csv").read_text() == "x,y\n1,2\n"
    again = submit(experiment, tmp_path, WRITES, result, 0)
    again.wait_for_completion()
    assert Dataset.File.from_files((store, "fixed/a.csv")).to_path() == ["/a.csv"]


OLDER = """
import os, sys
data, made = sys.argv[1:]
assert data == os.environ["AZUREML_DATAREFERENCE_words"], sys.argv
text = "".join(open(os.path.join(data, name)).read() for name in sorted(os.listdir(data)))
os.makedirs(made)
open(os.path.join(made, "text.txt"), "w").write(text)
"""


def test_the_older_references(workspace: Workspace, experiment: Experiment, tmp_path: Path) -> None:
    store = workspace.get_default_datastore()
    tree(tmp_path / "up", {"1.txt": "one ", "2.txt": "two"})
    store.upload(str(tmp_path / "up"), target_path="words", show_progress=False)
    words = store.path("words", data_reference_name="words").as_mount()
    made = store.path("joined", data_reference_name="made").as_upload("made_here", overwrite=True)
    configuration = RunConfiguration()
    configuration.data_references = {"made": made.to_config()}
    source = tree(tmp_path / "source", {"train.py": OLDER})
    config = ScriptRunConfig(
        str(source), script="train.py", arguments=[str(words), str(made)], run_config=configuration
    )
    configuration.data_references["words"] = words.to_config()
    run = experiment.submit(config)
    run.wait_for_completion()
    store.download(str(tmp_path / "down"), prefix="joined", show_progress=False)
    assert (tmp_path / "down" / "joined" / "text.txt").read_text() == "one two"


LARGE = """
import os, sys
for number in range(20):
    with open(os.path.join(sys.argv[1], "%d.bin" % number), "wb") as file:
        file.write(bytes(8000000))
"""


def test_an_agent_killed_while_it_uploads_is_made_up_for(
    workspace: Workspace, experiment: Experiment, tmp_path: Path, home: Path
) -> None:
    made = OutputFileDatasetConfig("made").register_on_complete("zeros")
    run = submit(experiment, tmp_path, LARGE, made)
    folder = home / "runs" / run.id
    until((folder / "delivering-made").exists)
    os.kill(int(json.loads((folder / "agent.json").read_text())["pid"]), signal.SIGKILL)
    run.wait_for_completion()
    zeros = Dataset.get_by_name(workspace, "zeros")
    assert zeros.version == 1
    assert len(zeros.to_path()) == 20  # type: ignore[union-attr]
    assert zeros.download("zeros")  # type: ignore[union-attr]
    assert {path.stat().st_size for path in Path("zeros").iterdir()} == {8_000_000}
