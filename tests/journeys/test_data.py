"""Data into runs: web files by reference, mounted and downloaded; tables inside a job; what a run writes becomes data."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.interpreters import WANTED, python
from tests.journeys.test_submit import until
from tests.journeys.web import serving
from tests.sdk.folders import tree

from roost import (
    Dataset,
    DatasetConsumptionConfig,
    Datastore,
    Environment,
    Experiment,
    OutputFileDatasetConfig,
    Run,
    RunConfiguration,
    ScriptRunConfig,
    Workspace,
)
from roost_job.exceptions import ActivityFailedException, UserErrorException

pytestmark = pytest.mark.slow
ROOST = str(Path(sys.executable).with_name("roost"))

FILES = {
    "mnist/train-images-idx3-ubyte.gz": b"train images" * 1000,
    "mnist/train-labels-idx1-ubyte.gz": b"train labels",
    "mnist/t10k-images-idx3-ubyte.gz": b"test images" * 1000,
    "mnist/t10k-labels-idx1-ubyte.gz": b"test labels",
}

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


def submit(experiment: Experiment, folder: Path, script: str, *arguments: object, **more: object) -> Run:
    source = tree(folder / "source", {"train.py": script})
    return experiment.submit(ScriptRunConfig(str(source), script="train.py", arguments=list(arguments), **more))  # type: ignore[arg-type]


def log_of(run: Run) -> str:
    run.download_file("user_logs/std_log.txt", "log.txt")
    return Path("log.txt").read_text()


def output(run: Run, name: str) -> dict[str, object]:
    run.download_file(f"outputs/{name}", f"{run.id}-{name}")
    found: dict[str, object] = json.loads(Path(f"{run.id}-{name}").read_text())
    return found


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


IN_JOB = """
import json, os, sys
from azureml.core import Dataset, Run
run = Run.get_context()
workspace = run.experiment.workspace
files = Dataset.get_by_name(workspace, "texts")
here = files.download("local")
with files.mount() as place:
    listed = sorted(os.listdir(place.mount_point))
said = {"kind": type(files).__name__, "version": files.version, "paths": sorted(files.to_path()),
        "here": sorted(os.path.relpath(path) for path in here), "listed": listed,
        "again": Dataset.get_by_id(workspace, files.id).name,
        "first": files.take(1).to_path(), "python": sys.version_info[:2],
        "names": sorted(workspace.datasets), "all": sorted(Dataset.get_all(workspace)),
        "by_name": workspace.datasets["texts"].id == files.id,
        "direct": type(run.input_datasets["table"]).__name__, "argument": sys.argv[1]}
try:
    Dataset.get_by_name(workspace, "absent")
except Exception as error:
    said["absent"] = "%s: %s" % (type(error).__name__, error)
os.makedirs("outputs", exist_ok=True)
json.dump(said, open("outputs/said.json", "w"))
"""


@pytest.mark.parametrize("version", [*WANTED, "with the SDK"])
def test_datasets_inside_a_job(version: str, workspace: Workspace, experiment: Experiment, tmp_path: Path) -> None:
    environment = Environment(f"python{version[:4]}")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = sys.executable if version == "with the SDK" else python(version)
    store = workspace.get_default_datastore()
    tree(tmp_path / "up", {"one.txt": "1", "two.txt": "2", "table.csv": "a,b\n1,2\n"})
    store.upload(str(tmp_path / "up"), target_path="files", show_progress=False)
    Dataset.File.from_files((store, "files/*.txt")).register(workspace, "texts")
    table = Dataset.Tabular.from_delimited_files((store, "files/table.csv"), validate=False)
    run = submit(experiment, tmp_path, IN_JOB, table.as_named_input("table"), environment=environment)
    run.wait_for_completion()
    said = output(run, "said.json")
    wanted = list(sys.version_info[:2]) if version == "with the SDK" else [int(each) for each in version.split(".")]
    assert said.pop("python") == wanted
    assert "absent" in str(said.pop("absent"))
    assert said == {
        "kind": "FileDataset",
        "version": 1,
        "paths": ["/one.txt", "/two.txt"],
        "here": ["local/one.txt", "local/two.txt"],
        "listed": ["one.txt", "two.txt"],
        "again": "texts",
        "names": ["texts"],
        "all": ["texts"],
        "by_name": True,
        "first": ["/one.txt"],
        "direct": "TabularDataset",
        "argument": "table",
    }


ON_ITS_OWN = """
import json, os, sys
from azureml.core import Dataset, Datastore, Run
from azureml.data.datapath import DataPath
run = Run.get_context()
workspace = run.experiment.workspace
store = workspace.get_default_datastore()
said = {"python": sys.version_info[:2], "names": list(workspace.datastores), "type": store.datastore_type,
        "same": Datastore.get(workspace, store.name) == Datastore(workspace) == Datastore.get_default(workspace)}
