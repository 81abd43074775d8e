"""The settings of conda on this machine: channels and their addresses, certificates, proxies, offline.

Read from conda's own files and variables. The machine's own addresses are given only to the solver's process: locks, logs and the
database have a channel's name (`Settings.scrub`).
"""

import glob
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import yaml

from roost.domain.conda import NODEFAULTS
from roost.environments.base import BuildFailed

SYSTEM = Path("/etc/conda")
DEFAULTS = "defaults"
_DEFAULT_CHANNELS = ("main", "r")
"""The meaning of `defaults` where the machine does not define it: names of channels at the alias."""
_OWN = "machine/"
"""Prefix for the name of a channel that the machine's settings have as an address."""
_PRIORITIES = ("strict", "flexible", "disabled")
_LISTS = ("channels", "default_channels", "allowlist_channels", "denylist_channels")
_TOKEN = re.compile(r"/t/[^/\s]+(?=/)")
_USER = re.compile(r"(?<=://)[^/\s@]+@")


@dataclass(frozen=True)
class Channel:
    name: str
    """Its name in locks and logs: as the user wrote it, or as the machine names it."""
    url: str
    """Its address, with any credential of the machine's settings; empty for the alias and the name."""
    private: bool = False
    """True when the address is private to the machine and must not be shown."""


@dataclass(frozen=True)
class Settings:
    alias: str = ""
    """The base address of channels without their own; empty for the solver's default."""
    channels: tuple[str, ...] = ()
    """The channels that the machine adds to every environment."""
    defaults: tuple[str, ...] = _DEFAULT_CHANNELS
    custom: Mapping[str, str] = field(default_factory=dict)
    """Name → the address to which the name is appended."""
    multi: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Name → the channels that it represents."""
    allowed: tuple[str, ...] = ()
    """The only allowed channels; empty for any."""
    denied: tuple[str, ...] = ()
    priority: str = "flexible"
    offline: bool = False
    verify: bool = True
    certificates: str = ""
    """A file of certificates to trust instead of the system's."""
    proxies: Mapping[str, str] = field(default_factory=dict)

    def resolve(self, wanted: Sequence[str]) -> list[Channel]:
        """The environment's channels, then the machine's own, in order of priority.

        As in conda, with one difference: conda's built-in `defaults` are used only when no channel is named.
        """
        named = [name for name in wanted if name != NODEFAULTS]
        found = [channel for name in named for channel in self.find(name)]
        if NODEFAULTS not in wanted:
            own = self.channels or (() if named else (DEFAULTS,))
            found += [channel for name in own for channel in self.find(name, private=True)]
        return list({channel.name: channel for channel in found}.values())

    def check(self, channels: Sequence[Channel]) -> None:
        """BuildFailed names a channel that the machine's settings forbid."""
        allowed, denied = (
            {_place(each) for name in names for each in self.find(name)} for names in (self.allowed, self.denied)
        )
        for channel in channels:
            if (allowed and _place(channel) not in allowed) or _place(channel) in denied:
                named = [each for each in self.allowed if "://" not in each]
                raise BuildFailed(
                    f"The conda channel {channel.name} may not be used on this node: its conda settings forbid it.",
                    hint=f"Channels that may: {', '.join(named)}." if named else "Name another channel.",
                )

    def find(self, name: str, private: bool = False) -> list[Channel]:
        """The channels of a name, an address or a folder."""
        if name == DEFAULTS:
            return [self._default(each) for each in self.defaults]
        if name in self.multi:
            return [channel for each in self.multi[name] for channel in self.find(each, private=True)]
        if name.startswith(f"{DEFAULTS}/"):
            return [each for each in map(self._default, self.defaults) if each.name == name]
        if "://" in name or name.startswith("/"):
            called = self._names.get(_address(name)) if private else None
            return [Channel(called, _address(name), True) if called else Channel(name, _address(name))]
        behind = self._behind(name)
        return [Channel(name, f"{behind.rstrip('/')}/{name}", True) if behind else Channel(name, "")]

    def by_name(self, name: str) -> Channel:
        """The channel that has this name in a lock."""
        known = [channel for own in (*self.channels, *self.multi) for channel in self.find(own, private=True)]
        known += [] if name.startswith(_OWN) else self.find(name)
        for channel in known:
            if channel.name == name:
                return channel
        raise BuildFailed(
            f"The lock has packages of the channel {name!r}, which this machine's conda settings do not have.",
            hint="Add it to the channels in .condarc on this node.",
        )

    def scrub(self, text: str, channels: Sequence[Channel] = ()) -> str:
        """The text with names instead of the machine's private addresses, and without any credential."""
        for channel in sorted(channels, key=lambda each: len(each.url), reverse=True):
            if channel.private and channel.url:
                for address in {channel.url, masked(channel.url)}:
                    text = text.replace(address.rstrip("/"), channel.name)
        text = masked(text)
        for word in self._hidden:
            text = text.replace(word, "<address>")
        return text

    @property
    def _hidden(self) -> list[str]:
        addresses = [self.alias, *self.custom.values(), *self.channels, *self.defaults, *self.proxies.values()]
        addresses += [each for names in self.multi.values() for each in names]
        hosts = {urlsplit(address).hostname or "" for address in addresses if "://" in address}
        return sorted((host for host in hosts if len(host) > 3 and host != "localhost"), key=len, reverse=True)

    @cached_property
    def _names(self) -> dict[str, str]:
        """The names of the addresses in the settings: their last word, which shows no host and no credential."""
        names: dict[str, str] = {}
        given = [*self.channels, *self.defaults, *(each for several in self.multi.values() for each in several)]
        for address in dict.fromkeys(_address(each) for each in given if "://" in each or each.startswith("/")):
            word = f"{_OWN}{_last(masked(address))}"
            same = sum(1 for name in names.values() if name == word or name.startswith(f"{word}~"))
            names[address] = f"{word}~{same + 1}" if same else word
        return names

    def _behind(self, name: str) -> str:
        """The address to which a name is appended: its own (the address of `a` is also that of `a/b`), else the alias."""
        first = name.partition("/")[0]
        return self.custom.get(name) or self.custom.get(first) or self.alias

    def _default(self, given: str) -> Channel:
        (found,) = self.find(given, private=True)
        return Channel(f"{DEFAULTS}/{found.name.removeprefix(_OWN)}", found.url, True) if found.private else found


