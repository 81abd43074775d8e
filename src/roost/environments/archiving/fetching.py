"""Fetches files of package indexes: streamed to disk, checked by their hash. Passwords come from the indexes' addresses or from
netrc; each is sent only to its own host.
"""

import base64
import hashlib
import http.client
import netrc
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit
from urllib.request import url2pathname

from roost.environments.base import BuildFailed, Meanwhile

_PIECE = 1024 * 1024
_SECONDS = 60.0
_ATTEMPTS = 3
_PAUSE = 0.1
_INDEXES = ("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS")
_PROXIES = ("http", "https", "all", "no")


class _Away(Exception):
    """The file could not be read now; another attempt may succeed."""


class Fetcher:
    """`variables` are uv's: indexes with their passwords, certificates, proxies."""

    def __init__(self, variables: Mapping[str, str], meanwhile: Meanwhile) -> None:
        self._meanwhile = meanwhile
        self._variables = variables
        self._passwords = _passwords(variables)

    def fetch(self, url: str, target: Path, hashes: Sequence[str]) -> None:
        """Writes the content of the address to a file; BuildFailed when it is not available or has none of these SHA-256
        hashes."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                found = self._write(url, target)
                break
            except _Away as error:
                if attempt == _ATTEMPTS:
                    raise BuildFailed(str(error)) from None
                self._wait(float(attempt))
        if hashes and found not in hashes:
            target.unlink()
            raise BuildFailed(f"what is there now has the hash {found[:12]}…, which is not the one that was locked")

    def _write(self, url: str, target: Path) -> str:
        hasher = hashlib.sha256()
        with target.open("wb") as file:
            for piece in self._pieces(url):
                self._meanwhile()
                hasher.update(piece)
                file.write(piece)
        return hasher.hexdigest()

    def _pieces(self, url: str) -> Iterator[bytes]:
        """Yields the content; separates errors of reading from errors of the writer."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https", "file"):
            raise BuildFailed(f"addresses that begin with {parts.scheme}: are not fetched")
        try:
            with self._open(parts) as source:
                left = int(source.headers.get("Content-Length") or 0) if parts.scheme != "file" else 0
                while piece := source.read(_PIECE):
                    left -= len(piece)
                    yield piece
            if left > 0:  # a cut connection looks like the end of the file
                raise _Away(f"the connection was cut {left} bytes before the end")
        except urllib.error.HTTPError as error:
            if error.code >= 500 or error.code == http.HTTPStatus.TOO_MANY_REQUESTS:
                raise _Away(f"the index answers {error.code}") from None
            raise BuildFailed(f"the index answers {error.code}") from None
        except FileNotFoundError as error:
            gone = "its file is not there any more" if parts.scheme == "file" else str(error)
            raise BuildFailed(gone) from None
        except (OSError, http.client.HTTPException) as error:
            raise _Away(str(getattr(error, "reason", "") or error or type(error).__name__)) from None

    def _open(self, parts: SplitResult):  # type: ignore[no-untyped-def]  # a response or a file: both are read
        if parts.scheme == "file":
            return open(url2pathname(parts.path), "rb")
        host = parts.hostname or ""
        plain = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        headers = {"User-Agent": "roost", "Accept-Encoding": "identity"}
        request = urllib.request.Request(plain, headers=headers)  # noqa: S310 - http or https: looked at before
        password = _given(parts) or self._passwords.get(parts.netloc.rpartition("@")[2]) or self._netrc(host)
        if password:  # a redirect must not receive it
            request.add_unredirected_header("Authorization", f"Basic {base64.b64encode(password.encode()).decode()}")
        return self._opener(host).open(request, timeout=_SECONDS)

    def _opener(self, host: str) -> urllib.request.OpenerDirector:
        context = ssl.create_default_context(cafile=self._variables.get("SSL_CERT_FILE") or None)
        if host in {each.partition(":")[0] for each in self._variables.get("UV_INSECURE_HOST", "").split()}:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if client := self._variables.get("SSL_CLIENT_CERT"):
            context.load_cert_chain(client)
        given = {
            name: self._variables.get(f"{name}_proxy") or self._variables.get(f"{name.upper()}_PROXY")
            for name in _PROXIES
        }
        others = re.split(r"[\s,]+", given.pop("no") or "")
        direct = any(each and (host == each or host.endswith(f".{each.lstrip('.')}") or each == "*") for each in others)
        every = given.pop("all")
        proxies = {} if direct else {name: value or every for name, value in given.items() if value or every}
        handlers = urllib.request.ProxyHandler(proxies), urllib.request.HTTPSHandler(context=context)  # type: ignore[arg-type]
        return urllib.request.build_opener(*handlers)

    def _netrc(self, host: str) -> str:
        try:
            found = netrc.netrc(self._variables.get("NETRC") or None).authenticators(host)
        except (OSError, netrc.NetrcParseError):
            return ""
        return f"{found[0]}:{found[2]}" if found else ""

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._meanwhile()
            time.sleep(_PAUSE)


def _passwords(variables: Mapping[str, str]) -> dict[str, str]:
    """Passwords by host and port, of the indexes whose addresses have one."""
    addresses = [each for name in _INDEXES for each in re.split(r"[\s,]+", variables.get(name, ""))]
    parts = [urlsplit(each.partition("=")[2] if "=http" in each else each) for each in addresses if "@" in each]
    return {each.netloc.rpartition("@")[2]: _given(each) for each in parts}


def _given(parts: SplitResult) -> str:
    return f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
