"""Which files a dataset is: addresses looked at, named, remembered; steps on files."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.shared.servers import MODIFIED, Server, content, serving

from roost.data import steps
from roost.data.cache import Cache
from roost.data.fetching import fetch
from roost.data.resolving import resolve
from roost.data.web import Web
from roost.domain.codec import encode
from roost.domain.datasets import DatasetKind, Definition, Source
from roost.domain.datastores import Item
from roost.domain.errors import InvalidInput, NotFound, Unavailable

Hasty = Callable[[], Web]


def of_urls(*urls: str, **more: Any) -> Definition:
    return Definition(sources=tuple(Source(url=url) for url in urls), **more)


def nobody(definition: Definition) -> Mapping[str, Any]:
    """The control plane's answer to a dataset of addresses."""
    return {"items": [], "urls": range(len(definition.sources))}


class TestAddresses:
    def test_have_sizes_and_versions(self, server: Server) -> None:
        server.put("d/a.csv", b"abc", etag='"1"')
        server.put("d/b.csv", content(5000))
        found = resolve(of_urls(f"{server.url}/d/a.csv", f"{server.url}/d/b.csv"), nobody)
        assert [(item.name, item.size, item.etag, item.modified_at) for item in found] == [
            ("a.csv", 3, '"1"', MODIFIED),
            ("b.csv", 5000, "", MODIFIED),
        ]
        assert server.gets() == 0

    def test_of_a_server_that_knows_get_only(self, server: Server) -> None:
        server.put("a", content(5000), heads=False)
        server.put("b", content(6000), heads=False, ranges=False)
        assert [item.size for item in resolve(of_urls(f"{server.url}/a", f"{server.url}/b"), nobody)] == [5000, 6000]

    def test_that_are_not_there(self, server: Server) -> None:
        with pytest.raises(NotFound, match="/nothing is not there") as caught:
            resolve(of_urls(f"{server.url}/nothing?x=1"), nobody)
        assert caught.value.__cause__ is None and caught.value.__context__ is None, "one story, not that of HEAD too"

    def test_of_nobody(self, hasty: Hasty) -> None:
        with pytest.raises(Unavailable, match="cannot be read: Connection refused") as caught:
            resolve(of_urls("http://127.0.0.1:1/a"), nobody, web=hasty())
        assert caught.value.__cause__ is None and caught.value.__suppress_context__

    @pytest.mark.parametrize("url", ["file:///etc/passwd", "http://me:secret@127.0.0.1/x", "ftp://h/x"])
    def test_that_are_refused(self, url: str) -> None:
        with pytest.raises(InvalidInput) as caught:
            resolve(of_urls(url), nobody)
        assert "secret" not in str(caught.value)

    def test_that_lead_out_of_the_web(self, server: Server) -> None:
        server.put("a", b"", location="file:///etc/passwd")
        with pytest.raises(InvalidInput, match="only http and https"):
            resolve(of_urls(f"{server.url}/a"), nobody)

    def test_names_stay_in_the_folder_and_apart(self, server: Server) -> None:
        for name in ("x/%2e%2e/%2e%2e/a", "x/b", "x/b?v=1", "x/b?v=2"):
            server.put(name.partition("?")[0], b"1")
        found = resolve(
            of_urls(*(f"{server.url}/{name}" for name in ("x/%2e%2e/%2e%2e/a", "x/b", "x/b?v=1", "x/b?v=2"))), nobody
        )
        assert len({item.name for item in found}) == 4
        assert not any(".." in item.name for item in found)

    def test_of_two_servers_are_named_by_host(self, server: Server) -> None:
        with serving() as other:
            server.put("a", b"1")
            other.put("a", b"2")
            names = [item.name for item in resolve(of_urls(f"{server.url}/a", f"{other.url}/a"), nobody)]
        assert len(set(names)) == 2
        assert all(name.endswith("/a") for name in names)

    def test_beside_files_of_a_datastore(self, server: Server) -> None:
        server.put("a", b"1")
        listed = Item(name="a", path="/data/a", size=9, etag="e")
        definition = Definition(sources=(Source(datastore="d", path="a"), Source(url=f"{server.url}/a")))
        found = resolve(definition, lambda _: {"items": [encode(listed)], "urls": [1]})
        assert found[0] == listed
        assert found[1].name.startswith("a-")

    def test_an_item_of_a_web_datastore_is_looked_at_too(self, server: Server) -> None:
        listed = replace(server.put("a", b"123"), size=None, modified_at=None)
        definition = Definition(sources=(Source(datastore="web", path="a"),))
        (found,) = resolve(definition, lambda _: {"items": [encode(listed)], "urls": []})
        assert (found.size, found.modified_at) == (3, MODIFIED)

    def test_one_that_is_bad_is_told_while_others_wait(self, server: Server) -> None:
        gate = threading.Event()
        slow = [server.put(f"{n}", b"x", wait=gate).url for n in range(200)]
        with pytest.raises(NotFound, match="/nothing is not there"):
            resolve(of_urls(*slow[:7], f"{server.url}/nothing", *slow[7:]), nobody)
        gate.set()
        assert len(server.asked) <= 7 + 2 + 1, "nothing more is asked once one is bad"


