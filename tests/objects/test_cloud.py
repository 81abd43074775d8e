"""Object stores: files below a prefix, whole writes, errors that show nothing, and no credential of the control plane's own."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace

import obstore
import pytest
from obstore.store import MemoryStore
from tests.shared.servers import Server, serving

from roost.domain.datastores import DatastoreKind
from roost.domain.errors import Conflict, InvalidInput, NotFound, Unavailable
from roost.objects import cloud
from roost.objects.cloud import CloudStorage, open_place

KEY = "c2VjcmV0LWtleS10by1sb29rLWZvcg=="
AZURE = {"account": "acc", "container": "box", "endpoint": "http://127.0.0.1:1/acc"}


def place(store: MemoryStore, prefix: str = "") -> CloudStorage:
    return CloudStorage("cloud", store, prefix=prefix, signs=False)  # type: ignore[arg-type]


def test_files_below_a_prefix() -> None:
    store = MemoryStore()
    whole, below = place(store), place(store, "root/in")
    assert below.write("a/x.csv", [b"12", memoryview(b"345")]) == 5
    assert below.write("a/y.csv", []) == 0
    whole.write("root/index", [b"no"])
    assert [(each.path, each.size) for each in below.list("")] == [("a/x.csv", 5), ("a/y.csv", 0)]
    assert [each.path for each in below.list("a/x.csv")] == ["a/x.csv"]
    assert [each.path for each in below.list("a/x")] == [] == [each.path for each in below.list("none")]
    assert [each.path for each in whole.list("root/in")] == ["root/in/a/x.csv", "root/in/a/y.csv"]
    assert below.head("a") is None
    found = below.head("a/x.csv")
    assert found and b"".join(below.read(found, 1, 3)) == b"234"
    assert (below.local("a/x.csv"), below.addresses(["a/x.csv"])) == ("", [""])
    with pytest.raises(NotFound, match="'cloud', at 'none', has no such file"):
        list(below.read(replace(found, path="none"), 0, 1))


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.mark.parametrize("later", [b"ABCDEFGH", b"ABCDEFGHIJK", b"A"], ids=["as long", "longer", "shorter"])
def test_no_answer_is_of_two_versions(server: Server, monkeypatch: pytest.MonkeyPatch, later: bytes) -> None:
    monkeypatch.setattr(cloud, "_PIECE", 4)
    server.put("b/x", b"abcdefgh", etag='"1"')
    store = open_place("cloud", DatastoreKind.S3, {"bucket": "b", "endpoint": server.url}, {})
    found = store.head("x")
    assert found and b"".join(store.read(found, 1, 7)) == b"bcdefgh"
    pieces = store.read(found, 0, 8)
    assert next(pieces) == b"abcd"
    server.put("b/x", later, etag='"2"')
    with pytest.raises(Conflict, match="'x' of datastore 'cloud' became another while it was read"):
        next(pieces)


def test_a_key_does_not_say_where_to_go() -> None:
    fields = {"gcs_base_url": "http://127.0.0.1:1", "disable_oauth": True}
    key = json.dumps({**fields, "client_email": "", "private_key": "", "private_key_id": ""})
    with pytest.raises(InvalidInput, match="do not fit together"):
        open_place("cloud", DatastoreKind.GCS, {"bucket": "b"}, {"service_account_key": key})


def test_a_write_that_breaks_off_leaves_nothing() -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise InvalidInput("cut")

    store = place(MemoryStore())
    with pytest.raises(InvalidInput, match="cut"):
        store.write("x", broken())
    assert list(store.list("")) == []


def test_names_in_a_store_are_not_trusted() -> None:
    store = MemoryStore()
    obstore.put(store, "a\\b", b"x")
    with pytest.raises(InvalidInput, match="backslash"):
        list(place(store).list(""))


def test_signed_addresses() -> None:
    azure = open_place("cloud", DatastoreKind.AZURE_BLOB, AZURE, {"account_key": KEY})
    plain, odd = azure.addresses(["a/b.csv", "a/b c.csv"])
    assert plain.startswith("http://127.0.0.1:1/acc/box/a/b.csv?") and "sig=" in plain and KEY not in plain
    assert odd == ""
    for credential, settings in (
        ({"sas_token": "?sv=1&sig=x"}, AZURE),
        ({}, AZURE),
        ({"account_key": KEY}, {**AZURE, "relay": "true"}),
    ):
        assert open_place("cloud", DatastoreKind.AZURE_BLOB, settings, credential).addresses(["a"]) == [""]


def test_the_control_planes_own_credentials_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "own-session")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:2")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", KEY)
    given = {"access_key_id": "someone", "secret_access_key": "something"}
    s3 = open_place("cloud", DatastoreKind.S3, {"bucket": "b", "region": "eu-west-1"}, given)
    (signed,) = s3.addresses(["x"])
    assert "own-session" not in signed and signed.startswith("https://s3.eu-west-1.amazonaws.com/b/x?")
    assert open_place("cloud", DatastoreKind.AZURE_BLOB, AZURE, {"sas_token": "sig=x"}).addresses(["x"]) == [""]
    assert os.environ["AWS_SESSION_TOKEN"] == "own-session"


def test_errors_show_nothing() -> None:
    for kind, settings, credential in (
        (DatastoreKind.AZURE_BLOB, AZURE, {"sas_token": f"sv=1&sig={KEY}"}),
        (
            DatastoreKind.S3,
            {"bucket": "b", "endpoint": "http://127.0.0.1:1"},
            {"access_key_id": "someone", "secret_access_key": KEY},
        ),
    ):
        store = open_place("cloud", kind, settings, credential)
        with pytest.raises(
            Unavailable, match=r"'cloud' cannot be used: it does not answer .*\nhint: Look at"
        ) as caught:
            list(store.list(""))
        assert KEY not in str(caught.value) and "someone" not in str(caught.value) and "?s" not in str(caught.value)
    with pytest.raises(InvalidInput, match="do not fit together") as refused:
        open_place("cloud", DatastoreKind.AZURE_BLOB, AZURE, {"account_key": f"not base64 {KEY}!"})
    assert KEY not in str(refused.value)


def test_a_panic_of_the_library_is_an_error_in_words(capfd: pytest.CaptureFixture[str]) -> None:
    settings = {"bucket": "birds", "endpoint": "http://127.0.0.1:9"}
    place = cloud.open_place("odd", DatastoreKind.S3, settings, {"access_key_id": "a\nb", "secret_access_key": "cdef"})
    with pytest.raises(Unavailable, match="Datastore 'odd', at 'x', cannot be used: the object-store library"):
        place.head("x")
    with pytest.raises(Unavailable, match="object-store library"):
        list(place.list(""))
    assert "InvalidHeaderValue" in capfd.readouterr().err  # as the library itself writes it
