"""The way to the web: proxies, certificates, connections that are used again."""

import datetime
import ipaddress
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.data.servers import MODIFIED, Server, content, serving

from roost.data import lines
from roost.data.blocks import BLOCK
from roost.data.cache import Cache
from roost.data.fetching import fetch
from roost.data.web import Address, Web
from roost.domain.datastores import Item
from roost.domain.errors import Unavailable


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Of 127.0.0.1, signed by itself; key and certificate in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "roost tests")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "server.pem").write_bytes(text + made.public_bytes(serialization.Encoding.PEM))
    return tmp_path / "server.pem"


@pytest.fixture
def secure(certificate: Path) -> Iterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    lines._context.cache_clear()
    with serving(context) as made:
        yield made
    lines._context.cache_clear()


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
