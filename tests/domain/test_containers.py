"""What people ask of containers: sizes, the flags of `docker run`, which image a run is in."""

from typing import Any

import pytest

from roost.domain.containers import DEFAULT_SHM, DockerUse, Wishes, flags, secret_name, size_of, wishes
from roost.domain.errors import InvalidInput
from roost.domain.recipes import image_of, recipe

OWN = "registry.example/team/image:1"
AZURES = "mcr.microsoft.com/azureml/openmpi3.1.2-ubuntu18.04"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512m", 512 * 1024**2),
        ("8g", 8 * 1024**3),
        ("8GB", 8 * 1024**3),
        ("1.5k", 1536),
        ("64", 64),
        ("2GiB", 2 * 1024**3),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert size_of("shm_size", text) == size


@pytest.mark.parametrize("text", ["", "much", "-1g", "8q", "1 000"])
def test_what_is_no_size_is_named(text: str) -> None:
    with pytest.raises(InvalidInput, match="shm_size"):
        size_of("shm_size", text)


@pytest.mark.parametrize(
    ("arguments", "made"),
    [
        ([], Wishes()),
        (["--ipc=host"], Wishes(ipc="host")),
        (["--ipc", "host"], Wishes(ipc="host")),
        (["--shm-size 8g"], Wishes(shm_size=8 * 1024**3)),
        (["-e", "A=b c", "--env=B="], Wishes(variables={"A": "b c", "B": ""})),
        (["-eA=b"], Wishes(variables={"A": "b"})),
        (["-v", "/data:/mnt:ro", "--volume=/x:/y"], Wishes(volumes=(("/data", "/mnt", True), ("/x", "/y", False)))),
        (["-m", "2g", "--cpus", "1.5"], Wishes(memory=2 * 1024**3, cpus=1.5)),
        (["--gpus", "all"], Wishes(gpus="all")),
        (["--gpus", "'\"device=0,1\"'"], Wishes(gpus="device=0,1")),
        (["--network", "bridge", "--add-host", "a:10.0.0.1"], Wishes(network="bridge", hosts=(("a", "10.0.0.1"),))),
        (["--ulimit", "nofile=10:20", "--ulimit=nproc=5"], Wishes(ulimits=(("nofile", 10, 20), ("nproc", 5, 5)))),
    ],
)
def test_flags_of_docker_run(arguments: list[str], made: Wishes) -> None:
    assert flags(arguments) == made


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--privileged"], "'--privileged' cannot be had"),
        (["--pid=host"], "'--pid=host' cannot be had"),
        (["-it"], "'-it' cannot be had"),
        (["--gpus"], "'--gpus' has no value"),
        (["--network", "container:x"], "container:x"),
        (["--ipc", "container:x"], "container:x"),
        (["-e", "A"], "no variable with a value"),
        (["-v", "data:/x"], "not understood"),
        (["-v", "/x:/y:z"], "not understood"),
        (["--cpus", "many"], "no number of processors"),
        (["--ulimit", "nofile"], "not understood"),
        (["--gpus", "some"], "not understood"),
        (["--add-host", "x"], "not understood"),
        (["--env='A=b"], "not understood"),
        ([7], "must be text"),
        (["host"], "belongs to no flag"),
    ],
)
def test_what_cannot_be_had_is_named(arguments: list[Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        flags(arguments)


def test_the_run_counts_before_the_environment() -> None:
    definition = {"docker": {"shmSize": "1g", "arguments": ["--ipc=host"]}}
    assert wishes({}) == Wishes(shm_size=DEFAULT_SHM)
    assert wishes(definition) == Wishes(shm_size=1024**3, ipc="host")
    assert wishes(definition, DockerUse(shm_size="2g", arguments=("--cpus=1",))) == Wishes(
        shm_size=2 * 1024**3, cpus=1.0
    )


class TestWhichImage:
    def test_azures_counts_where_docker_is_asked_for(self) -> None:
        docker = {"docker": {"baseImage": AZURES}}
        assert image_of(docker) is None
        for found in (image_of({"docker": {**docker["docker"], "enabled": True}}), image_of(docker, DockerUse())):
            assert found is not None and found.plain and found.reference == AZURES
        enabled = {"docker": {"baseImage": AZURES, "enabled": True}}
        assert image_of(enabled, DockerUse(use_docker=False)) is None

    def test_ones_own_always_unless_the_run_says_no(self) -> None:
        for docker in ({"baseImage": OWN}, {"baseDockerfile": "FROM x\n", "baseImage": AZURES}):
            found = image_of({"docker": docker})
            assert found is not None and not found.plain
            assert image_of({"docker": docker}, DockerUse(use_docker=False)) is None

    def test_a_registry_is_part_of_the_name(self) -> None:
        registry = {"address": "registry.example", "username": "ann"}
        for name in ("team/image:1", OWN):
            found = image_of({"docker": {"baseImage": name, "baseImageRegistry": registry}})
            assert found is not None and found.reference == OWN
            assert found.secret == secret_name("registry.example", "ann") == "registry-registry-example-ann"

    def test_its_own_python(self) -> None:
        python = {"userManagedDependencies": True, "interpreterPath": "/opt/bin/python"}
        found = recipe({"docker": {"baseImage": OWN}, "python": python})
        assert found is not None and found.image is not None
        assert found.image.own_python and found.image.interpreter == "/opt/bin/python" and not found.requirements
        assert recipe({"docker": {"baseImage": AZURES, "enabled": True}, "python": python}) is None

    def test_another_image_is_another_build(self) -> None:
        python = {"condaDependencies": {"dependencies": ["python=3.8"]}}
        plain, boxed = recipe({"python": python}), recipe({"python": python, "docker": {"baseImage": OWN}})
        assert plain is not None and boxed is not None and plain.key != boxed.key


@pytest.mark.parametrize("docker", ["x", 5, {"arguments": 5}, {"arguments": "--ipc=host"}, {"arguments": {"a": 1}}])
def test_what_is_no_container_is_refused(docker: object) -> None:
    with pytest.raises(InvalidInput, match="must be"):
        wishes({"docker": docker})
