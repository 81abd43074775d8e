"""Who may speak to the server at all: Host and Origin, before any route and any token."""

import socket
from urllib.parse import urlsplit

import pytest
from tests.shared.api_servers import ApiServer

from roost.api.guard import host_headers


def _port(api: ApiServer) -> int:
    return urlsplit(api.url).port or 0


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_loopback_names_with_the_port(api: ApiServer, name: str) -> None:
    assert api.stranger.get("/api/health", headers={"Host": f"{name}:{_port(api)}"}).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "localhost:1", "", "127.0.0.1.evil:{port}"]
)
def test_foreign_hosts_are_refused_even_with_a_token(api: ApiServer, host: str) -> None:
    answer = api.person.get("/api/workspaces", headers={"Host": host.format(port=_port(api))})
    assert (answer.status, answer.error["code"]) == (403, "forbidden")


def test_who_comes_through_a_tunnel_is_told_where_its_host_is_allowed(api: ApiServer) -> None:
    hint = api.person.get("/api/workspaces", headers={"Host": "localhost:1"}).error["hint"]
    assert "where the control plane runs" in hint
    assert "ROOST_ALLOWED_HOSTS" in hint
    assert "start it again: roost down, then roost up" in hint


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost"])
def test_foreign_origins_are_refused(api: ApiServer, origin: str) -> None:
    answer = api.person.get("/api/workspaces", headers={"Origin": origin})
    assert (answer.status, answer.error["code"]) == (403, "forbidden")


def test_its_own_origin_is_taken(api: ApiServer) -> None:
    assert api.person.get("/api/workspaces", headers={"Origin": api.url}).status == 200


def test_two_hosts_and_none(api: ApiServer) -> None:
    for hosts in (f"Host: 127.0.0.1:{_port(api)}\r\nHost: evil\r\n", ""):
        with socket.create_connection(("127.0.0.1", _port(api)), 10) as raw:
            raw.sendall(f"GET /api/health HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n".encode())
            assert raw.recv(100).split()[1] in (b"400", b"403")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        *(("control character", name) for name in ("q%0a", "q%0A", "q%00", "%0aq", "q%7f", "q%c2%85", "q%0a/")),
        *(("UTF-8", name) for name in ("%ff", "%fe", "a%ff", "%ed%a0%80", "%c0%af")),
    ],
)
def test_two_addresses_never_mean_one_file(api: ApiServer, name: str, words: str) -> None:
    """The framework drops a line break at the end, and reads whatever is not UTF-8 as one letter."""
    files = "/api/workspaces/vision/datastores/workspaceblobstore/files"
    before = api.person.get("/api/workspaces/vision/datastores/workspaceblobstore/items").json["items"]
    for method, path in (
        ("PUT", f"{files}/{name}"),
        ("GET", f"{files}/{name}"),
        ("GET", f"/api/runs/train_1_ab/files/{name}"),
        ("GET", f"/api/runs/{name}"),
        ("PUT", f"/api/workspaces/{name}"),
    ):
        answer = api.person.call(method, path, b"x" if method == "PUT" else None)
        assert (answer.status, answer.error["code"]) == (400, "invalid_input"), (method, path)
        assert words in answer.error["message"]
    items = api.person.get(f"/api/workspaces/vision/datastores/workspaceblobstore/items?path={name}")
    assert items.status == 400
    assert api.person.get("/api/workspaces/vision/datastores/workspaceblobstore/items").json["items"] == before


def test_letters_of_every_language_are_names(api: ApiServer) -> None:
    path = "/api/workspaces/vision/datastores/workspaceblobstore/files/%E6%97%A5%20%25%EF%BF%BD"
    assert api.person.put(path, b"x").status == 200
    assert api.person.get(path).body == b"x"


def test_which_hosts_mean_this_server() -> None:
    assert host_headers((), 80) >= {"localhost", "localhost:80", "[::1]"}
    assert host_headers(("gpu.lan", "proxy.lan:443", "fe80::1"), 8000) == {
        "127.0.0.1:8000",
        "localhost:8000",
        "[::1]:8000",
        "gpu.lan:8000",
        "proxy.lan:443",
        "[fe80::1]:8000",
    }
