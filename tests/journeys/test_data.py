"""Data into runs: web files by reference, mounted and downloaded, in a script and in a command."""

import os
import signal
import sys
from pathlib import Path

import pytest
from tests.journeys.data_runs import FILES, log_of, output, submit
from tests.journeys.test_submit import until
from tests.shared.folders import tree
from tests.shared.web import serving

from roost import (
    Dataset,
    DatasetConsumptionConfig,
    Datastore,
    Experiment,
    ScriptRunConfig,
    Workspace,
)
from roost_job.exceptions import ActivityFailedException, UserErrorException

pytestmark = pytest.mark.slow
# As people wrote it: finds its files by pattern below the folder that it is given.
FINDS = """
import argparse, glob, json, os
parser = argparse.ArgumentParser()
parser.add_argument("--data-folder", type=str)
folder = parser.parse_args().data_folder
found = {}
for pattern in ("train-images", "train-labels", "t10k-images", "t10k-labels"):
    path, = glob.glob(os.path.join(folder, "**", pattern + "*"), recursive=True)
    with open(path, "rb") as file:
        found[pattern] = len(file.read())
os.makedirs("outputs", exist_ok=True)
json.dump(found, open("outputs/found.json", "w"))
"""


def test_four_web_files_registered_mounted_and_found_by_pattern(
    workspace: Workspace, experiment: Experiment, tmp_path: Path
) -> None:
    with serving(FILES) as web:
        dataset = Dataset.File.from_files(path=[f"{web.url}/{name}" for name in FILES])
        dataset = dataset.register(
            workspace=workspace, name="mnist", description="training and test dataset", create_new_version=True
        )
        assert sorted(dataset.to_path()) == sorted(f"/{name.rpartition('/')[2]}" for name in FILES)

        first = submit(experiment, tmp_path, FINDS, "--data-folder", dataset.as_mount())
        first.wait_for_completion()
        assert output(first, "found.json") == {
            "train-images": 12000,
            "train-labels": 12,
            "t10k-images": 11000,
            "t10k-labels": 11,
        }
        assert "4 files, 23 kB" in log_of(first)
        came = dict(web.bodies)

        named = Dataset.get_by_name(workspace, "mnist").as_named_input("mnist")
        second = submit(experiment, tmp_path, FINDS, "--data-folder", named.as_download())
        second.wait_for_completion()
        assert web.bodies == came, "a second run fetches nothing"
        assert output(second, "found.json") == output(first, "found.json")
    gone = Dataset.File.from_files(path=f"{web.url}/other.bin", validate=False)

    third = submit(experiment, tmp_path, FINDS, "--data-folder", dataset.as_mount())
    third.wait_for_completion()
    assert output(third, "found.json") == output(first, "found.json")

    fourth = submit(experiment, tmp_path, FINDS, "--data-folder", gone.as_download())
    with pytest.raises(ActivityFailedException, match=f"{web.url}/other.bin"):
        fourth.wait_for_completion()

    (use,) = second.get_details()["inputDatasets"]
    assert use["dataset"]["id"] == dataset.id
    assert use["consumptionDetails"]["inputName"] == "mnist"
    assert use["consumptionDetails"]["mechanism"] == "Download"
    assert {run.id for run in Dataset.get_by_name(workspace, "mnist").get_runs()} == {first.id, second.id, third.id}


SAYS = """
import json, os, sys
from azureml.core import Run
run = Run.get_context()
said = {"arguments": sys.argv[1:], "inputs": run.input_datasets, "variable": os.environ.get("one"),
        "texts": [open(path).read() for path in sys.argv[1:2]]}
os.makedirs("outputs", exist_ok=True)
json.dump(said, open("outputs/said.json", "w"), default=repr)
"""


def test_one_file_is_its_path_and_names_are_variables(
    workspace: Workspace, experiment: Experiment, tmp_path: Path
) -> None:
    store = workspace.get_default_datastore()
    tree(tmp_path / "up", {"a/one.txt": "1", "b/two.txt": "2", "b/three.txt": "3"})
    store.upload(str(tmp_path / "up"), target_path="files", show_progress=False)
    one = Dataset.File.from_files((store, "files/a/one.txt")).as_named_input("one").as_mount()
    many = Dataset.File.from_files((store, "files/b/*.txt")).as_download("local/many")
    run = submit(experiment, tmp_path, SAYS, one, f"--many={many}", many)
    run.wait_for_completion()
    said = output(run, "said.json")
    path, option, folder = said["arguments"]  # type: ignore[misc]
    assert path.endswith("/one.txt")
    assert said["texts"] == ["1"]
    assert said["variable"] == path
    assert option == f"--many={folder}"
    assert folder.endswith("/work/local/many")
    assert said["inputs"] == {"one": path, many.name: folder}
    assert many.name.startswith("input__")
    log = log_of(run)
    assert "Input one: 1 file, 1 byte, links to files of this machine, in " in log
    assert f"Input {many.name}: 2 files, 2 bytes, copied here, in " in log


def test_a_bare_dataset_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    files = Dataset.File.from_files((workspace.get_default_datastore(), "nothing/here.txt"), validate=False)
    with pytest.raises(UserErrorException, match=r"as_mount\(\)"):
        ScriptRunConfig(str(tmp_path), script="train.py", arguments=["--data", files])  # type: ignore[list-item]


