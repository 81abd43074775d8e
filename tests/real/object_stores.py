"""Object stores of the test's own, on loopback: Azurite for Azure's Blob storage, moto's server for S3. Installed once, with npm
and pip, into the folder ROOST_TEST_CACHE; ended with the tests."""

import base64
import hashlib
import hmac
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from urllib.error import URLError

from tests import skips
from tests.real import caches

ACCOUNT, CONTAINER, BUCKET = "testaccount", "data", "data"
_SECONDS = 120


def _cache() -> Path:
    place = caches.folder("object-stores")
    place.mkdir(parents=True, exist_ok=True)
    return place


def _installed(name: str, program: str, argv: list[str]) -> str:
    """A program, installed when it is not; what installs it works in a folder that is moved there whole."""
    place = _cache() / name
    if not (place / program).exists():
        part = Path(tempfile.mkdtemp(dir=_cache(), prefix=f".{name}-"))
        done = subprocess.run([each.replace("PLACE", str(part)) for each in argv], capture_output=True, text=True)
        if done.returncode:
            shutil.rmtree(part)
            skips.skip("downloads", f"{name} cannot be installed here: {done.stderr.strip()[-300:]}")
        part.rename(place)
    return str(place / program)


@contextmanager
def azurite() -> Iterator[tuple[str, str]]:
    """(endpoint, account key) of an Azure Blob storage with an empty container."""
    skips.needs("npm")  # which fetches it
    install = ["npm", "install", "--no-audit", "--no-fund", "--prefix", "PLACE", "azurite@3"]
    program = _installed("azurite", "node_modules/.bin/azurite-blob", install)
    key = base64.b64encode(secrets.token_bytes(32)).decode()
    with tempfile.TemporaryDirectory(prefix="roost-azurite-") as place:
        process = subprocess.Popen(
            [
                program,
                "--blobPort",
                "0",
                "--location",
                place,
                "--silent",
                "--skipApiVersionCheck",
                "--disableTelemetry",
            ],
            env={**os.environ, "AZURITE_ACCOUNTS": f"{ACCOUNT}:{key}"},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            found = None
            while found is None:
                line = process.stdout.readline()
                assert line, "Azurite ended before it listened"
                found = re.search(r"listens on (http://\S+)", line)
            _make_container(found[1], key)
            yield f"{found[1]}/{ACCOUNT}", key
        finally:
            process.terminate()
            process.communicate()


def _make_container(endpoint: str, key: str) -> None:
    """Signed by hand: the library that Roost uses makes no containers."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    named = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
    text = f"PUT{chr(10) * 12}{named}/{ACCOUNT}/{ACCOUNT}/{CONTAINER}\nrestype:container"
    signed = base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode()
    request = urllib.request.Request(
        f"{endpoint}/{ACCOUNT}/{CONTAINER}?restype=container",
        method="PUT",
        headers={**headers, "Authorization": f"SharedKey {ACCOUNT}:{signed}", "Content-Length": "0"},
    )
    with _opened(request) as answer:
        assert answer.status == 201


def _opened(request: urllib.request.Request):  # type: ignore[no-untyped-def]
    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30)


@contextmanager
def moto() -> Iterator[str]:
    """The endpoint of an S3 with an empty bucket; any key is good."""
    make = f"{sys.executable} -m venv PLACE && PLACE/bin/pip install -q 'moto[s3,server]>=5'"
    program = _installed("moto", "bin/python", ["sh", "-c", make])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = [program, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    endpoint = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                _opened(urllib.request.Request(f"{endpoint}/{BUCKET}", method="PUT")).close()
                break
            except (URLError, ConnectionError):
                assert process.poll() is None and time.monotonic() < deadline, "moto's server does not answer"
                time.sleep(0.2)  # it says nowhere that it listens
        yield endpoint
    finally:
        process.terminate()
        process.wait(30)
