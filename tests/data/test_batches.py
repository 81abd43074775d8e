"""Small files of the control plane's own datastores, fetched through the api as it is served: many to a request."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.shared.api_servers import ApiServer, served
from tests.shared.contexts import submit
from tests.shared.servers import serving

from roost.blobs import batches
from roost.data import blocks
from roost.data.batches import packed
from roost.data.cache import Cache
from roost.data.fetching import fetch
from roost.data.web import Web
from roost.domain import codec
from roost.domain.datasets import Definition, Input, Source
from roost.domain.datastores import Item
from roost.domain.errors import Conflict, Forbidden, NotFound, Unavailable
from roost.services import people, stored_files
from roost.transport.client import Endpoint

PERSON = "person-token"
FILES = "/api/workspaces/vision/datastores/workspaceblobstore/files"


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiServer]:
    with served(tmp_path / "api") as made:
        yield made


@pytest.fixture
def asked(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How files were asked for: "many" or the path of one."""
    seen: list[str] = []
    many, one = stored_files.read_batch, stored_files.head
    monkeypatch.setattr(stored_files, "read_batch", lambda *args: (seen.append("many"), many(*args))[1])
    monkeypatch.setattr(stored_files, "head", lambda *args: (seen.append(args[-1]), one(*args))[1])
    return seen


def put(api: ApiServer, files: dict[str, bytes]) -> None:
    body = b"".join(batches.named(path, data) for path, data in files.items())
    assert api.person.put(f"{FILES}?overwrite=true", body).status == 200


def listed(api: ApiServer, path: str = "") -> list[Item]:
    found = api.person.get(f"{FILES.removesuffix('/files')}/items?path={path}").json["items"]
    return [codec.decode(Item, each) for each in found]


def fetched(api: ApiServer, items: list[Item], cache: Cache, token: str = PERSON) -> dict[str, bytes]:
    paths = fetch(items, cache, locate=lambda: Endpoint(api.url, token))
    return {item.name: path.read_bytes() for item, path in zip(items, paths, strict=True)}


def some(count: int) -> dict[str, bytes]:
    return {f"d/{number % 7}/ä {number}.bin": os.urandom(number * 10) for number in range(count)}


def test_many_come_in_few_requests(api: ApiServer, asked: list[str], tmp_path: Path) -> None:
    files = {**some(300), "large": os.urandom(blocks.BLOCK + 1)}
    put(api, files)
    cache = Cache(tmp_path)
    items = listed(api)
    assert fetched(api, items, cache) == files
    assert asked.count("many") == 5
    assert set(asked) == {"many", "large", "d/0/ä 0.bin"}, "a large one and an empty one are asked for alone"
    times = {item.name: item.modified_at or 0 for item in items}
    for item in items:
        kept = os.stat(cache.where(cache.key(item)))
        assert not kept.st_mode & 0o222 and abs(kept.st_mtime - times[item.name]) < 1
    asked.clear()
    assert fetched(api, items, Cache(tmp_path)) == files
    assert asked == []
    assert not [path for path in cache.root.rglob("*") if path.suffix in (blocks.DATA, blocks.MAP)]


def test_a_parcel_is_small_and_of_one_datastore(api: ApiServer) -> None:
    put(api, {f"{number:03}": bytes(100_000) for number in range(100)})
    items = listed(api)
    others = [
        Item(name=f"other/{each.name}", url=each.url.replace("workspaceblobstore", "other"), size=each.size)
        for each in items
    ]
    mixed = [each for pair in zip(items, others, strict=True) for each in pair]
    parcels = list(packed((each, each.name) for each in mixed))
    sizes = [20, 20, 20, 20, 20]
    assert [(route, len(files)) for route, files in parcels] == [
        *((FILES.replace("workspaceblobstore", "other"), size) for size in sizes),
        *((FILES, size) for size in sizes),
    ]
    twice = [items[0], replace(items[0], name="again", etag='"other"')]
    assert [len(files) for _, files in packed((each, each.name) for each in twice)] == [1, 1]


def test_what_changed_or_went_since_it_was_listed(api: ApiServer, tmp_path: Path) -> None:
    put(api, some(20))
    items = listed(api)
    put(api, {items[3].name: b"another"})
    with pytest.raises(Conflict, match=r"File 'd/.* of datastore 'workspaceblobstore' has changed since it was listed"):
        fetched(api, items, Cache(tmp_path / "one"))
    others = [item for item in items if item is not items[3]]
    (Path(api.context.facts.home) / "data/vision/workspaceblobstore" / items[5].name).unlink()
    with pytest.raises(NotFound, match=r"File 'd/.* of datastore 'workspaceblobstore' was removed after it was listed"):
        fetched(api, others, Cache(tmp_path / "two"))


