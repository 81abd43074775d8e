"""Environments in images on a machine with no engine: Azure's are built natively, others say what to do. Engines of their own
are in `tests/real/test_containers_images.py`.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.shared import wheels

from roost.domain.containers import flags
from roost.domain.recipes import Image, Recipe
from roost.environments import base, builders
from roost.environments.base import Builder, Lock, Private, read_lock
from roost.environments.containers import builder as container
from roost.environments.containers import facts as container_facts
from roost.environments.containers import images as container_images
from roost.environments.containers.box import _signed, _volumes
from roost.environments.containers.engine import NoEngine
from roost.environments.containers.facts import Facts
from roost.environments.containers.images import OutOfReach, registry_of

AZURES = Image(reference="mcr.microsoft.com/azureml/openmpi3.1.2-ubuntu18.04", plain=True)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]) -> Callable[[str], Builder]:
    wheels.wheel(wheels.machine(tmp_path, monkeypatch), "lower", "2.0")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    return lambda kind: builders.choose(
        kind, said.append, lambda: None, {}, tmp_path / "scratch", tmp_path / "home", Private()
    )


def test_azures_image_is_built_natively_and_both_log_and_lock_say_so(
    build: Callable[[str], Builder], said: list[str], tmp_path: Path
) -> None:
    (tmp_path / "scratch").mkdir()
    recipe = Recipe(python="3.11", requirements=("lower",), image=AZURES)
    lock = build(builders.kind_of(recipe)).resolve(recipe)
    assert lock.kind == base.PIP and "lower==2.0" in lock.body
    assert (
        f"natively instead of in the image {AZURES.reference}: There is no container engine on this machine"
        in lock.notes[-1]
    )
    assert any(lock.notes[-1].split(":")[0] in line for line in said)
    assert read_lock(lock.text) == lock


@pytest.mark.parametrize(
    ("image", "named"), [(Image(reference="team/own:1"), "team/own:1"), (Image(dockerfile="FROM x"), "Dockerfile")]
)
def test_an_image_of_ones_own_says_the_way_out(build: Callable[[str], Builder], image: Image, named: str) -> None:
    recipe = Recipe(python="3.11", requirements=("lower",), image=image)
    with pytest.raises(NoEngine, match=named) as caught:
        build(builders.kind_of(recipe)).resolve(recipe)
    assert "Docker or Podman" in caught.value.hint and "natively" in caught.value.hint


@pytest.mark.parametrize(
    ("version", "wanted", "told"), [("3.6.15", "3.6.2", True), ("3.6.2", "3.6.2", False), ("3.6.15", "3.6", False)]
)
def test_another_patch_of_python_is_told(version: str, wanted: str, told: bool) -> None:
    notes = container._nearest(version, wanted)
    assert bool(notes) is told and all(version in note and wanted in note for note in notes)


def test_facts_travel_in_lock_and_prefix(tmp_path: Path) -> None:
    facts = Facts(id="sha256:1", reference="a", python="/usr/bin/python3", prefix=True)
    lock = Lock(kind=base.IMAGE, python="3.11.2", platform="p", body=container_facts.body(facts, "six==1.0\n"))
    assert container_facts.split(read_lock(lock.text)) == (facts, "six==1.0\n")
    assert container_facts.of_lock(lock) == facts
    assert container_facts.of_lock(Lock(python="3", platform="p", body="")) is None
    assert container_facts.read(tmp_path) is None
    container_facts.write(tmp_path, facts)
    assert container_facts.read(tmp_path) == facts


class BoundedCache:
    """An engine with images, all of them built for this home."""

    def __init__(self, *ids: str) -> None:
        self.ids = list(ids)
        self.tags: list[str] = []
        self.attrs = {"Size": 7}
        self.id = ""

    def client(self) -> "BoundedCache":
        return self

    def close(self) -> None:
        """Nothing is open."""

    @property
    def images(self) -> "BoundedCache":
        return self

    def list(self, filters: object) -> "list[BoundedCache]":
        found = [BoundedCache() for _ in self.ids]
        for each, name in zip(found, self.ids, strict=True):
            each.id = name
        return found

    def get(self, name: str) -> "BoundedCache":
        assert name in self.ids
        return self

    def remove(self, name: str) -> None:
        self.ids.remove(name)


def test_images_stay_while_one_is_built(tmp_path: Path) -> None:
    shelf: Any = BoundedCache("sha256:1", "sha256:2")
    prefix = tmp_path / "envs" / ("a" * 64)
    prefix.mkdir(parents=True)
    container_facts.write(prefix, Facts(id="sha256:2"))
    assert container_facts.unused(shelf, tmp_path) == [("sha256:1", 7)]
    held = container_facts.hold(tmp_path)  # a build, which may come out as an image that is there already
    other = container_facts.hold(tmp_path)
    assert container_facts.unused(shelf, tmp_path) == []
    assert not container_facts.drop(shelf, tmp_path, "sha256:1")
    os.close(other)
    assert not container_facts.drop(shelf, tmp_path, "sha256:1")
    os.close(held)
    assert not container_facts.drop(shelf, tmp_path, "sha256:2"), "found unused before a build came out as it"
    assert container_facts.drop(shelf, tmp_path, "sha256:1")
    assert shelf.ids == ["sha256:2"]


@pytest.mark.parametrize(
    ("reference", "host"),
    [
        ("ubuntu:22.04", "registry-1.docker.io"),
        ("team/image", "registry-1.docker.io"),
        ("registry.example/image", "registry.example"),
        ("localhost:5000/image", "localhost:5000"),
        ("localhost/image", ""),
        ("sha256:abc", ""),
    ],
)
def test_where_an_image_comes_from(reference: str, host: str) -> None:
    assert registry_of(reference) == host


@pytest.mark.parametrize(
    ("reference", "known", "digest"),
    [
        ("ubuntu:22.04", ["docker.io/library/ubuntu@sha256:1"], "docker.io/library/ubuntu@sha256:1"),
        (
            "host:5000/a/b:1",
            ["localhost/a/b@sha256:1", "x/y@sha256:2", "host:5000/a/b@sha256:3"],
            "host:5000/a/b@sha256:3",
        ),
        ("host:5000/a/b", ["host:5000/a/b@sha256:3"], "host:5000/a/b@sha256:3"),
        ("mine:1", ["localhost/mine@sha256:1"], ""),
        ("mine:1", [], ""),
    ],
)
def test_the_name_that_an_image_has_for_ever(reference: str, known: list[str], digest: str) -> None:
    assert container_images._digest(reference, known) == digest


def test_a_registry_that_is_away_is_found_out_at_once() -> None:
    with pytest.raises(OutOfReach, match=r"127\.0\.0\.1:9 cannot be reached"):
        container_images._knock("127.0.0.1:9", {})
    container_images._knock("127.0.0.1:9", {"HTTPS_PROXY": "proxy"})


@pytest.mark.parametrize(
    ("code", "signed"), [(0, 0), (3, 3), (137, -9), (143, -15), (139, -11), (255, 255), (128, 128)]
)
def test_a_shell_s_codes(code: int, signed: int) -> None:
    assert _signed(code) == signed


def test_volumes_are_the_node_s_to_allow(tmp_path: Path) -> None:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "out").symlink_to("/etc")
    wish = flags(["-v", f"{tmp_path}/data/deep:/x:ro"])
    with pytest.raises(base.RoostError, match="may not be mounted"):
        _volumes(wish, {})
    for allowed in (f"/nowhere:{tmp_path}/data", "*"):
        assert _volumes(wish, {"ROOST_CONTAINER_VOLUMES": allowed})[0].target == "/x"
    (tmp_path / "data" / "in").symlink_to("deep")
    mount = _volumes(flags(["-v", f"{tmp_path}/data/in:/x"]), {"ROOST_CONTAINER_VOLUMES": str(tmp_path / "data")})[0]
    assert mount.source == (tmp_path / "data" / "deep").resolve(), "what was looked at is what is mounted"
    with pytest.raises(base.RoostError, match="may not be mounted"):
        _volumes(flags(["-v", f"{tmp_path}/data/out:/x"]), {"ROOST_CONTAINER_VOLUMES": str(tmp_path / "data")})
