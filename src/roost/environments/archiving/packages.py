"""The files of the pip part of a lock: uv lists their addresses, they are fetched by their hashes, and a source without a wheel
is built into one. So an installation from here neither builds nor resolves anything.
"""

import re
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from roost.environments.archiving.base import BUILT, OWN, SOURCES, WHEELS, KeptFiles, package_of, safe_name
from roost.environments.archiving.fetching import Fetcher
from roost.environments.base import BuildFailed
from roost.environments.pip import compiling, own_wheels
from roost.environments.pip.options import Options
from roost.environments.pip.program import Uv, cache_at
from roost.environments.running import Silent, Words

HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_PIN = re.compile(r"[A-Za-z0-9][\w.-]*")
_MANYLINUX = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
_NUMBERED = re.compile(r"manylinux_(\d+)_(\d+)")
_UNREACHED = re.compile(r"Request failed after|error sending request|operation timed out", re.IGNORECASE)
"""uv's messages for an index that does not answer."""

Place = Mapping[str, Any]
"""uv's entry for a package: the addresses of its wheels and sources (`packages` of a pylock.toml)."""


class Packages:
    """For one prefix. `metadata` is what uv need not request from packages; `scratch` is a folder that uv can read wherever it
    runs."""

    def __init__(self, uv: Uv, python: Path, options: Options, metadata: str, scratch: Path | None) -> None:
        self._uv = uv
        self._python = python
        self._options = options
        self._metadata = metadata
        self._scratch = scratch
        self._fetcher = Fetcher({**uv.environment, **options.variables}, uv.meanwhile)

    def keep(self, text: str, kept: KeptFiles) -> None:
        """Stores a wheel of each package in the lines of a lock, and the sources of packages without wheels."""
        wanted = {}
        for name, lines in entries(text):
            if own := own_wheels.blob_of(lines):
                self._keep_own(*own, kept)
            elif not kept.below(WHEELS, name) and not kept.below(BUILT, name):
                wanted[name] = lines
        for name, place in self._places(wanted, kept).items():
            with tempfile.TemporaryDirectory(prefix="keep-", dir=self._scratch) as folder:
                try:
                    self._keep(name, wanted[name], place, Path(folder).resolve(), kept)
                except BuildFailed as failed:
                    kept.lacks(_said(wanted[name]), self._words(failed))

    def keep_sources(self, text: str, kept: KeptFiles) -> None:
        """Stores only sources: of packages whose wheels are compiled by rules."""
        wanted = {name: lines for name, lines in entries(text) if not kept.below(SOURCES, name)}
        for name, place in self._places(wanted, kept).items():
            with tempfile.TemporaryDirectory(prefix="keep-", dir=self._scratch) as folder:
                try:
                    self._keep_source(wanted[name], place, Path(folder), kept)
                except BuildFailed as failed:
                    kept.lacks(_said(wanted[name]), self._words(failed))

    def _places(self, wanted: Mapping[str, str], kept: KeptFiles) -> dict[str, Place]:
        """The entry of each package; packages with markers for another machine are left out. Packages that are not found are
        recorded as missing."""
        try:
            return self._ask(wanted)
        except BuildFailed as every:
            if _UNREACHED.search(every.message):  # separate requests would wait as long each
                self._uv.say(self._words(every))
                for lines in wanted.values():
                    kept.lacks(_said(lines), "the package index cannot be reached")
                return {}
            found: dict[str, Place] = {}
            for name, lines in wanted.items():
                try:
                    found |= self._ask({name: lines})
                except BuildFailed as failed:
                    kept.lacks(_said(lines), f"it is not found any more. {self._words(failed)}")
            return found

    def _ask(self, wanted: Mapping[str, str]) -> dict[str, Place]:
        if not wanted:
            return {}
        with tempfile.TemporaryDirectory(prefix="keep-", dir=self._scratch) as name:
            folder = Path(name).resolve()
            asked, told = folder / "lock.txt", folder / "pylock.toml"
            text = "".join(f"{lines}\n" for lines in wanted.values())
            asked.write_text(text, encoding="utf-8")
            (folder / "uv.toml").write_text(self._metadata, encoding="utf-8")
            given = ["--no-deps", "--no-header", "--quiet", *self._options.flags, "--python", str(self._python)]
            command = ["pip", "compile", "--format", "pylock.toml", *given, "-o", str(told), str(asked)]
            self._uv.run(command, Silent("Looking for the files"), self._options, shown=text, folder=folder)
            found = tomllib.loads(told.read_text(encoding="utf-8")).get("packages", [])
        return {compiling.canonical(each["name"]): each for each in found}

    def _keep(self, name: str, lines: str, place: Place, folder: Path, kept: KeptFiles) -> None:
        hashes = HASH.findall(lines)
        offered = [*place.get("wheels", ()), *([place["archive"]] if "archive" in place else [])]
        wheels = [each for each in offered if _file(each).endswith(".whl") and _is_locked(each, hashes)]
        if wheels:
            best = max(wheels, key=lambda each: _rank(_file(each)))
            kept.add(f"{WHEELS}/{_file(best)}", self._fetch(best, hashes, folder))
            return
        if "vcs" not in place:
            self._keep_source(lines, place, folder, kept)
        made = self._build(name, lines, folder)
        kept.add(f"{BUILT}/{safe_name(made.name)}", made)

    def _keep_source(self, lines: str, place: Place, folder: Path, kept: KeptFiles) -> None:
        hashes = HASH.findall(lines)
        source = place.get("sdist") or place.get("archive")
        if source is None or not _is_locked(source, hashes):
            raise BuildFailed("the files that are there now are not those that were locked")
        kept.add(f"{SOURCES}/{_file(source)}", self._fetch(source, hashes, folder))

    def _keep_own(self, blob: str, file: str, kept: KeptFiles) -> None:
        path = f"{OWN}/{blob}/{file}"
        if not kept.has(path):
            with tempfile.TemporaryDirectory(prefix="keep-", dir=self._scratch) as folder:
                target = Path(folder, file)
                self._uv.private.fetch(blob, target)
                kept.add(path, target)

    def _fetch(self, file: Mapping[str, Any], hashes: list[str], folder: Path) -> Path:
        target = folder / _file(file)
        address = _expanded(str(file["url"]), self._options.variables) if "url" in file else Path(file["path"]).as_uri()
        self._fetcher.fetch(address, target, hashes)
        return target

    def _build(self, name: str, lines: str, folder: Path) -> Path:
        """Builds a wheel for a package that has none, as uv does at installation, and takes it from a temporary cache."""
        wanted, cache = folder / "source.txt", folder / "cache"
        wanted.write_text(f"{lines}\n", encoding="utf-8")
        flags = ["--no-deps", "--no-binary", name, "--python", str(self._python), "--target", str(folder / "out")]
        command = ["pip", "install", "--quiet", *flags, "-r", str(wanted)]
        words = Words(f"Building {name}")
        self._uv.run(command, words, self._options, shown=lines, variables=cache_at(cache))
        made = [each for each in sorted(cache.glob("sdists-*/**/*.whl")) if package_of(each.name) == name]
        if not made:
            raise BuildFailed("a wheel was built of it, and is not where uv keeps such")
        return made[0]

    def _words(self, failed: BuildFailed) -> str:
        return self._options.hide(" ".join(failed.message.split()))[:300]


