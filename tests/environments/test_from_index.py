"""Conda packages from a package index: what they are called there, and when an environment gets them from it."""

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.shared import channels, wheels

from roost.domain.conda import CHANNELS_ONLY, INDEX_FIRST, INDEX_IF_UNREACHABLE
from roost.domain.recipes import BASICS, Image, Recipe
from roost.domain.requirements import package
from roost.environments import base, builders, pythons, suggesting
from roost.environments.base import BuildFailed, Lock, Private
from roost.environments.conda import translating
from roost.environments.conda.builder import CondaBuilder
from roost.environments.containers.builder import ContainerBuilder

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
EXACT = ".".join(map(str, sys.version_info[:3]))
AWAY = "http://127.0.0.1:9/team"
"""Nobody listens there."""


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shelf: Path) -> None:
    channels.machine(tmp_path, monkeypatch)


class Build:
    """A builder whose words are kept."""

    def __init__(self, folder: Path, policy: str = INDEX_IF_UNREACHABLE, known: Lock | None = None) -> None:
        self.said: list[str] = []
        (folder / "run").mkdir(exist_ok=True)
        private = Private(conda_packages=policy, index_lock=lambda: known)
        self.builder = CondaBuilder(self.said.append, lambda: None, {}, folder / "run", folder / "home", private)

    def lock(self, *packages: str, channel: str | Path = AWAY, pip: tuple[str, ...] = (), python: str = HERE) -> Lock:
        recipe = Recipe(python=python, requirements=pip, packages=packages, channels=(str(channel),))
        return self.builder.resolve(recipe)


def pinned(lock: Lock) -> list[str]:
    return [line.split()[0] for line in lock.body.splitlines() if "==" in line and line.split("==")[0] not in BASICS]


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("numpy", "numpy"),
        ("numpy=1.19", "numpy==1.19.*"),
        ("numpy==1.19", "numpy==1.19"),
        ("numpy 1.19", "numpy==1.19"),
        ("numpy=1.19.2=py36h54aff64_0", "numpy==1.19.2"),
        ("numpy 1.19.2 py36_0", "numpy==1.19.2"),
        ("numpy=1.19.*", "numpy==1.19.*"),
        ("numpy 1.19*", "numpy==1.19.*"),
        ("numpy>=1.16,<1.20", "numpy>=1.16,<1.20"),
        ("numpy >= 1.16, != 1.17.*", "numpy>=1.16,!=1.17.*"),
        ("numpy~=1.16.0", "numpy~=1.16.0"),
        ("numpy 1.15|1.16", "numpy==1.16"),
        ("numpy[version='>=1.16']", "numpy>=1.16"),
        ("numpy=1.19[build=py36_0]", "numpy==1.19.*"),
        ("numpy=2.0.0rc1", "numpy==2.0.0rc1"),
        ("conda-forge::pandas=1.0", "pandas==1.0.*"),
        ("pytorch::pytorch=1.4.0", "torch==1.4.0.*"),
        ("pytorch-cpu=1.1", "torch==1.1.*"),
        ("tensorflow-gpu=1.15", "tensorflow==1.15.*"),
        ("tensorflow-mkl", "tensorflow"),
        ("py-xgboost<=0.90", "xgboost<=0.90"),
        ("opencv=4.2", "opencv-python==4.2.*"),
        ("py-opencv", "opencv-python"),
        ("msgpack-python", "msgpack"),
        ("pytables", "tables"),
        ("matplotlib-base=3.1", "matplotlib==3.1.*"),
        ("python-graphviz", "graphviz"),
        ("dask-core", "dask"),
        ("ruamel_yaml", "ruamel.yaml"),
        ("PyYAML", "pyyaml"),
        ("pyqt", "PyQt5"),
        ("faiss-cpu", "faiss-cpu"),
        ("fbprophet=0.5", "fbprophet==0.5.*"),
        ("librosa", "librosa"),
        ("pip=20.1", "pip==20.1.*"),
    ],
)
def test_what_a_conda_package_is_called_in_an_index(spec: str, line: str) -> None:
    made = translating.translate(Recipe(python="3.8", packages=(spec,)))
    assert dict(made.replaced) == {spec: line}
    assert made.recipe.packages == () and line in made.recipe.requirements
    assert {package(each) for each in made.recipe.requirements} >= set(BASICS)


