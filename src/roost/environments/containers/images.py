"""Images on this machine's engine: finds, pulls or builds each once, names it by id, and brings it to other nodes.

An image from a registry is fetched from there by its digest on every node. An image that is only here (built from a Dockerfile,
or made by hand) is pushed to the registry that `ROOST_IMAGE_REGISTRY` names, or sent as an archive (a blob).
"""

import contextlib
import io
import os
import queue
import re
import socket
import threading
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roost.domain.recipes import Image
from roost.environments.archiving import images as archived
from roost.environments.archiving.base import KeptFiles
from roost.environments.base import BuildFailed, Meanwhile, Private, Say
from roost.environments.containers.box import words
from roost.environments.containers.engine import Engine
from roost.environments.containers.facts import HOME_LABEL, Facts, home_label

if TYPE_CHECKING:
    from docker import DockerClient

REGISTRY = "ROOST_IMAGE_REGISTRY"
ARCHIVE = "ROOST_IMAGE_ARCHIVE"
_CONNECT_SECONDS = 5.0
_LAST_LINES = 30
_PAUSE = 0.1
_HUB = "registry-1.docker.io"
_PUSHED = re.compile(r"digest: (sha256:[0-9a-f]{64})")


class OutOfReach(BuildFailed):
    """An image is not here and cannot be fetched."""

    code = "image_out_of_reach"


