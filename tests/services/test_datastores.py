"""Datastores: sealed credentials, places that may be gone to, files listed, read and written; what the token of a run reaches."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.domain.test_object_hosts import OTHER_HOSTS
from tests.shared.contexts import ANN, as_run, make_house, submit

from roost.blobs import batches
from roost.domain import codec
from roost.domain.datasets import Definition, Input, Output, Source
from roost.domain.datastores import Datastore, DatastoreKind, Item
from roost.domain.errors import Conflict, DataConflict, DataNotFound, Forbidden, InvalidInput, NotFound, RoostError
from roost.domain.people import Caller
from roost.domain.workspaces import Workspace
from roost.objects.folder import FolderStorage
from roost.services import datasets, datastores, models, secrets, stored_files
from roost.services.context import Context
from roost.services.datastores import NewDatastore

KEY = "c2VjcmV0LWtleS10by1sb29rLWZvcg=="
OWN = "workspaceblobstore"


@pytest.fixture
def context(tmp_path: Path) -> Context:
    (tmp_path / "h").mkdir()
    return make_house(tmp_path / "h", store=f"sqlite:///{tmp_path / 'roost.db'}")


def folder(path: Path, **changes: object) -> NewDatastore:
    return NewDatastore(kind=DatastoreKind.FOLDER, settings={"path": str(path)}, credential={}, **changes)  # type: ignore[arg-type]


def azure(**changes: object) -> NewDatastore:
    settings = {"account": "acc", "container": "data", "endpoint": "http://127.0.0.1:1/acc"}
    return replace(
        NewDatastore(kind=DatastoreKind.AZURE_BLOB, settings=settings, credential={"account_key": KEY}), **changes
    )


def put(
    context: Context, path: str, data: bytes, caller: Caller = ANN, name: str = OWN, *, overwrite: bool = False
) -> int:
    place = stored_files.may_write(context, caller, "vision", name, [path], overwrite=overwrite)
    return stored_files.write(place, path, [data])


def found(
    context: Context, path: str = "", caller: Caller = ANN, name: str = OWN, *, shared: bool = False
) -> list[Item]:
    return stored_files.items(context, caller, "vision", name, path, shared=shared).items


def content(context: Context, path: str, caller: Caller = ANN, name: str = OWN) -> bytes:
    place, file = stored_files.head(context, caller, "vision", name, path)
    return b"".join(stored_files.read(place, file, 0, file.size))


def test_every_workspace_has_its_own(context: Context) -> None:
    context.store.workspaces.ensure(Workspace(name="other", user="ann", created_at=1.0))
    assert [(each.name, each.is_default) for each in datastores.listing(context, ANN, "vision")] == [
        (OWN, True),
        ("workspacefilestore", False),
    ]
    put(context, "a/b.txt", b"one")
    assert content(context, "a/b.txt") == b"one"
    assert stored_files.items(context, ANN, "other", OWN, "", shared=False).items == []
    with pytest.raises(InvalidInput, match="own datastore"):
        datastores.register(context, ANN, "vision", OWN, folder(Path("/")))
    with pytest.raises(InvalidInput, match="stays"):
        datastores.unregister(context, ANN, "vision", OWN)


def test_a_folder_has_to_be_there_and_is_never_made(context: Context, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, words in ((tmp_path / "none", "is not there on"), (tmp_path / "file", "is a file, not a folder")):
        with pytest.raises(InvalidInput, match=words):
            datastores.register(context, ANN, "vision", "disk", folder(path))
    (tmp_path / "disk").mkdir()
    datastores.register(context, ANN, "vision", "disk", folder(tmp_path / "disk"))
    put(context, "a/b.txt", b"one", name="disk")
    (tmp_path / "disk").rename(tmp_path / "unmounted")
    for deed in (lambda: put(context, "c.txt", b"two", name="disk"), lambda: found(context, name="disk")):
        with pytest.raises(Conflict, match="disk is not there"):
            deed()
    assert not (tmp_path / "disk").exists()


def test_an_address_with_a_credential_is_no_datastore(context: Context) -> None:
    for url in ("http://ann:pw@host/x", "http://host/x?sig=abcdef"):
        new = NewDatastore(kind=DatastoreKind.HTTP, settings={"url": url}, credential={})
        with pytest.raises(InvalidInput, match=r"(?s)credential in it.*\nhint: A datastore of kind 'http' is open"):
            datastores.register(context, ANN, "vision", "web", new)


def test_files_are_found_by_path_and_pattern(context: Context) -> None:
    for path in ("a/1.csv", "a/2.txt", "a/b/3.csv", "c.csv"):
        put(context, path, path.encode())
    assert [item.name for item in found(context)] == ["a/1.csv", "a/2.txt", "a/b/3.csv", "c.csv"]
    assert [item.name for item in found(context, "a/*.csv")] == ["a/1.csv"]
    assert [item.name for item in found(context, "**/*.csv")] == ["a/1.csv", "a/b/3.csv", "c.csv"]
    assert [item.name for item in found(context, "/a/b/")] == ["a/b/3.csv"]
    assert found(context, "nothing") == []
    (item,) = found(context, "c.csv")
    assert (item.path, item.relayed, item.url) == ("", True, f"/api/workspaces/vision/datastores/{OWN}/files/c.csv")
    assert item.size == 5 and item.etag and item.modified_at
    (here,) = found(context, "c.csv", shared=True)
    assert Path(here.path).read_bytes() == b"c.csv" and (here.url, here.source) == ("", item.source)


def test_a_file_that_is_there_is_replaced_when_that_is_meant_and_is_then_another_version(context: Context) -> None:
    put(context, "x", b"one")
    before = found(context, "x")[0]
    with pytest.raises(Conflict, match="'x' already"):
        put(context, "x", b"two")
    assert put(context, "x", b"three", overwrite=True) == 5
    assert content(context, "x") == b"three" and found(context, "x")[0].version != before.version


def test_a_file_that_becomes_another_between_its_head_and_its_bytes(context: Context) -> None:
    put(context, "x", b"one")
    place, file = stored_files.head(context, ANN, "vision", OWN, "x")
    put(context, "x", b"two", overwrite=True)
    with pytest.raises(Conflict, match="'x' became another"):
        stored_files.read(place, file, 0, 3)


def test_a_write_that_breaks_off_leaves_nothing(context: Context) -> None:
    def broken():  # type: ignore[no-untyped-def]
        yield b"half"
        raise InvalidInput("cut")

    place = stored_files.may_write(context, ANN, "vision", OWN, ["x"], overwrite=False)
    with pytest.raises(InvalidInput):
        stored_files.write(place, "x", broken())
    assert found(context) == [] and list((Path(context.facts.home) / "data").rglob("*.*")) == []


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/passwd/..", "a\\b", "..", "a/\x00"])
def test_no_path_leads_outside(context: Context, path: str) -> None:
    for deed in (lambda: put(context, path, b"x"), lambda: content(context, path), lambda: found(context, path)):
        with pytest.raises(InvalidInput):
            deed()


def test_credentials_are_sealed_and_in_no_answer(context: Context, tmp_path: Path) -> None:
    made = datastores.register(context, ANN, "vision", "cloud", azure())
    assert made.has_credential
    told = json.dumps([codec.encode(each) for each in datastores.listing(context, ANN, "vision")]) + repr(made)
    assert KEY not in told
    with pytest.raises(RoostError, match="cloud") as caught:
        found(context, name="cloud")
    assert KEY not in str(caught.value) and "sig=" not in str(caught.value)
    context.store.close()
    files = list(tmp_path.glob("roost.db*"))
    assert any(b"cloud" in file.read_bytes() for file in files), "the datastore itself is in one of them"
    for file in files:
        assert KEY.encode() not in file.read_bytes() and b"secret-key-to-look-for" not in file.read_bytes()


def test_the_key_of_the_vault_is_one_for_secrets_and_credentials(context: Context) -> None:
    datastores.register(context, ANN, "vision", "cloud", azure())
    secrets.key_file(context).unlink()
    with pytest.raises(Conflict, match="is gone or damaged"):
        secrets.put(context, ANN, "vision", {"a": "value"})
    context.places.drop(("vision", "cloud"))
    with pytest.raises(Conflict, match="is gone or damaged"):
        found(context, name="cloud")


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (azure(settings={"account": "acc"}), "needs container"),
        (azure(credential={"access_key_id": "x"}), "no credential"),
        (azure(settings={"account": "a", "container": "c", "bucket": "b"}), "has no bucket"),
        (azure(settings={"account": "a", "container": "c", "endpoint": "file:///etc"}), "not an address"),
        (azure(settings={"account": "a", "container": "c", "endpoint": f"http://u:{KEY}@h/"}), "credential in it"),
        (azure(kind=DatastoreKind.HTTP, settings={"url": "ftp://x/"}, credential={}), "not an address"),
        (azure(kind=DatastoreKind.FOLDER, settings={"path": "relative"}, credential={}), "absolute"),
        (azure(kind=DatastoreKind.GCS, settings={"bucket": "b"}, credential={"service_account_key": KEY}), "fit"),
    ],
)
def test_what_cannot_be_is_refused_and_shows_nothing(context: Context, new: NewDatastore, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        datastores.register(context, ANN, "vision", "x", new)
    assert KEY not in str(caught.value)
    with pytest.raises(DataNotFound):
        datastores.get(context, ANN, "vision", "x")


def test_registered_twice(context: Context, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text(name)
    datastores.register(context, ANN, "vision", "x", folder(tmp_path / "one"))
    with pytest.raises(DataConflict):
        datastores.register(context, ANN, "vision", "x", folder(tmp_path / "two"))
    assert [item.name for item in found(context, name="x")] == ["one"]
    datastores.register(context, ANN, "vision", "x", folder(tmp_path / "two", overwrite=True))
    assert [item.name for item in found(context, name="x")] == ["two"]
    assert datastores.set_default(context, ANN, "vision", "x").is_default
    assert datastores.get(context, ANN, "vision", "").name == "x"
    assert datastores.unregister(context, ANN, "vision", "x")
    assert datastores.get(context, ANN, "vision", "").name == OWN and (tmp_path / "two" / "two").exists()


def test_a_web_datastore_names_addresses_and_is_never_asked(context: Context) -> None:
    new = azure(kind=DatastoreKind.HTTP, settings={"url": "http://127.0.0.1:1/base/"}, credential={})
    datastores.register(context, ANN, "vision", "web", new)
    (item,) = found(context, "a/b c.csv", name="web")
    assert (item.url, item.relayed, item.size) == ("http://127.0.0.1:1/base/a/b%20c.csv", False, None)
    with pytest.raises(InvalidInput, match="one by one"):
        found(context, "a/*.csv", name="web")
    with pytest.raises(Conflict, match="read only"):
        put(context, "x", b"", name="web")
    with pytest.raises(InvalidInput, match="read only"):
        datastores.set_default(context, ANN, "vision", "web")


# ---- a shared server


def test_a_shared_server_stays_in_its_roots(context: Context, tmp_path: Path) -> None:
    allowed, outside = tmp_path / "allowed", tmp_path / "outside"
    for place in (allowed, outside):
        place.mkdir()
        (place / "file").write_text(place.name)
    (allowed / "link").symlink_to(outside)
    (allowed / "climb").symlink_to(outside / "file")
    (allowed / "fine").symlink_to(allowed / "file")
    shared = replace(context, data_roots=(str(allowed),), data_endpoints=("minio.local:9000",))
    for path in (outside, allowed / "link", allowed / ".." / "outside"):
        with pytest.raises(Forbidden, match="outside"):
            datastores.register(shared, ANN, "vision", "x", folder(path))
    datastores.register(shared, ANN, "vision", "x", folder(allowed))
    assert [item.name for item in found(shared, name="x")] == ["file", "fine"]
    for path in ("climb", "link/file"):
        with pytest.raises(Forbidden, match="outside"):
            content(shared, path, name="x")
        with pytest.raises(Forbidden, match="outside"):
            put(shared, path, b"x", name="x", overwrite=True)
    assert (outside / "file").read_text() == "outside"
    put(shared, "a", b"own")
    assert content(shared, "a") == b"own"


def test_a_shared_server_goes_to_known_hosts_only(context: Context) -> None:
    shared = replace(context, data_roots=(), data_endpoints=("minio.local:9000",))
    for endpoint in ("http://169.254.169.254/latest", "http://minio.local.evil:9000", "http://127.0.0.1:8080"):
        with pytest.raises(Forbidden, match="not one that this server may ask"):
            new = azure(settings={"account": "a", "container": "c", "endpoint": endpoint})
            datastores.register(shared, ANN, "vision", "x", new)
    for endpoint in ("http://minio.local:9000", "https://acc.blob.core.windows.net"):
        new = azure(settings={"account": "a", "container": "c", "endpoint": endpoint}, overwrite=True)
        datastores.register(shared, ANN, "vision", "x", new)


@pytest.mark.parametrize("endpoint", OTHER_HOSTS)
def test_an_address_that_two_clients_read_differently_is_refused_and_never_asked(
    context: Context, endpoint: str
) -> None:
    """Registered, and registered by an older version that took it."""
    shared = replace(context, data_roots=(), data_endpoints=("minio.local:9000",))
    new = NewDatastore(kind=DatastoreKind.S3, settings={"bucket": "b", "endpoint": endpoint}, credential={})
    with pytest.raises((InvalidInput, Forbidden)):
        datastores.register(shared, ANN, "vision", "x", new)
    older = Datastore(workspace="vision", name="old", kind=DatastoreKind.S3, settings=dict(new.settings))
    context.store.datastores.put(older, None, overwrite=True)
    with pytest.raises((InvalidInput, Forbidden)):
        found(shared, name="old")


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (DatastoreKind.AZURE_BLOB, {"account": "127.0.0.1:8080/x?", "container": "c"}),
        (DatastoreKind.AZURE_BLOB, {"account": "evil.example#", "container": "c"}),
        (DatastoreKind.AZURE_BLOB, {"account": "a", "container": "../x"}),
        (DatastoreKind.S3, {"bucket": "b", "region": "x@127.0.0.1:8080/"}),
        (DatastoreKind.S3, {"bucket": "../b"}),
        (DatastoreKind.GCS, {"bucket": "b/c?"}),
    ],
)
def test_no_name_leads_to_another_host(context: Context, kind: DatastoreKind, settings: dict[str, str]) -> None:
    shared = replace(context, data_roots=(), data_endpoints=())
    with pytest.raises(InvalidInput, match="of the datastore is not allowed"):
        datastores.register(shared, ANN, "vision", "x", NewDatastore(kind=kind, settings=settings, credential={}))
    for fine in ({"account": "acc1", "container": "$web"}, {"account": "acc1-secondary", "container": "my-box"}):
        new = NewDatastore(kind=DatastoreKind.AZURE_BLOB, settings=fine, credential={}, overwrite=True)
        datastores.register(shared, ANN, "vision", "x", new)


def test_the_home_is_no_datastore_nor_are_folders_around_it_and_links_into_it(context: Context, tmp_path: Path) -> None:
    home = Path(context.facts.home)
    (tmp_path / "to_home").symlink_to(home)
    (tmp_path / "to_blobs").symlink_to(home / "blobs")
    around = (home, home / "blobs", home / "data", tmp_path, Path("/"), tmp_path / "to_home", tmp_path / "to_blobs")
    for path in (*around, home / "x" / "..", tmp_path / "to_home" / "blobs"):
        with pytest.raises(Forbidden, match="the control plane's home"):
            datastores.register(context, ANN, "vision", "x", folder(path))


def test_a_link_into_the_home_that_was_made_later_leads_nowhere(context: Context, tmp_path: Path) -> None:
    home, data = Path(context.facts.home), tmp_path / "data"
    (home / "token").write_text("the token")
    data.mkdir()
    (data / "fine").write_text("x")
    datastores.register(context, ANN, "vision", "x", folder(data))
    (data / "token").symlink_to(home / "token")
    (data / "home").symlink_to(home)
    inputs = (Input(name="i", definition=Definition(sources=(Source(datastore="x", path=""),))),)
    for caller in (ANN, as_run(submit(context, inputs=inputs).id)):
        assert [item.name for item in found(context, "**", caller, name="x")] == ["fine"]
        for path in ("token", "home/token"):
            with pytest.raises(Forbidden, match="outside"):
                content(context, path, caller, name="x")
            with pytest.raises(Forbidden, match="outside"):
                found(context, path, caller, name="x", shared=True)
    with pytest.raises(Forbidden, match="outside"):
        put(context, "home/planted", b"x", name="x")
    assert not (home / "planted").exists()


def test_a_folder_around_the_home_that_was_registered_before_shows_nothing_of_it(
    context: Context, tmp_path: Path
) -> None:
    (Path(context.facts.home) / "token").write_text("the token")
    (tmp_path / "fine").write_text("x")
    older = Datastore(workspace="vision", name="old", kind=DatastoreKind.FOLDER, settings={"path": str(tmp_path)})
    context.store.datastores.put(older, None, overwrite=True)
    assert [item.name for item in found(context, name="old") if "/" in item.name] == []
    with pytest.raises(Forbidden, match="outside"):
        content(context, "h/token", name="old")


def test_a_link_that_is_set_between_the_look_and_the_reading_leads_nowhere(context: Context, tmp_path: Path) -> None:
    home, data = Path(context.facts.home), tmp_path / "data"
    (home / "token").write_text("the token")
    (data / "sub").mkdir(parents=True)
    (data / "sub" / "token").write_text("the other")
    place = FolderStorage(data, home=home)
    place._place = lambda path: data / path  # type: ignore[method-assign] # what it saw before the link was there
    file = place.head("sub/token")
    (data / "sub").rename(data / "old")
    (data / "sub").symlink_to(home)
    assert file is not None
    with pytest.raises(Forbidden, match="outside"):
        place.read(file, 0, 9)
    with pytest.raises(Forbidden, match="outside"):
        place.write("sub/planted", [b"x"])
    assert not (home / "planted").exists()


def test_a_circle_of_links_ends(context: Context, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "file").write_text("x")
    os.symlink(tmp_path / "d", tmp_path / "d" / "again")
    datastores.register(context, ANN, "vision", "x", folder(tmp_path / "d"))
    assert [item.name for item in found(context, name="x")] == ["file"]


# ---- a run's token


def declared(*paths: str) -> tuple[Input, ...]:
    return tuple(
        Input(name=f"i{n}", definition=Definition(sources=(Source(datastore=OWN, path=path),)))
        for n, path in enumerate(paths)
    )


def test_a_run_reaches_what_it_declared(context: Context) -> None:
    for path in ("in/a.csv", "in/sub/b.csv", "in/c.txt", "other/d.csv"):
        put(context, path, b"x")
    output = Output(name="out", path="results/{run-id}")
    run = submit(context, inputs=declared("in/*.csv", "in/sub"), outputs=(output,))
    own = as_run(run.id)
    assert [item.name for item in found(context, "in/*.csv", own)] == ["in/a.csv"]
    assert [item.name for item in found(context, "in/sub/**", own)] == ["in/sub/b.csv"]
    assert content(context, "in/a.csv", own) == b"x"
    for path in ("", "in", "in/**", "*", "in/*", "other", "in/subterfuge"):
        with pytest.raises(Forbidden, match="did not declare"):
            found(context, path, own)
    for path in ("in/c.txt", "other/d.csv"):
        with pytest.raises(Forbidden, match="did not declare"):
            content(context, path, own)
    assert put(context, f"results/{run.id}/model.pt", b"y", own) == 1
    assert content(context, f"results/{run.id}/model.pt", own) == b"y"
    for path in ("in/a.csv", f"results/{run.id}", f"results/{run.id}x/y", "results/other/y"):
        with pytest.raises((Forbidden, InvalidInput)):
            put(context, path, b"z", own, overwrite=True)
    with pytest.raises(Forbidden):
        datastores.register(context, own, "vision", "x", folder(Path("/")))
    context.store.workspaces.ensure(Workspace(name="elsewhere", user="ann", created_at=1.0))
    with pytest.raises(Forbidden, match="workspace"):
        stored_files.items(context, own, "elsewhere", OWN, "in/*.csv", shared=False)


def test_a_pattern_of_files_does_not_open_folders(context: Context) -> None:
    for path in ("in/a.csv", "in/sub/b.csv", "in/*/c.csv", "deep/sub/d.csv"):
        put(context, path, b"x")
    own = as_run(submit(context, inputs=declared("in/*", "deep/**")).id)
    assert [item.name for item in found(context, "in/a.csv", own)] == ["in/a.csv"]
    assert [item.name for item in found(context, "deep/sub", own)] == ["deep/sub/d.csv"]
    for path in ("in/sub", "in/sub/b.csv"):
        with pytest.raises(Forbidden, match="did not declare 'in/sub"):
            found(context, path, own)
    with pytest.raises(Forbidden, match="did not declare"):
        content(context, "in/*/c.csv", own)


def test_what_is_not_there(context: Context) -> None:
    with pytest.raises(DataNotFound, match="'none'"):
        found(context, name="none")
    with pytest.raises(NotFound, match="no file 'x'"):
        content(context, "x")


def test_what_a_broken_upload_left_is_never_shown_and_goes_when_it_is_old(context: Context, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    datastores.register(context, ANN, "vision", "mine", folder(mine))
    datastores.register(context, ANN, "vision", "looked_at", folder(mine, read_only=True))
    (mine / "a.txt").write_text("a")
    going, left = (mine / f".roost-part-{each * 8}" for each in ("12", "ab"))
    going.write_text("half")
    left.write_text("half")
    os.utime(left, (1.0, time.time() - 25 * 3600))
    assert [each.name for each in found(context, name="looked_at")] == ["a.txt"]
    assert left.exists()
    assert [each.name for each in found(context, name="mine")] == ["a.txt"]
    assert (going.exists(), left.exists()) == (True, False)


def test_names_of_files_that_are_being_written_are_for_nobody_else(context: Context) -> None:
    for path in (".roost-part-1", "a/.roost-part-b", ".roost-part-x/y"):
        with pytest.raises(InvalidInput, match="files that are being written"):
            put(context, path, b"x")
        with pytest.raises(InvalidInput, match="files that are being written"):
            stored_files.write_batch(context, ANN, "vision", OWN, batches.named(path, b"x"), overwrite=True)
    assert list((Path(context.facts.home) / "data").rglob("*part*")) == []


def test_a_run_is_told_the_same_of_what_is_not_there_and_of_what_is_not_its_own(
    context: Context, tmp_path: Path
) -> None:
    context.store.workspaces.ensure(Workspace(name="other", user="ann", created_at=1.0))
    (tmp_path / "d").mkdir()
    datastores.register(context, ANN, "other", "theirs", folder(tmp_path / "d"))
    own = as_run(submit(context).id)

    def refusal(deed: object) -> tuple[type, str]:
        with pytest.raises(RoostError, match="does not reach") as caught:
            deed()  # type: ignore[operator]
        return type(caught.value), str(caught.value).replace("nowhere", "other").replace("none", "theirs")

    def asked(workspace: str, name: str) -> list[tuple[type, str]]:
        definition = Definition(sources=(Source(datastore=name, path="x"),))
        deeds = (
            lambda: stored_files.items(context, own, workspace, name, "x", shared=False),
            lambda: stored_files.head(context, own, workspace, name, "x"),
            lambda: stored_files.read_batch(context, own, workspace, name, {"x": ""}),
            lambda: stored_files.may_write(context, own, workspace, name, ["x"], overwrite=True),
            lambda: datasets.items(context, own, workspace, definition, shared=False),
            lambda: datasets.register(context, own, workspace, "d", datasets.NewDataset(definition=definition)),
            lambda: datasets.get(context, own, workspace, "d"),
            lambda: models.get(context, own, workspace, "m"),
        )
        return [refusal(deed) for deed in deeds]

    assert asked("other", "theirs") == asked("other", "none") == asked("nowhere", "none")


def test_many_small_files_at_once(context: Context) -> None:
    files = {"many/ä.txt": b"one", "many/empty": b"", "x": bytes(range(256)) * 100}
    body = b"".join(batches.named(path, data) for path, data in files.items())
    assert stored_files.write_batch(context, ANN, "vision", OWN, body, overwrite=False) == (3, 3 + 25_600)
    assert {item.name: content(context, item.name) for item in found(context)} == files
    other = batches.named("new", b"new") + batches.named("x", b"other")
    with pytest.raises(Conflict, match="'x' already"):
        stored_files.write_batch(context, ANN, "vision", OWN, other, overwrite=False)
    assert found(context, "new") == [], "nothing is written when one may not be"
    stored_files.write_batch(context, ANN, "vision", OWN, other, overwrite=True)
    assert content(context, "x") == b"other"
    with pytest.raises(InvalidInput, match="more than 10000 files"):
        stored_files.write_batch(context, ANN, "vision", OWN, batches.named("n", b"") * 10_001, overwrite=True)
    assert found(context, "n") == []


def test_many_small_files_read_at_once(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"many/ä.txt": b"one", "many/empty": b"", "x": bytes(range(256)) * 100}
    for path, data in files.items():
        put(context, path, data)
    etags = {item.name: item.etag for item in found(context)}

    def read(wanted: dict[str, str]) -> dict[str, bytes]:
        body = stored_files.read_batch(context, ANN, "vision", OWN, wanted)
        return {path: bytes(data) for path, data in batches.read_named(body)}

    assert read(etags) == files == read(dict.fromkeys(files, ""))
    put(context, "x", b"other", overwrite=True)
    assert read({**etags, "none": "", "many": ""}) == {path: files[path] for path in files if path != "x"}
    with pytest.raises(InvalidInput, match="climbs out"):
        read({"many/../../vault.key": ""})
    assert read({"./many//empty/": ""}) == {"many/empty": b""}
    with pytest.raises(InvalidInput, match="More than 1000 files"):
        read({str(number): "" for number in range(1001)})
    for number in range(9):
        put(context, f"large/{number}", bytes(1024 * 1024))
    large = {item.name: item.etag for item in found(context, "large")}
    assert list(read(large)) == [f"large/{number}" for number in range(8)], "as many as fit"
    monkeypatch.setattr(FolderStorage, "read", lambda *_: iter([b"cu"]))
    assert read(etags) == {}, "one that was cut short meanwhile is left out"


def test_a_batch_reaches_no_further_than_its_run(context: Context) -> None:
    output = Output(name="made", datastore=OWN, path="made")
    own = as_run(submit(context, outputs=(output,)).id)
    mixed = batches.named("made/1", b"1") + batches.named("elsewhere", b"2")
    with pytest.raises(Forbidden, match="did not declare 'elsewhere'"):
        stored_files.write_batch(context, own, "vision", OWN, mixed, overwrite=True)
    with pytest.raises(InvalidInput, match="climbs out"):
        stored_files.write_batch(context, own, "vision", OWN, batches.named("made/../2", b""), overwrite=True)
    assert found(context) == []
    assert stored_files.write_batch(context, own, "vision", OWN, batches.named("made/1", b"1"), overwrite=True) == (
        1,
        1,
    )
    assert stored_files.read_batch(context, own, "vision", OWN, {"made/1": ""}) == batches.named("made/1", b"1")
    with pytest.raises(Forbidden, match="did not declare 'elsewhere'"):
        stored_files.read_batch(context, own, "vision", OWN, {"made/1": "", "elsewhere": ""})
