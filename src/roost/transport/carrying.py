"""Moves blobs. On the control plane's own machine it copies files into and out of the blob folder; elsewhere it uses HTTP, sends
only missing blobs, and many small ones per request. `lay_out` makes a run's working copy from a manifest.
"""

import functools
import os
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from roost.blobs import batches
from roost.blobs.folder import FolderBlobs
from roost.blobs.hashing import hash_beside, hash_bytes, hash_file
from roost.domain import files, names
from roost.domain.errors import InvalidInput, NotFound
from roost.transport.client import Client, path_of

Meanwhile = Callable[[], None]
"""Called between files, and within large ones, by any thread."""

SMALL = 256 * 1024
"""Blobs up to this size are sent together."""
LARGE = 32 * 1024 * 1024
"""From this size on, a file is hashed while it is sent, so that it is not read twice."""
_BATCH = 4 * 1024 * 1024
_PATIENCE = 600.0
_NAMES_AT_ONCE = 2000
_COPIERS = 2


class _KnownError(Exception):
    """The control plane already has the file that is being sent."""


class Carrier:
    """`cache`: the folder for fetched blobs, on a node that is not on the control plane's machine."""

    def __init__(self, client: Client, cache: Path | None = None) -> None:
        self._client = client
        self._cache = cache

    @functools.cached_property
    def shared(self) -> FolderBlobs | None:
        """The control plane's own folder, if this process can write to it and the file of this instance is in it."""
        server = self._client.call("GET", "/api/server")
        folder = Path(server["blob_folder"]) if server.get("blob_folder") else None
        if folder and (folder / f".roost-{server['instance']}").exists() and os.access(folder, os.W_OK):
            return FolderBlobs(folder)
        return None

    def put(self, data: bytes) -> str:
        """Stores small content; returns its hash."""
        if self.shared:
            return self.shared.put(data)
        name = hash_bytes(data)
        if self._missing([name]):
            self._client.call("PUT", path_of("blobs", name), body=data)
        return name

    def carry(self, paths: Sequence[Path], likely: Container[int] = ()) -> list[tuple[str, int]]:
        """Stores files; returns hash and size of each, in the given order. Files with a size in `likely` are probably stored
        already: they are hashed before anything is copied."""
        if self.shared:
            return [_stored(self.shared, path, likely) or self.shared.put_file(path) for path in paths]
        hashed = {path: (hash_file(path), size) for path in paths if (size := path.stat().st_size) < LARGE}
        by_name = {name: path for path, (name, _) in hashed.items()}
        small: list[tuple[str, Path]] = []
        for name in self._missing(by_name):
            if hashed[by_name[name]][1] <= SMALL:
                small.append((name, by_name[name]))
            else:
                self._client.call("PUT", path_of("blobs", name), body=by_name[name], timeout=_PATIENCE)
        for batch in _batches(small):
            self._client.call("POST", "/api/blobs/batch", body=batch)
        return [hashed.get(path) or self._carry_large(path) for path in paths]

    def _carry_large(self, path: Path) -> tuple[str, int]:
        """Sends a file while it is hashed. Sending stops when the hash shows that the control plane has the file; hashing stops
        when the whole file is sent."""
        sent = threading.Event()
        with ThreadPoolExecutor(1, "roost-hash") as pool:
            known = pool.submit(self._find, path, sent)

            def look() -> None:
                if known.done() and not known.exception() and known.result()[1]:
                    raise _KnownError

            try:
                kept = self._client.call("POST", "/api/blobs", body=path, timeout=_PATIENCE, during=look)
                return kept["name"], kept["size"]
            except _KnownError:
                return known.result()[0], path.stat().st_size
            finally:
                sent.set()

    def _find(self, path: Path, sent: threading.Event) -> tuple[str, bool]:
        """The hash of a file, and True when the control plane has it; the hash is empty when the file is sent first."""
        name = hash_beside(path, lambda: not sent.is_set())
        return name, bool(name) and not self._missing([name])

    def get(self, name: str) -> bytes:
        if self.shared:
            return self.shared.get(name)
        return self._client.fetch("GET", path_of("blobs", names.blob(name))).body

    def fetch(self, name: str, target: Path) -> None:
        """Writes a blob to a file that does not exist yet."""
        if self.shared:
            self.shared.copy_to(name, target, 0o600)
        else:
            self._client.download(path_of("blobs", names.blob(name)), target)

    def lay_out(self, manifest: str, folder: Path, meanwhile: Meanwhile = lambda: None) -> int:
        """Makes the manifest's files in an empty folder, as independent copies; returns their number. Nothing is written outside
        it. An error from `meanwhile` ends the work."""
        entries = files.read_manifest(self.get(manifest))
        source = self.source(entries, meanwhile)
        for place in sorted({os.path.dirname(entry.path) for entry in entries if "/" in entry.path}):
            os.makedirs(folder / place, exist_ok=True)
        plain = [entry for entry in entries if entry.kind is files.EntryKind.FILE]
        root = str(folder)

        def copy(stretch: Sequence[files.Entry]) -> None:
            for entry in stretch:
                meanwhile()
                source.copy_to(entry.content, Path(f"{root}/{entry.path}"), entry.mode, lambda _: meanwhile())

        if len(plain) <= 32:
            copy(plain)
        else:
            with ThreadPoolExecutor(_COPIERS) as pool:
                # Neighbouring files go to one thread: two threads that make files in one folder wait for each other.
                share = -(-len(plain) // _COPIERS)
                list(pool.map(copy, (plain[i * share : (i + 1) * share] for i in range(_COPIERS))))
        for entry in entries:  # links last: no file is ever written through one
            if entry.kind is files.EntryKind.FOLDER:
                os.makedirs(folder / entry.path, exist_ok=True)
            elif entry.kind is files.EntryKind.LINK:
                os.symlink(entry.content, folder / entry.path)
        return len(entries)

    def source(self, entries: Sequence[files.Entry], meanwhile: Meanwhile = lambda: None) -> FolderBlobs:
        """Blobs on this machine with the content of these entries; fetched first if necessary."""
        return self.shared or self._fetched(entries, meanwhile)

    def _missing(self, wanted: Iterable[str]) -> list[str]:
        every = list(wanted)
        missing: list[str] = []
        for start in range(0, len(every), _NAMES_AT_ONCE):
            asked = every[start : start + _NAMES_AT_ONCE]
            missing += self._client.call("POST", "/api/blobs/missing", json={"names": asked})["missing"]
        return missing

    def _fetched(self, entries: Sequence[files.Entry], meanwhile: Meanwhile) -> FolderBlobs:
        """This node's cache, after fetching every file of the entries into it."""
        if self._cache is None:
            raise NotFound("There is no folder to keep fetched blobs in.")
        cache = FolderBlobs(self._cache)
        sizes = {entry.content: entry.size for entry in entries if entry.kind is files.EntryKind.FILE}
        small: list[str] = []
        for name in cache.missing(sizes):
            if sizes[name] <= SMALL:
                small.append(name)
            else:
                meanwhile()
                cache.put_fetched(name, functools.partial(self._download, name, meanwhile))
        for start in range(0, len(small), 500):
            meanwhile()
            answer = self._client.fetch("POST", "/api/blobs/fetch", json={"names": small[start : start + 500]})
            for name, data in batches.read(answer.body):
                if cache.put(data) != name:
                    raise InvalidInput(f"Blob {name} arrived damaged.")
        return cache

    def _download(self, name: str, meanwhile: Meanwhile, target: Path) -> None:
        self._client.download(path_of("blobs", name), target, progress=lambda *_: meanwhile())


def _stored(blobs: FolderBlobs, path: Path, likely: Container[int]) -> tuple[str, int] | None:
    size = path.stat().st_size
    if size <= SMALL or size not in likely:
        return None
    name = hash_file(path)
    found = blobs.keep(name)
    return None if found is None else (name, found)


def _batches(small: Sequence[tuple[str, Path]]) -> Iterator[bytes]:
    """Bodies of `POST /api/blobs/batch`."""
    batch, size = [], 0
    for name, path in small:
        data = path.read_bytes()
        batch.append(batches.head(name, len(data)) + data)
        size += len(data)
        if size >= _BATCH or len(batch) == batches.MAX_COUNT:
            yield b"".join(batch)
            batch, size = [], 0
    if batch:
        yield b"".join(batch)
