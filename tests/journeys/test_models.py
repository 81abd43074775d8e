"""Models from training to the next job: registered by a script on each Python and outside, found, downloaded; killed, crowded."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.shared.folders import tree
from tests.shared.interpreters import WANTED, python

from roost import (
    Dataset,
    Environment,
    Experiment,
    InferenceConfig,
    Model,
    ResourceConfiguration,
    Run,
    ScriptRunConfig,
    Workspace,
)
from roost.sdk.connection import discovery
from roost.sdk.operations import upkeep
from roost_job.exceptions import ModelPathNotFoundException, WebserviceException

pytestmark = pytest.mark.slow

# As people wrote it, and what only Roost forgives: the file in ./outputs is not uploaded before it is registered.
IN_JOB = """
import json, os, sys
if "alone" in sys.argv:
    assert "roost" not in sys.modules
from azureml.core import Dataset, Run
from azureml.core.model import Model
from azureml.core.resource_configuration import ResourceConfiguration
from azureml.exceptions import ModelPathNotFoundException, WebserviceException

run = Run.get_context()
workspace = run.experiment.workspace
said = {"python": list(sys.version_info[:2])}

os.makedirs("outputs/net")
with open("outputs/net/weights.txt", "w") as file:
    file.write("w" * 1000)
with open("outputs/model.pkl", "w") as file:
    file.write("model")
model = run.register_model(
    model_name="trained", model_path="outputs/model.pkl", tags={"accuracy": 0.5}, properties={"p": 1},
    model_framework=Model.Framework.SCIKITLEARN, model_framework_version="0.24", description="a model",
    resource_configuration=ResourceConfiguration(cpu=1, memory_in_gb=0.5),
)
said["trained"] = [model.id, model.model_framework, model.tags, model.run_id == run.id, model.experiment_name]
said["folder"] = run.register_model("net", "outputs/net/").version
run.upload_file("kept/here.txt", "outputs/model.pkl")
said["uploaded"] = run.register_model("kept", "kept/here.txt").serialize()["version"]
said["local"] = Model.register(workspace, "outputs/net", "net", tags=["a"]).version
store = workspace.get_default_datastore()
store.upload_files(["outputs/model.pkl"], target_path="samples", overwrite=True, show_progress=False)
sample = Dataset.File.from_files((store, "samples/model.pkl"))
model.update(sample_input_dataset=sample)
model.add_dataset_references([("test", sample)])
sampled = Model(workspace, "trained")
said["sampled"] = sampled.sample_input_dataset.to_path() + [sampled.datasets["test"][0].name]
try:
    open("outputs/lies.txt", "w").close()
    run.register_model("none", "outputs/none")
except ModelPathNotFoundException as error:
    said["path"] = all(each in error.message for each in ("kept/here.txt", "outputs/model.pkl", "outputs/lies.txt"))
try:
    Model(workspace, "absent")
except WebserviceException as error:
    said["absent"] = "ModelNotFound" in error.message
model.add_tags({"b": "1"})
model.remove_tags(["accuracy"])
said["tags"] = Model(workspace, "trained").tags
said["listed"] = sorted(each.id for each in Model.list(workspace))
said["latest"] = sorted(each.id for each in Model.list(workspace, latest=True))
said["mine"] = sorted(each.id for each in Model.list(workspace, run_id=run.id, tags=[["b", "1"]]))
said["models"] = sorted(workspace.models)

given = Model(workspace, "given")
said["download"] = given.download("somewhere").replace(os.sep, "/")
said["content"] = open(os.path.join("somewhere", "folder", "deep", "b.txt")).read()
try:
    given.download("somewhere")
except WebserviceException as error:
    said["exists"] = "already exists" in error.message
given.download("somewhere", exist_ok=True)
said["path_of"] = Model.get_model_path("given")
said["again"] = [Model.get_model_path("given", version=1), Model.get_model_path(model_name="trained")]
said["there"] = open(os.path.join(Model.get_model_path("given"), "a.txt")).read()
try:
    given.delete()
except Exception as error:
    said["delete"] = str(error).splitlines()[0]
