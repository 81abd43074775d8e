"""Lists the current files of a dataset: the control plane lists its datastores, this process checks the addresses that users
gave.

An address whose server is unavailable still resolves when this node's cache holds the complete file as last seen.
"""

import hashlib
import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from typing import Any
from urllib.parse import unquote, urlsplit

from roost.data import steps
from roost.data.cache import Cache
from roost.data.transfers import seen
from roost.data.web import Address, Answer, Web
from roost.domain import globs, names
from roost.domain.codec import decode
from roost.domain.datasets import Definition, Source, checked_url
from roost.domain.datastores import Item
from roost.domain.errors import InvalidInput, RoostError, Unavailable

Ask = Callable[[Definition], Mapping[str, Sequence[Any]]]
"""The response of `POST …/datasets/items`: `items`, and in `urls` the positions of the sources that the reader must check
itself."""
_AT_ONCE = 8
_SILENCE = 15.0
"""Seconds for a server to describe a file: fewer than for sending it, because a cached file does not need the server."""


def resolve(
    definition: Definition,
    ask: Ask,
    *,
    cache: Cache | None = None,
    meanwhile: Callable[[], None] = lambda: None,
    web: Web | None = None,
) -> list[Item]:
    """Returns the files with sizes and versions, after the dataset's steps on files. Raises an error with the address and the
    reason when an address cannot be read."""
    answer = ask(definition)
    listed = [decode(Item, item) for item in answer["items"]]
    given = [definition.sources[place] for place in answer["urls"]]
    found = listed + _named(given, taken={item.name for item in listed})
    unknown = [item for item in found if item.url and not item.relayed and item.size is None and not item.version]
    own, pool = web or Web(silence=_SILENCE, pause=0.1), ThreadPoolExecutor(_AT_ONCE)
    looks = {pool.submit(_look, item, own, cache): item.name for item in unknown}
    try:
        known = {}
        for look in as_completed(looks):  # report the first failure at once, without waiting for the others
            meanwhile()
            known[looks[look]] = look.result()
    except BaseException:
        own.stop()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        own.close()
    return steps.apply([known.get(item.name, item) for item in found], definition)


def _named(sources: Iterable[Source], taken: set[str]) -> list[Item]:
    """Makes items of addresses. Addresses of one host are named relative to their common folder; of several hosts, by host
    first."""
    urls = [checked_url(source.url) for source in sources]
    paths = [_path(url) for url in urls]
    folder = globs.common([posixpath.dirname(path) for path in paths])
    made = []
    for url, path in zip(urls, paths, strict=True):
        name = globs.below(path, folder)
        if name in taken:  # the same path with another query, or a file of a datastore
            head, dot, tail = name.partition(".")
            name = f"{head}-{hashlib.sha256(url.encode()).hexdigest()[:8]}{dot}{tail}"
        taken.add(name)
        made.append(Item(name=name, url=url, source=url))
    return made


def _path(url: str) -> str:
    """Host and path of an address as a relative path; its hash when it is not a valid path."""
    parts = urlsplit(url)
    host = parts.netloc.replace(":", "_")
    try:
        return names.path(f"{host}/{unquote(parts.path).strip('/') or 'index'}")
    except InvalidInput:
        return f"{host}/{hashlib.sha256(url.encode()).hexdigest()[:16]}"


def _look(item: Item, web: Web, cache: Cache | None) -> Item:
    """The item with its server's size and version; with the last known ones when the server is gone and the file is cached."""
    try:
        known = _asked(item, web)
    except Unavailable:
        remembered = cache.recall(item) if cache else None
        if remembered is None:
            raise
        return remembered
    if cache and known.version:
        cache.remember(known)
    return known


def _asked(item: Item, web: Web) -> Item:
    def head(address: Address) -> Item:
        with web.ask("HEAD", address) as answer:
            return _told(item, answer, answer.length or None)  # some servers answer 0 to every HEAD

    def first_byte(address: Address) -> Item:
        with web.ask("GET", address, {"Range": "bytes=0-0"}) as answer:
            total = answer.head.text("content-range").rpartition("/")[2]
            whole = answer.length if answer.status == 200 else int(total) if total.isdigit() else None
            return _told(item, answer, whole)

    try:
        return web.persist(lambda: Address(item.url), head, lambda: 0)
    except Unavailable:
        raise
    except RoostError:
        pass  # some servers, and signed addresses, answer GET only; the GET decides
    return web.persist(lambda: Address(item.url), first_byte, lambda: 0)


def _told(item: Item, answer: Answer, size: int | None) -> Item:
    etag, modified = seen(answer)
    return replace(item, size=size, etag=etag, modified_at=modified)
