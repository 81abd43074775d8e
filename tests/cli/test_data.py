"""`roost data` and `roost datastore`: there and back, in the words of the command line; credentials from stdin or a prompt."""

import copy
import json
import subprocess
from pathlib import Path

import pytest
from tests.cli import commands
from tests.cli.commands import ROOST
from tests.cli.terminals import on_terminal
from tests.cli.test_cli import roost
from tests.shared.folders import tree

from roost import Dataset, Experiment, OutputFileDatasetConfig, ScriptRunConfig, Workspace

KEY = "c2VjcmV0LWtleS10by1sb29rLWZvcg=="


def test_what_is_wrong_starts_nothing(home: Path) -> None:
    assert "error: Datastore name 'a-b' is not allowed." in roost(
        "datastore", "register", "a-b", "--folder", "x", code=1
    )
    assert "hint: Give one of --folder" in roost("datastore", "register", "ab", code=1)
    assert "error: --kind cannot be 'xls'." in roost("data", "register", "x", "y:z", "--kind", "xls", code=1)
    assert "error: --tag is KEY=VALUE, got 'k'." in roost("data", "register", "x", "y:z", "--tag", "k", code=1)
    assert "error: --tag is KEY=VALUE" in roost("data", "upload", ".", "--name", "x", "--tag", "k", code=1)
    assert "are of the dataset that --name registers" in roost("data", "upload", ".", "--tag", "k=v", code=1)
    assert not home.exists()


@pytest.mark.slow
def test_there_and_back(home: Path, tmp_path: Path) -> None:
    tree(tmp_path / "birds", {"a.csv": "x\n1\n", "sub/b.csv": "x\n2\n"})
    said = roost("data", "upload", "birds", "--name", "birds", "--tag", "k=v")
    assert "Dataset birds, version 1, at workspaceblobstore:birds/" in said
    assert "birds" in roost("data", "list") and json.loads(roost("data", "list", "--json"))[0]["tags"] == {"k": "v"}
    shown = roost("data", "show", "birds", "--files")
    assert "from         workspaceblobstore:birds/" in shown and "file         sub/b.csv  4 bytes" in shown
    assert "2 files in" in roost("data", "download", "birds", "here")
    assert (tmp_path / "here/sub/b.csv").read_text() == "x\n2\n"
    assert "hint: Give --overwrite" in roost("data", "download", "birds", "here", code=1)
    one = ("data", "upload", "birds/a.csv", "--to", "workspaceblobstore:one")
    roost(*one)
    again = commands.run([*one])
    assert "1 file is in workspaceblobstore already and stays as it is; --overwrite replaces it." in again.stderr
    assert "hint: Look at the path" in roost("data", "upload", "none", code=1)
    assert "hint: roost data upload" in roost("data", "register", "x", "birds", code=1)
    assert "hint: `on?` is taken as a pattern" in roost("data", "register", "x", "workspaceblobstore:on?", code=1)
    assert "is a pattern" in roost("data", "upload", "birds", "--name", "n", "--to", "workspaceblobstore:on?", code=1)
    roost("data", "register", "table", "workspaceblobstore:birds/**/*.csv", "--kind", "csv", "--separator", r"\t")
    assert "hint: Give --new-version" in roost("data", "register", "table", "workspaceblobstore:one", code=1)
    assert "version 2" in roost("data", "register", "table", "workspaceblobstore:one", "--new-version")
    assert (
        json.loads(roost("data", "show", "table", "--version", "1", "--json"))["definition"]["format"]["separator"]
        == "\t"
    )
    shown = roost("data", "show", "table", "--version", "1")
    assert r"read with    separator = '\t'" in shown and shown.count("read with") == 1, "what is as always is not told"
    assert "hint: Did you mean 'birds'?" in roost("data", "show", "bird", code=1)
    assert "hint: 'table' has versions 1 to 2." in roost("data", "show", "table", "--version", "9", code=1)
    assert "hint: Its version is apart: table --version 1" in roost("data", "show", "table:1", code=1)
    assert "Dataset table, version 1 of 1 to 2, table (delimited)" in roost("data", "show", "table", "--version", "1")
    assert "`workspaceblobstore:` is all that is in it" in roost("data", "register", "x", "workspaceblobstore", code=1)
    assert "hint: Give --to workspaceblobstore:abs" in roost("data", "upload", "birds", "--to", "/abs", code=1)
    assert "Dataset birds was unregistered." in roost("data", "unregister", "birds", "--yes")