class Images:
    """The images of one engine, for one builder."""

    def __init__(self, engine: Engine, say: Say, meanwhile: Meanwhile, private: Private) -> None:
        self._engine = engine
        self._say = say
        self._meanwhile = meanwhile
        self._private = private
        self._sure = True
        """True when a digest is known to be a registry's: Podman also gives one to images that were never in a registry."""

    def obtain(self, image: Image, key: str, home: Path) -> Facts:
        """The requested image, found, fetched or built; BuildFailed or OutOfReach."""
        with self._client() as client:
            wanted = Facts(id="", registry=image.registry, username=image.username, secret=image.secret)
            if image.dockerfile:
                return replace(wanted, id=self._build(client, image, key, home))
            found = _look(client, image.reference)
            self._sure = found is None or self._engine.name == "Docker"
            if found is None:
                self._pull(client, image.reference, wanted)
                found = _look(client, image.reference)
            if found is None:
                raise OutOfReach(f"The image {image.reference!r} was fetched and is not there.")
            digest = _digest(image.reference, found.attrs.get("RepoDigests") or ())
            self._say(f"The image {image.reference} is {found.id}.")
            return replace(wanted, id=found.id, reference=image.reference, digest=digest)

    def share(self, facts: Facts, scratch: Path) -> Facts:
        """The image at a place that other nodes can reach; unchanged when that is so already, or is not requested."""
        if facts.digest and self._sure:
            return facts
        address = os.environ.get(REGISTRY, "").strip("/")
        if address:
            return replace(facts, digest=self._push(facts, address))
        if self._private.keep is not None and os.environ.get(ARCHIVE, "") in ("1", "true", "yes"):
            return replace(facts, archive=self._save(facts, scratch))
        return facts

    def restore(self, facts: Facts, scratch: Path) -> None:
        """Brings the image of a lock to this engine if it is not here; it is exactly that image, or OutOfReach."""
        with self._client() as client:
            if _look(client, facts.id) is not None:
                return
            if self._private.kept is not None:
                self._load_kept(client, facts, scratch)
            elif facts.archive:
                self._say(f"Loading the image {facts.id[:19]} from its archive.")
                file = scratch / "image.tar"
                self._private.fetch(facts.archive, file)
                with file.open("rb") as data, _plain_errors(f"The archive of the image {facts.id} cannot be loaded"):
                    client.images.load(data)
                file.unlink()
            elif facts.digest:
                self._pull(client, facts.digest, facts)
            if _look(client, facts.id) is None:
                raise OutOfReach(
                    f"The image {facts.id} ({facts.reference or 'of a Dockerfile'}) is not on this node, nor a way to it.",
                    hint=f"Set {REGISTRY} or {ARCHIVE}=1 where it is built, so that it reaches other nodes, and build it again.",
                )

    def keep(self, facts: Facts, kept: KeptFiles, scratch: Path) -> None:
        """Stores the image of a lock, which is on this engine, as files."""
        if archived.is_kept(kept):
            return
        self._say(f"Keeping the image {facts.id[:19]}.")
        with self._client() as client, _plain_errors(f"The image {facts.id} cannot be saved"):
            archived.keep(client.images.get(facts.id).save(), kept, scratch, self._meanwhile)

    def _load_kept(self, client: "DockerClient", facts: Facts, scratch: Path) -> None:
        assert self._private.kept is not None
        file = scratch / "image.tar"
        if not archived.joined(self._private.kept(), file):
            raise OutOfReach(f"The image {facts.id} is not among the kept files.")
        self._say(f"Loading the image {facts.id[:19]} from what is kept.")
        with file.open("rb") as data, _plain_errors(f"The kept image {facts.id} cannot be loaded"):
            client.images.load(data)
        file.unlink()

    @contextlib.contextmanager
    def _client(self) -> "Iterator[DockerClient]":
        client = self._engine.client()
        try:
            yield client
        finally:
            client.close()

    def _watched(self, lines: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        """The engine's messages. The builder can be stopped meanwhile, since an engine may send nothing for minutes."""
        waiting: queue.Queue[Mapping[str, Any] | Exception | None] = queue.Queue()

        def read() -> None:
            try:
                for line in lines:
                    waiting.put(line)
                waiting.put(None)
            except Exception as error:  # noqa: BLE001 raised again where it is waited for
                waiting.put(error)

        threading.Thread(target=read, name="engine", daemon=True).start()
        while True:
            self._meanwhile()
            with contextlib.suppress(queue.Empty):
                said = waiting.get(timeout=_PAUSE)
                if said is None:
                    return
                if isinstance(said, Exception):
                    raise said
                yield said

    def _pull(self, client: "DockerClient", reference: str, facts: Facts) -> None:
        host = registry_of(reference)
        if not host:
            raise OutOfReach(
                f"The image {reference!r} is not on this machine.",
                hint="Build or load it there, or name one with its registry.",
            )
        if not self._engine.has_detours:
            _knock(host)
        self._say(f"Fetching the image {reference}.")
        own = bool(facts.username) and host == (facts.registry.partition("/")[0] or _HUB)
        access = {"username": facts.username, "password": self._password(facts)} if own else None
        with _plain_errors(f"The image {reference} cannot be fetched"):
            for line in self._watched(client.api.pull(reference, stream=True, decode=True, auth_config=access)):
                if line.get("error"):
                    raise OutOfReach(
                        f"The image {reference} cannot be fetched: {line['error']}", hint=_access_hint(facts)
                    )

    def _password(self, facts: Facts) -> str:
        value = self._private.secret(facts.secret)
        if value is None:
            raise OutOfReach(
                f"The password of {facts.username!r} at {facts.registry or _HUB} is not in the workspace's key vault.",
                hint=f"Keep it there as secret {facts.secret!r}, or set docker.base_image_registry.password and submit.",
            )
        return value

    def _build(self, client: "DockerClient", image: Image, key: str, home: Path) -> str:
        """The id of the image that a Dockerfile makes; logs the engine's messages."""
        if image.username:
            with _plain_errors(f"The registry {image.registry or _HUB} refuses {image.username!r}"):
                client.login(image.username, self._password(_credentials(image)), registry=image.registry or None)
        self._say("Building the Dockerfile.")
        tag = f"roost-env:{key[:12]}"
        said: list[str] = []
        proxies = {name: value for name, value in urllib.request.getproxies_environment().items() if value}
        with _plain_errors("The Dockerfile cannot be built"):
            told = client.api.build(
                fileobj=io.BytesIO(image.dockerfile.encode()),
                tag=tag,
                rm=True,
                forcerm=True,
                decode=True,
                labels={HOME_LABEL: home_label(home)},
                buildargs={f"{name}_proxy": value for name, value in proxies.items()},
            )
            for line in self._watched(told):
                for text in str(line.get("stream") or "").splitlines():
                    if text.strip():
                        said.append(text.rstrip())
                        self._say(said[-1])
                if line.get("error"):
                    raise BuildFailed(
                        "\n".join([*said[-_LAST_LINES:], str(line["error"])]), hint=_build_hint(str(line))
                    )
        found = _look(client, tag)
        if found is None:
            raise BuildFailed(f"The Dockerfile was built, and its image {tag} is not there.")
        self._say(f"Built the image {found.id}.")
        return str(found.id)

    def _push(self, facts: Facts, address: str) -> str:
        name = f"{address}/roost-env"
        tag = facts.id.removeprefix("sha256:")[:12]
        self._say(f"Pushing the image to {name}:{tag}.")
        with self._client() as client, _plain_errors(f"The image cannot be pushed to {address}"):
            client.images.get(facts.id).tag(name, tag)
            for line in self._watched(client.api.push(name, tag, stream=True, decode=True)):
                if line.get("error"):
                    raise BuildFailed(f"The image cannot be pushed to {address}: {line['error']}")
                if said := _PUSHED.search(str(line.get("status") or "")):
                    return f"{name}@{said[1]}"
        raise BuildFailed(f"The image was pushed to {address}, and the engine does not say its digest.")

    def _save(self, facts: Facts, scratch: Path) -> str:
        assert self._private.keep is not None
        self._say("Keeping the image for other nodes.")
        file = scratch / "image.tar"
        with self._client() as client, file.open("wb") as data:
            for piece in client.images.get(facts.id).save():
                self._meanwhile()
                data.write(piece)
        name = self._private.keep(file)
        file.unlink()
        return name


def registry_of(reference: str) -> str:
    """The host of an image's registry; empty for a name that only the engine can resolve."""
    first, slash, _ = reference.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return "" if first == "localhost" else first
    return "" if reference.startswith("sha256:") else _HUB


def _digest(reference: str, known: Sequence[str]) -> str:
    """An image's permanent name in a registry, preferably in its own repository; empty when only this engine has it."""
    found = [each for each in known if not each.startswith("localhost/")]
    last = reference.rpartition("/")[2]
    repository = reference.partition("@")[0].removesuffix(f":{last.partition(':')[2]}") if ":" in last else reference
    own = [each for each in found if f"/{each.partition('@')[0]}".endswith(f"/{repository}")]
    return next(iter([*own, *found]), "")


def _knock(host: str, own: Mapping[str, str] = os.environ) -> None:
    """Checks that the host answers: an engine may try for minutes. Behind a proxy only the engine can find out."""
    if any(own.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return
    name, _, port = host.partition(":")
    ports = [int(port)] if port.isdecimal() else [443, 80]
    problem: OSError | None = None
    for each in ports:
        try:
            with socket.create_connection((name, each), _CONNECT_SECONDS):
                return
        except OSError as error:
            problem = error
    raise OutOfReach(
        f"The registry {host} cannot be reached: {problem}.",
        hint="Load the image on this machine (docker load, podman import), or check the network.",
    )


def _look(client: "DockerClient", name: str) -> Any:
    import docker.errors  # noqa: PLC0415 - loaded by those who use containers

    try:
        return client.images.get(name)
    except docker.errors.ImageNotFound:
        return None
    except docker.errors.APIError as error:
        raise OutOfReach(f"The image {name!r} cannot be looked for: {words(error)}") from error


@contextlib.contextmanager
def _plain_errors(deed: str) -> Iterator[None]:
    import docker.errors  # noqa: PLC0415 - loaded by those who use containers
    import requests  # noqa: PLC0415

    try:
        yield
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise OutOfReach(f"{deed}: {words(error)}") from error


def _credentials(image: Image) -> Facts:
    return Facts(id="", registry=image.registry, username=image.username, secret=image.secret)


def _access_hint(facts: Facts) -> str:
    if facts.username:
        return f"Check the name, and that {facts.username!r} may read it with the password in secret {facts.secret!r}."
    return "Check the name; for a private registry set docker.base_image_registry (address, username, password)."


def _build_hint(said: str) -> str:
    if "COPY" in said or "ADD" in said:
        return "The Dockerfile of an environment has no files beside it: fetch them in a RUN line."
    return "The lines above are the engine's own; try the Dockerfile with docker build."