with open("outputs/said.json", "w") as file:
    json.dump(said, file)
"""


def submit(experiment: Experiment, folder: Path, script: str, *arguments: str, **more: object) -> Run:
    source = tree(folder / "source", {"train.py": script})
    return experiment.submit(ScriptRunConfig(str(source), script="train.py", arguments=list(arguments), **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("version", [*WANTED, "with the SDK"])
def test_models_inside_a_job(version: str, workspace: Workspace, experiment: Experiment, tmp_path: Path) -> None:
    environment = Environment(f"python{version[:4]}")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = sys.executable if version == "with the SDK" else python(version)
    tree(tmp_path / "folder", {"a.txt": "a", "deep/b.txt": "b"})
    Model.register(workspace, str(tmp_path / "folder"), "given")
    alone = [] if version == "with the SDK" else ["alone"]
    run = submit(experiment, tmp_path, IN_JOB, *alone, environment=environment)
    run.wait_for_completion()
    run.download_file("outputs/said.json", "said.json")
    said = json.loads(Path("said.json").read_text())
    wanted = list(sys.version_info[:2]) if version == "with the SDK" else [int(each) for each in version.split(".")]
    assert said.pop("python") == wanted
    assert said.pop("delete") == "Model.delete is not in a job."
    assert said == {
        "trained": ["trained:1", "ScikitLearn", {"accuracy": "0.5"}, True, "tests"],
        "folder": 1,
        "uploaded": 1,
        "local": 2,
        "sampled": ["/model.pkl", None],
        "path": True,
        "absent": True,
        "tags": {"b": "1"},
        "listed": ["given:1", "kept:1", "net:1", "net:2", "trained:1"],
        "latest": ["given:1", "kept:1", "net:2", "trained:1"],
        "mine": ["trained:1"],
        "models": ["given", "kept", "net", "trained"],
        "download": "somewhere/folder",
        "content": "b",
        "exists": True,
        "path_of": "azureml-models/given/1/folder",
        "again": ["azureml-models/given/1/folder", "azureml-models/trained/1/model.pkl"],
        "there": "a",
    }
    trained = Model(workspace, "trained")
    assert trained.run is not None and trained.run.id == run.id
    assert repr(trained.resource_configuration) == "ResourceConfiguration(cpu=1.0, memory_in_gb=0.5, gpu=None)"
    assert Path(trained.download("here")).read_text() == "model"
    assert Model(workspace, "net", version=1).url == Model(workspace, "net", version="2").url  # type: ignore[arg-type]
    route = f"/api/runs/{run.id}/models"
    found = workspace._connection.client.call("GET", route)
    assert {f"{each['name']}:{each['version']}" for each in found["registered"]} == {
        "trained:1",
        "net:1",
        "net:2",
        "kept:1",
    }
    assert found["used"] == ["given:1"]


def blobs(home: Path) -> set[str]:
    return {path.name for path in (home / "blobs").glob("??/*")}


def test_from_a_run_with_all_that_the_sdk_says(workspace: Workspace, experiment: Experiment, home: Path) -> None:
    table = tree(Path("data"), {"t.csv": "a,b\n1,2\n"})
    store = workspace.get_default_datastore()
    store.upload(str(table), target_path="d", show_progress=False)
    dataset = Dataset.Tabular.from_delimited_files((store, "d/t.csv"), validate=False).register(workspace, "table")
    run = submit(experiment, Path(), "import os; os.makedirs('outputs/m'); open('outputs/m/w', 'w').write('w' * 5000)")
    run.wait_for_completion()
    before = blobs(home)
    model = run.register_model(
        model_name="net",
        model_path="outputs/m",
        model_framework=Model.Framework.TENSORFLOW,
        model_framework_version="2.0",
        datasets=[("training data", dataset)],
        sample_input_dataset=dataset,
        resource_configuration=ResourceConfiguration(cpu=1, memory_in_gb=0.5),
    )
    assert len(blobs(home) - before) == 1, "the manifest: no byte of the run is copied"
    assert model.datasets["training data"][0].name == "table" and model.sample_input_dataset.id == dataset.id
    assert [each.id for each in Model.list(workspace, dataset_id=dataset.id)] == ["net:1"]
    assert Model.deserialize(workspace, model.serialize()).id == model.id
    loose = Dataset.Tabular.from_delimited_files((store, "d/t.csv"), validate=False).take(1)
    model.update(sample_input_dataset=loose, sample_output_dataset=loose.keep_columns("b"))
    found = Model(workspace, "net")
    assert found.sample_input_dataset.to_pandas_dataframe().to_dict("list") == {"a": [1], "b": [2]}
    assert found.sample_output_dataset.to_pandas_dataframe().to_dict("list") == {"b": [2]}
    assert found.sample_input_dataset.name is None and set(workspace.datasets) == {"table"}, "saved, and not registered"
    assert dataset.register(workspace, "_saved_tables").name == "_saved_tables" in workspace.datasets, (
        "a name of theirs"
    )
    model.update(sample_output_dataset=loose)
    assert Model(workspace, "net").sample_output_dataset.id == found.sample_input_dataset.id, "saved once"
    model.add_dataset_references([("validation data", dataset)])
    assert set(Model(workspace, "net").datasets) == {"training data", "validation data"}
    with pytest.raises(ModelPathNotFoundException, match="outputs/m/w"):
        run.register_model("net", "outputs/missing")
    with pytest.raises(WebserviceException, match="framework"):
        run.register_model("net", "outputs/m", model_framework_version="2.0")
    upkeep.delete_run(workspace._connection, run.id)
    kept = Model(workspace, "net")
    assert kept.run is None and (kept.run_id, kept.experiment_name) == (run.id, "tests")
    assert Path(kept.download("here")).read_text() == "w" * 5000


def test_a_second_version_of_a_large_folder_carries_one_file(
    workspace: Workspace, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over HTTP, as from another machine: what is asked to travel is counted."""
    folder = tree(Path("large"), {f"part{number}": f"{number}" * 300_000 for number in range(8)})
    Model.register(workspace, str(folder), "large")
    before = blobs(home)
    (folder / "part3").write_text("changed" * 100_000)
    carrier = workspace._connection.bytes.carrier
    monkeypatch.setattr(carrier, "shared", None)
    sent: list[str] = []
    call = carrier._client.call

    def counted(method: str, path: str, **more: object) -> object:
        sent.extend([path] if path.startswith("/api/blobs/") and path != "/api/blobs/missing" else [])
        return call(method, path, **more)

    monkeypatch.setattr(carrier._client, "call", counted)
    second = Model.register(workspace, str(folder), "large")
    assert len(sent) == 2 and len(blobs(home) - before) == 2, "the file and the manifest"
    assert Path(second.download("far"), "part3").read_text() == "changed" * 100_000
    first = Model(workspace, "large", version=1)
    assert Path(first.download("old"), "part3").read_text() == "3" * 300_000


