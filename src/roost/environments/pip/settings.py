"""The settings of pip on this machine, converted for uv: indexes, find-links, certificates, proxies.

uv reads no pip configuration. These settings are given to uv as variables and to nothing else: none of their addresses is ever
written to a lock, a log or the database (`Settings.scrub`).
"""

import configparser
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from roost.environments import places

MACHINE_FILE = Path("/etc/pip.conf")
_SECTIONS = ("global", "install")
_URL = re.compile(r"\b(?:https?|file|git\+https?|git\+ssh|ssh|ftp|s3)://[^\s`'\"<>,)\]]+")
_UV_ADDRESSES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS")


@dataclass(frozen=True)
class Settings:
    variables: Mapping[str, str] = field(default_factory=dict)
    """For uv's environment, beside the machine's own."""
    flags: tuple[str, ...] = ()
    """For uv's commands: settings without a variable."""
    hidden: tuple[str, ...] = ()
    """Addresses, hosts and folders that must not be shown."""

    def scrub(self, text: str, allowed: str = "") -> str:
        """The text without any address that the user did not write into the environment itself (`allowed`)."""

        def replace(found: re.Match[str]) -> str:
            url = found[0]
            if any(url.startswith(given.rstrip("/")) for given in _URL.findall(allowed)):
                return url
            name = url.rstrip("/").rpartition("/")[2]
            return f"<address>/{name}" if name and "://" in url.rpartition("/")[0] + "/" else "<address>"

        text = _URL.sub(replace, text)
        for word in self.hidden:
            text = text.replace(word, "<address>")
        return text


def read(own: Mapping[str, str] = os.environ, machine: Path = MACHINE_FILE) -> Settings:
    """From pip's files and variables; later ones override earlier ones. A variable of uv's own that is set stays unchanged."""
    values = _values(own, machine)
    variables: dict[str, str] = {}
    # pip skips an unreadable folder, such as another user's; uv stops at it.
    extra = [each for each in values.get("extra-index-url", "").split() if places.is_open(each)]
    links = [each for each in values.get("find-links", "").split() if places.is_open(each)]
    if values.get("index-url"):
        variables["UV_DEFAULT_INDEX"] = values["index-url"].split()[0]
    if extra:
        variables["UV_INDEX"] = " ".join(extra)
        # As pip does: the best version of all indexes, not the first index that has the name.
        variables["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    if links:
        variables["UV_FIND_LINKS"] = ",".join(links)
    flags = ("--no-index",) if values.get("no-index", "").lower() in ("1", "true", "yes", "on") else ()
    if values.get("cert"):
        variables["SSL_CERT_FILE"] = values["cert"]
    if values.get("client-cert"):
        variables["SSL_CLIENT_CERT"] = values["client-cert"]
    if values.get("proxy"):
        variables |= {"HTTP_PROXY": values["proxy"], "HTTPS_PROXY": values["proxy"]}
    if values.get("trusted-host"):
        variables["UV_INSECURE_HOST"] = " ".join(values["trusted-host"].split())
    if values.get("timeout", values.get("default-timeout", "")).isdecimal():
        variables["UV_HTTP_TIMEOUT"] = values.get("timeout", values.get("default-timeout", ""))
    variables = {name: value for name, value in variables.items() if not own.get(name)}
    addresses = [value for name in _UV_ADDRESSES for value in re.split(r"[\s,]+", own.get(name, ""))]
    told = [
        word
        for name in ("index-url", "extra-index-url", "find-links", "proxy")
        for word in values.get(name, "").split()
    ]
    given = [*told, *addresses]
    return Settings(variables, flags, _hidden(given))


def usable(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables for uv without another user's paths, at which uv would stop: an unreadable settings file or wheel folder is
    left out, and an unwritable cache is switched off."""
    given = dict(environment)
    if places.is_closed(given.get("UV_CONFIG_FILE", "")):
        del given["UV_CONFIG_FILE"]
    links = [each for each in re.split(r"[\s,]+", given.get("UV_FIND_LINKS", "")) if each]
    if not all(map(places.is_open, links)):
        given["UV_FIND_LINKS"] = ",".join(filter(places.is_open, links))
    if not places.can_write(_cache(given)):
        given |= {"UV_NO_CACHE": "1", "UV_CACHE_DIR": ""}
    return {name: value for name, value in given.items() if value}


def _cache(own: Mapping[str, str]) -> str:
    """The folder of uv's cache."""
    above = own.get("XDG_CACHE_HOME") or os.path.join(own.get("HOME") or os.path.expanduser("~"), ".cache")
    return own.get("UV_CACHE_DIR") or os.path.join(above, "uv")


def _values(own: Mapping[str, str], machine: Path) -> dict[str, str]:
    values: dict[str, str] = {}
    for path in _files(own, machine):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError, OSError):
            continue  # pip itself would refuse to start; here an unreadable file counts as empty
        for section in _SECTIONS:
            if parser.has_section(section):
                values |= {name.replace("_", "-"): value for name, value in parser.items(section)}
    for name, value in own.items():
        if name.startswith("PIP_") and value:
            values[name.removeprefix("PIP_").lower().replace("_", "-")] = value
    return values


def _files(own: Mapping[str, str], machine: Path) -> list[Path]:
    """pip's own paths, in pip's own order."""
    named = own.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return []
    home = Path(own.get("HOME") or Path.home())
    shared = [Path(place, "pip") for place in own.get("XDG_CONFIG_DIRS", "/etc/xdg").split(os.pathsep) if place]
    places = [
        *[folder / "pip.conf" for folder in shared],
        machine,
        home / ".pip" / "pip.conf",
        Path(own.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf",
        Path(sys.prefix) / "pip.conf",
    ]
    return [*places, Path(named)] if named else places


def _hidden(addresses: list[str]) -> tuple[str, ...]:
    words: set[str] = set()
    for address in addresses:
        parts = urlsplit(address)
        words |= {
            address,
            address.rstrip("/"),
            parts.netloc,
            parts.hostname or "",
            parts.path if parts.scheme == "file" else "",
        }
    # The longest first, so that no part of one remains; words too short for an address are harmless.
    return tuple(sorted((word for word in words if len(word) > 3 and word != "localhost"), key=len, reverse=True))
