"""Data inside a job: datasets, datastores and tables that the script itself asks for."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.journeys.data_runs import FILES, ROOST, log_of, output, submit
from tests.shared.folders import tree
from tests.shared.interpreters import WANTED, python
from tests.shared.web import serving

from roost import (
    Dataset,
    Datastore,
    Environment,
    Experiment,
    Workspace,
)

pytestmark = pytest.mark.slow
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
