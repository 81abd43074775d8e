"""The process in which py-rattler works, `python -m roost.environments.conda.worker FILE`: it reads the request from the file and
writes lines of JSON to standard output, the answer last. It is a separate process because Python cannot interrupt a solve or a
download in Rust; its parent can end it at any moment, and its partial files are safe.
"""

import asyncio
import errno
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import rattler
from rattler.exceptions import SolverError
from rattler.networking import Client
from rattler.package_streaming import download_bytes, download_to_path

from roost.environments.conda.progress import Progress, tell
from roost.environments.conda.settings import masked

_SOON = 2.0
"""Seconds for further requests that find the cause of a failure."""
_PROBE = ".roost"
"""A file that no channel has: any answer means that the channel can be reached."""
_ANSWERED = re.compile(r"HTTP status (?:client error|server error \((?!502|503|504))|\b(?:401|403|404|405|410)\b")
_PRIORITIES = {
    "strict": rattler.ChannelPriority.Strict,
    "flexible": rattler.ChannelPriority.Flexible,
    "disabled": rattler.ChannelPriority.Disabled,
}
_KEPT = ("noarch", "depends", "constrains", "md5", "sha256", "size", "python_site_packages_path")

Json = dict[str, Any]


async def solve(asked: Json) -> Json:
    """The packages in the form of a lock, each with the index of its channel in `channels`."""
    channels = [_channel(each) for each in asked["channels"]]
    away = set(asked["cached"])
    gateway = rattler.Gateway(
        cache_dir=Path(asked["cache"], "repodata"),
        client=_client(asked),
        default_config=_source("force-cache-only" if asked["offline"] else "cache-or-fetch"),
        per_channel_config={channels[place].base_url: _source("force-cache-only") for place in away},
    )
    overrides = rattler.VirtualPackageOverrides.from_env()
    virtual = rattler.VirtualPackage.detect(overrides)
    specs = [rattler.MatchSpec(each) for each in asked["specs"]]
    found: list[rattler.RepoDataRecord] = []
    extra: list[str]
    for extra in (asked["beside"], []):
        try:
            known = [name for name in extra if await _has(gateway, channels, name)]
            found = await rattler.solve(
                channels,
                [*specs, *map(rattler.MatchSpec, known)],
                gateway=gateway,
                virtual_packages=virtual,
                channel_priority=_PRIORITIES[asked["priority"]],
                channel_relations="disabled",
            )
            break
        except SolverError:
            if not extra:
                raise
    places = {masked(channel.base_url).rstrip("/"): place for place, channel in enumerate(channels)}
    records = sorted(found, key=lambda each: str(each.name.normalized))
    return {"packages": [_package(each, places) for each in records]}


async def install(asked: Json) -> Json:
    records = [_record(each) for each in asked["packages"]]
    for record in records:
        _check(record)
    progress = Progress(asked["packages"])
    threading.Thread(target=progress.watch, name="watch", daemon=True).start()
    await rattler.install(
        records,
        asked["prefix"],
        cache_dir=Path(asked["cache"], "pkgs"),
        client=_client(asked),
        reporter=progress,
        execute_link_scripts=True,  # as conda does
    )
    progress.end()
    for file in Path(asked["prefix"], "conda-meta").glob("*.json"):
        _forget_credentials(file)
    return {}


async def fetch(asked: Json) -> Json:
    """Fetches packages as files to a folder; returns why the missing ones are not available."""
    client = _client(asked)
    away: dict[str, str] = {}
    for package in asked["packages"]:
        record, target = _record(package), Path(asked["folder"], package["place"])
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            if record.url.startswith("file:"):
                shutil.copyfile(url2pathname(urlsplit(record.url).path), target)
            else:
                await download_to_path(client, record.url, target)
            _check_file(target, record.sha256, record.url)
        except Exception as error:  # whatever the network has to say: the others are fetched all the same
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            target.unlink(missing_ok=True)
            away[package["place"]] = masked(str(error)).strip()
    return {"away": away}


async def reach(asked: Json) -> Json:
    """For each unreachable channel the reason; nothing for the others."""
    client = _client(asked)
    return {"away": await asyncio.gather(*(_away(client, _channel(each)) for each in asked["channels"]))}


async def _away(client: Client, channel: rattler.Channel) -> str:
    began = time.monotonic()
    try:
        await download_bytes(client, f"{channel.base_url}noarch/{_PROBE}")
    except Exception as error:  # noqa: BLE001 whatever the network has to say
        words = str(error)
        if _ANSWERED.search(words):
            return ""
        return words if time.monotonic() - began > _SOON else await _reason(client, channel) or words
    return ""