def test_an_input_without_files_fails_with_its_name(
    workspace: Workspace, experiment: Experiment, tmp_path: Path
) -> None:
    none = Dataset.File.from_files((workspace.get_default_datastore(), "nothing/*.txt"), validate=False)
    run = submit(experiment, tmp_path, SAYS, none.as_named_input("empty").as_mount())
    with pytest.raises(ActivityFailedException, match=r"Input 'empty': .* at workspaceblobstore/nothing/\*\.txt"):
        run.wait_for_completion()


def test_a_file_of_an_odd_name_is_named_in_the_log(
    workspace: Workspace, experiment: Experiment, tmp_path: Path
) -> None:
    tree(tmp_path / "odd", {"a.txt": "1", "b.txt": "2"})
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd/caf\xe9.txt")).write_text("3")
    files = Dataset.File.from_files(Datastore.register_folder(workspace, "odd", tmp_path / "odd"))
    run = submit(experiment, tmp_path, "import os, sys; print(sorted(os.listdir(sys.argv[1])))", files.as_download())
    run.wait_for_completion()
    said = log_of(run)
    assert "['a.txt', 'b.txt']" in said
    assert said.count("1 file is left out, since its name is not allowed: `caf\\xe9.txt` (it is not UTF-8).") == 1


def test_what_a_run_changes_through_a_mount_is_in_its_log(
    workspace: Workspace, experiment: Experiment, tmp_path: Path
) -> None:
    store = workspace.get_default_datastore()
    tree(tmp_path / "up", {"a.txt": "one", "b.txt": "two"})
    store.upload(str(tmp_path / "up"), target_path="words", show_progress=False)
    source = tree(tmp_path / "source", {"nothing.py": ""})
    text = f"echo three > {store.path('words', data_reference_name='words').as_mount()}/a.txt"
    run = experiment.submit(ScriptRunConfig(str(source), command=text))
    run.wait_for_completion()
    assert "Input words: a.txt was changed while the run was going: a mount of files of this machine" in log_of(run)


def test_data_in_a_command(workspace: Workspace, experiment: Experiment, tmp_path: Path) -> None:
    store = workspace.get_default_datastore()
    tree(tmp_path / "up", {"word.txt": "hello"})
    store.upload(str(tmp_path / "up"), target_path="words", show_progress=False)
    word = Dataset.File.from_files((store, "words/word.txt"))
    source = tree(tmp_path / "source", {"nothing.py": ""})
    text = f"cat {word.as_mount()} > outputs/text.txt"
    words = ["cat", DatasetConsumptionConfig("word", word, "mount")]
    joined = ["cat -n", word.as_download(), "&&", f"{sys.executable} nothing.py"]
    commands = (text, words, joined)
    runs = [experiment.submit(ScriptRunConfig(str(source), command=each)) for each in commands]  # type: ignore[arg-type]
    for run in runs:
        run.wait_for_completion()
    runs[0].download_file("outputs/text.txt", "text.txt")
    assert Path("text.txt").read_text() == "hello"
    assert "hello" in log_of(runs[1])
    assert "1\thello" in log_of(runs[2])


# Reads a little, tells that it is there, and waits.
HOLDS = """
import os, sys, time
folder, told = sys.argv[1:]
with open(os.path.join(folder, "0.bin"), "rb") as file:
    file.read(10)
    open(told + ".part", "w").write(str(os.getppid()))
    os.rename(told + ".part", told)
    time.sleep(600)
"""


def mounts_below(home: Path) -> int:
    return sum(str(home) in line for line in Path("/proc/self/mountinfo").read_text().splitlines())


@pytest.mark.parametrize("how", ["canceled", "agent killed"])
def test_no_mount_outlives_its_run(how: str, experiment: Experiment, tmp_path: Path, home: Path) -> None:
    with serving({f"{n}.bin": bytes(100_000) for n in range(2)}) as web:
        files = Dataset.File.from_files([f"{web.url}/{n}.bin" for n in range(2)])
        told = tmp_path / "told"
        run = submit(experiment, tmp_path, HOLDS, files.as_mount(), told)
        until(told.exists)
        if how == "canceled":
            run.cancel()
        else:
            os.kill(int(told.read_text()), signal.SIGKILL)
        until(lambda: run.get_status() in ("Canceled", "Failed"))
        assert run.get_status() == ("Canceled" if how == "canceled" else "Failed")
        until(lambda: not (home / "runs" / run.id).exists())
        assert mounts_below(home) == 0


def test_an_input_that_does_not_come_can_be_canceled(experiment: Experiment, tmp_path: Path) -> None:
    with serving({"slow.bin": bytes(10_000_000)}) as web:
        slow = Dataset.File.from_files(f"{web.url}/slow.bin")
        web.flows.clear()
        run = submit(experiment, tmp_path, SAYS, slow.as_named_input("slow").as_download())
        until(lambda: web.bodies)
        client = run._connection.client
        why = client.call("GET", f"/api/runs/{run.id}/events")["why"]
        assert "is fetching its inputs; its log shows how far it is" in why
        run.cancel()
        until(lambda: run.get_status() == "Canceled")
        web.flows.set()