os.makedirs("made/sub")
os.makedirs("root")
open("root/made.txt", "w").close()
for name, text in (("a.csv", "x,y\\n1,2\\n"), ("sub/b.csv", "x,y\\n3,4\\n")):
    with open(os.path.join("made", name), "w") as file:
        file.write(text)
reference = store.upload("made", "made/" + run.id)
store.upload("made", "made/" + run.id)
store.upload_files(["made/a.csv"], relative_root=".", target_path="more")
said["came"] = store.download("back", prefix="given"), store.download("back", prefix="given")
said["back"] = sorted(os.path.relpath(os.path.join(root, name), "back")
                      for root, _, names in os.walk("back") for name in names)
files = Dataset.File.from_files(reference).register(workspace, "made", tags={"by": "a job"}, create_new_version=True)
said["files"] = files.name, files.version, sorted(Dataset.get_by_name(workspace, "made").to_path())
table = Dataset.Tabular.from_delimited_files([(store, "made/%s/*.csv" % run.id), DataPath(store, "given/c.csv")])
said["table"] = type(table).__name__, table.register(workspace, "table").version
web = Dataset.File.from_files(sys.argv[1])
said["web"] = web.to_path(), web.register(workspace, "web").name
said["up"] = Dataset.File.upload_directory("made", (store, "up"), pattern="**/b.*").to_path()
said["wrong"] = []
def wrong(deed):
    try:
        deed()
        said["wrong"].append("not refused")
    except Exception as error:
        said["wrong"].append("%s: %s" % (type(error).__name__, str(error).splitlines()[0]))
