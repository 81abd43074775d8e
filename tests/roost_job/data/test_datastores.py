"""Datastores and the making of datasets in a job: which questions go through the door, and what is refused before."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.roost_job.doors import FakeDoor
from tests.shared.folders import tree

import roost
from roost import OutputFileDatasetConfig
from roost_job.context import JobWorkspace
from roost_job.data import local_files
from roost_job.data.datapaths import DataPath, DataReference
from roost_job.data.dataset_factory import Dataset, sources
from roost_job.data.dataset_types import DataType, PromoteHeadersBehavior
from roost_job.data.datasets import FileDataset, TabularDataset
from roost_job.data.datastores import Datastore
from roost_job.exceptions import RunEnvironmentException, UserErrorException

OWN = {"name": "workspaceblobstore", "kind": "folder", "settings": {"path": "/data"}, "is_default": True}
AZURE = {"name": "azure", "kind": "azure_blob", "settings": {"account": "acc", "container": "box"}}


class Door(FakeDoor):
    def op_datastore(self, question: dict[str, Any]) -> Any:
        found = {each["name"]: each for each in (OWN, AZURE)}
        name = question.get("name", "workspaceblobstore")
        if name not in found:
            raise LookupError("data_not_found", f"There is no datastore {name!r}.", "Did you mean 'azure'?")
        return found[name]

    def op_datastores(self, _: dict[str, Any]) -> Any:
        return [OWN, AZURE]

    def op_datastore_upload(self, question: dict[str, Any]) -> Any:
        there = 0 if question["overwrite"] else 1
        count = len(question["files"]) - there
        return {"count": count, "size": 3 * count, "there": there, "path": question["target"].strip("/")}

    def op_datastore_download(self, _: dict[str, Any]) -> Any:
        return {"count": 2, "size": 250_000, "there": 0}

    def op_dataset_make(self, question: dict[str, Any]) -> Any:
        return {**question["definition"], "steps": []}

    def op_dataset_register(self, question: dict[str, Any]) -> Any:
        return {"id": "id-1", "version": 3, **question}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    with Door(str(tmp_path / "door.sock")) as made:
        yield made


@pytest.fixture
def workspace(door: Door) -> JobWorkspace:
    return JobWorkspace("vision", door=door.path)


def asked(door: FakeDoor) -> dict[str, Any]:
    """The last question."""
    return {key: value for key, value in door.asked[-1].items() if key != "op"}


def test_found_by_name_and_by_default(workspace: JobWorkspace) -> None:
    store = Datastore.get(workspace, "azure")
    assert (store.name, store.datastore_type, store.is_default) == ("azure", "AzureBlob", False)
    assert (store.account_name, store.container_name, store.protocol, store.endpoint) == ("acc", "box", "https", None)
    assert store.workspace is workspace
    own = workspace.get_default_datastore()
    assert own == Datastore(workspace) == Datastore.get_default(workspace) == Datastore(workspace, OWN["name"])
    assert own != store and {own: 1}[workspace.datastores["workspaceblobstore"]] == 1
    assert (own.datastore_type, own.is_default, own.protocol, own.container_name) == ("Folder", True, "file", None)
    assert list(workspace.datastores) == ["workspaceblobstore", "azure"]
    assert repr(store) == "Datastore(name='azure', type='AzureBlob', account='acc', container='box')"
    with pytest.raises(UserErrorException, match=r"(?s)no datastore 'azur'.*Did you mean 'azure'"):
        Datastore.get(workspace, "azur")
    with pytest.raises(UserErrorException, match="must be the one of the job's run, got str"):
        Datastore.get("vision", "azure")


def test_no_credential_and_nothing_that_is_outside(workspace: JobWorkspace) -> None:
    store = Datastore.get(workspace, "azure")
    for deed in (lambda: store.account_key, lambda: store.sas_token):
        with pytest.raises(UserErrorException, match="of datastore 'azure' is not shown"):
            deed()
    for deed in (
        lambda: Datastore.register_azure_blob_container(workspace, "x", "box", "acc"),
        lambda: Datastore.register_folder(workspace, "x", "/x"),
        lambda: store.unregister(),
        lambda: store.set_as_default(),
        lambda: store.as_mount(),
        lambda: store.path("x").as_download(),
    ):
        with pytest.raises(UserErrorException, match=r"is not in a job\.\nhint: "):
            deed()
    assert not hasattr(store, "unregister") and not hasattr(Datastore, "nonsense")


def test_files_are_named_and_the_agent_moves_them(
    workspace: JobWorkspace, door: Door, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = workspace.get_default_datastore()
    src = tree(tmp_path / "src", {"a.txt": "1", "sub/.hidden": "3"})
    reference = store.upload(str(src), "up/")
    files = [["a.txt", str(src / "a.txt")], ["sub/.hidden", str(src / "sub/.hidden")]]
    assert asked(door) == {"name": OWN["name"], "files": files, "target": "up/", "overwrite": False}
    told = capsys.readouterr().err.splitlines()
    stayed = "1 file is in workspaceblobstore already and stays as it is; overwrite=True replaces it."
    assert told == [stayed, "Uploaded 1 file, 3 bytes."]
    assert (reference.datastore, reference.path_on_datastore) == (store, "up")
    assert [store.path(path).path_on_datastore for path in (".", "/", "./a/", "a//b")] == ["", "", "a", "a/b"]
    store.upload_files([src / "a.txt"], target_path="one", overwrite=True, show_progress=False)
    assert asked(door)["files"] == [["a.txt", str(src / "a.txt")]]
    store.upload_files([str(src / "sub/.hidden")], relative_root=str(src), show_progress=False)
    assert asked(door)["files"] == [["sub/.hidden", str(src / "sub/.hidden")]]
    assert store.download("here", prefix="up") == 2
    assert asked(door) == {"name": OWN["name"], "path": str(Path.cwd() / "here"), "prefix": "up", "overwrite": False}
    assert capsys.readouterr().err == "Downloaded 2 files, 0.2 MB.\n"


def test_what_is_refused_before_anything_is_asked(workspace: JobWorkspace, door: Door, tmp_path: Path) -> None:
    store = workspace.get_default_datastore()
    tree(tmp_path, {"one/x.txt": "1", "two/x.txt": "2"})
    (tmp_path / "empty").mkdir()
    before = len(door.asked)
    files = [str(tmp_path / "one/x.txt"), str(tmp_path / "two/x.txt")]
    for deed, words in (
        (lambda: store.upload(str(tmp_path / "none")), "not a folder"),
        (lambda: store.upload(None), "src_dir must be a path, got NoneType"),
        (lambda: store.upload(str(tmp_path / "empty")), "no file to upload in"),
        (lambda: store.upload_files([str(tmp_path / "none")]), "There is no file"),
        (lambda: store.upload_files("a.txt"), "files must be a list"),  # type: ignore[arg-type]
        (lambda: store.upload_files([]), "files must be a list"),
        (lambda: store.upload_files(files), "2 files would be stored under 1 names"),
        (lambda: store.upload_files(files, relative_root=str(tmp_path / "one")), "not below relative_root"),
        (lambda: store.download(None), "target_path must be a path"),
    ):
        with pytest.raises(UserErrorException, match=words):
            deed()
    assert len(door.asked) == before


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("*.txt", ["a.txt"]),
        ("**/*.txt", ["a.txt", "sub/b.txt", "sub/deep/c.txt"]),
        ("**", ["a.txt", "sub/.hidden", "sub/b.txt", "sub/deep/c.txt"]),
        ("sub/*", ["sub/.hidden", "sub/b.txt"]),
        ("./sub/**", ["sub/.hidden", "sub/b.txt", "sub/deep/c.txt"]),
        ("s?b/[ab].txt", ["sub/b.txt"]),
    ],
)
def test_patterns_of_files_here(pattern: str, meant: list[str], tmp_path: Path) -> None:
    tree(tmp_path, {"a.txt": "", "sub/b.txt": "", "sub/.hidden": "", "sub/deep/c.txt": ""})
    assert [name for _, name in local_files.folder(str(tmp_path), pattern)] == meant
    with pytest.raises(UserErrorException, match=r"no file to upload in .* for 'sub'"):
        local_files.folder(str(tmp_path), "sub")


def test_sources_in_every_form(workspace: JobWorkspace) -> None:
    store, other = workspace.get_default_datastore(), Datastore.get(workspace, "azure")
    mine = {"datastore": "workspaceblobstore", "path": "in/*.csv"}
    for given in ((store, "in/*.csv"), DataPath(store, "in/*.csv"), store.path("in").path("*.csv")):
        assert sources(given) == ([mine], workspace)
    assert sources(store) == ([{"datastore": "workspaceblobstore", "path": ""}], workspace)
    both = [(store, "in/*.csv"), (other, "x"), "http://host/a"]
    assert sources(both)[0] == [mine, {"datastore": "azure", "path": "x"}, {"url": "http://host/a"}]
    assert sources("http://host/a") == ([{"url": "http://host/a"}], None)
    elsewhere = Datastore._of(JobWorkspace("other"), OWN)
    for wrong, words in (
        (3, "cannot be made of int '3'"),
        ([(store, "x"), None], "cannot be made of NoneType"),
        (FileDataset(None, {}), "cannot be made of a dataset"),
        ([(store, "x"), (elsewhere, "x")], "of two workspaces, 'vision' and 'other'"),
    ):
        with pytest.raises(UserErrorException, match=words):
            sources(wrong)
    for deed in (lambda: DataPath("store", "x"), lambda: DataReference(None)):
        with pytest.raises(UserErrorException, match="datastore must be a Datastore, got"):
            deed()


def test_datasets_are_made_by_the_agent(workspace: JobWorkspace, door: Door) -> None:
    store = workspace.get_default_datastore()
    source = [{"datastore": "workspaceblobstore", "path": "in"}]
    files = Dataset.File.from_files((store, "in"), validate=False, partition_format="{day}/*")
    form = {"kind": "file", "partition_format": "{day}/*", "sources": source}
    assert isinstance(files, FileDataset) and asked(door) == {"definition": form, "validate": False}
    types = {"day": DataType.to_datetime("%Y")}
    table = Dataset.Tabular.from_delimited_files(
        (store, "in"), separator=";", header=PromoteHeadersBehavior.NO_HEADERS, set_column_types=types
    )
    assert isinstance(table, TabularDataset) and asked(door)["validate"] is True
    assert asked(door)["definition"]["format"] == {
        "type": "delimited",
        "separator": ";",
        "header": "no_headers",
        "encoding": "utf8",
        "infer_column_types": True,
        "support_multi_line": False,
        "empty_as_string": False,
        "include_path": False,
        "column_types": {"day": {"type": "datetime", "formats": ["%Y"]}},
    }
    Dataset.Tabular.from_parquet_files((store, "in"), include_path=True)
    assert asked(door)["definition"]["format"] == {"type": "parquet", "include_path": True, "column_types": {}}
    Dataset.Tabular.from_json_lines_files((store, "in"), invalid_lines="drop", encoding="latin-1")
    assert asked(door)["definition"]["format"]["encoding"] == "latin1"
    made = files.take(1).register(workspace, "birds", "all", {"year": 2020}, create_new_version=True)
    assert (made.id, made.name, made.version, made.tags) == ("id-1", "birds", 3, {"year": "2020"})
    assert asked(door)["definition"]["steps"] == [{"op": "take", "count": 1}]


def test_uploaded_and_made_at_once(workspace: JobWorkspace, door: Door, tmp_path: Path) -> None:
    store = workspace.get_default_datastore()
    tree(tmp_path / "src", {"a.txt": "1", "b.csv": "2"})
    made = Dataset.File.upload_directory(tmp_path / "src", (store, "/up/"), pattern="*.csv", show_progress=False)
    wanted = {"kind": "file", "sources": [{"datastore": "workspaceblobstore", "path": "up"}]}
    assert made._definition == {**wanted, "steps": []}
    assert asked(door) == {"definition": wanted, "validate": False}, "it may read what it has made"
    assert [name for name, _ in door.asked[-2]["files"]] == ["b.csv"]

    class Frame:
        def to_parquet(self, path: str, index: bool) -> None:
            Path(path).write_text("a frame")

    made = Dataset.Tabular.register_pandas_dataframe(Frame(), store, "prices", show_progress=False)
    assert door.asked[-2]["op"] == "datastore_upload" and door.asked[-2]["target"].startswith("managed-dataset/")
    assert asked(door)["definition"]["sources"][0]["path"] == door.asked[-2]["target"] + "/*.parquet"
    assert made.name == "prices" and asked(door)["create_new_version"] is True


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        (lambda store: Dataset.File.from_files((store, "x"), partition_format="year"), "in braces, got 'year'"),
        (lambda store: Dataset.Tabular.from_delimited_files((store, "x"), separator=""), "separator must be text"),
        (lambda store: Dataset.Tabular.from_delimited_files((store, "x"), header="yes"), "header must be True, False"),
        (
            lambda store: Dataset.Tabular.from_delimited_files((store, "x"), encoding="klingon"),
            "'klingon' is not known",
        ),
        (lambda store: Dataset.Tabular.from_json_lines_files((store, "x"), invalid_lines="skip"), "'error' or 'drop'"),
        (lambda store: Dataset.Tabular.from_parquet_files((store, "x"), set_column_types={"a": 1}), "dict of DataType"),
        (lambda store: Dataset.Tabular.from_sql_query("select 1"), "from_sql_query is not in a job"),
        (lambda store: Dataset.get_versions(store.workspace, "x"), r"Dataset\.get_versions is not in a job"),
        (lambda store: Dataset.get_by_name(store.workspace, "x", "one"), "whole number or 'latest', got 'one'"),
        (lambda store: Dataset.File.upload_directory(".", "up"), r"target must be a Datastore, .* got 'up'"),
        (lambda store: FileDataset(None, {}).register(store.workspace, "x", tags=["a"]), "tags must be a dict"),
        (lambda store: FileDataset(None, {}).register("vision", "x"), "must be the one of the job's run"),
    ],
)
def test_wrong_words(deed: Any, words: str, workspace: JobWorkspace) -> None:
    with pytest.raises(UserErrorException, match=words):
        deed(workspace.get_default_datastore())


def test_addresses_need_a_job(monkeypatch: pytest.MonkeyPatch, door: Door, tmp_path: Path) -> None:
    monkeypatch.delenv("ROOST_RUN_ID", raising=False)
    with pytest.raises(RunEnvironmentException, match="no agent that reads data"):
        Dataset.File.from_files("http://host/a")
    for name, value in (("ROOST_RUN_ID", "r"), ("ROOST_SPOOL", str(tmp_path)), ("ROOST_DOOR", door.path)):
        monkeypatch.setenv(name, value)
    assert Dataset.File.from_files("http://host/a")._definition["sources"] == [{"url": "http://host/a"}]


def test_a_child_of_a_job_may_be_given_its_datastores(workspace: JobWorkspace) -> None:
    store = workspace.get_default_datastore()
    made = OutputFileDatasetConfig("made", destination=(store, "results"))
    assert (made._carried().datastore, made._carried().path) == ("workspaceblobstore", "results")
    assert roost.DataReference(store, "given", "in").to_config().datastore_name == "workspaceblobstore"
    assert (
        roost.Datastore(workspace, "azure") == roost.Datastore.get(workspace, "azure") == Datastore(workspace, "azure")
    )
    files = roost.Dataset.File.from_files(roost.DataPath(store, "in"), validate=False)
    assert isinstance(files, FileDataset), "with the SDK at hand a job's is the job library's too"
