"""A package index of a folder of wheels, behind a name and a password, or open to all."""

import base64
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self


class Index:
    """Answers at `host` while it is entered. `refused` counts those that were turned away; without a password none is."""

    def __init__(self, folder: Path, user: str = "ann", password: str = "open-sesame", host: str = "127.0.0.1") -> None:
        self.folder = folder
        self.refused = 0
        expected = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if password and self.headers.get("Authorization") != expected:
                    index.refused += 1
                    return self.answer(401, b"")
                parts = self.path.strip("/").split("/")
                if parts[0] == "files":
                    return self.answer(200, (index.folder / parts[1]).read_bytes())
                wanted = re.sub(r"[-_.]+", "-", parts[-1]).lower()
                names = [each.name for each in index.folder.glob("*.whl") if _package(each.name) == wanted]
                links = "".join(f'<a href="/files/{name}">{name}</a>' for name in names)
                return self.answer(200 if names else 404, links.encode(), "text/html")

            do_HEAD = do_GET

            def answer(self, status: int, body: bytes, kind: str = "application/octet-stream") -> None:
                self.send_response(status)
                if status == 401:
                    self.send_header("WWW-Authenticate", 'Basic realm="packages"')
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer((host, 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def address(self) -> str:
        return f"{self._server.server_address[0]!s}:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _package(wheel: str) -> str:
    """The package that a wheel is of, as an index calls it."""
    return re.sub(r"[-_.]+", "-", wheel.partition("-")[0]).lower()
