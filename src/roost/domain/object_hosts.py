"""A person's address of an object store: parsed by one strict grammar and written again from its parts. Pure.

Python and the HTTP client parse odd addresses differently: `http://127.0.0.9\\.amazonaws.com` is a host of Amazon's
for the one and 127.0.0.9 for the other. Only addresses that both parse in the same way are accepted.
"""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass

from roost.domain.datasets import masked
from roost.domain.errors import InvalidInput

_ADDRESS = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>(?:/[A-Za-z0-9._~-]*)*)",
    re.ASCII | re.IGNORECASE,
)
_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)", re.ASCII)
"""Hosts whose last part is a number: clients read them as IP addresses, also 2130706433 and 0x7f.1."""
_PORTS = {"http": 80, "https": 443}
_REGION = r"[a-z]{2,4}(?:-[a-z]+){1,3}-[0-9]"
_LABEL = r"[a-z0-9][a-z0-9-]{0,62}"
_SERVICES = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        rf"(?:{_LABEL}\.)*s3(?:-fips)?(?:\.dualstack)?\.{_REGION}\.amazonaws\.com(?:\.cn)?",
        rf"(?:{_LABEL}\.)*s3(?:-{_REGION}|-external-1)?\.amazonaws\.com",
        r"s3-accelerate(?:\.dualstack)?\.amazonaws\.com",
        rf"{_LABEL}\.(?:blob|dfs)\.core\.(?:windows\.net|usgovcloudapi\.net|chinacloudapi\.cn)",
        rf"{_LABEL}\.z[0-9]{{1,2}}\.(?:blob|dfs)\.storage\.azure\.net",
        r"storage\.(?:[a-z]+-[a-z]+[0-9]{1,2}\.rep\.)?googleapis\.com",
    )
)
"""Object stores of the providers. Not their whole domains, which also hold other people's machines, gateways and web sites."""


@dataclass(frozen=True)
class Address:
    scheme: str
    host: str
    """In lower case; an IP address in its one canonical form, IPv6 in brackets."""
    port: int | None
    path: str

    def __str__(self) -> str:
        port = f":{self.port}" if self.port is not None else ""
        return f"{self.scheme}://{self.host}{port}{self.path}"

    @property
    def of_a_provider(self) -> bool:
        """True for the object stores of Amazon, Microsoft and Google at their usual port."""
        usual = self.port in (None, _PORTS[self.scheme])
        return usual and any(service.fullmatch(self.host) for service in _SERVICES)

    def among(self, known: Sequence[str]) -> bool:
        """True when a list contains it: `host` for any port, `host:port` for one."""
        port = self.port or _PORTS[self.scheme]
        return not {self.host, self.host.strip("[]"), f"{self.host}:{port}"}.isdisjoint(each.lower() for each in known)


def read(url: str) -> Address:
    """InvalidInput when it is not `http(s)://host[:port][/path]`, or its host can be read in two ways."""
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise InvalidInput(
            f"The address {masked(url)!r} has a credential in it, which everybody who sees the datastore would see.",
            hint="Give the key apart from the address: it is sealed.",
        )
    found = _ADDRESS.fullmatch(url)
    port = int(found["port"]) if found and found["port"] else None
    if not found or (port is not None and not 0 < port < 65536):
        raise InvalidInput(
            f"{masked(url)!r} is not an address of an object store.",
            hint="Give http:// or https://, a host, perhaps a port and a plain path: https://minio.example.org:9000.",
        )
    parts = [part for part in found["path"].split("/") if part]
    if "." in parts or ".." in parts:
        raise InvalidInput(f"The path of the address {masked(url)!r} has `.` or `..` in it.", hint="Give it plainly.")
    path = "".join(f"/{part}" for part in parts)
    return Address(found["scheme"].lower(), _host(found["host"].lower(), url), port, path)


def _host(host: str, url: str) -> str:
    try:
        if host.startswith("["):
            return f"[{ipaddress.IPv6Address(host[1:-1])}]"
        if _NUMBER.fullmatch(host):
            if str(ipaddress.IPv4Address(host)) == host:
                return host
        elif _NAME.fullmatch(host):
            return host
    except ValueError:
        pass
    raise InvalidInput(
        f"The host of the address {masked(url)!r} is not allowed.",
        hint="Give a name of letters, digits, `-` and `.`, or an IP address in its usual form: 192.0.2.1, [2001:db8::1].",
    )