@pytest.mark.parametrize(
    "name",
    [
        "cudatoolkit=10.1",
        "cudnn",
        "openmpi",
        "libgcc",
        "libgcc-ng",
        "_libgcc_mutex=0.1=main",
        "mkl",
        "nomkl",
        "blas=*=openblas",
        "gcc_linux-64",
        "git",
        "ffmpeg",
        "graphviz",
        "openssl=1.1.1g=h7b6447c_0",
        "r-base",
        "xorg-libx11",
        "cpuonly",
        "ca-certificates",
        "cuda-nvcc",
    ],
)
def test_what_is_no_python_package_is_left_out(name: str) -> None:
    made = translating.translate(Recipe(python="3.8", packages=(name, "numpy")))
    assert dict(made.replaced) == {"numpy": "numpy"}
    assert made.left_out == (name.partition("=")[0],)


def test_the_pip_part_wins_over_conda_as_pip_would_and_a_python_with_its_build_is_that_python() -> None:
    given = Recipe(python="", packages=("numpy=1.16", "python=3.6.9=h265db76_0"), requirements=("NumPy==1.18",))
    made = translating.translate(given)
    assert made.recipe.python == "3.6.9"
    assert [line for line in made.recipe.requirements if line not in BASICS] == ["NumPy==1.18"]
    assert not made.replaced


def test_a_framework_of_those_years_gets_companions_of_its_years() -> None:
    made = translating.translate(Recipe(python="3.8", packages=("numpy", "scikit-learn=0.22.2")))
    assert set(made.limits) == {"numpy<1.24", "numpy<2"}
    own = translating.translate(Recipe(python="3.8", packages=("numpy=1.16", "scikit-learn=0.22.2")))
    assert own.limits == (), "a version of yours stands"
    assert translating.translate(Recipe(python="3.8", packages=("scikit-learn",))).limits == ()
    old = translating.translate(Recipe(python="3.7", packages=("tensorflow-gpu=1.15",)))
    assert {"protobuf<3.20", "h5py<3", "setuptools<81"} <= set(old.limits)


def test_limits_hold_and_bring_no_package(shelf: Path, tmp_path: Path) -> None:
    for version in ("1.19.0", "2.0.0"):
        wheels.wheel(shelf, "numpy", version)
    for name in BASICS:
        wheels.wheel(shelf, name, "50.0")  # old enough
    wheels.wheel(shelf, "torch", "1.4.0", requires=["numpy"])
    lock = Build(tmp_path).lock("pytorch=1.4")
    assert pinned(lock) == ["numpy==1.19.0", "torch==1.4.0"]


def test_a_version_that_no_index_could_have_is_named() -> None:
    with pytest.raises(BuildFailed, match=r"numpy=9b_x.* is conda's own"):
        translating.translate(Recipe(python="3.8", packages=("numpy=9b_x",)))


def test_where_no_channel_can_be_reached_the_index_stands_in_and_all_of_it_is_said(shelf: Path, tmp_path: Path) -> None:
    wheels.wheel(shelf, "lower", "2.1")
    wheels.wheel(shelf, "lower", "3.0")
    wheels.wheel(shelf, "torch", "1.4.0", requires=["lower"])
    wheels.wheel(shelf, "wheely", "1.0")
    wheels.wheel(shelf, "setuptools", "50.0")  # as old as that torch needs it
    build = Build(tmp_path)
    lock = build.lock("lower=2", f"{AWAY}::pytorch=1.4", "cudatoolkit=10.1", "pip", pip=("wheely",))
    assert (lock.kind, lock.source, lock.python) == (base.PIP, base.INDEX, pythons.choose(HERE).text)
    assert pinned(lock) == ["lower==2.1", "torch==1.4.0", "wheely==1.0"]
    assert lock.notes == (
        f"From the package index instead of conda, as {AWAY} could not be reached: lower, torch (for pytorch).",
        "Left out, as a package index has Python packages only: cudatoolkit.",
    )
    assert base.read_lock(lock.text) == lock and "\n# source index\n" in lock.text
    for words in ("lower=2 → lower==2.*", "pytorch=1.4 → torch==1.4.*", "cudatoolkit is left out", *lock.notes):
        assert any(words in line for line in build.said), words