REGISTERS = """
import sys
from roost import Model, Workspace
print(Model.register(Workspace(), sys.argv[1], "crowd").version)
"""


def test_several_at_once_get_a_version_each(workspace: Workspace, home: Path) -> None:
    folder = tree(Path("net"), {"a": "1"})
    argv = [sys.executable, "-c", REGISTERS, str(folder)]
    many = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = sorted(process.communicate(timeout=120)[0].split()[-1] for process in many)
    assert said == ["1", "2", "3", "4"] and len(Model.list(workspace, name="crowd")) == 4


KILLED = """
import os, signal, sys
from roost import Model, Workspace
from roost.transport import models
def end(*_):
    os.kill(os.getpid(), signal.SIGKILL)
models.write_manifest = end
Model.register(Workspace(), sys.argv[1], "killed")
"""


def test_killed_in_the_middle_nothing_is_to_be_seen(workspace: Workspace, home: Path) -> None:
    folder = tree(Path("net"), {f"a{number}": "1" * number for number in range(50)})
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder)], timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    assert Model.list(workspace) == [] and workspace.models == {}
    assert Model.register(workspace, str(folder), "killed").version == 1


def test_deleting_frees_and_a_backup_has_it(workspace: Workspace, home: Path) -> None:
    tree(Path("net"), {"a": "1" * 100_000})
    model = Model.register(workspace, "net", "net")
    connection = workspace._connection
    assert upkeep.usage(connection)["model_bytes"] > 100_000
    swept = upkeep.sweep(connection, dry_run=True)
    assert swept["bytes"] + swept["young_bytes"] == 0
    tar = connection.client.fetch("GET", "/api/backup").body
    listed = Path("net.manifest")
    listed.write_bytes(connection.bytes.carrier.get(model._record.manifest))
    content = listed.read_text().split("\t")[3]
    assert f"blobs/{content}".encode() in tar
    model.delete()
    for path in (home / "blobs").glob("??/*"):
        os.utime(path, (0, 0))
    assert upkeep.sweep(connection)["bytes"] > 100_000
    with pytest.raises(WebserviceException, match="ModelNotFound"):
        Model(workspace, "net")


