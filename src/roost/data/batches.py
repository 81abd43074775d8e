"""Small files that come through the control plane, many per request: a request costs it more than reading such a file.

Handles the plain case only, as `small_files` does: files missing from a response, or all files of a failed one, go to
`Transfer.whole`, which handles every case.
"""

import errno
import json
import os
import resource
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from roost.blobs import batches
from roost.blobs.copying import write_all
from roost.data import blocks
from roost.data.small_files import Wanted
from roost.data.transfers import Transfer, no_room
from roost.data.web import Address, Broken, Stopped
from roost.domain.datastores import Item, route_and_path
from roost.domain.errors import RoostError

AT_ONCE = 2
"""While one parcel is written here, the control plane reads the next."""
_FILES, _BYTES = 64, 2 * 1024 * 1024
"""Files per parcel. All stay open until the parcel has arrived, so fewer where a process may open few files."""
_SHARE_OF_OPEN = 16
_TOO_MANY_OPEN = (errno.EMFILE, errno.ENFILE)

Parcel = tuple[str, dict[str, Wanted]]
"""The route, and the files by their paths in the datastore."""


def packed(wanted: Iterable[Wanted]) -> Iterator[Parcel]:
    """Groups files of one datastore into parcels of one request each."""
    routed = [(*route_and_path(item.url), (item, place)) for item, place in wanted]
    may_open = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    most = _FILES if may_open == resource.RLIM_INFINITY else min(_FILES, max(1, may_open // _SHARE_OF_OPEN))
    for route, files in groupby(sorted(routed, key=lambda each: each[0]), key=lambda each: each[0]):
        parcel: dict[str, Wanted] = {}
        room = _BYTES
        for _, path, (item, place) in files:
            size = item.size or 0
            if parcel and (size > room or len(parcel) == most or path in parcel):
                yield route, parcel
                parcel, room = {}, _BYTES
            parcel[path] = (item, place)
            room -= size
        if parcel:
            yield route, parcel


class Carter:
    """Takes parcels from `queue`, which others may share, until it is empty. `otherwise` receives the files that did not
    arrive."""

    def __init__(self, transfer: Transfer, queue: deque[Parcel], otherwise: Callable[[Item, str], None]) -> None:
        self._transfer, self._queue, self._otherwise = transfer, queue, otherwise

    def run(self) -> None:
        while True:
            try:
                route, wanted = self._queue.popleft()
            except IndexError:
                return
            if self._transfer.web.stopping:
                raise Stopped
            with no_room(None):
                self._bring(route, wanted)

    def _bring(self, route: str, wanted: dict[str, Wanted]) -> None:
        held: dict[str, int] = {}
        try:
            for path, (item, place) in wanted.items():
                try:
                    held[path] = blocks.make_held(place + blocks.DATA)
                except BlockingIOError:  # another process is downloading it
                    continue
                except OSError as error:
                    if error.errno not in _TOO_MANY_OPEN:
                        raise
                    while held:  # release all of them, so that threads that download one file at a time can open theirs
                        os.close(held.popitem()[1])
                    break
                if blocks.is_whole(place, item):  # or has downloaded it
                    os.unlink(place + blocks.DATA)
                    os.close(held.pop(path))
            came = self._ask(route, {path: wanted[path][0] for path in held}) if held else {}
            for path, data in came.items():
                if path in held and len(data) == wanted[path][0].size:
                    self._keep(held.pop(path), data, *wanted.pop(path))
        finally:
            for file in held.values():
                os.close(file)
        for item, place in wanted.values():
            self._otherwise(item, place)

    def _ask(self, route: str, items: dict[str, Item]) -> dict[str, memoryview]:
        """The files that arrived. A missing one is requested alone later, and then its error is reported."""
        one = next(iter(items.values()))
        address = self._transfer.where(one)
        asked = Address(address.url.removesuffix(one.url) + route, address.headers, address.what)
        body = json.dumps({"files": {path: item.etag for path, item in items.items()}}).encode()
        try:
            with self._transfer.web.ask("POST", asked, body=body) as answer:
                return dict(batches.read_named(answer.read()))
        except (Broken, RoostError):
            return {}

    def _keep(self, file: int, data: memoryview, item: Item, place: str) -> None:
        try:
            write_all(file, data)
            blocks.seal(file, item.modified_at)
            os.rename(place + blocks.DATA, place)
        finally:
            os.close(file)
        self._transfer.came(len(data))
