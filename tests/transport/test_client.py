"""The client against real sockets that misbehave."""

import errno
import json
import os
import re
import socket
import ssl
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.shared.certificates import self_signed

from roost.domain.errors import Busy, DiskFull, InvalidInput, NotFound, RoostError, Unavailable
from roost.transport.client import Client, Endpoint, path_of

Reply = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Server"

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def handle_any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.server.seen.append((self.command, self.path, self.headers["Authorization"], self.rfile.read(length)))
        script = self.server.script
        (script.pop(0) if len(script) > 1 else script[0])(self)

    do_GET = do_POST = do_PUT = handle_any

    def log_message(self, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.scheme = "https" if context else "http"
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.script: list[Reply] = [lambda h: h.reply(200, b'{"ok": 1}')]
        self.seen: list[tuple[str, str, str, bytes]] = []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that left is no event."""

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["http", "https"])
def either(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    context = None
    if request.param == "https":
        certificate = self_signed(tmp_path)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
    server = Server(context)
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    client = Client(lambda: Endpoint(server.url, "secret"), patience=5.0)
    yield client
    client.close()


def hang_up(handler: Handler) -> None:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def test_json_travels_both_ways_with_the_token(server: Server, client: Client) -> None:
    assert client.call("POST", "/api/x", params={"a": "b c", "none": None}, json={"k": [1]}) == {"ok": 1}
    assert server.seen == [("POST", "/api/x?a=b+c", "Bearer secret", b'{"k": [1]}')]


BUSY = json.dumps({"error": {"code": "busy", "message": "64 reads wait already.", "hint": "Again."}}).encode()


def test_one_that_has_no_time_is_asked_again_when_it_says(server: Server, client: Client, tmp_path: Path) -> None:
    server.script = [lambda h: h.reply(503, BUSY, Retry_After="0"), lambda h: h.reply(200, b'{"ok": 3}')]
    assert client.call("POST", "/api/x", json={}) == {"ok": 3}
    server.script = [lambda h: h.reply(503, BUSY, Retry_After="0"), lambda h: h.reply(200, b"bytes")]
    assert client.download("/api/f", tmp_path / "f") == 5
    assert len(server.seen) == 4


def test_one_that_has_no_time_for_long_is_not_called_dead(server: Server) -> None:
    server.script = [lambda h: h.reply(503, BUSY, Retry_After="1")]
    client = Client(lambda: Endpoint(server.url, "secret"), patience=0.1)
    with closing(client), pytest.raises(Busy, match="64 reads wait already"):
        client.call("GET", "/api/x")
    assert client.away == 0


def test_one_that_takes_a_request_and_does_not_answer_is_not_called_dead() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = Client(lambda: Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}", "secret"), patience=0.1)
        with closing(client), pytest.raises(Busy, match="took the request, and has not answered"):
            client.call("GET", "/api/x", timeout=0.2)


def test_a_file_is_sent_whole(server: Server, client: Client, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 300_000)
    client.call("PUT", "/api/f", body=tmp_path / "f")
    assert len(server.seen[0][3]) == 300_000


def test_a_file_is_sent_from_its_start_when_it_is_tried_again(server: Server, client: Client, tmp_path: Path) -> None:
    data = os.urandom(300_000)
    (tmp_path / "f").write_bytes(data)
    server.script = [hang_up, hang_up, lambda h: h.reply(200, b'{"ok": 2}')]
    assert client.call("PUT", "/api/f", body=tmp_path / "f") == {"ok": 2}
    assert [body == data for _, _, _, body in server.seen] == [True] * 3


def once(deed: Callable[[], object]) -> Callable[[], None]:
    left = [deed]

    def do() -> None:
        if left:
            left.pop()()

    return do


def test_of_a_file_that_grows_only_what_was_announced_is_sent(either: Server, tmp_path: Path) -> None:
    path, data = tmp_path / "f", os.urandom(9_000_000)
    path.write_bytes(data)

    def grow() -> None:
        with path.open("ab") as file:
            file.write(b"GET /api/more HTTP/1.1\r\n\r\n")

    with closing(Client(lambda: Endpoint(either.url, "t"), patience=0.0)) as client:
        client.call("PUT", "/api/f", body=path, during=once(grow))
        client.call("GET", "/api/x")
    assert [asked[1] for asked in either.seen] == ["/api/f", "/api/x"]
    assert either.seen[0][3] == data


def test_a_file_that_becomes_shorter_is_the_files_fault(either: Server, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(os.urandom(9_000_000))
    with closing(Client(lambda: Endpoint(either.url, "t"), patience=5.0)) as client:
        with pytest.raises(OSError, match="shorter") as caught:
            client.call("PUT", "/api/f", body=path, during=once(lambda: os.truncate(path, 1000)), timeout=2.0)
        assert caught.value.filename == str(path)
        assert client.call("GET", "/api/x") == {"ok": 1}


def test_a_file_that_cannot_be_opened_is_not_tried_again(server: Server, client: Client, tmp_path: Path) -> None:
    for path, problem in ((tmp_path / "gone", FileNotFoundError), (tmp_path, IsADirectoryError)):
        with pytest.raises(problem) as caught:
            client.call("PUT", "/api/f", body=path)
        assert str(caught.value.filename) == str(path)
    assert server.seen == []


def test_a_file_that_cannot_be_read_is_not_tried_again(
    server: Server, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"x" * 300_000)

    def broken(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="Input/output error") as caught:
        patch.setattr(socket.socket, "sendfile", broken)
        patch.setattr(os, "pread", broken)
        client.call("PUT", "/api/f", body=tmp_path / "f")
    assert (caught.value.errno, caught.value.filename) == (errno.EIO, str(tmp_path / "f"))


def test_an_error_answer_is_the_same_class_here(server: Server, client: Client) -> None:
    body = json.dumps({"error": {"code": "not_found", "message": "no run x", "hint": "look"}}).encode()
    server.script = [lambda h: h.reply(404, body)]
    with pytest.raises(NotFound, match="no run x") as caught:
        client.call("GET", "/api/runs/x")
    assert caught.value.hint == "look"
    assert len(server.seen) == 1, "an answer is not asked for twice"


@pytest.mark.parametrize("status", [200, 500])
def test_something_that_is_not_roost_is_told_apart(server: Server, client: Client, status: int) -> None:
    server.script = [lambda h: h.reply(status, b"<html>\n  proxy\n</html>")]
    with pytest.raises(
        RoostError, match=f"answered {status} with something that is not Roost's: '<html> proxy </html>'"
    ):
        client.call("GET", "/api/x")


def test_a_cut_connection_is_tried_again(server: Server, client: Client) -> None:
    server.script = [hang_up, hang_up, lambda h: h.reply(200, b'{"ok": 2}')]
    assert client.call("GET", "/api/x") == {"ok": 2}


def test_an_answer_cut_short_is_tried_again(server: Server, client: Client, tmp_path: Path) -> None:
    def short(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100")
        handler.end_headers()
        handler.wfile.write(b"half")
        hang_up(handler)

    server.script = [short, lambda h: h.reply(200, b"whole")]
    assert client.download("/api/f", tmp_path / "f") == 5
    assert (tmp_path / "f").read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["f"]


def test_a_failed_download_leaves_nothing(server: Server, client: Client, tmp_path: Path) -> None:
    server.script = [lambda h: h.reply(404, b'{"error": {"code": "not_found", "message": "gone", "hint": ""}}')]
    with pytest.raises(NotFound):
        client.download("/api/f", tmp_path / "f")
    assert os.listdir(tmp_path) == []


def test_a_download_follows_no_link(client: Client, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("of somebody else")
    (tmp_path / f".f.{os.getpid()}.{threading.get_ident()}.part").symlink_to(tmp_path / "other")
    with pytest.raises(DiskFull):
        client.download("/api/f", tmp_path / "f")
    assert (tmp_path / "other").read_text() == "of somebody else"


def test_a_download_that_cannot_be_written_is_not_tried_again(server: Server, client: Client, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for target in (tmp_path / "no" / "f", tmp_path / "file" / "f"):
        with pytest.raises(DiskFull, match=f"{target} cannot be written"):
            client.download("/api/f", target)
    assert server.seen == []


def test_a_control_plane_that_came_back_elsewhere_is_found(tmp_path: Path) -> None:
    first, second = Server(), Server()
    where = [first]
    client = Client(lambda: Endpoint(where[0].url, "t"), patience=5.0)
    assert client.call("GET", "/api/x") == {"ok": 1}
    first.shutdown()
    first.server_close()
    where[0] = second
    assert client.call("GET", "/api/x") == {"ok": 1}
    assert len(second.seen) == 1
    client.close()
    second.shutdown()
    second.server_close()


def test_nobody_there_says_where_and_what_to_do() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(Unavailable, match=url) as caught:
        Client(lambda: Endpoint(url, "t"), patience=0.0).call("GET", "/api/x")
    assert "roost up" in caught.value.hint
    assert "direct cause" not in "".join(traceback.format_exception(caught.value))


def test_why_there_is_no_address_is_said_as_it_is() -> None:
    def locate() -> Endpoint:
        raise Unavailable("It was shut down.", hint="Bring it back.")

    with pytest.raises(Unavailable, match=r"^It was shut down\.\nhint: Bring it back\.$"):
        Client(locate, patience=0.0).call("GET", "/api/x")


def test_a_patient_call_ends_when_it_is_not_wanted_any_more() -> None:
    asked: list[int] = []

    def wanted() -> bool:
        asked.append(1)
        return len(asked) < 3

    with pytest.raises(Unavailable):
        Client(lambda: Endpoint("http://127.0.0.1:9", "t"), patience=float("inf"), wanted=wanted).call("GET", "/x")
    assert len(asked) == 3


@pytest.mark.parametrize("url", ["ftp://x", "x", "http://", "http://x:port", "http://x:99999", "http://[::1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(repr(url))):
        Client(lambda: Endpoint(url, "t")).call("GET", "/x")


def test_a_proxy_in_the_environment_is_not_used(
    server: Server, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert client.call("GET", "/api/x") == {"ok": 1}


def test_after_a_fork_parent_and_child_do_not_share_a_connection(server: Server, client: Client) -> None:
    client.call("GET", "/api/parent")
    pid = os.fork()
    if pid == 0:
        try:
            client.call("GET", "/api/child")
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    assert client.call("GET", "/api/parent") == {"ok": 1}


def test_paths_are_quoted() -> None:
    assert path_of("runs", "a/b", "files", "outputs/a b#c%2e.txt") == "/api/runs/a%2Fb/files/outputs/a%20b%23c%252e.txt"


def _error(code: str) -> bytes:
    return json.dumps({"error": {"code": code, "message": "m", "hint": ""}}).encode()


def test_a_call_that_came_at_the_wrong_moment_is_made_again(server: Server, client: Client, tmp_path: Path) -> None:
    server.script = [
        lambda h: h.reply(503, _error("busy"), retry_after="1"),
        lambda h: h.reply(408, _error("too_slow")),
        lambda h: h.reply(200, b'{"ok": 2}'),
    ]
    assert client.call("PUT", "/api/x", body=b"all of it") == {"ok": 2}
    assert [body for *_, body in server.seen] == [b"all of it"] * 3
    server.script = [lambda h: h.reply(503, _error("busy"), retry_after="1"), lambda h: h.reply(200, b"data")]
    assert client.download("/api/x", tmp_path / "x") == 4


def test_a_call_whose_moment_never_comes_says_why(server: Server, client: Client) -> None:
    server.script = [lambda h: h.reply(503, _error("busy"), retry_after="1")]
    with closing(Client(lambda: Endpoint(server.url, "secret"), patience=0.1)) as hurried, pytest.raises(Busy):
        hurried.call("GET", "/api/x")
    server.seen.clear()
    server.script = [lambda h: h.reply(503, _error("unavailable"))]
    with pytest.raises(Unavailable):
        client.call("GET", "/api/x")
    assert len(server.seen) == 1
