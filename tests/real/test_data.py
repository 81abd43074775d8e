"""Data in real object stores: Azurite for Azure's Blob storage, moto's server for S3; signed addresses, and relayed bytes."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.real.object_stores import ACCOUNT, BUCKET, CONTAINER, azurite, moto

from roost import Dataset, Datastore, Workspace
from roost.domain.errors import Conflict, NotFound
from roost.sdk.data import datastore_files

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

Make = Callable[..., Datastore]


@pytest.fixture(scope="module")
def blob_storage() -> Iterator[tuple[str, str]]:
    with azurite() as found:
        yield found


@pytest.fixture(scope="module")
def s3_server() -> Iterator[str]:
    with moto() as found:
        yield found


@pytest.fixture(params=["azure", "s3"])
def make(request: pytest.FixtureRequest, workspace: Workspace) -> Make:
    """Registers the store, empty but for what earlier tests left in their own folders."""
    if request.param == "azure":
        endpoint, key = request.getfixturevalue("blob_storage")
        return lambda name="cloud", **given: Datastore.register_azure_blob_container(
            workspace, name, CONTAINER, ACCOUNT, **{"account_key": key, "endpoint": endpoint, **given}
        )
    server = request.getfixturevalue("s3_server")
    return lambda name="cloud", account_key="0123456789abcdef", **given: Datastore.register_s3(
        workspace, name, BUCKET, endpoint=server, access_key_id="someone", secret_access_key=account_key, **given
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "a.csv": b"x,y\n1,2\n",
        "sub/b c.csv": b"x,y\n3,4\n",
        "sub/ünï#?.txt": b"odd",
        "big.bin": b"0123456789" * 2_000_000,
    }
    for name, content in files.items():
        (tmp_path / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "files" / name).write_bytes(content)
    return tmp_path / "files"


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("relay", [False, True], ids=["signed", "relayed"])
def test_there_and_back(make: Make, relay: bool, folder: Path, tmp_path: Path, workspace: Workspace) -> None:
    store = make(relay=relay)
    place = f"back-{relay}"
    store.upload(str(folder), place, show_progress=False)
    items = datastore_files.listing(store, place)
    assert {item.name.removeprefix(f"{place}/"): item.size for item in items} == {
        name: len(content) for name, content in contents(folder).items()
    }
    plain = next(item for item in items if item.name.endswith("big.bin"))
    assert plain.relayed == relay and plain.etag
    files = Dataset.File.from_files((store, f"{place}/**"))
    assert files.to_path() == ["/a.csv", "/big.bin", "/sub/b c.csv", "/sub/ünï#?.txt"]
    files.download(str(tmp_path / "down"))
    assert contents(tmp_path / "down") == contents(folder)
    assert store.download(str(tmp_path / "whole"), prefix=place, show_progress=False) == 4
    assert contents(tmp_path / "whole" / place) == contents(folder)
    assert Dataset.File.from_files((store, f"{place}/sub/*.csv")).to_path() == ["/b c.csv"]
    with files.mount() as mounted:
        assert (Path(mounted.mount_point) / "sub" / "b c.csv").read_bytes() == b"x,y\n3,4\n"


def test_a_file_that_changes_is_another_version(make: Make, folder: Path) -> None:
    store = make()
    store.upload_files([str(folder / "a.csv")], target_path="changing", show_progress=False)
    (before,) = datastore_files.listing(store, "changing")
    (folder / "a.csv").write_bytes(b"x,y\n5,6\n")
    store.upload_files([str(folder / "a.csv")], target_path="changing", show_progress=False)
    assert datastore_files.listing(store, "changing")[0].version == before.version
    store.upload_files([str(folder / "a.csv")], target_path="changing", overwrite=True, show_progress=False)
    (after,) = datastore_files.listing(store, "changing")
    assert after.version != before.version and after.source == before.source


def test_nothing_shows_the_credential(make: Make, workspace: Workspace, home: Path, folder: Path) -> None:
    key = "c2VjcmV0LWtleS10by1sb29rLWZvcg=="
    store = make(account_key=key)
    client = workspace._connection.client
    told = json.dumps(client.call("GET", f"/api/workspaces/{workspace.name}/datastores")) + repr(store)
    for deed in (
        lambda: datastore_files.listing(store),
        lambda: store.upload_files([str(folder / "a.csv")], show_progress=False),
    ):
        try:
            deed()
        except Conflict as error:  # Azurite knows its key; moto takes any
            told += str(error)
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file() and path.suffix in (".db", ".log"))
    assert key not in told and key.encode() not in kept


def test_a_wrong_key_and_a_container_that_is_not_there(blob_storage: tuple[str, str], workspace: Workspace) -> None:
    endpoint, key = blob_storage
    register = Datastore.register_azure_blob_container
    wrong = register(workspace, "wrong", CONTAINER, ACCOUNT, account_key="d3Jvbmc=", endpoint=endpoint)
    with pytest.raises(Conflict, match="'wrong' refuses: it answers 403"):
        datastore_files.listing(wrong)
    gone = register(workspace, "gone", "nothing", ACCOUNT, account_key=key, endpoint=endpoint)
    with pytest.raises(NotFound, match="no such container"):
        datastore_files.listing(gone)
    with pytest.raises(Conflict, match="refuses"):
        datastore_files.listing(register(workspace, "open", CONTAINER, ACCOUNT, endpoint=endpoint))


def test_a_prefix_is_the_root(s3_server: str, workspace: Workspace, folder: Path) -> None:
    given = {"endpoint": s3_server, "access_key_id": "x", "secret_access_key": "y" * 16}
    whole = Datastore.register_s3(workspace, "whole", BUCKET, **given)
    part = Datastore.register_s3(workspace, "part", BUCKET, prefix="a/b", **given)
    part.upload_files([str(folder / "a.csv")], target_path="c", show_progress=False)
    assert [item.name for item in datastore_files.listing(part)] == ["c/a.csv"]
    assert [item.name for item in datastore_files.listing(whole, "a/**")] == ["a/b/c/a.csv"]
