"""Channels behind HTTP: credentials, channels that go away, and builds that are killed while they fetch."""

import base64
import datetime
import functools
import http.server
import ipaddress
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.shared import channels

from roost.domain import recipes
from roost.domain.recipes import Recipe
from roost.environments import base, pythons
from roost.environments.base import BuildFailed
from roost.environments.conda.builder import CondaBuilder

pytestmark = pytest.mark.slow

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
EXACT = ".".join(map(str, sys.version_info[:3]))
ANN = "Basic " + base64.b64encode(b"ann:secret").decode()


class Server:
    """Serves a folder; `wants` says what a request must have, `hold` keeps packages from being sent until it is set."""

    def __init__(self, folder: Path, context: ssl.SSLContext | None = None) -> None:
        self.folder = folder
        self.closed = False
        self.asked: list[str] = []
        self.held = threading.Event()
        self.hold = threading.Event()
        self.hold.set()
        handler = functools.partial(_Handler, server_of=self, directory=str(folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.secured = False

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.hold.set()
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()


class _Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *args: object, server_of: Server, **kwargs: str) -> None:
        self._of = server_of
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]

    def log_message(self, *args: object) -> None:
        """Nobody reads it."""

    def do_GET(self) -> None:
        self._of.asked.append(self.path)
        if self._of.secured and self.headers.get("Authorization") != ANN and not self.path.startswith("/t/secret/"):
            self.send_error(401)
            return
        self.path = self.path.replace("/t/secret", "").removeprefix("http://channel.test")
        if self.path.endswith(".tar.bz2"):
            self._of.held.set()
            self._of.hold.wait(60)
        try:
            super().do_GET()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shelf: Path) -> Iterator[Server]:
    channels.machine(tmp_path, monkeypatch)
    team = tmp_path / "www" / "team"
    channels.python(team, EXACT, pythons.choose(HERE).path)
    channels.module(team, "lower", "2.0")
    made = Server(tmp_path / "www")
    yield made
    made.close()


def builder(tmp_path: Path, said: list[str], meanwhile: base.Meanwhile = lambda: None) -> CondaBuilder:
    (tmp_path / "run").mkdir(exist_ok=True)
    return CondaBuilder(said.append, meanwhile, {}, tmp_path / "run", tmp_path / "home")


def recipe(*named: str) -> Recipe:
    return Recipe(python=HERE, packages=("lower",), channels=named)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"channels": ["http://{host}/t/secret/team"]}, ()),
        ({"channels": ["http://ann:secret@{host}/team"]}, ()),
        ({"default_channels": ["http://ann:secret@{host}/team"]}, ()),
        ({"channel_alias": "http://ann:secret@{host}"}, ("team",)),
        ({"custom_channels": {"team": "http://ann:secret@{host}"}}, ("team",)),
    ],
)
def test_credentials_of_the_machine_s_settings_are_used_and_told_nowhere(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, object],
    named: tuple[str, ...],
) -> None:
    server.secured = True
    channels.machine(tmp_path, monkeypatch, **json.loads(json.dumps(settings).replace("{host}", server.host)))
    said: list[str] = []
    lock = builder(tmp_path, said).resolve(recipe(*named))
    builder(tmp_path, said).install(base.read_lock(lock.text), tmp_path / "prefix")
    assert (tmp_path / "prefix" / "lib" / f"python{HERE}" / "site-packages" / "lower.py").exists()
    noted = [file.read_text() for file in (tmp_path / "prefix" / "conda-meta").glob("*.json")]
    for text in (lock.text, *said, *noted):
        assert "secret" not in text
    for text in (lock.text, *said):
        assert server.host not in text