def test_channels_only_says_what_to_set(shelf: Path, tmp_path: Path) -> None:
    wheels.wheel(shelf, "lower", "2.0")
    with pytest.raises(BuildFailed, match=r"cannot be reached(?s:.*)ROOST_CONDA_PACKAGES is channels-only") as caught:
        Build(tmp_path, CHANNELS_ONLY).lock("lower")
    assert caught.value.hint


def test_a_channel_that_is_there_is_asked_alone(shelf: Path, tmp_path: Path) -> None:
    channel = tmp_path / "channel"
    channels.python(channel, EXACT, pythons.choose(HERE).path)
    channels.module(channel, "lower", "1.0")
    wheels.wheel(shelf, "lower", "2.0")
    lock = Build(tmp_path).lock("lower", channel=channel)
    assert (lock.kind, lock.source, lock.notes) == (base.CONDA, "", ())
    with pytest.raises(BuildFailed, match="No candidates were found for wheely"):
        wheels.wheel(shelf, "wheely", "2.0")
        Build(tmp_path).lock("wheely", channel=channel)


def test_one_of_two_channels_that_is_away_is_an_error_as_ever(shelf: Path, tmp_path: Path) -> None:
    channel = tmp_path / "channel"
    channels.python(channel, EXACT, pythons.choose(HERE).path)
    wheels.wheel(shelf, "lower", "2.0")
    recipe = Recipe(python=HERE, packages=("lower",), channels=(AWAY, str(channel)))
    with pytest.raises(BuildFailed, match="cannot be reached"):
        Build(tmp_path).builder.resolve(recipe)


def test_the_index_first_and_the_channels_for_what_it_has_not_got(shelf: Path, tmp_path: Path) -> None:
    channel = tmp_path / "channel"
    channels.python(channel, EXACT, pythons.choose(HERE).path)
    channels.module(channel, "lower", "1.0")
    channels.module(channel, "upper", "1.0")
    wheels.wheel(shelf, "lower", "2.0")
    build = Build(tmp_path, INDEX_FIRST)
    lock = build.lock("lower", channel=channel)
    assert (lock.source, pinned(lock)) == (base.INDEX, ["lower==2.0"])
    assert "as ROOST_CONDA_PACKAGES says" in lock.notes[0]
    assert not any("Resolving 2 conda packages" in line for line in build.said)
    assert Build(tmp_path, INDEX_FIRST).lock("upper", channel=channel).kind == base.CONDA


def test_an_image_of_the_users_own_has_its_conda_packages_from_channels(shelf: Path, tmp_path: Path) -> None:
    channel = tmp_path / "channel"
    channels.python(channel, EXACT, pythons.choose(HERE).path)
    channels.module(channel, "lower", "1.0")
    wheels.wheel(shelf, "lower", "2.0")
    (tmp_path / "run").mkdir()
    private = Private(conda_packages=INDEX_FIRST)
    builder = builders.choose(base.IMAGE, print, lambda: None, {}, tmp_path / "run", tmp_path / "home", private)
    assert isinstance(builder, ContainerBuilder)
    recipe = Recipe(python=HERE, packages=("lower",), channels=(str(channel),), image=Image(reference="team/own:1"))
    assert builder._conda(recipe).kind == base.CONDA, "the index has no Python for it"
    azures = replace(recipe, image=Image(reference="mcr.microsoft.com/azureml/base", plain=True))
    with pytest.raises(BuildFailed, match="come from the package index"):
        builder._conda(azures)


def test_a_name_that_neither_has_is_named_with_the_one_that_was_meant(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match=r"scikit-lern was not found(?s:.*)") as caught:
        Build(tmp_path).lock("scikit-lern=0.22")
    assert caught.value.hint == "Did you mean scikit-learn instead of scikit-lern?"
    assert "cannot be reached" in caught.value.message


def test_a_name_that_a_channel_has_not_got_is_answered_with_the_one_that_was_meant(tmp_path: Path) -> None:
    channel = tmp_path / "channel"
    channels.python(channel, EXACT, pythons.choose(HERE).path)
    with pytest.raises(BuildFailed, match="No candidates were found for scikit-lern") as caught:
        Build(tmp_path).lock("scikit-lern", channel=channel)
    assert caught.value.hint.startswith("Did you mean scikit-learn instead of scikit-lern? ")
    with pytest.raises(BuildFailed, match="No candidates were found for python") as caught:
        channels.module(channel, "lower", "1.0")
        Build(tmp_path).lock("lower", channel=channel, python="3.5")
    assert "Did you mean" not in caught.value.hint


