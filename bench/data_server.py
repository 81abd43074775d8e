"""A plain file server for the data benchmark, fast enough not to be what is measured: `python -m bench.data_server FOLDER AWAY`.

HTTP/1.1 with keep-alive and ranges. Small files are answered from memory AWAY seconds later, large ones by the kernel's sendfile.
Prints its port.
"""

import asyncio
import email.utils
import os
import re
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import uvloop

SMALL = 1024 * 1024
RANGE = re.compile(rb"range: bytes=(\d+)-(\d*)", re.IGNORECASE)


class Server(asyncio.Protocol):
    """`kept` holds whole answers."""

    def __init__(self, folder: Path, kept: dict[str, bytes], away: float) -> None:
        self.folder, self.kept, self.away, self.waiting = folder, kept, away, b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.waiting += data
        while b"\r\n\r\n" in self.waiting:
            head, _, self.waiting = self.waiting.partition(b"\r\n\r\n")
            name = head.split(b" ", 2)[1].decode().lstrip("/")
            if name not in self.kept:
                self.answer_large(self.folder / name, head)
            elif self.away:
                asyncio.get_running_loop().call_later(self.away, self.transport.write, self.kept[name])
            else:
                self.transport.write(self.kept[name])

    def answer_large(self, path: Path, head: bytes) -> None:
        size, asked = path.stat().st_size, RANGE.search(head)
        start = int(asked[1]) if asked else 0
        end = min(int(asked[2]) + 1, size) if asked and asked[2] else size
        more = f"Content-Range: bytes {start}-{end - 1}/{size}\r\n" if asked else ""
        target = socket.socket(fileno=os.dup(self.transport.get_extra_info("socket").fileno()))
        text = headed(206 if asked else 200, path, end - start, more)
        threading.Thread(target=send, args=(target, text, path, start, end), daemon=True).start()


def headed(status: int, path: Path, length: int, more: str = "") -> bytes:
    """The head of an answer."""
    changed = email.utils.formatdate(path.stat().st_mtime, usegmt=True)
    return f"HTTP/1.1 {status} OK\r\nContent-Length: {length}\r\nLast-Modified: {changed}\r\n{more}\r\n".encode()


def send(target: socket.socket, head: bytes, path: Path, start: int, end: int) -> None:
    """From a thread, past the event loop; the reader may leave at any time."""
    try:
        with target, path.open("rb") as file:
            target.setblocking(True)
            target.sendall(head)
            while start < end:
                start += os.sendfile(target.fileno(), file.fileno(), start, min(end - start, 4 * 1024 * 1024))
    except OSError:
        return


async def main(folder: Path, away: float) -> None:
    small = [path for path in folder.iterdir() if path.stat().st_size <= SMALL]
    kept = {path.name: headed(200, path, path.stat().st_size) + path.read_bytes() for path in small}
    server = await asyncio.get_running_loop().create_server(lambda: Server(folder, kept, away), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1]), float(sys.argv[2])))