def entries(text: str) -> Iterator[tuple[str, str]]:
    """Each package of a lock's lines, with its lines."""
    kept: list[str] = []
    for line in text.splitlines():
        if not kept and (not line.strip() or line.startswith(("#", "-"))):
            continue
        kept.append(line)
        if not line.endswith("\\"):
            lines, kept = "\n".join(kept), []
            if found := _PIN.match(lines):
                yield compiling.canonical(found[0]), lines


def _said(lines: str) -> str:
    """The short name of a lock's entry."""
    first = lines.split("\n", 1)[0]
    return first.partition(" @ ")[0].partition(" \\")[0].partition(" ;")[0].partition(" --hash")[0].strip()


def _file(place: Mapping[str, Any]) -> str:
    named = place.get("name") or urlsplit(str(place.get("url") or place.get("path", ""))).path.rpartition("/")[2]
    return safe_name(unquote(str(named)))


def _is_locked(place: Mapping[str, Any], hashes: list[str]) -> bool:
    """True when the file may be one of the lock's: a file without a hash is checked after the download."""
    said = place.get("hashes", {}).get("sha256")
    return not hashes or said is None or said in hashes


def _rank(file: str) -> tuple[bool, tuple[int, int], bool, str]:
    """Sorts wheels that all fit: one for this platform before one for any, then the newest platform, as uv does."""
    python, _, platforms = file.removesuffix(".whl").split("-")[-3:]
    glibc = [(int(found[1]), int(found[2])) for found in _NUMBERED.finditer(platforms)]
    glibc += [version for word, version in _MANYLINUX.items() if word in platforms.split(".")[0].split("_")]
    return platforms != "any", max(glibc, default=(0, 0)), python.startswith("cp"), file


def _expanded(url: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\$\{([A-Z0-9_]+)\}", lambda found: variables.get(found[1], found[0]), url)
