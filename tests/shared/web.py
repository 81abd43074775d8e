"""A small web server of files for tests: it counts what is asked for, and can be taken away."""

import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_KEPT: list[socket.socket] = []
"""Ports of servers that are gone, until the tests end."""


class Web:
    """Files by path. `bodies` counts the bodies that were sent for each."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        self.bodies: dict[str, int] = {}
        self.flows = threading.Event()
        """Cleared, bodies are held back after their first bytes."""
        self.flows.set()
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                web.serve(self)

            do_HEAD = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path.lstrip("/")
        data = self.files.get(path)
        if data is None:
            handler.send_error(404)
            return
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.send_header("ETag", f'"{hash(data) & 0xFFFFFFFF:x}"')
        handler.end_headers()
        if handler.command == "GET":
            self.bodies[path] = self.bodies.get(path, 0) + 1
            first = len(data) if self.flows.is_set() else 1000
            handler.wfile.write(data[:first])
            if data[first:]:
                self.flows.wait(60)
                with contextlib.suppress(OSError):
                    handler.wfile.write(data[first:])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        # Bound and not listened at, the port refuses who asks: else a server of another test could be there by then.
        place = socket.socket()
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind(("127.0.0.1", self._server.server_port))
        _KEPT.append(place)


@contextmanager
def serving(files: Mapping[str, bytes]) -> Iterator[Web]:
    web = Web(files)
    try:
        yield web
    finally:
        web.close()