@pytest.mark.slow
def test_each_upload_with_a_name_has_a_folder_of_its_own(home: Path, tmp_path: Path) -> None:
    tree(tmp_path / "images", {"a.txt": "bird"})
    tree(tmp_path / "other/images", {"a.txt": "cat", "b.txt": "cat"})
    roost("data", "upload", "images", "--name", "birds")
    roost("data", "upload", "other/images", "--name", "cats")
    tree(tmp_path / "images", {"a.txt": "another bird"})
    assert "hint: Give --new-version" in roost("data", "upload", "images", "--name", "birds", code=1)
    assert "Dataset birds, version 2" in roost("data", "upload", "images", "--name", "birds", "--new-version")
    for name, version, files in (
        ("birds", "1", {"a.txt": "bird"}),
        ("birds", "2", {"a.txt": "another bird"}),
        ("cats", "1", {"a.txt": "cat", "b.txt": "cat"}),
    ):
        there = tmp_path / f"{name}-{version}"
        roost("data", "download", name, str(there), "--version", version)
        assert {each.name: each.read_text() for each in there.iterdir()} == files
    to = ("--to", "workspaceblobstore:here")
    roost("data", "upload", "images", "--name", "mice", *to)
    said = roost("data", "upload", "images", "--name", "mice", "--new-version", *to, code=1)
    assert "error: workspaceblobstore:here has a.txt already" in said and "hint: Leave out --to" in said


def download(name: str, folder: str) -> str:
    """What it says beside its answer."""
    return subprocess.run([ROOST, "data", "download", name, folder], capture_output=True, text=True, check=True).stderr


@pytest.mark.slow
def test_a_tables_files_come_without_its_steps(home: Path, tmp_path: Path) -> None:
    tree(tmp_path / "store", {"p.csv": "price\n1\n5\n"})
    roost("datastore", "register", "mine", "--folder", str(tmp_path / "store"))
    roost("data", "register", "whole", "mine:p.csv", "--kind", "csv")
    assert download("whole", "one") == ""
    table = Dataset.get_by_name(Workspace(), "whole")
    table.filter(table["price"] > 3).take(1).register(Workspace(), "prices")
    words = "Dataset prices is a table: its files come as they are, its steps (filter, take) are not applied."
    assert words in download("prices", "two")
    assert (tmp_path / "two/p.csv").read_text() == "price\n1\n5\n"


READS = """
from azureml.core import Dataset, Run
Dataset.get_by_name(Run.get_context().experiment.workspace, "birds").to_path()
"""


@pytest.mark.slow
def test_unregistering_names_the_runs_that_read_it(home: Path, tmp_path: Path) -> None:
    tree(tmp_path / "store/birds", {"a.txt": "bird"})
    tree(tmp_path / "code", {"reads.py": READS})
    roost("datastore", "register", "mine", "--folder", str(tmp_path / "store"))
    roost("data", "register", "birds", "mine:birds")
    assert "Runs that read it" not in roost("data", "unregister", "birds", code=1)
    roost("submit", "code/reads.py", "-e", "reads")
    (run,) = json.loads(roost("run", "list", "--json"))
    assert roost("data", "show", "birds").count("read by") == 1
    roost("data", "register", "birds", "mine:birds/a.txt", "--new-version")
    assert f"the data stays. Runs that read it: {run['id']}." in roost("data", "unregister", "birds", code=1)
    roost("data", "register", "others", "mine:birds")
    said = roost("datastore", "unregister", "mine", code=1)
    assert "birds, others cannot be read any more then." in said and run["id"] in said
    said = roost("datastore", "unregister", "mine", "--yes")
    assert "was unregistered. Datasets that cannot be read any more: birds, others." in said


GIVEN = """
import os, sys
from azureml.core import Run
given = Run.get_context().input_datasets
print(sys.argv[1] == given["birds"] == os.environ["birds"], sorted(os.listdir(given["birds"])), given["table"].version)
"""