@pytest.mark.parametrize("address", ["http://ann:${PASSWORD}@{host}/team", "http://{host}/t/${PASSWORD}/team"])
def test_a_credential_in_the_file_is_a_variable_of_the_node(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    server.secured = True
    monkeypatch.setenv("PASSWORD", "secret")
    named = address.replace("{host}", server.host)
    file = {"dependencies": [f"python={HERE}", "lower"], "channels": [named]}
    asked = recipes.recipe({"python": {"condaDependencies": file}})
    assert asked is not None
    said: list[str] = []
    lock = builder(tmp_path, said).resolve(asked)
    builder(tmp_path, said).install(lock, tmp_path / "prefix")
    assert named in lock.text
    for text in (lock.text, *said):
        assert "secret" not in text


@pytest.mark.parametrize("kind", ["netrc", "store"])
def test_credentials_from_netrc_and_rattler_s_store(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    server.secured = True
    file = tmp_path / "credentials"
    if kind == "netrc":
        file.write_text("machine 127.0.0.1\nlogin ann\npassword secret\n")
        monkeypatch.setenv("NETRC", str(file))
    else:
        file.write_text(json.dumps({"127.0.0.1": {"BasicHTTP": {"username": "ann", "password": "secret"}}}))
        monkeypatch.setenv("RATTLER_AUTH_FILE", str(file))
    file.chmod(0o600)
    lock = builder(tmp_path, []).resolve(recipe(f"http://{server.host}/team"))
    assert "secret" not in lock.text


def test_a_credential_that_is_missing_is_told(server: Server, tmp_path: Path) -> None:
    server.secured = True
    with pytest.raises(BuildFailed, match="401") as caught:
        builder(tmp_path, []).resolve(recipe(f"http://{server.host}/team"))
    assert "netrc" in caught.value.hint


@pytest.mark.parametrize("kind", ["file", "variable"])
def test_proxies(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    for name in [each for each in os.environ if each.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    if kind == "file":
        channels.machine(tmp_path, monkeypatch, proxy_servers={"http": f"http://{server.host}"})
    else:
        monkeypatch.setenv("http_proxy", f"http://{server.host}")
    builder(tmp_path, []).resolve(recipe("http://channel.test/team"))
    assert "http://channel.test/team/noarch/repodata.json" in server.asked


def authority(folder: Path) -> ssl.SSLContext:
    """A server's certificate, signed by an authority whose own is in `authority.pem`."""
    now = datetime.datetime.now(datetime.UTC)
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]

    def certificate(subject: str, key: ec.EllipticCurvePrivateKey, root: bool) -> bytes:
        names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each)]) for each in (subject, "authority")]
        alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        made = (
            x509.CertificateBuilder(names[1], names[0], key.public_key(), x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=root, path_length=None), critical=True)
        )
        made = made if root else made.add_extension(alternative, critical=False)
        return made.sign(keys[0], hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    (folder / "authority.pem").write_bytes(certificate("authority", keys[0], root=True))
    (folder / "server.pem").write_bytes(certificate("server", keys[1], root=False))
    private = keys[1].private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "key.pem")
    return context


def test_certificates(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    secure = Server(server.folder, authority(tmp_path))
    address = f"https://{secure.host}/team"
    try:
        with pytest.raises(BuildFailed, match="UnknownIssuer") as caught:
            builder(tmp_path, []).resolve(recipe(address))
        assert "ssl_verify" in caught.value.hint
        for number, value in enumerate((str(tmp_path / "authority.pem"), False)):
            channels.machine(tmp_path, monkeypatch, ssl_verify=value)
            monkeypatch.setenv("RATTLER_CACHE_DIR", str(tmp_path / f"cache{number}"))
            assert builder(tmp_path, []).resolve(recipe(address)).python == EXACT
    finally:
        secure.close()


def test_a_channel_that_went_away_is_told_and_what_was_fetched_is_used(server: Server, tmp_path: Path) -> None:
    address = f"http://{server.host}/team"
    lock = builder(tmp_path, []).resolve(recipe(address))
    builder(tmp_path, []).install(lock, tmp_path / "first")
    server.close()
    said: list[str] = []
    assert builder(tmp_path, said).resolve(recipe(address)) == lock
    assert any(f"{address} cannot be reached" in line for line in said)
    builder(tmp_path, said).install(lock, tmp_path / "second")
    assert any("nothing to download" in line for line in said)


def test_a_channel_that_is_away_before_anything_was_fetched(server: Server, tmp_path: Path) -> None:
    address = f"http://{server.host}/team"
    server.close()
    said: list[str] = []
    with pytest.raises(
        BuildFailed, match=f"{address} cannot be reached, and nothing of it was fetched before"
    ) as caught:
        builder(tmp_path, said).resolve(recipe(address))
    assert "Connection refused" in caught.value.message
    assert "when it is back" in caught.value.hint


def test_a_build_that_is_killed_while_it_fetches_leaves_nothing_that_is_used(server: Server, tmp_path: Path) -> None:
    address = f"http://{server.host}/team"
    lock = builder(tmp_path, []).resolve(recipe(address))
    server.hold.clear()
    text = tmp_path / "lock.txt"
    text.write_text(lock.text)
    program = f"""
from pathlib import Path
from roost.environments import base
from roost.environments.conda.builder import CondaBuilder
lock = base.read_lock(Path({str(text)!r}).read_text())
home = Path({str(tmp_path / "home")!r})
builder = CondaBuilder(print, lambda: None, {{}}, Path({str(tmp_path / "run")!r}), home)
base.ensure(home, {"ab" * 32!r}, lambda place: builder.install(lock, place), print, lambda: None)
"""
    process = subprocess.Popen([sys.executable, "-c", program], start_new_session=True, stdout=subprocess.DEVNULL)
    assert server.held.wait(60)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for pid in (process.pid, *map(int, children)):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    home = tmp_path / "home"
    assert base.find(home, "ab" * 32) is None
    server.hold.set()
    made = base.ensure(home, "ab" * 32, lambda place: builder(tmp_path, []).install(lock, place), print, list)
    assert (made / "lib" / f"python{HERE}" / "site-packages" / "lower.py").read_text() == "VERSION = '2.0'\n"


def test_a_build_that_nobody_wants_any_more_ends_at_once(server: Server, tmp_path: Path) -> None:
    class Enough(Exception):
        """Raised while a package is fetched."""

    lock = builder(tmp_path, []).resolve(recipe(f"http://{server.host}/team"))
    server.hold.clear()

    def enough() -> None:
        if server.held.is_set():
            raise Enough

    with pytest.raises(Enough):
        builder(tmp_path, [], enough).install(lock, tmp_path / "prefix")