def test_a_killed_control_plane_forgets_nothing(workspace: Workspace, home: Path) -> None:
    tree(Path("net"), {"a": "1"})
    first = Model.register(workspace, "net", "net", tags={"k": "v"})
    record = discovery.read_record(home)
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    again = Workspace()
    assert Model(again, "net").serialize() == first.serialize()
    assert Model.register(again, "net", "net").version == 2


def test_found_by_what_is_said_of_it(workspace: Workspace) -> None:
    tree(Path("net"), {"a": "1"})
    for stage in ("old", "new", "new", "tried"):
        Model.register(workspace, "net", "net", tags={"stage": stage})
    assert Model(workspace, "net", tags={"stage": "new"}).version == 3
    assert Model(workspace, "net", tags=["stage"]).version == 4
    assert Model(workspace, "net", tags={"stage": "new"}, version=2).version == 2
    with pytest.raises(WebserviceException, match=r"Version 1 of model 'net' does not have tags \{'stage': 'new'\}"):
        Model(workspace, "net", tags={"stage": "new"}, version=1)
    with pytest.raises(WebserviceException, match=r"No version of model 'net' has tags \{'stage': 'none'\}"):
        Model(workspace, "net", tags={"stage": "none"})


def test_an_interactive_run_registers_what_is_still_in_its_folder(experiment: Experiment) -> None:
    outputs = tree(Path("results"), {"m.pt": "weights", "sub/a": "1"})
    run = experiment.start_logging(outputs=str(outputs))
    assert run.register_model("net", "results/m.pt").version == 1
    assert run.register_model("net", "results/sub")._record.path == "sub"
    with pytest.raises(ModelPathNotFoundException):
        run.register_model("net", "results/none")
    assert [each.id for each in Model.list(experiment.workspace, run_id=run.id)] == ["net:2", "net:1"]
    run.complete()


SCORE = """
import os
from azureml.core.model import Model

def init():
    global words
    words = []
    for name in ("one", "two"):
        path = Model.get_model_path(name)
        words.append(os.path.relpath(path, os.environ["AZUREML_MODEL_DIR"]))
        with open(path) as file:
            words.append(file.read())

def run(data):
    return words
"""


def test_paths_of_models_in_a_service(workspace: Workspace) -> None:
    tree(Path("serve"), {"score.py": SCORE})
    for name in ("one", "two"):
        Path(f"{name}.txt").write_text(name)
    models = [Model.register(workspace, f"{name}.txt", name) for name in ("one", "two")]
    Model.register(workspace, "two.txt", "one")  # a newer version, which is not what is served
    service = Model.deploy(workspace, "paths", models, InferenceConfig("score.py", source_directory="serve"))
    service.wait_for_deployment()
    assert service.run("{}") == ["one/1/one.txt", "one", "two/1/two.txt", "two"]
    users = workspace._connection.client.call("GET", f"/api/workspaces/{workspace.name}/models/one/1/users")
    assert users["services"] == ["paths"]
    with pytest.raises(WebserviceException, match="one:1 is deployed: paths"):
        models[0].delete()
    service.delete()
    models[0].delete()