def read(own: Mapping[str, str] = os.environ, system: Path = SYSTEM) -> Settings:
    """From conda's files and variables; later ones override earlier ones, and their lists come first."""
    values: dict[str, Any] = {}
    for path in _files(own, system):
        for key, value in _content(path).items():
            if key in _LISTS and isinstance(value, list):
                values[key] = list(dict.fromkeys([*map(str, value), *values.get(key, [])]))
            elif isinstance(value, Mapping) and isinstance(values.get(key), Mapping):
                values[key] = {**values[key], **value}
            else:
                values[key] = value
    for name, text in own.items():
        key = name.removeprefix("CONDA_").lower()
        if name.startswith("CONDA_") and text:
            values[key] = [*text.split(","), *values.get(key, [])] if key in _LISTS else text
    verify = values.get("ssl_verify", True)
    bundle = verify if isinstance(verify, str) and _switch(verify) is None and verify != "truststore" else ""
    alias = _text(values.get("channel_alias"))
    priority = _text(values.get("channel_priority")).lower()
    return Settings(
        alias=_expanded(alias, own),
        channels=_texts(values.get("channels"), own),
        defaults=_texts(values.get("default_channels"), own) or _DEFAULT_CHANNELS,
        custom={str(k): _expanded(str(v), own) for k, v in _mapping(values.get("custom_channels")).items()},
        multi={str(k): _texts(v, own) for k, v in _mapping(values.get("custom_multichannels")).items()},
        allowed=_texts(values.get("allowlist_channels", values.get("whitelist_channels")), own),
        denied=_texts(values.get("denylist_channels"), own),
        priority=priority if priority in _PRIORITIES else "flexible",
        offline=_switch(values.get("offline")) is True,
        verify=_switch(verify) is not False,
        certificates=_expanded(bundle or own.get("REQUESTS_CA_BUNDLE") or own.get("CURL_CA_BUNDLE") or "", own),
        proxies={str(k): _expanded(str(v), own) for k, v in _mapping(values.get("proxy_servers")).items() if v},
    )


def _files(own: Mapping[str, str], system: Path) -> list[Path]:
    """conda's own paths, in conda's own order."""
    home = Path(own.get("HOME") or Path.home())
    program, active = own.get("CONDA_EXE", ""), own.get("CONDA_PREFIX", "")
    root = own.get("CONDA_ROOT") or (str(Path(program).parent.parent) if program else "")
    folders = [system, *([Path(root)] if root else [])]
    folders += [Path(own.get("XDG_CONFIG_HOME") or home / ".config", "conda"), home / ".conda"]
    places = [place for folder in folders for place in _within(folder)]
    places += [home / ".condarc", *(_within(Path(active)) if active else [])]
    named = own.get("CONDARC") or own.get("MAMBARC") or ""
    return [*places, *([Path(named)] if named else [])]


def _within(folder: Path) -> list[Path]:
    # glob skips an unreadable folder, where pathlib raises: CONDA_PREFIX may be another user's.
    more = sorted(glob.glob(f"{glob.escape(str(folder))}/condarc.d/*.y*ml"))
    return [folder / ".condarc", folder / "condarc", *map(Path, more)]


def _content(path: Path) -> Mapping[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}  # conda itself would refuse to start; here an unreadable file counts as empty
    return data if isinstance(data, Mapping) else {}


def _texts(value: object, own: Mapping[str, str]) -> tuple[str, ...]:
    given = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    return tuple(_expanded(str(each).strip(), own) for each in given if str(each).strip())


def _mapping(value: object) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _switch(value: object) -> bool | None:
    words = {"true": True, "yes": True, "1": True, "on": True, "false": False, "no": False, "0": False, "off": False}
    return words.get(str(value).lower())


def _expanded(text: str, own: Mapping[str, str]) -> str:
    """The text with variables such as `${TOKEN}` replaced, as conda does in its files."""
    return re.sub(r"\$\{(\w+)\}|\$(\w+)", lambda found: own.get(found[1] or found[2], found[0]), text)


def _place(channel: Channel) -> str:
    return masked(channel.url).rstrip("/") or channel.name


def _address(given: str) -> str:
    """The address; the node fills in its variables, such as `${TOKEN}`."""
    return Path(given).as_uri() if given.startswith("/") else _expanded(given.rstrip("/"), os.environ)


def masked(text: str) -> str:
    """The text with names, passwords and tokens removed from its addresses."""
    return _TOKEN.sub("", _USER.sub("", text))


def _last(text: str) -> str:
    parts = urlsplit(text) if "://" in text else None
    path = urlunsplit(("", "", parts.path, "", "")) if parts else text
    return path.rstrip("/").rpartition("/")[2] or "channel"
