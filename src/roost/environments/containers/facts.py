"""The facts about an environment's image, in its lock and in its prefix; and the images of an engine that are no longer
needed."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from roost.environments.base import IMAGE, Lock
from roost.environments.containers.engine import Engine
from roost.machine import locks

FACTS = "image.json"
"""The file in a prefix that names its image."""
HOME_LABEL = "roost.home"
_USE = ".images.use"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """An image that was found, and how other nodes get it; stored in the lock."""

    id: str
    reference: str = ""
    digest: str = ""
    """Its permanent name in a registry: repository@sha256:…; empty for an image that is only here."""
    archive: str = ""
    """Blob of the whole image, if there is one."""
    python: str = ""
    """The Python in it that is used."""
    prefix: bool = False
    """True when packages are installed beside it; else its Python runs as it is."""
    registry: str = ""
    username: str = ""
    secret: str = ""


def body(facts: Facts, rest: str) -> str:
    """The body of a lock: the image first, then the packages beside it."""
    return f"{json.dumps(asdict(facts))}\n{rest}"


def split(lock: Lock) -> tuple[Facts, str]:
    first, _, rest = lock.body.partition("\n")
    return Facts(**json.loads(first)), rest


def of_lock(lock: Lock) -> Facts | None:
    """The image of a lock; None for a native one."""
    return split(lock)[0] if lock.kind == IMAGE else None


def read(prefix: Path) -> Facts | None:
    """The image in which a prefix is used; None for a native one."""
    try:
        return Facts(**json.loads((prefix / FACTS).read_bytes()))
    except FileNotFoundError:
        return None


def write(prefix: Path, facts: Facts) -> None:
    (prefix / FACTS).write_text(json.dumps(asdict(facts)) + "\n", encoding="utf-8")


def home_label(home: Path) -> str:
    """Unique to this home: several homes may share one engine."""
    return str(home.resolve())


def hold(home: Path) -> int:
    """Protects the images of this home from `drop` while this descriptor is open; the end of the process closes it. Held from
    before a build or fetch until a prefix names the image. Waits for a drop that has begun."""
    return locks.hold(_use_file(home), shared=True)


def unused(engine: Engine, home: Path) -> list[tuple[str, int]]:
    """Images that were built for this home and that none of its prefixes needs: id and bytes. Empty during a build, since its
    image is not known yet."""
    with locks.tried(_use_file(home)) as settled:
        if not settled:
            return []
    needed = _needed(home)
    client = engine.client()
    try:
        found = client.images.list(filters={"label": f"{HOME_LABEL}={home_label(home)}"})
        return [(str(each.id), int(each.attrs.get("Size") or 0)) for each in found if each.id not in needed]
    finally:
        client.close()


def drop(engine: Engine, home: Path, image: str) -> bool:
    """Deletes an image, unless a container or a prefix uses it, or an image is being built."""
    with locks.tried(_use_file(home)) as settled:  # so no image is about to be used by a new prefix
        if not settled or image in _needed(home):
            return False
        client = engine.client()
        try:
            found = client.images.get(image)
            for tag in found.tags or [image]:
                client.images.remove(tag)
            return True
        except Exception:  # noqa: BLE001 whatever the library raises: an image that stays is no error
            return False
        finally:
            client.close()


def _needed(home: Path) -> set[str]:
    return {facts.id for each in (home / "envs").glob(f"*/{FACTS}") if (facts := read(each.parent)) is not None}


def _use_file(home: Path) -> Path:
    place = home / "envs"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place / _USE
