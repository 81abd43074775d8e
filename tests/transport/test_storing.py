"""Files into a datastore of a control plane on another machine."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.shared.processes import ServerProcess, start

from roost.domain.errors import InvalidInput
from roost.transport import storing
from roost.transport.carrying import SMALL
from roost.transport.client import Client, Endpoint, path_of

STORE = ("workspaces", "default", "datastores", "workspaceblobstore")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    made = start(tmp_path_factory.mktemp("storing") / "home")
    yield made
    made.end()


class Counting(Client):
    def __init__(self, server: ServerProcess) -> None:
        super().__init__(lambda: Endpoint(server.url, server.person.token))
        self.puts: list[str] = []

    def call(self, method: str, path: str, **given: object) -> object:  # type: ignore[override]
        self.puts += [path.rpartition("/files")[2]] * (method == "PUT")
        return super().call(method, path, **given)  # type: ignore[arg-type]


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Counting]:
    with closing(Counting(server)) as made:
        yield made


def store(client: Client, files: storing.Parcel, **given: object) -> int:
    return storing.store(client, STORE[1], STORE[3], files, **given)  # type: ignore[arg-type]


def stored(client: Client, path: str) -> dict[str, int]:
    items = client.call("GET", path_of(*STORE, "items"), params={"path": path})["items"]
    return {item["name"]: item["size"] for item in items}


def test_small_ones_go_together_and_large_ones_alone(client: Counting, tmp_path: Path) -> None:
    files = [(f"mixed/{index} ä.bin", tmp_path / str(index)) for index in range(1200)]
    for index, (_, path) in enumerate(files):
        path.write_bytes(os.urandom(index % 50))
    large = tmp_path / "large"
    large.write_bytes(os.urandom(SMALL + 1))
    files.insert(700, ("mixed/large", large))
    told: list[int] = []
    size = sum(path.stat().st_size for _, path in files)
    assert store(client, files, sent=told.append) == sum(told) == size
    assert stored(client, "mixed") == {name: path.stat().st_size for name, path in files}
    assert sorted(client.puts) == ["", "", "", "", "/mixed/large"]
    for name, path in (files[49], files[700], files[1200]):
        assert client.fetch("GET", path_of(*STORE, "files", name)).body == path.read_bytes()


def test_a_few_go_in_several_requests_at_once(client: Counting, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    together = threading.Barrier(4)

    def deliver(send: Callable[[], object]) -> None:
        together.wait(60)
        send()

    assert store(client, [(f"few/{index}", tmp_path / "x") for index in range(100)], deliver=deliver) == 100
    assert client.puts == [""] * 4 and len(stored(client, "few")) == 100


def test_one_and_none(client: Counting, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"one")
    assert store(client, []) == 0 and client.puts == []
    assert store(client, [("alone/x", tmp_path / "x")]) == 3 and client.puts == ["/alone/x"]
    (tmp_path / "x").write_bytes(b"another")
    store(client, [("alone/x", tmp_path / "x")])
    assert stored(client, "alone") == {"alone/x": 7}, "what is there is replaced"


def test_who_is_patient_sends_again(client: Counting, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(name.encode())

    def twice(send: Callable[[], object]) -> None:
        send()
        send()

    assert store(client, [(f"twice/{name}", tmp_path / name) for name in "ab"], deliver=twice) == 2
    assert client.puts == ["", ""] and stored(client, "twice") == {"twice/a": 1, "twice/b": 1}


@pytest.mark.parametrize("count", [1, 2])
def test_no_link_is_followed_where_none_may_be(client: Counting, tmp_path: Path, count: int) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    files = [(f"linked/{index}", tmp_path / "link") for index in range(count)]
    with pytest.raises(InvalidInput, match="is a link"):
        store(client, files, links=False)
    assert client.puts == []
    assert store(client, files) == count * 6


def test_a_file_that_is_gone(client: Counting, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        store(client, [("gone/x", tmp_path / "nowhere"), ("gone/y", tmp_path / "nowhere")])
    assert client.puts == []
