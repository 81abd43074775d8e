"""Datastores in people's hands: their own, registered ones, files there and back; what is left out says what to do instead."""

import os
import shutil
from pathlib import Path

import pytest
from tests.shared.folders import tree
from tests.shared.web import serving

from roost import Dataset, Datastore, ScriptRunConfig, Workspace
from roost.data import fetching
from roost.domain.errors import Conflict, DataConflict, DataNotFound, InvalidInput, NotFound
from roost.domain.names import PART
from roost.sdk.connection.connections import Bytes
from roost.sdk.core import upload_messages
from roost.sdk.data import datastore_files
from roost_job.data import local_files
from roost_job.exceptions import UserErrorException


def contents(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.fixture(params=["shared", "apart"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With the control plane's files in sight, and without."""
    if request.param == "apart":
        monkeypatch.setattr(Bytes, "shared", None)
    return str(request.param)


@pytest.mark.slow
def test_files_there_and_back(
    workspace: Workspace, tmp_path: Path, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = workspace.get_default_datastore()
    assert (store.name, store.datastore_type, store.protocol, store.workspace) == (
        *("workspaceblobstore", "Folder", "file"),
        workspace,
    )
    tree(tmp_path / "src", {"a.txt": "1", "sub/b c.txt": "22", "sub/.hidden": "3"})
    reference = store.upload(str(tmp_path / "src"), target_path="up")
    assert reference.path_on_datastore == "up"
    assert "Uploaded 3 files, 4 bytes." in capsys.readouterr().err
    tree(tmp_path / "src", {"a.txt": "changed", "new.txt": "4"})
    store.upload(str(tmp_path / "src"), "up")
    words = "3 files are in workspaceblobstore already and stay as they are; overwrite=True replaces them."
    assert words in capsys.readouterr().err
    assert store.download(str(tmp_path / "down"), prefix="up", show_progress=False) == 4
    assert capsys.readouterr().err == ""
    back = {"a.txt": "1", "new.txt": "4", "sub/.hidden": "3", "sub/b c.txt": "22"}
    assert contents(tmp_path / "down" / "up") == back
    store.upload_files([str(tmp_path / "src/a.txt")], target_path="up", overwrite=True)
    capsys.readouterr()
    assert store.download(str(tmp_path / "down"), prefix="up") == 0
    words = f"4 files are in {tmp_path / 'down'} already and stay as they are; overwrite=True replaces them."
    assert words in capsys.readouterr().err
    assert store.download(str(tmp_path / "down"), prefix="up/nothing") == 0
    assert "There is no file at 'up/nothing' in workspaceblobstore." in capsys.readouterr().err
    nothing = Dataset.File.from_files((store, "up/nothing"), validate=False)
    with pytest.raises(NotFound, match=r"The dataset has no files now at workspaceblobstore/up/nothing\."):
        nothing.download(str(tmp_path / "none"))
    assert store.download(str(tmp_path / "one"), prefix="up/new.txt") == 1
    assert "Downloaded 1 file, 1 byte." in capsys.readouterr().err
    assert store.download(str(tmp_path / "down"), prefix="up", overwrite=True) == 4
    assert contents(tmp_path / "down" / "up") == {**back, "a.txt": "changed"}
    assert all(bool(item.path) == (way == "shared") for item in datastore_files.listing(store))


@pytest.mark.slow
def test_sizes_that_a_web_server_did_not_tell_beforehand(
    workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving({"t.csv": b"hello, world"}) as web:
        store = Datastore.register_http(workspace, "web", web.url)
        assert store.download(str(tmp_path / "down"), prefix="t.csv") == 1
    assert "Downloaded 1 file, 12 bytes." in capsys.readouterr().err


@pytest.mark.parametrize("target", [".", "./", "/", "", None, "./.", "//"])
def test_many_names_of_the_root(
    workspace: Workspace, tmp_path: Path, target: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = workspace.get_default_datastore()
    tree(tmp_path / "src", {"a.txt": "1", "sub/b.txt": "2"})
    monkeypatch.chdir(tmp_path / "src")
    assert store.upload(src_dir=".", target_path=target, overwrite=True).path_on_datastore == ""
    assert store.upload_files(["a.txt"], target_path=target, overwrite=True).path_on_datastore == ""
    assert Dataset.File.upload_directory(".", (store, target), overwrite=True).to_path() == ["/a.txt", "/sub/b.txt"]


@pytest.mark.parametrize("target", ["./up", "up/", "/up", "./up/.", "up//"])
def test_many_names_of_a_folder(workspace: Workspace, tmp_path: Path, target: str) -> None:
    store = workspace.get_default_datastore()
    tree(tmp_path / "src", {"a.txt": "1"})
    assert store.upload(str(tmp_path / "src"), target).path_on_datastore == "up"
    assert Dataset.File.from_files((store, f"{target}/*.txt")).to_path() == ["/a.txt"]
    assert [item.name for item in datastore_files.below(store, target)] == ["up/a.txt"]


def test_where_uploaded_files_go(workspace: Workspace, tmp_path: Path) -> None:
    store = workspace.get_default_datastore()
    tree(tmp_path, {"one/x.txt": "1", "two/x.txt": "2"})
    files = [str(tmp_path / "one/x.txt"), str(tmp_path / "two/x.txt")]
    with pytest.raises(UserErrorException, match="one' is a folder") as caught:
        store.upload_files([str(tmp_path / "one")])
    assert "datastore.upload(" in caught.value.hint
    for deed, what in (
        (store.upload, "src_dir"),
        (store.download, "target_path"),
        (lambda x: store.upload_files([x]), "files"),
    ):
        with pytest.raises(UserErrorException, match=f"{what} must be a path, got NoneType"):
            deed(None)
    with pytest.raises(UserErrorException, match="2 files would be stored under 1 names"):
        store.upload_files(files)
    store.upload_files(files, relative_root=str(tmp_path), show_progress=False)
    assert [item.name for item in datastore_files.listing(store)] == ["one/x.txt", "two/x.txt"]
    for deed, words in (
        (lambda: store.upload(str(tmp_path / "none")), "not a folder"),
        (lambda: store.upload_files([str(tmp_path / "none")]), "no file"),
        (lambda: store.upload_files(files, relative_root=str(tmp_path / "one")), "not below"),
        (lambda: store.upload(str(tmp_path), "../x"), "climbs out"),
    ):
        with pytest.raises(UserErrorException, match=words):
            deed()


@pytest.mark.slow
def test_registered_ones(workspace: Workspace, tmp_path: Path) -> None:
    tree(tmp_path / "mine", {"x.txt": "1"})
    store = Datastore.register_folder(workspace, "mine", tmp_path / "mine")
    with pytest.raises(UserErrorException, match="already") as caught:
        Datastore.register_folder(workspace, "mine", tree(tmp_path / "other", {"y.txt": "2"}))
    assert isinstance(caught.value, DataConflict)
    assert (
        Datastore.get(workspace, "mine") == store == Datastore(workspace, name="mine") == workspace.datastores["mine"]
    )
    assert list(workspace.datastores) == ["workspaceblobstore", "workspacefilestore", "mine"]
    workspace.set_default_datastore("mine")
    assert Datastore.get_default(workspace).name == workspace.get_default_datastore().name == "mine"
    store.unregister()
    assert workspace.get_default_datastore().name == "workspaceblobstore" and (tmp_path / "mine/x.txt").exists()
    with pytest.raises(UserErrorException, match="no datastore 'mine'") as gone:
        Datastore.get(workspace, "mine")
    assert isinstance(gone.value, DataNotFound)


@pytest.mark.slow
def test_a_file_where_a_folder_has_to_be(workspace: Workspace, tmp_path: Path) -> None:
    tree(tmp_path, {"mine/x.txt": "1", "given/y.txt": "2", "here/x.txt/z": "3", "a.csv": ""})
    store = Datastore.register_folder(workspace, "mine", tmp_path / "mine")
    files = Dataset.File.from_files((store, "x.txt"))
    for target, words in (("a.csv", "is a file"), ("a.csv/b", "cannot be written"), ("here", "cannot be written")):
        with pytest.raises(InvalidInput, match=words):
            store.download(str(tmp_path / target), overwrite=True, show_progress=False)
        with pytest.raises(InvalidInput, match=words):
            files.download(str(tmp_path / target), overwrite=True)
    with pytest.raises(Conflict, match="cannot be written"):
        store.upload(str(tmp_path / "given"), "x.txt", show_progress=False)
    web = Datastore.register_http(workspace, "web", "http://127.0.0.1:1/x")
    with pytest.raises(Conflict, match="'web' is read only"):
        web.upload(str(tmp_path / "given"), show_progress=False)
    kept = files.register(workspace, "kept")
    store.unregister()
    with pytest.raises(DataNotFound, match="Dataset 'kept' cannot be read: There is no datastore 'mine'"):
        kept.to_path()
    store = Datastore.register_folder(workspace, "mine", tmp_path / "mine")
    shutil.rmtree(tmp_path / "mine")
    (tmp_path / "mine").touch()
    with pytest.raises(Conflict, match="is not there"):
        store.upload(str(tmp_path / "given"), overwrite=True, show_progress=False)


@pytest.mark.slow
def test_what_a_cloud_datastore_says_of_itself(workspace: Workspace) -> None:
    key = "c2VjcmV0LWtleS10by1sb29rLWZvcg=="
    store = Datastore.register_azure_blob_container(
        workspace=workspace,
        datastore_name="azure",
        container_name="box",
        account_name="acc",
        account_key=key,
        overwrite=True,
    )
    assert (store.account_name, store.container_name, store.protocol, store.datastore_type) == (
        *("acc", "box", "https", "AzureBlob"),
    )
    assert key not in repr(store) + str(vars(store))
    with pytest.raises(UserErrorException, match="account_key of datastore 'azure' is not shown"):
        _ = store.account_key
    china = Datastore.register_azure_blob_container(
        workspace, "china", "box", "acc", sas_token="?sv=1", endpoint="core.chinacloudapi.cn"
    )
    with pytest.raises(InvalidInput, match="account_key is not base64") as caught:
        Datastore.register_azure_blob_container(workspace, "bad", "box", "acc", account_key="notbase64!!")
    assert "notbase64" not in str(caught.value)
    with pytest.raises(InvalidInput, match="account_key with sas_token is no credential"):
        Datastore.register_azure_blob_container(workspace, "both", "box", "acc", account_key=key, sas_token="?sv=1")
    for url in ("ftp://example.org", "127.0.0.1:8765"):
        with pytest.raises(InvalidInput, match="is not an address") as caught:
            Datastore.register_http(workspace, "web", url)
        assert "begins with http:// or https://" in caught.value.hint
    with pytest.raises(InvalidInput, match="only text, numbers and paths") as caught:
        ScriptRunConfig(".", "x.py", arguments=["--d", store])._spec  # noqa: B018
    assert "Datastore.get(workspace, 'azure').path('images').as_mount()" in caught.value.hint
    assert china.endpoint == "https://acc.blob.core.chinacloudapi.cn"
    lake = Datastore.register_azure_data_lake_gen2(
        workspace, "lake", "fs", "acc", tenant_id="t", client_id="c", client_secret="s"
    )
    assert lake.container_name == "fs"
    assert Datastore.register_http(workspace, "web", "https://example.org/x/").protocol == "https"


@pytest.mark.parametrize(
    ("register", "words"),
    [
        (lambda ws: Datastore.register_azure_file_share(ws, "x", "share", "acc"), "register_folder"),
        (lambda ws: Datastore.register_azure_data_lake(ws, "x", "store"), "register_azure_data_lake_gen2"),
        (lambda ws: Datastore.register_azure_sql_database(ws, "x", "server", "db"), "keyvault"),
        (lambda ws: Datastore.register_azure_postgre_sql(ws, "x", "server", "db", "u", "p"), "keyvault"),
        (lambda ws: Datastore.register_azure_my_sql(ws, "x", "server", "db", "u", "p"), "keyvault"),
        (lambda ws: Datastore.register_dbfs(ws, "x"), "register_s3"),
        (lambda ws: Datastore.register_hdfs(ws, "x", "http", "host"), "register_folder"),
    ],
)
def test_what_is_left_out_says_what_to_do(register, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInput, match=words):
        register(None)


@pytest.mark.slow
def test_a_file_of_an_odd_name_is_left_out_and_named(
    workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree(tmp_path / "odd", {"a.txt": "1", "sub/bs\\x.txt": "2"})
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd/caf\xe9.txt")).write_text("3")
    words = "2 files are left out, since their names are not allowed: `caf\\xe9.txt` (it is not UTF-8), "
    words += "`sub/bs\\x.txt` (it has a backslash). Rename them to have them.\n"
    upload_messages._said.clear()
    workspace.get_default_datastore().upload(str(tmp_path / "odd"), "odd", show_progress=False)
    assert capsys.readouterr().err == words
    store = Datastore.register_folder(workspace, "odd", tmp_path / "odd")
    upload_messages._said.clear()
    files = Dataset.File.from_files((store, "**"))
    assert files.to_path() == ["/a.txt"] and len(datastore_files.listing(store)) == 1
    assert capsys.readouterr().err == words, "once"
    with pytest.raises(InvalidInput, match="it is not UTF-8"):
        Dataset.File.from_files((store, "caf\udce9.txt"))
    (tmp_path / "odd/a.txt").unlink()
    with pytest.raises(InvalidInput, match="no file to upload") as caught:
        store.upload(str(tmp_path / "odd"))
    assert "Rename them" in caught.value.hint


@pytest.mark.slow
def test_what_a_broken_transfer_left_is_left_out_and_named(
    workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (local_files.PART, local_files.DOWNLOAD) == (PART, fetching._OWN)
    store, src = workspace.get_default_datastore(), tmp_path / "src"
    tree(src, {"a.txt": "1", "sub/.roost-part-x": "2", ".roost-download/data/b.txt": "3"})
    words = "Roost keeps such names for what is not whole yet"
    told = f"Left out: '.roost-download/data/b.txt' ({words}), 'sub/.roost-part-x' ({words}).\n"
    store.upload(str(src), "ours", show_progress=False)
    assert capsys.readouterr().err == told
    Dataset.File.upload_directory(str(src), (store, "ours too"), show_progress=False)
    assert capsys.readouterr().err == told
    store.upload_files(
        [str(src / "a.txt"), str(src / "sub/.roost-part-x")], target_path="ours also", show_progress=False
    )
    assert capsys.readouterr().err == f"Left out: '.roost-part-x' ({words}).\n"
    assert [item.name for item in datastore_files.listing(store, "ours*/**")] == [
        *("ours also/a.txt", "ours too/a.txt", "ours/a.txt")
    ]
    with pytest.raises(UserErrorException, match="There is no file to upload") as caught:
        store.upload_files([str(src / "sub/.roost-part-x")])
    assert words in caught.value.hint
    with pytest.raises(UserErrorException, match=r"Nothing is uploaded to 'a/\.roost-download/'"):
        store.upload(str(src), "a/.roost-download/")


@pytest.mark.slow
def test_a_folder_whose_name_is_a_pattern(
    workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = workspace.get_default_datastore()
    tree(tmp_path / "src", {"q?x/a.txt": "1", "qyx/b.txt": "2"})
    store.upload(str(tmp_path / "src"), "signs", show_progress=False)
    words = (
        "`signs/q?x` is taken as a pattern, for its `?`: it means files and no folders. `signs/q?x/**` means all below"
    )
    with pytest.raises(InvalidInput, match=r"There is no file at workspaceblobstore/signs/q\?x\.") as caught:
        Dataset.File.from_files((store, "signs/q?x"))
    assert caught.value.hint.startswith(words) and "validate=False" in caught.value.hint
    assert caught.value.cli_hint.startswith(words) and "validate" not in caught.value.cli_hint
    with pytest.raises(NotFound, match=r"has no files now at .*\nhint: `signs/q\?x` is taken as a pattern"):
        Dataset.File.from_files((store, "signs/q?x"), validate=False).download(str(tmp_path / "none"))
    assert len(Dataset.File.from_files((store, "signs/q?x/**")).to_path()) == 2
    assert store.download(str(tmp_path / "down"), prefix="signs/q?x/", show_progress=False) == 1
    assert contents(tmp_path / "down") == {"signs/q?x/a.txt": "1"}, "a prefix is a folder"
    assert store.download(str(tmp_path / "down"), prefix="signs/*/b*", show_progress=False) == 1, "or else a pattern"
    assert store.download(str(tmp_path / "down"), prefix="signs/q?y") == 0
    assert "There is no file at 'signs/q?y' in workspaceblobstore. `signs/q?y` is taken" in capsys.readouterr().err
    tree(tmp_path / "src", {"q?x/a.txt": "changed"})
    store.upload(str(tmp_path / "src/q?x"), "signs/q?x")
    assert "1 file is in workspaceblobstore already" in capsys.readouterr().err
    with pytest.raises(InvalidInput, match=r"'signs/q\?x' is a pattern; files are uploaded to a folder"):
        Dataset.File.upload_directory(str(tmp_path / "src"), (store, "signs/q?x"))


def test_what_is_no_file_is_left_out_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree(tmp_path / "src", {"a.txt": "1"})
    (tmp_path / "src/nowhere").symlink_to("absent")
    os.mkfifo(tmp_path / "src/pipe")
    assert [name for _, name in datastore_files.folder(tmp_path / "src")] == ["a.txt"]
    assert capsys.readouterr().err == "Left out: 'nowhere' (it is a link to nothing), 'pipe' (it is a pipe).\n"
    datastore_files.folder(tmp_path / "src", "*.txt")
    assert capsys.readouterr().err == "", "nobody asked for them"
    (tmp_path / "src/a.txt").unlink()
    with pytest.raises(UserErrorException, match=r"no file to upload in '.*src'\.\nhint: Left out: 'nowhere'"):
        datastore_files.folder(tmp_path / "src")


def test_that_there_is_nothing_to_upload_has_a_hint(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserErrorException, match=r"no file to upload in .*\nhint: Look at the path"):
        datastore_files.folder(tmp_path / "empty")
    with pytest.raises(UserErrorException, match=r"for '\*\.csv'\.\nhint: `\*` stays within a folder"):
        datastore_files.folder(tmp_path / "empty", "*.csv")
    with pytest.raises(UserErrorException, match=r"no file '.*none' to upload\.\nhint: Look at the path"):
        datastore_files.chosen([tmp_path / "none"], None)
    with pytest.raises(UserErrorException, match=r"no file '.*pipe' to upload\.\nhint: Look at it: it is a pipe\."):
        datastore_files.chosen([tmp_path / "pipe"], None)


def test_a_link_to_its_own_folder_is_not_gone_round(tmp_path: Path) -> None:
    tree(tmp_path / "src", {"a.txt": "1", "sub/b.txt": "2"})
    (tmp_path / "src/loop").symlink_to(".")
    (tmp_path / "src/sub/up").symlink_to("..")
    (tmp_path / "src/again").symlink_to("sub")
    (tmp_path / "src/self").symlink_to("self")
    wanted = ["a.txt", "again/b.txt", "sub/b.txt"]
    assert [name for _, name in datastore_files.folder(tmp_path / "src")] == wanted
    assert [name for _, name in datastore_files.folder(tmp_path / "src", "**/*.txt")] == wanted
    assert [name for _, name in datastore_files.folder(tmp_path / "src", "./[s]ub/*")] == ["sub/b.txt"]
    assert [name for _, name in datastore_files.folder(tmp_path / "src", "*.txt")] == ["a.txt"]
    with pytest.raises(UserErrorException, match=r"no file to upload in '.*' for '\*.png'"):
        datastore_files.folder(tmp_path / "src", "*.png")


def test_a_copy_that_is_broken_off_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")

    def look() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        datastore_files._copy(tmp_path / "x", tmp_path / "store/x", look, private=False)
    assert list((tmp_path / "store").iterdir()) == []
