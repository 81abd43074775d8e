"""The process behind a mount: `python -m roost.data.mount_process SOCKET`. A read-only FUSE file system of a dataset's files.

It receives the list of files over its socket, requests a file's address there each time, so that it holds no token, and reports
read errors there. When the other end closes, the mounting process is gone, and this process removes the mount.
"""

import errno
import json
import os
import queue
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import mfusepy

from roost.data.cache import Cache
from roost.data.remote_files import BlockFile, LocalFile, opened
from roost.data.transfers import NO_ROOM, Transfer
from roost.data.web import Address, Web
from roost.domain.codec import decode
from roost.domain.datastores import Item
from roost.domain.errors import DiskFull, RoostError

_FOLDER = stat.S_IFDIR | 0o555
_FILE = stat.S_IFREG | 0o444


class Channel:
    """The socket to the mounting process: lines of JSON. Implements the address interface that `Transfer` needs."""

    def __init__(self, file: int, target: str = "") -> None:
        self._socket = socket.socket(fileno=file)
        self._lines = self._socket.makefile("rb")
        self._asking, self._sending = threading.Lock(), threading.Lock()
        self._answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.target = target

    def first(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self._lines.readline())
        self.target = told["target"]
        threading.Thread(target=self._listen, daemon=True).start()
        return told

    def of(self, name: str) -> Address:
        answer = self._ask({"address": name})
        if "error" in answer:
            raise RoostError(answer["error"])
        return Address(answer["url"], answer["headers"], answer["what"])

    def renew(self, name: str) -> bool:
        return bool(self._ask({"renew": name})["renewed"])

    def say(self, **message: object) -> None:
        with self._sending:
            self._socket.sendall(json.dumps(message).encode() + b"\n")

    def _ask(self, question: dict[str, object]) -> dict[str, Any]:
        with self._asking:
            self.say(**question)
            return self._answers.get()

    def _listen(self) -> None:
        for line in self._lines:
            self._answers.put(json.loads(line))
        subprocess.run(["fusermount3", "-uz", self.target], stderr=subprocess.DEVNULL, check=False)
        os._exit(0)


class Files:
    """The FUSE operations. Names of methods and arguments are mfusepy's."""

    use_ns = True

    def __init__(self, items: list[Item], cache: Cache, channel: Channel) -> None:
        self._cache, self._channel = cache, channel
        self._transfer = Transfer(Web(), channel)
        self._items = {f"/{item.name}": item for item in items}
        self._folders: dict[str, list[str]] = {"/": []}
        self._began = time.time()
        self._lock = threading.Lock()
        self._handles: dict[int, LocalFile | BlockFile] = {}
        self._shared: dict[str, tuple[BlockFile, int]] = {}
        self._number = 0
        self._told: set[str] = set()
        for path in self._items:
            self._add(path)

    def init(self, path: str) -> None:  # noqa: ARG002
        self._channel.say(ready=True)

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:  # noqa: ARG002
        item = self._items.get(path)
        if item is None and path not in self._folders:
            raise OSError(errno.ENOENT, "")
        changed = int((item.modified_at or self._began if item else self._began) * 10**9)
        about = {
            "st_uid": os.getuid(),
            "st_gid": os.getgid(),
            "st_mtime": changed,
            "st_ctime": changed,
            "st_atime": changed,
        }
        if item is None:
            return {**about, "st_mode": _FOLDER, "st_nlink": 2}
        size = item.size if item.size is not None else os.stat(item.path).st_size
        return {**about, "st_mode": _FILE, "st_nlink": 1, "st_size": size, "st_blocks": -(-size // 512)}

    def readdir(self, path: str, fh: int) -> list[str]:  # noqa: ARG002
        if path not in self._folders:
            raise OSError(errno.ENOENT, "")
        return [".", "..", *self._folders[path]]

    def open(self, path: str, flags: int) -> int:
        item = self._items.get(path)
        if item is None:
            raise OSError(errno.ENOENT, "")
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, "")
        try:
            handle = opened(item, self._cache, self._transfer, lambda: self._blockwise(path, item))
        except Exception as error:
            raise self._problem(item, error) from error
        with self._lock:
            self._number += 1
            self._handles[self._number] = handle
            return self._number

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        try:
            return self._handles[fh].read(offset, size)
        except Exception as error:
            raise self._problem(self._items[path], error) from error

    def release(self, path: str, fh: int) -> int:
        with self._lock:
            handle = self._handles.pop(fh)
            if isinstance(handle, BlockFile):
                shared, count = self._shared[path]
                if count > 1:
                    self._shared[path] = (shared, count - 1)
                    return 0
                del self._shared[path]
        handle.close()
        return 0

    def statfs(self, path: str) -> dict[str, int]:  # noqa: ARG002
        blocks = sum(-(-(item.size or 0) // 4096) for item in self._items.values())
        return {"f_bsize": 4096, "f_frsize": 4096, "f_blocks": blocks, "f_files": len(self._items), "f_namemax": 255}

    def _blockwise(self, path: str, item: Item) -> BlockFile:
        """One object for all readers of the file."""
        with self._lock:
            file, count = self._shared.get(path, (None, 0))
            file = file or BlockFile(item, self._cache, self._transfer)
            self._shared[path] = (file, count + 1)
            return file

    def _problem(self, item: Item, error: Exception) -> OSError:
        """Reports the problem once in words; the script gets an I/O error, or "disk full"."""
        text = error.message if isinstance(error, RoostError) else f"{type(error).__name__}: {error}"
        full = isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in NO_ROOM)
        if full:
            hint = "Free some room there, or set ROOST_HOME to a folder on a larger disk."
            text = f"The disk of the data cache {self._cache.root} is full. {hint}"
        if text not in self._told and len(self._told) < 1000:
            self._told.add(text)
            self._channel.say(problem=f"{item.name} cannot be read: {text}")
        return OSError(errno.ENOSPC if full else errno.EIO, text)

    def _add(self, path: str) -> None:
        """Adds the folders above a path, with their entries."""
        while path != "/":
            above = os.path.dirname(path)
            known = above in self._folders
            self._folders.setdefault(above, []).append(os.path.basename(path))
            if known:
                return
            path = above


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in a notebook is not meant for the mount
    channel = Channel(int(sys.argv[1]))
    told = channel.first()
    items = [decode(Item, item) for item in told["items"]]
    cache = Cache(Path(told["home"]), told["limit"])
    options: dict[str, object] = {"allow_other": True} if os.geteuid() == 0 else {}
    # Files do not change here, so the kernel may cache their contents and attributes.
    options.update(kernel_cache=True, attr_timeout=3600, entry_timeout=3600, negative_timeout=3600)
    files = Files(items, cache, channel)
    mfusepy.FUSE(files, channel.target, foreground=True, ro=True, fsname="roost", subtype="roost", **options)
    os._exit(0)  # threads that read ahead are no longer needed


if __name__ == "__main__":
    main()