def test_the_lock_of_the_last_time_is_taken_again(shelf: Path, tmp_path: Path) -> None:
    wheels.wheel(shelf, "lower", "2.0")
    first = Build(tmp_path).lock("lower")
    wheels.wheel(shelf, "lower", "3.0")
    build = Build(tmp_path, known=first)
    assert build.lock("lower") == first
    assert any("from the lock that was made then" in line for line in build.said)
    assert pinned(Build(tmp_path).lock("lower")) == ["lower==3.0"]
    from_channels = replace(first, kind=base.CONDA, source="")
    assert pinned(Build(tmp_path, known=from_channels).lock("lower")) == ["lower==3.0"]


def test_offline_counts_as_out_of_reach(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheels.wheel(shelf, "lower", "2.0")
    monkeypatch.setenv("CONDA_OFFLINE", "true")
    assert Build(tmp_path).lock("lower").source == base.INDEX


@contextmanager
def answering(answer: bytes, *, silent: bool = False) -> Iterator[str]:
    """A server that gives every request the same answer, or none."""
    server = socket.create_server(("127.0.0.1", 0))
    held = []

    def serve() -> None:
        while True:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            held.append(peer)
            if not silent:
                peer.recv(65536)
                peer.sendall(answer)
                peer.close()

    threading.Thread(target=serve, daemon=True).start()
    yield f"127.0.0.1:{server.getsockname()[1]}"
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    for peer in held:
        peer.close()


@pytest.mark.parametrize("status", ["403 Forbidden", "404 Not Found", "401 Unauthorized", "500 Oops"])
def test_a_channel_that_answers_with_an_error_is_not_out_of_reach(shelf: Path, tmp_path: Path, status: str) -> None:
    wheels.wheel(shelf, "lower", "2.0")
    with answering(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()) as address:
        build = Build(tmp_path)
        with pytest.raises(BuildFailed) as caught:
            build.lock("lower", channel=f"http://{address}/team")
    assert "package index" not in "\n".join([caught.value.message, *build.said])


@pytest.mark.parametrize("refusal", ["403 Forbidden", "502 Bad Gateway", "407 Proxy Authentication Required"])
def test_a_proxy_that_refuses_the_way_is_out_of_reach(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: str
) -> None:
    wheels.wheel(shelf, "lower", "2.0")
    with answering(f"HTTP/1.1 {refusal}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()) as address:
        channels.machine(tmp_path, monkeypatch, proxy_servers={"https": f"http://{address}"})
        assert Build(tmp_path).lock("lower", channel="https://channel.test/team").source == base.INDEX


@pytest.mark.slow
def test_a_channel_that_never_answers_is_given_up_within_seconds(shelf: Path, tmp_path: Path) -> None:
    wheels.wheel(shelf, "lower", "2.0")
    with answering(b"", silent=True) as address:
        recipe = Recipe(python=HERE, packages=("lower",), channels=(f"http://{address}/a", f"http://{address}/b"))
        assert Build(tmp_path).builder.resolve(recipe).source == base.INDEX


def test_one_of_azures_images_is_built_natively_from_the_index(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels.wheel(shelf, "lower", "2.0")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    (tmp_path / "run").mkdir()
    image = Image(reference="mcr.microsoft.com/azureml/openmpi3.1.2-ubuntu18.04", plain=True)
    recipe = Recipe(python=HERE, packages=("lower",), channels=(AWAY,), image=image)
    said: list[str] = []
    builder = builders.choose(base.IMAGE, said.append, lambda: None, {}, tmp_path / "run", tmp_path / "home", Private())
    lock = builder.resolve(recipe)
    assert (lock.kind, lock.source) == (base.PIP, base.INDEX)
    assert len(lock.notes) == 2


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("scikit-lern", "scikit-learn"),
        ("sklearn", "scikit-learn"),
        ("cv2", "opencv-python"),
        ("PIL", "pillow"),
        ("yaml", "pyyaml"),
        ("nunpy", "numpy"),
        ("tensorflw", "tensorflow"),
        ("our-ops", ""),
        ("numpy", ""),
    ],
)
def test_the_name_that_was_meant(name: str, meant: str) -> None:
    assert suggesting.near(name) == meant