wrong(lambda: Datastore.get(workspace, "nowhere"))
wrong(lambda: Datastore.get(workspace, "../x"))
wrong(lambda: Datastore.get(workspace, "looked").upload("made", "x"))
wrong(lambda: store.upload("made", "../x"))
wrong(lambda: Dataset.File.from_files((store, "nothing/*.txt")))
wrong(lambda: files.take(1).register(workspace, "made"))
wrong(lambda: store.account_key)
said["root"] = "/made.txt" in Dataset.File.upload_directory("root", store).to_path()
os.makedirs("outputs", exist_ok=True)
json.dump(said, open("outputs/said.json", "w"))
"""


@pytest.mark.parametrize("version", [*WANTED, "with the SDK"])
def test_a_script_uses_datastores_on_its_own(
    version: str, workspace: Workspace, experiment: Experiment, tmp_path: Path
) -> None:
    environment = Environment(f"python{version[:4]}")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = sys.executable if version == "with the SDK" else python(version)
    store = workspace.get_default_datastore()
    store.upload(str(tree(tmp_path / "up", {"c.csv": "x,y\n5,6\n"})), target_path="given", show_progress=False)
    with serving(FILES) as web:
        Datastore.register_http(workspace, "looked", web.url)
        run = submit(
            experiment, tmp_path, ON_ITS_OWN, f"{web.url}/mnist/train-labels-idx1-ubyte.gz", environment=environment
        )
        run.wait_for_completion()
    said = output(run, "said.json")
    wanted = list(sys.version_info[:2]) if version == "with the SDK" else [int(each) for each in version.split(".")]
    assert said == {
        "python": wanted,
        "names": ["workspaceblobstore", "workspacefilestore", "looked"],
        "type": "Folder",
        "same": True,
        "came": [1, 0],
        "back": ["given/c.csv"],
        "files": ["made", 1, ["/a.csv", "/sub/b.csv"]],
        "table": ["TabularDataset", 1],
        "web": [["/train-labels-idx1-ubyte.gz"], "web"],
        "up": ["/sub/b.csv"],
        "root": True,
        "wrong": [
            "UserErrorException: There is no datastore 'nowhere' in workspace 'default'.",
            "UserErrorException: Datastore name '../x' is not allowed.",
            "UserErrorException: Datastore 'looked' is read only.",
            "UserErrorException: Path '../x' is not allowed: it climbs out with `..`.",
            "UserErrorException: There is no file at workspaceblobstore/nothing/*.txt.",
            "UserErrorException: There is already a dataset registered under name 'made'.",
            "UserErrorException: account_key of datastore 'workspaceblobstore' is not shown: a credential that was "
            "registered never leaves the control plane.",
        ],
    }
    table = Dataset.get_by_name(workspace, "table")
    assert table.to_pandas_dataframe()["x"].tolist() == [1, 5], "what a job made, anybody reads"  # type: ignore[union-attr]
    made = Dataset.get_by_name(workspace, "made")
    assert [each.id for each in made.get_runs()] == [run.id] and made.tags == {"by": "a job"}
    assert "Uploaded 2 files, 16 bytes." in log_of(run) and "2 files are in workspaceblobstore already" in log_of(run)
    assert run.output_datasets == {}, "those are what was declared when it was submitted"
    shown = subprocess.run(
        [ROOST, "run", "show", run.id], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    own = [line.strip() for line in shown.splitlines() if line.endswith(", by the script")]
    assert own == [
        "read        workspaceblobstore/given, by the script",
        f"read        workspaceblobstore/made/{run.id}, by the script",
        "read        workspaceblobstore/up, by the script",
        "read        workspaceblobstore/nothing/*.txt, by the script",
        "read        workspaceblobstore/, by the script",
        f"wrote       workspaceblobstore/made/{run.id}, by the script",
        "wrote       workspaceblobstore/more, by the script",
        "wrote       workspaceblobstore/up, by the script",
        "wrote       workspaceblobstore/made.txt, by the script",
        "made        dataset made, version 1, by the script",
        "made        dataset table, version 1, by the script",
        "made        dataset web, version 1, by the script",
    ]


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


TABLE = """
import json, os
from azureml.core import Dataset, Run
run = Run.get_context()
prices = run.input_datasets["prices"]
frame = prices.to_pandas_dataframe()
lines = Dataset.get_by_name(run.experiment.workspace, "lines").to_pandas_dataframe()
said = {"days": [str(day)[:10] for day in frame["day"]], "regions": frame["region"].tolist(),
        "dear": prices.drop_columns("region").take(1).to_pandas_dataframe().columns.tolist(), "lines": lines["a"].tolist()}
store = run.experiment.workspace.get_default_datastore()
kept = Dataset.Tabular.register_pandas_dataframe(frame, (store, "frames"), "kept", show_progress=False)
said["kept"] = kept.version, kept.keep_columns(["price"]).to_pandas_dataframe()["price"].tolist()
os.makedirs("outputs", exist_ok=True)
json.dump(said, open("outputs/said.json", "w"))
"""


def test_tables_inside_a_job(workspace: Workspace, experiment: Experiment, tmp_path: Path) -> None:
    store = workspace.get_default_datastore()
    content = {
        "north/2020.csv": "day,price\n2020-01-01,5\n2020-01-02,50\n",
        "south/2020.csv": "day,price\n2020-01-03,70\n2020-01-04,7\n",
        "lines.jsonl": '{"a": 1}\n{"a": 2}\n',
    }
    store.upload(str(tree(tmp_path / "up", content)), target_path="tables", show_progress=False)
    place = (store, "tables/*/2020.csv")
    prices = Dataset.Tabular.from_delimited_files(place, partition_format="{region}/2020.csv")
    dear = prices.filter(prices["price"] > 10)
    Dataset.Tabular.from_json_lines_files((store, "tables/lines.jsonl")).register(workspace, "lines")
    run = submit(experiment, tmp_path, TABLE, dear.as_named_input("prices"))
    run.wait_for_completion()
    assert output(run, "said.json") == {
        "days": ["2020-01-02", "2020-01-03"],
        "regions": ["north", "south"],
        "dear": ["day", "price"],
        "lines": [1, 2],
        "kept": [1, [50, 70]],
    }
    assert Dataset.get_by_name(workspace, "kept").to_pandas_dataframe()["price"].tolist() == [50, 70]  # type: ignore[union-attr]
    found = run.input_datasets["prices"].to_pandas_dataframe()
    assert found["price"].tolist() == [50, 70], "outside the same as inside"