@pytest.mark.slow
def test_datasets_given_to_submit(home: Path, tmp_path: Path) -> None:
    tree(tmp_path / "store", {"birds/a.txt": "bird", "birds/b.txt": "bird", "table.csv": "x\n1\n"})
    tree(tmp_path / "code", {"given.py": GIVEN})
    script = "code/given.py"
    for wrong in ("birds", "birds=", "=birds"):
        roost("submit", "--input", wrong, script, code=1)
    assert "error: 'new' is not a version" in roost("submit", "--input", "a=birds:new", script, code=1)
    assert "error: Two inputs are named 'a'." in roost("submit", "--input", "a=x", "--input", "a=y", script, code=1)
    assert not home.exists()
    roost("datastore", "register", "mine", "--folder", str(tmp_path / "store"))
    roost("data", "register", "birds", "mine:birds")
    roost("data", "register", "table", "mine:table.csv", "--kind", "csv")
    roost("data", "register", "table", "mine:birds", "--new-version")
    assert "has version 1 only" in roost("submit", "--input", "birds=birds:2", script, code=1)
    said = roost("submit", "--input", "birds=birds", "--input", "table=table:1", script, "$birds")
    assert "True ['a.txt', 'b.txt'] 1" in said
    assert "birds, mount: dataset birds, version 1" in roost("run", "show", "@latest")


@pytest.mark.slow
def test_a_run_keeps_the_name_of_what_was_unregistered(home: Path, tmp_path: Path) -> None:
    tree(tmp_path / "store/birds", {"a.txt": "bird"})
    tree(tmp_path / "code", {"reads.py": READS})
    roost("datastore", "register", "mine", "--folder", str(tmp_path / "store"))
    roost("data", "register", "birds", "mine:birds")
    workspace = Workspace()
    birds = Dataset.get_by_name(workspace, "birds").as_named_input("given").as_mount()
    made = OutputFileDatasetConfig("made", ("mine", "made")).register_on_complete("made")
    config = ScriptRunConfig(str(tmp_path / "code"), "reads.py", arguments=[birds, made])
    run = Experiment(workspace, "reads").submit(config)
    run.wait_for_completion()
    (told,) = run.get_details()["inputDatasets"]
    assert told["dataset"] == {"id": birds.dataset.id, "name": "birds", "version": 1}
    assert (told["dataset"].to_path(), told["dataset"].name) == (["/a.txt"], "birds"), "it is the dataset too"
    assert run.get_details()["outputDatasets"][0]["dataset"].to_path() == run.output_datasets["made"].to_path()
    assert json.loads(json.dumps(told))["dataset"] == copy.deepcopy(told)["dataset"]
    for name in ("birds", "made"):
        roost("data", "unregister", name, "--yes")
    shown = roost("run", "show", run.id)
    assert "given, mount: dataset birds, version 1 (unregistered), at mine/birds" in shown
    assert ", is dataset made, version 1 (unregistered)" in shown
    (told,) = run.get_details()["inputDatasets"]
    assert told["dataset"] == {"id": birds.dataset.id, "name": "birds", "version": 1, "unregistered": True}
    assert run.get_details()["outputDatasets"][0]["dataset"]["name"] == "made"
    assert run.input_datasets["given"].to_path() == ["/a.txt"]


@pytest.mark.slow
def test_datastores_and_their_credentials(home: Path, tmp_path: Path) -> None:
    register = ("datastore", "register", "azure", "--azure", "acc/box", "--endpoint", "http://127.0.0.1:1/acc")
    roost(*register, given=f"{KEY}\n")
    asked = on_terminal([*register, "--overwrite"], typed=f"{KEY}\n", after="Account key: ")
    assert (asked.code, KEY in asked.text) == (0, False)
    tree(tmp_path, {"data/a.txt": "a", "other/b.txt": "b"})
    roost("datastore", "register", "mine", "--folder", str(tmp_path / "data"))
    other = str(tmp_path / "other")
    assert "hint: Give --overwrite" in roost("datastore", "register", "mine", "--folder", other, code=1)
    said = roost("datastore", "list") + roost("datastore", "show", "azure") + roost("datastore", "list", "--json")
    assert "acc/box at http://127.0.0.1:1/acc" in said and "credential   kept, sealed" in said and KEY not in said
    assert "mine is the default" in roost("datastore", "default", "mine")
    assert "was unregistered" in roost("datastore", "unregister", "mine", "--yes")
    assert "error: There is no datastore 'mine'" in roost("datastore", "show", "mine", code=1)
