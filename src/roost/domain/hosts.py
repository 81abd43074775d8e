"""Hosts: other machines that can be nodes, as the file of hosts lists them. Pure. Start with `read`."""

import ipaddress
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

from roost.domain.errors import InvalidInput


@dataclass(frozen=True, kw_only=True)
class Host:
    """One machine; a node of a cluster on the engine `hosts` is one of these."""

    address: str
    """The address at which the other hosts reach it."""
    command: tuple[str, ...]
    """The prefix of a command that runs there: `ssh gpu-1`."""
    python: str
    """The Python of a Roost installation there, with the control plane's version."""
    home: str
    """A folder there for its runs, environments and caches."""


@dataclass(frozen=True, kw_only=True)
class Hosts:
    hosts: tuple[Host, ...] = ()
    url: str = ""
    """The address of the control plane for the hosts; empty for the address that it listens on."""


_FIELDS = ("address", "command", "python", "home")


def read(text: str, name: str) -> Hosts:
    """The hosts of a file; InvalidInput names the error and its place."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"The file of hosts {name} is no TOML: {error}.") from None
    unknown = sorted(set(found) - {"host", "url"})
    if unknown:
        raise InvalidInput(
            f"The file of hosts {name} has {unknown[0]!r}, which means nothing.", hint="`url`, `[[host]]`"
        )
    listed = found.get("host", [])
    url = found.get("url", "")
    if (
        not isinstance(listed, list)
        or not isinstance(url, str)
        or (url and not url.startswith(("http://", "https://")))
    ):
        raise InvalidInput(f"In the file of hosts {name}, `url` is an address of HTTP and each host a `[[host]]`.")
    hosts = tuple(_host(each, f"Host {number} of {name}") for number, each in enumerate(listed, 1))
    addresses = [host.address for host in hosts]
    twice = next((address for address in addresses if addresses.count(address) > 1), None)
    if twice:
        raise InvalidInput(f"The file of hosts {name} has {twice} twice.", hint="A host is one node at a time.")
    return Hosts(hosts=hosts, url=url.rstrip("/"))


def _host(given: object, what: str) -> Host:
    if not isinstance(given, Mapping) or set(given) != set(_FIELDS):
        raise InvalidInput(f"{what} must have {', '.join(f'`{name}`' for name in _FIELDS)} and nothing else.")
    command = given["command"]
    words = [given["address"], given["python"], given["home"], *(command if isinstance(command, list) else [None])]
    if not all(isinstance(word, str) and word for word in words) or not command:
        raise InvalidInput(f"{what}: `command` is a list of words, everything else is text.", hint='["ssh", "gpu-1"]')
    for name in ("python", "home"):  # a remote shell splits the command again
        if any(each.isspace() or each in "\"'`$;&|<>()\\" for each in given[name]):
            raise InvalidInput(f"{what}: `{name}` cannot have blanks or signs of a shell in it, got {given[name]!r}.")
    return Host(
        address=_address(given["address"], what), command=tuple(command), python=given["python"], home=given["home"]
    )


def _address(text: str, what: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise InvalidInput(f"{what}: `address` must be an IP address, got {text!r}.") from None
