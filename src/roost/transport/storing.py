"""Uploads files to a datastore through the control plane: many small ones per request, several requests at once."""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from roost.blobs import batches
from roost.transport.carrying import SMALL
from roost.transport.client import Body, Client, path_of
from roost.transport.guarded_files import opened
from roost.transport.parallel import Look, in_parallel

Parcel = Sequence[tuple[str, Path]]
"""Files of one request, by their paths in the datastore."""
Deliver = Callable[[Callable[[], object]], object]
"""Calls a function that sends a parcel; may call it again after a failure."""

_AT_ONCE = 4
_BATCH = 4 * 1024 * 1024
_FEWEST, _MOST = 10, 500
_SECONDS = 600.0
"""How long one request may take."""


def store(
    client: Client,
    workspace: str,
    datastore: str,
    files: Parcel,
    *,
    deliver: Deliver = lambda send: send(),
    sent: Callable[[int], object] = lambda _: None,
    links: bool = True,
) -> int:
    """Writes files, replacing existing ones, so that a parcel may be sent twice; returns the number of bytes. `sent` is called
    for each parcel, by any thread. Without `links` no link is followed, even one made meanwhile. OSError for a file that cannot
    be read. Ctrl-C interrupts the current requests."""
    place = ("workspaces", workspace, "datastores", datastore, "files")

    def one(parcel: Parcel, look: Look) -> int:
        if len(parcel) > 1:
            files = [(name, _read(path, links)) for name, path in parcel]
            size = sum(len(data) for _, data in files)
            body = b"".join(batches.named(name, data) for name, data in files)
            deliver(lambda: put(path_of(*place), body, look))
        else:
            name, path = parcel[0]
            with _reached(path, links) as file:
                size = file.stat().st_size
                deliver(lambda: put(path_of(*place, name), file, look))
        sent(size)
        return size

    def put(route: str, body: Body, look: Look) -> None:
        look()
        client.call("PUT", route, params={"overwrite": "true"}, body=body, timeout=_SECONDS, during=look)

    return sum(in_parallel(one, list(_parcels(files)), _AT_ONCE, "roost-store"))


def _parcels(files: Parcel) -> Iterator[Parcel]:
    """Large files alone, small ones in batches: about as many batches as requests at once, since the control plane writes the
    files of a batch one by one, which is slow for an object store."""
    most = min(_MOST, max(_FEWEST, math.ceil(len(files) / _AT_ONCE)))
    batch: list[tuple[str, Path]] = []
    room = _BATCH
    for name, path in files:
        size = path.stat().st_size
        if size > SMALL:
            yield [(name, path)]
            continue
        batch.append((name, path))
        room -= size
        if room <= 0 or len(batch) == most:
            yield batch
            batch, room = [], _BATCH
    if batch:
        yield batch


@contextlib.contextmanager
def _reached(path: Path, links: bool) -> Iterator[Path]:
    if links:
        yield path
        return
    with opened([path]) as (file,):
        yield file


def _read(path: Path, links: bool) -> bytes:
    with _reached(path, links) as file:
        return file.read_bytes()
