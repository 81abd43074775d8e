"""Runs programs in containers of an image during a build: mainly uv, with the pip settings of this machine. Their output is
logged line by line, without addresses; nothing outlives the call.
"""

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from roost.environments import caches
from roost.environments.base import BuildFailed, Meanwhile, Private, Say
from roost.environments.containers.box import NOTE, Box, Content, Mount
from roost.environments.containers.engine import Engine
from roost.environments.pip.program import Uv, cache_at
from roost.environments.running import Hint, Words

_UV = "/opt/roost/uv"
_PAUSE = 0.1
_LAST_LINES = 30
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_KEPT = re.compile(r"UV_|SSL_CERT_FILE$|SSL_CLIENT_CERT$|NO_COLOR$|(https?|all|no)_proxy$", re.IGNORECASE)


class Workshop:
    """For one builder. `environment` is set in every container; its first value is the run's mark. Of the run's folder `scratch`,
    the containers see one part, made for them, at its own path."""

    def __init__(self, say: Say, meanwhile: Meanwhile, environment: Mapping[str, str], scratch: Path) -> None:
        self._say = say
        self._meanwhile = meanwhile
        self._environment = environment
        self._scratch = scratch
        self.folder = scratch / "box"

    def run(
        self,
        engine: Engine,
        image: str,
        argv: Sequence[str],
        mounts: Sequence[Mount] = (),
        variables: Mapping[str, str] | None = None,
        *,
        words: Words,
        scrub: Callable[[str], str] = str,
        hint: Hint | None = None,
        folder: Path | None = None,
    ) -> list[str]:
        """The program's output; BuildFailed with its last lines when it fails."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The cleanup after this process must find out that there may be containers.
        (self._scratch / NOTE).write_text(json.dumps({"engine": engine.path}), encoding="utf-8")
        content = Content(
            image=image,
            argv=argv,
            environment={"PATH": _PATH, **engine.variables(image), **(variables or {}), **self._environment},
            mounts=[Mount(self.folder), *mounts],
            folder=folder or self.folder,
            log=self.folder / "said.txt",
            end=self.folder / "end" / "code",
            mark=next(iter(self._environment.values()), ""),
        )
        content.log.unlink(missing_ok=True)
        content.end.parent.mkdir(exist_ok=True)
        box = Box(engine, content)
        told = _Told(content.log, self._say, words, scrub)
        try:
            while box.exit_code() is None:
                told.more()
                self._meanwhile()
                time.sleep(_PAUSE)
        finally:
            box.end(0)
            box.remove()
        told.more(last=True)
        if box.exit_code():
            said = "\n".join(told.lines[-_LAST_LINES:]).strip()
            raise BuildFailed(
                said or f"{argv[0]} ended with {box.exit_code()} in the container.",
                hint=_hint(said) or (hint(said) if hint else ""),
            )
        return told.lines


class BoxedUv(Uv):
    """uv inside an image: it sees its small files, its cache, the prefix, and this machine's paths in its settings."""

    def __init__(self, workshop: Workshop, engine: Engine, image: str, cache: Path, private: Private, say: Say) -> None:
        super().__init__(say, _nothing, {}, workshop.folder, private)
        workshop.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._workshop = workshop
        self._engine = engine
        self._image = image
        # uv's compiled files fit only the libraries of one image, so every image has its own cache.
        self._cache = cache / image.removeprefix("sha256:")[:16]
        self.prefix: Path | None = None

    def start(
        self,
        command: Sequence[str],
        words: Words,
        *,
        scrub: Callable[[str], str] = str,
        hint: Hint | None = None,
        variables: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> list[str]:
        given = {
            **{name: value for name, value in self.environment.items() if _KEPT.match(name)},
            **cache_at(self._cache),
            **(variables or {}),
            "UV_LINK_MODE": "copy",  # cache and prefix are two mounts, and hard links cannot cross mounts
            "HOME": "/tmp",  # noqa: S108 - inside the container
        }
        given = {name: value for name, value in given.items() if value}
        mounts = [Mount(Path(command[0]), _UV, read_only=True), Mount(self._cache)]
        mounts += [Mount(self.prefix)] if self.prefix is not None else []
        argv = [_UV, *command[1:]]
        run = self._workshop.run
        with caches.using(self._cache):
            mounts += [Mount(place, read_only=True) for place in _places(given.values(), self._cache)]
            return run(
                self._engine, self._image, argv, mounts, given, words=words, scrub=scrub, hint=hint, folder=folder
            )


class _Told:
    """A growing file, logged line by line."""

    def __init__(self, path: Path, say: Say, words: Words, scrub: Callable[[str], str]) -> None:
        self.lines: list[str] = []
        self._path, self._say, self._words, self._scrub = path, say, words, scrub
        self._offset, self._rest = 0, b""
        self._begun = self._last = time.monotonic()

    def more(self, *, last: bool = False) -> None:
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        self._offset += len(data)
        *whole, self._rest = (self._rest + data).split(b"\n")
        if last and self._rest:
            whole.append(self._rest)
        for line in whole:
            self.lines.append(self._scrub(line.decode("utf-8", "replace").rstrip()))
            self._tell(self._words.heard(self.lines[-1]))
        now = time.monotonic()
        self._tell(self._words.pulse(now - self._begun, now - self._last))

    def _tell(self, text: str) -> None:
        if text:
            self._say(text)
            self._last = time.monotonic()


def _nothing() -> None:
    pass


def _places(values: Iterable[str], but: Path) -> list[Path]:
    """Files and folders of this machine that settings name: they must be in the container too."""
    found: dict[Path, None] = {}
    for value in values:
        for word in re.split(r"[\s,]+", value):
            path = Path(word.removeprefix("file://"))
            if word.startswith("file://") and os.path.isdir(path):
                path = path.parent  # an index: the files that it lists may be beside it
            if path.is_absolute() and len(path.parts) > 2 and path != but and os.path.exists(path):
                found[path] = None
    return [each for each in found if not any(other in each.parents for other in found)]


def _hint(said: str) -> str:
    if "not found" in said and _UV in said:
        return "Packages can be installed in images with glibc alone; bring yours in the image and set user_managed_dependencies."
    if "dns error" in said or "Failed to fetch" in said:
        return "A package index could not be reached from the container; the indexes are those that pip is set up with here."
    return ""
