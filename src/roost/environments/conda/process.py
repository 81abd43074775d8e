"""Runs `worker.py` and reads its output: messages go to the log, its errors become ours, and it ends with the caller."""

import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roost.environments import suggesting
from roost.environments.archiving import channels as archived
from roost.environments.base import BuildFailed, Meanwhile, Say
from roost.environments.conda import translating
from roost.environments.conda.settings import Channel, Settings
from roost.environments.running import Runner, Words

_PROBE_SECONDS = 8
_MOST_LINES = 25
"""The most lines of a solver's explanation, which is very detailed."""
_NOISE = "Caused by: failed to interact with the package cache layer.\n"
_NOT_CACHED = "no usable repodata cache"
_CERTIFICATE = re.compile(r"certificate|UnknownIssuer", re.IGNORECASE)
_FULL = re.compile(r"No space left on device|os error 28|Disk quota exceeded", re.IGNORECASE)
_BROKEN = re.compile(r"hash mismatch|mismatch|digest|checksum|corrupt|deflate|bzip|zip archive|\btar\b", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:401|403)\b|Unauthorized|Forbidden")
_AWAY = re.compile(
    r"error sending request|dns error|timed out|client error \(Connect\)|connection (?:refused|reset|closed)",
    re.IGNORECASE,
)


class Worker:
    """Tasks for rattler, each in its own process."""

    def __init__(
        self,
        settings: Settings,
        say: Say,
        meanwhile: Meanwhile,
        environment: Mapping[str, str],
        scratch: Path,
        cache: Path,
    ) -> None:
        self._settings = settings
        self._scratch = scratch
        self._cache = cache
        certificates = {"SSL_CERT_FILE": settings.certificates} if settings.certificates else {}
        self._runner = Runner(say, meanwhile, {**os.environ, **certificates, **environment})

    def away(self, channels: Sequence[Channel]) -> dict[str, str]:
        """The channels that cannot be reached now, with the reason."""
        distant = [channel for channel in channels if channel.url.startswith("http") or not channel.url]
        if not distant:
            return {}  # a folder's errors are reported when it is read; stores of other kinds report their own
        answer = self._ask("reach", distant, retries=0, timeout=_PROBE_SECONDS)
        reasons = zip(distant, answer["away"], strict=True)
        return {channel.name: self._settings.scrub(reason, channels) for channel, reason in reasons if reason}

    def solve(
        self,
        channels: Sequence[Channel],
        specs: Sequence[str],
        beside: Sequence[str],
        cached: Sequence[str],
        seconds: int | None = None,
    ) -> list[dict[str, Any]]:
        """The packages in the form of a lock. Packages in `beside` are added where the channels have them; for the channels in
        `cached` only earlier downloads are used. `seconds` is the time limit for a channel's answer."""
        answer = self._ask(
            "solve",
            channels,
            specs=list(specs),
            beside=list(beside),
            cached=[place for place, channel in enumerate(channels) if channel.name in cached],
            offline=self._settings.offline,
            priority=self._settings.priority,
            timeout=seconds,
        )
        return [{**each, "channel": channels[each["channel"]].name} for each in answer["packages"]]

    def install(self, packages: Sequence[Mapping[str, Any]], channels: Mapping[str, Channel], prefix: Path) -> None:
        placed = [{**each, "url": channels[each["channel"]].url} for each in packages]
        self._ask("install", list(channels.values()), packages=placed, prefix=str(prefix))

    def fetch(
        self, packages: Sequence[Mapping[str, Any]], channels: Mapping[str, Channel], folder: Path
    ) -> dict[str, str]:
        """Fetches packages as files to their paths in a folder; returns, by path, why one is not available."""
        placed = [{**each, "url": channels[each["channel"]].url, "place": archived.place(each)} for each in packages]
        answer = self._ask("fetch", list(channels.values()), packages=placed, folder=str(folder))
        every = list(channels.values())
        return {str(place): self._settings.scrub(str(why), every) for place, why in answer["away"].items()}

    def _ask(self, do: str, channels: Sequence[Channel], **what: object) -> dict[str, Any]:
        asked = {
            "do": do,
            "channels": [{"name": channel.name, "url": channel.url} for channel in channels],
            "cache": str(self._cache),
            "verify": self._settings.verify,
            "proxies": dict(self._settings.proxies),
            "retries": 3,
            "timeout": None,
            **what,
        }

        def scrub(line: str) -> str:
            return line if "answer" in _json(line) else self._settings.scrub(line, channels)

        with tempfile.TemporaryDirectory(prefix="conda-", dir=self._scratch) as folder:
            file = Path(folder, "asked.json")  # not an argument, which every user of the machine could read
            file.write_text(json.dumps(asked))
            command = [sys.executable, "-P", "-m", "roost.environments.conda.worker", str(file)]
            said = self._runner.run(command, _Told(_TASKS[do]), scrub=scrub, hint=hint)
        last = _json(said[-1]) if said else {}
        if "answer" not in last:
            raise failure(str(last.get("error", "rattler said nothing.")), str(last.get("kind", "")))
        answer: dict[str, Any] = last["answer"]
        return answer