async def _reason(client: Client, channel: rattler.Channel) -> str:
    """Why it cannot be reached, down to the last cause, which a plain request does not report."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            await rattler.Gateway(cache_dir=Path(folder), client=client).names([channel], [rattler.Subdir("noarch")])
        except Exception as error:  # noqa: BLE001 as above
            first, *causes = str(error).split("\nCaused by: ")
            return f"{first} ({causes[-1].strip()})" if causes else first
    return ""


async def _has(gateway: rattler.Gateway, channels: Sequence[rattler.Channel], name: str) -> bool:
    platforms = [rattler.Subdir.current(), rattler.Subdir("noarch")]
    found = await gateway.query(channels, platforms, [name], recursive=False, channel_relations="disabled")
    return any(found)


def _client(asked: Json) -> Client:
    lines = [f"tls-no-verify = {json.dumps(not asked['verify'])}", 'tls-root-certs = "system"', "[proxy-config]"]
    lines += [f"{key} = {json.dumps(asked['proxies'][key])}" for key in ("http", "https") if key in asked["proxies"]]
    config = rattler.Config.from_toml("\n".join(lines))
    return Client.from_config(config, max_retries=asked["retries"], user_agent="roost", timeout=asked["timeout"])


def _source(action: Any) -> rattler.SourceConfig:
    return rattler.SourceConfig(cache_action=action)


def _channel(given: Mapping[str, str]) -> rattler.Channel:
    return rattler.Channel(given["url"] or given["name"])


def _package(record: rattler.RepoDataRecord, places: Mapping[str, int]) -> Json:
    known = json.loads(record.to_json())
    kept = {key: known[key] for key in _KEPT if known.get(key)}
    return {
        "name": known["name"],
        "version": known["version"],
        "build": known["build"],
        "build_number": known["build_number"],
        "channel": places[masked(record.channel).rstrip("/")],
        "subdir": known["subdir"],
        "file": record.file_name,
        **kept,
    }


def _record(package: Json) -> rattler.RepoDataRecord:
    """rattler's record, from a lock's entry and the address of the package's channel."""
    base = _channel({"url": package["url"], "name": package["channel"]}).base_url
    made = rattler.PackageRecord(
        name=package["name"],
        version=package["version"],
        build=rattler.BuildString(package["build"]),
        build_number=package["build_number"],
        subdir=package["subdir"],
        noarch=package.get("noarch"),
        depends=package.get("depends", []),
        constrains=package.get("constrains", []),
        sha256=bytes.fromhex(package["sha256"]) if "sha256" in package else None,
        md5=bytes.fromhex(package["md5"]) if "md5" in package else None,
        size=package.get("size"),
        python_site_packages_path=package.get("python_site_packages_path"),
    )
    url = f"{base.rstrip('/')}/{package['subdir']}/{package['file']}"
    return rattler.RepoDataRecord(made, package["file"], url, base)


def _forget_credentials(file: Path) -> None:
    """Removes credentials from rattler's record of a package's address."""
    known = json.loads(file.read_text(encoding="utf-8"))
    shown = {key: masked(known[key]) for key in ("url", "channel") if isinstance(known.get(key), str)}
    if any(known[key] != text for key, text in shown.items()):
        file.write_text(json.dumps({**known, **shown}, indent=2), encoding="utf-8")


def _check(record: rattler.RepoDataRecord) -> None:
    """Checks a package in a folder against its index; rattler itself checks packages from the network."""
    path = Path(url2pathname(urlsplit(record.url).path))
    if record.url.startswith("file:") and path.is_file():
        _check_file(path, record.sha256, record.url)


def _check_file(path: Path, expected: bytes | None, url: str) -> None:
    if expected is None:
        return
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected.hex():
        raise ValueError(f"hash mismatch of {url}: expected {expected.hex()}, got {found}")


_DEEDS = {"solve": solve, "install": install, "reach": reach, "fetch": fetch}


def main() -> None:
    asked = json.loads(Path(sys.argv[1]).read_text())
    try:
        answer = asyncio.run(_DEEDS[asked["do"]](asked))
    except Exception as error:  # noqa: BLE001 rattler's errors have no common class; all of them are told
        tell(error=str(error).strip(), kind=type(error).__name__)
    else:
        tell(answer=answer)
    os._exit(0)  # rattler's threads may still report progress, and must not meet an interpreter that ends


if __name__ == "__main__":
    main()
