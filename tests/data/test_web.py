"""The way to the web: proxies, certificates, connections that are used again."""

import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.shared.certificates import self_signed
from tests.shared.servers import MODIFIED, Server, content, serving

from roost.data import web_connections
from roost.data.blocks import BLOCK
from roost.data.cache import Cache
from roost.data.fetching import fetch
from roost.data.web import Address, Web
from roost.domain.datastores import Item
from roost.domain.errors import RoostError, Unavailable


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return self_signed(tmp_path)


@pytest.fixture
def secure(certificate: Path) -> Iterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    web_connections._context.cache_clear()
    with serving(context) as made:
        yield made
    web_connections._context.cache_clear()


class TestCertificates:
    def test_those_of_the_system_are_trusted(
        self, secure: Server, certificate: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        items = [secure.put(f"{n}", content(100 * n, str(n))) for n in range(40)]
        items.append(secure.put("large", content(2 * BLOCK + 5)))
        items.append(secure.put("middle", content(200_000)))
        assert [path.read_bytes() for path in fetch(items, cache)] == [
            secure.files[item.name].content for item in items
        ]

    def test_others_are_not(self, secure: Server, cache: Cache) -> None:
        with pytest.raises(Unavailable, match=r"/x cannot be read: .*certificate"):
            fetch([secure.put("x", b"x")], cache, web=Web(pause=0.01))


class TestProxies:
    def test_for_other_machines(self, server: Server, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", server.url.replace("http://", "http://me:secret@"))
        for size in (10, 2 * BLOCK):
            far = f"http://data.example.invalid/{size}.bin"
            server.put(far, content(size))
            (path,) = fetch([Item(name="f", url=far, size=size, modified_at=MODIFIED)], cache)
            assert path.read_bytes() == content(size)

    def test_never_for_loopback(self, server: Server, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        monkeypatch.delenv("no_proxy", raising=False)
        (path,) = fetch([server.put("f", b"near")], cache)
        assert path.read_bytes() == b"near"


def test_a_connection_serves_again_and_one_that_was_closed_is_replaced(server: Server) -> None:
    server.put("f", b"abc")
    web = Web(pause=0.01)
    buffer = memoryview(bytearray(10))
    for _ in range(3):
        with web.ask("GET", Address(f"{server.url}/f")) as answer:
            assert answer.readinto(buffer) == 3
            assert answer.readinto(buffer) == 0
    (waiting,) = web._idle.values()
    assert len(waiting) == 1
    assert waiting[0].connection.sock
    waiting[0].connection.sock.close()
    with web.ask("GET", Address(f"{server.url}/f")) as answer:
        assert answer.status == 200
    web.close()


class TestSignatures:
    def test_one_that_ran_out_may_be_told_as_a_bad_request(self, server: Server, cache: Cache) -> None:
        large = content(2 * BLOCK)
        for name, data in (("small", b"content"), ("large", large)):
            new = server.put(f"{name}-new", data)
            server.put(f"{name}-old", data, fails=99, status=400)
            old = replace(new, url=f"{server.url}/{name}-old?sig=1")
            (path,) = fetch([old], cache, web=Web(pause=0.01), again=lambda new=new: [new])
            assert path.read_bytes() == data
            with pytest.raises(RoostError, match="-old cannot be read: its server answers 400"):
                fetch([replace(old, source=name)], cache, web=Web(pause=0.01), again=lambda old=old: [old])

    def test_an_address_of_the_users_own_has_none(self, server: Server, cache: Cache) -> None:
        item = server.put("f", content(2 * BLOCK), fails=99, status=400)

        def again() -> list[Item]:
            raise AssertionError("nothing is signed again")

        with pytest.raises(RoostError, match="/f cannot be read: its server answers 400"):
            fetch([item], cache, web=Web(pause=0.01), again=again)
        assert server.gets("f") == 1


class TestLetters:
    URL = "http://bücher.example:8080/a b/ü%41.csv?x=1#part"
    TARGET = b"/a%20b/%C3%BC%41.csv?x=1"

    def test_of_a_host_change_nothing_of_the_path(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(web_connections, "getproxies", dict)
        sent = web_connections.WebConnection(self.URL).request("GET", self.URL, {})
        assert sent.startswith(b"GET " + self.TARGET + b" HTTP/1.1\r\nHost: xn--bcher-kva.example:8080\r\n")

    def test_of_a_host_are_told_to_a_proxy_as_to_the_host(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(web_connections, "getproxies", lambda: {"http": "http://127.0.0.1:9"})
        monkeypatch.setattr(web_connections, "proxy_bypass", lambda _: False)
        sent = web_connections.WebConnection(self.URL).request("GET", self.URL, {})
        assert sent.startswith(b"GET http://xn--bcher-kva.example:8080" + self.TARGET + b" HTTP/1.1\r\n")

    @pytest.mark.parametrize("rest", ["", "#part", "?", "?x=1", "/", "/?x=a%2Fb&sig=a+b%3D"])
    def test_of_a_plain_address_stay(self, rest: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(web_connections, "getproxies", dict)
        url = f"http://host.example{rest}"
        target = "/" + rest.removeprefix("/").partition("#")[0]
        assert (
            web_connections.WebConnection(url).request("GET", url, {}).startswith(f"GET {target} HTTP/1.1\r\n".encode())
        )
