"""The settings of a run's container beyond its image, and the supported flags of `docker run`. Pure. The node decides which of
its folders may be mounted (`environments/containers/box.py`).
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from roost.domain.errors import InvalidInput

DEFAULT_SHM = 2 * 1024**3
"""Size of `/dev/shm`, as in Azure ML: data loaders with several workers need more than the engine's default of 64 MB."""
NETWORKS = ("host", "bridge", "none")
_UNITS = {"b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([bkmgt])?i?b?", re.IGNORECASE | re.ASCII)
_VARIABLE = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)
_ULIMIT = re.compile(r"(\w+)=(-?\d+)(?::(-?\d+))?", re.ASCII)
_GPUS = re.compile(r"all|\d+|['\"]*device=[\w,:-]+['\"]*", re.ASCII)
_HINT = "Give the flag as docker run has it: arguments=['--ipc=host', '-e', 'NAME=value']."


@dataclass(frozen=True, kw_only=True)
class DockerUse:
    """`DockerConfiguration` of a run; it overrides the environment's settings."""

    use_docker: bool = True
    shm_size: str = ""
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """The settings of a container."""

    shm_size: int = DEFAULT_SHM
    variables: Mapping[str, str] = field(default_factory=dict)
    volumes: tuple[tuple[str, str, bool], ...] = ()
    """Folder of the node, path in the container, True for read-only."""
    ipc: str = ""
    network: str = "host"
    """The host's network by default: processes on several nodes reach each other as they do without containers."""
    memory: int | None = None
    cpus: float | None = None
    gpus: str = ""
    ulimits: tuple[tuple[str, int, int], ...] = ()
    hosts: tuple[tuple[str, str], ...] = ()


def wishes(definition: Mapping[str, Any], use: DockerUse | None = None) -> Wishes:
    """The settings of an environment and a run together; InvalidInput names an unsupported flag."""
    docker = definition.get("docker") or {}
    if not isinstance(docker, Mapping):
        raise InvalidInput(f"`docker` of an environment must be an object, got {type(docker).__name__}.")
    arguments = use.arguments if use and use.arguments else listed(docker.get("arguments"))
    size = (use.shm_size if use else "") or str(docker.get("shmSize") or "")
    made = Wishes(shm_size=size_of("shm_size", size)) if size else Wishes()
    return flags(arguments, made)


def listed(arguments: object) -> tuple[str, ...]:
    """Container arguments as they are stored; InvalidInput for anything but a list of texts."""
    if arguments is None:
        return ()
    if not isinstance(arguments, list | tuple):
        hint = f"arguments=[{arguments!r}]" if isinstance(arguments, str) else _HINT
        raise InvalidInput(f"The container arguments must be a list, got {arguments!r}.", hint=hint)
    return tuple(arguments)


def flags(arguments: Iterable[str], made: Wishes = Wishes()) -> Wishes:  # noqa: B008 - frozen
    """`made` with the flags of `docker run` applied, in their order."""
    words = [word for argument in arguments for word in _split(argument)]
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            raise InvalidInput(f"The container argument {word!r} belongs to no flag.", hint=_HINT)
        name, equals, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        if name not in _FLAGS:
            raise InvalidInput(
                f"The container argument {word!r} cannot be had.", hint=f"Those that can: {', '.join(sorted(_FLAGS))}."
            )
        if not equals:
            if not words:
                raise InvalidInput(f"The container argument {name!r} has no value.", hint=_HINT)
            value = words.pop(0)
        made = _FLAGS[name](made, name, value)
    return made


def size_of(name: str, text: str) -> int:
    """Bytes of `512m`, `8g`, `1073741824`."""
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise InvalidInput(f"{name} is {text!r}; that is no size.", hint="Write 512m or 8g.")
    return int(float(found[1]) * _UNITS[(found[2] or "b").lower()])


def secret_name(address: str, username: str) -> str:
    """The name under which the key vault holds the password of a registry."""
    plain = re.sub(r"[^0-9a-zA-Z]+", "-", f"{address or 'docker.io'}-{username}").strip("-")
    return f"registry-{plain}"[:127]