_TASKS = {
    "reach": "Asking the conda channels",
    "solve": "Resolving conda packages",
    "install": "Installing conda packages",
    "fetch": "Fetching conda packages",
}


class _Told(Words):
    """Selects the worker's lines for the log."""

    def heard(self, line: str) -> str:
        told = _json(line)
        return str(told.get("say", "")) if told else line


def _json(line: str) -> dict[str, Any]:
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def failure(words: str, kind: str = "") -> BuildFailed:
    """rattler's message, with the next step."""
    if kind == "SolverError":
        lines = re.sub(r"^Cannot solve the request because of:\s*", "", words).strip().splitlines()
        words = "\n".join([*lines[:_MOST_LINES], *(["…"] if len(lines) > _MOST_LINES else [])])
        return BuildFailed(
            f"The conda packages cannot be had together: {words}",
            hint=" ".join([*_meant(words), "Loosen the versions in the conda file, or add a channel that has them."]),
        )
    return BuildFailed(words.replace(_NOISE, ""), hint=hint(words, kind))


def _meant(words: str) -> list[str]:
    """A suggestion for a name that no channel has."""
    meant = suggesting.hint(words, translating.is_conda_name)
    return [meant] if meant else []


def nothing_fetched(failed: BuildFailed) -> bool:
    """True when it failed because an unreachable channel was never fetched."""
    return _NOT_CACHED in failed.message


def distrusted(words: str) -> bool:
    """True when a channel answered with a certificate that is not trusted here: the user must fix that, so it must not be
    bypassed."""
    return _CERTIFICATE.search(words) is not None


def hint(words: str, kind: str = "") -> str:
    if kind == "InvalidMatchSpecError":
        return "Write name, name=1.2, name=1.2=build, name>=1,<2 or channel::name."
    if _FULL.search(words):
        return "The disk is full. Free some of it (roost du, roost gc), and submit again."
    if _CERTIFICATE.search(words):
        return "The channel's certificate is not trusted here: name the file that has its authority as ssl_verify in .condarc."
    if _NOT_CACHED in words:
        return "Nothing of that channel was fetched before; submit again when it can be reached."
    if _DENIED.search(words):
        return "The channel wants a credential: put it into ~/.netrc, .condarc or RATTLER_AUTH_FILE of this node."
    if "could not find subdir" in words:
        return "A channel is a place with folders such as noarch and linux-64, each with a repodata.json."
    if re.search(r"\b(?:404|410)\b", words):
        return "The channel has not got it any more; ask for another version in the conda file, which is locked anew."
    if _AWAY.search(words):
        return "A channel could not be reached; submit again when it is back."
    if _BROKEN.search(words):
        return "A package is not what its channel says it is: it was changed, or damaged on its way. Nothing of it is used."
    return ""