def test_a_run_gets_no_further_than_it_declared(api: ApiServer, tmp_path: Path) -> None:
    put(api, some(20))
    source = Source(datastore="workspaceblobstore", path="d/3/**")
    declared = Input(name="in", definition=Definition(sources=(source,)))
    run = submit(api.context, inputs=(declared,))
    token = people.mint_run_token(api.context, run.id, user="ann")
    mine = listed(api, "d/3/**")
    assert len(fetched(api, mine, Cache(tmp_path / "mine"), token)) == 3
    with pytest.raises(Forbidden, match=r"did not declare 'd/.*\n.*Give it to the run"):
        fetched(api, listed(api), Cache(tmp_path / "all"), token)
    whole = {"files": dict.fromkeys([item.name for item in listed(api)], "")}
    refused = api.run_client(run.id).post(FILES, whole)
    assert (refused.status, refused.error["code"]) == (403, "forbidden")


def test_the_control_planes_own_words_are_passed_on(api: ApiServer, tmp_path: Path) -> None:
    put(api, some(3))

    def far(*_: object) -> bytes:
        raise Unavailable("Container 'data' of account 'acc' cannot be reached.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_files, "read_batch", far)
        patch.setattr(stored_files, "head", far)
        with pytest.raises(
            Unavailable, match=r"File 'd/.* cannot be read: Container 'data' of account 'acc' cannot be"
        ):
            fetch(listed(api), Cache(tmp_path), locate=lambda: Endpoint(api.url, PERSON), web=Web(pause=0.01))


def test_two_at_once(api: ApiServer, asked: list[str], tmp_path: Path) -> None:
    files = some(400)
    put(api, files)
    items = listed(api)
    together = threading.Barrier(3)

    def one(_: int) -> dict[str, bytes]:
        together.wait()
        return fetched(api, items, Cache(tmp_path))

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(one, range(3))) == [files] * 3
    assert len([each for each in asked if each != "many"]) < 100, (
        "what another is bringing is waited for, not asked for"
    )


def test_names_that_look_like_a_route(api: ApiServer, asked: list[str], tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    spec = {"kind": "folder", "settings": {"path": str(tmp_path / "store")}}
    assert api.person.put("/api/workspaces/vision/datastores/files", spec).status == 200
    names = ["files/files/x", "100%25.txt", "a?b", "c#d", "e f", "%2e%2e", "[1]"]
    for name in names:
        (tmp_path / "store" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "store" / name).write_text(name)
    found = api.person.get("/api/workspaces/vision/datastores/files/items").json["items"]
    items = [codec.decode(Item, each) for each in found]
    assert fetched(api, items, Cache(tmp_path)) == {name: name.encode() for name in names}
    assert asked == ["many"]


def test_what_a_killed_process_left_is_taken_up(api: ApiServer, tmp_path: Path) -> None:
    files = some(30)
    put(api, files)
    cache = Cache(tmp_path)
    items = listed(api)
    for item in items[::3]:
        part = Path(cache.where(cache.key(item)) + blocks.DATA)
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(b"half")
    assert fetched(api, items, cache) == files


FEW = """
import json, resource, sys
from pathlib import Path
from roost.data.cache import Cache
from roost.data.fetching import fetch
from roost.domain import codec
from roost.domain.datastores import Item
from roost.transport.client import Endpoint

url, token, folder = sys.argv[1:]
items = [codec.decode(Item, each) for each in json.load(sys.stdin)]
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
fetch(items, Cache(Path(folder)), locate=lambda: Endpoint(url, token))
"""


def test_few_files_may_be_open(api: ApiServer, tmp_path: Path) -> None:
    files = some(300)
    put(api, files)
    items = listed(api)
    told = json.dumps([codec.encode(item) for item in items])
    argv = [sys.executable, "-c", FEW, api.url, PERSON, str(tmp_path)]
    subprocess.run(argv, input=told, text=True, check=True, timeout=60)
    cache = Cache(tmp_path)
    assert cache.has_all([cache.key(item) for item in items])
    assert fetched(api, items, cache) == files


def test_nobody_waits_for_a_parcel_that_nobody_wants_any_more(api: ApiServer, tmp_path: Path) -> None:
    put(api, some(30))
    items = listed(api)
    asked, go_on = threading.Event(), threading.Event()

    def slow(*_: object) -> bytes:
        asked.set()
        go_on.wait(30)
        return b""

    def leave() -> None:
        if asked.is_set():
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_files, "read_batch", slow)
        with pytest.raises(KeyboardInterrupt):
            fetch(items, Cache(tmp_path), locate=lambda: Endpoint(api.url, PERSON), meanwhile=leave)
        assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("roost-fetch")]
        go_on.set()


def test_one_that_knows_no_parcels_is_asked_for_each(tmp_path: Path) -> None:
    with serving() as server:
        made = [server.put(f"{FILES[1:]}/{number}", b"%d" % number) for number in range(1, 40)]
        items = [replace(item, url=f"/{item.name}", relayed=True) for item in made]
        paths = fetch(items, Cache(tmp_path), locate=lambda: Endpoint(server.url, "token"))
        assert [path.read_bytes() for path in paths] == [b"%d" % number for number in range(1, 40)]


def test_nobody_there(tmp_path: Path) -> None:
    item = Item(name="a", url=f"{FILES}/a", relayed=True, size=1, etag='"v"')
    with pytest.raises(Unavailable, match="cannot be read"):
        fetch([item], Cache(tmp_path), locate=lambda: Endpoint("http://127.0.0.1:1", "t"), web=Web(pause=0.01))