def _split(argument: object) -> list[str]:
    """A flag, split from a value that follows it in the same text; an argument that is only a value stays as it is."""
    if not isinstance(argument, str):
        raise InvalidInput(f"A container argument must be text, got {type(argument).__name__}.", hint=_HINT)
    if not argument.startswith("-"):
        return [argument]
    try:
        return shlex.split(argument)
    except ValueError as error:
        raise InvalidInput(f"The container argument {argument!r} is not understood: {error}.", hint=_HINT) from None


def _env(made: Wishes, name: str, value: str) -> Wishes:
    found = _VARIABLE.fullmatch(value)
    if not found:
        raise InvalidInput(f"{name} {value!r} is no variable with a value.", hint="Write -e NAME=value.")
    return replace(made, variables={**made.variables, found[1]: found[2]})


def _volume(made: Wishes, name: str, value: str) -> Wishes:
    parts = value.split(":")
    mode = parts[2] if len(parts) == 3 else "rw"
    if len(parts) not in (2, 3) or not all(part.startswith("/") for part in parts[:2]) or mode not in ("ro", "rw"):
        raise InvalidInput(
            f"{name} {value!r} is not understood.", hint="Write -v /folder:/place or -v /folder:/place:ro."
        )
    return replace(made, volumes=(*made.volumes, (parts[0], parts[1], mode == "ro")))


def _network(made: Wishes, name: str, value: str) -> Wishes:
    if value not in NETWORKS:
        raise InvalidInput(f"{name} {value!r} cannot be had.", hint=f"It is one of: {', '.join(NETWORKS)}.")
    return replace(made, network=value)


def _ipc(made: Wishes, name: str, value: str) -> Wishes:
    if value not in ("host", "private"):
        raise InvalidInput(f"{name} {value!r} cannot be had.", hint="It is one of: host, private.")
    return replace(made, ipc=value)


def _ulimit(made: Wishes, name: str, value: str) -> Wishes:
    found = _ULIMIT.fullmatch(value)
    if not found:
        raise InvalidInput(f"{name} {value!r} is not understood.", hint="Write --ulimit nofile=20000:20000.")
    soft = int(found[2])
    return replace(made, ulimits=(*made.ulimits, (found[1], soft, int(found[3] or soft))))


def _cpus(made: Wishes, name: str, value: str) -> Wishes:
    try:
        count = float(value)
    except ValueError:
        count = 0.0
    if not 0 < count < 100_000:
        raise InvalidInput(f"{name} {value!r} is no number of processors.", hint="Write --cpus 1.5.")
    return replace(made, cpus=count)


def _gpus(made: Wishes, name: str, value: str) -> Wishes:
    if not _GPUS.fullmatch(value):
        raise InvalidInput(
            f"{name} {value!r} is not understood.", hint="Write --gpus all, --gpus 2 or --gpus device=0,1."
        )
    return replace(made, gpus=value.strip("\"'"))


def _host(made: Wishes, name: str, value: str) -> Wishes:
    host, _, address = value.partition(":")
    if not host or not address:
        raise InvalidInput(f"{name} {value!r} is not understood.", hint="Write --add-host name:address.")
    return replace(made, hosts=(*made.hosts, (host, address)))


def _memory(made: Wishes, name: str, value: str) -> Wishes:
    return replace(made, memory=size_of(name, value))


def _shm(made: Wishes, name: str, value: str) -> Wishes:
    return replace(made, shm_size=size_of(name, value))


_FLAGS: Mapping[str, Callable[[Wishes, str, str], Wishes]] = {
    "-e": _env,
    "--env": _env,
    "-v": _volume,
    "--volume": _volume,
    "--network": _network,
    "--net": _network,
    "--ipc": _ipc,
    "--shm-size": _shm,
    "--ulimit": _ulimit,
    "-m": _memory,
    "--memory": _memory,
    "--cpus": _cpus,
    "--gpus": _gpus,
    "--add-host": _host,
}