class TestGone:
    def test_what_is_cached_needs_no_server(self, cache: Cache, hasty: Hasty) -> None:
        with serving() as server:
            server.put("a", b"abc")
            server.put("b", b"never fetched")
            definition, other = of_urls(f"{server.url}/a"), of_urls(f"{server.url}/b")
            fetch(resolve(definition, nobody, cache=cache), cache)
            resolve(other, nobody, cache=cache)
        (path,) = fetch(resolve(definition, nobody, cache=cache, web=hasty()), cache)
        assert path.read_bytes() == b"abc"
        with pytest.raises(Unavailable, match=r"http://127.0.0.1:\d+/b cannot be read: Connection refused"):
            resolve(other, nobody, cache=cache, web=hasty())

    def test_whoever_does_not_want_it_any_more_ends_it(self, server: Server) -> None:
        server.put("a", b"abc")

        def meanwhile() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            resolve(of_urls(f"{server.url}/a"), nobody, meanwhile=meanwhile)


FILES = [
    Item(name=f"{kind}/{n}.{kind}", source=f"store/{region}/2020/0{n}/x.{kind}", size=n * 100, modified_at=86400.0 * n)
    for n, (kind, region) in enumerate([("csv", "north"), ("txt", "south")] * 4, start=1)
]


def applied(*steps_: Mapping[str, Any], partition_format: str = "", kind: DatasetKind = DatasetKind.FILE) -> list[int]:
    found = steps.apply(FILES, Definition(kind=kind, steps=steps_, partition_format=partition_format))
    return [(item.size or 0) // 100 for item in found]


def compare(op: str, column: str, **value: Any) -> Mapping[str, Any]:
    return {"op": "filter", "expression": {"op": op, "args": [{"column": column}, value]}}


class TestSteps:
    def test_take_and_skip(self) -> None:
        assert applied({"op": "skip", "count": 2}, {"op": "take", "count": 3}) == [3, 4, 5]
        assert applied({"op": "take", "count": 0}) == []

    def test_a_split_is_the_whole_between_its_parts(self) -> None:
        split = {"op": "split", "percentage": 0.25, "seed": 7}
        first, second = applied({**split, "part": 0}), applied({**split, "part": 1})
        assert (len(first), sorted(first + second)) == (2, list(range(1, 9)))
        assert first == applied({**split, "part": 0})
        assert first == sorted(first)

    @pytest.mark.parametrize(
        ("step", "left"),
        [
            (compare("gt", "Size", value=600), [7, 8]),
            (compare("eq", "Extension", value=".txt"), [2, 4, 6, 8]),
            (compare("lt", "LastModifiedTime", time="1970-01-03T00:00:00"), [1]),
            (compare("le", "LastModifiedTime", time="1970-01-03T01:00:00+01:00"), [1, 2]),
            (compare("in", "Size", value=[100, 800]), [1, 8]),
            (compare("starts_with", "Extension", value=".c"), [1, 3, 5, 7]),
        ],
    )
    def test_filters(self, step: Mapping[str, Any], left: list[int]) -> None:
        assert applied(step) == left

    def test_and_or_not(self) -> None:
        big, text = (
            compare("gt", "Size", value=400)["expression"],
            compare("eq", "Extension", value=".txt")["expression"],
        )
        both = {"op": "filter", "expression": {"op": "and", "args": [big, text]}}
        either = {"op": "filter", "expression": {"op": "or", "args": [big, {"op": "not", "args": [text]}]}}
        assert (applied(both), applied(either)) == ([6, 8], [1, 3, 5, 6, 7, 8])

    def test_by_names_of_the_partition_format(self) -> None:
        step = compare("eq", "region", value="north")
        assert applied(step, partition_format="{region}/{day:yyyy/MM}/*") == [1, 3, 5, 7]
        step = compare("ge", "day", time="2020-07-01")
        assert applied(step, partition_format="{region}/{day:yyyy/MM}/*") == [7, 8]

    def test_what_cannot_be(self) -> None:
        with pytest.raises(InvalidInput, match="no 'Colour' to filter by"):
            applied(compare("eq", "Colour", value=1))
        with pytest.raises(InvalidInput, match="by `Size < 'large'`: 100 and 'large' cannot be compared"):
            applied(compare("lt", "Size", value="large"))

    def test_steps_of_a_table_are_not_on_files(self) -> None:
        assert applied({"op": "take", "count": 1}, kind=DatasetKind.TABULAR) == list(range(1, 9))
