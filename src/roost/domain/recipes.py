"""Recipes: a definition (`environments.py`) becomes the list of what must be installed; a recipe's key names its build.

Start with `recipe`. A recipe has the Python, the conda packages and their channels, the pip requirements, and the image; the
builders in `roost.environments` lock it and install the lock.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from roost.domain import conda, requirements
from roost.domain.containers import DockerUse, secret_name, wishes
from roost.domain.errors import InvalidInput

BASICS = ("pip", "setuptools", "wheel")
"""Packages that conda's Python includes, and that scripts of those years expect."""
_AZURE_IMAGE = re.compile(r"(mcr\.microsoft\.com/)?azureml/", re.IGNORECASE)
_LIMIT = r"(?:[<>]=?|!=|~=|==)\d[\w.]*"
_RANGE = re.compile(rf"{_LIMIT}(?:,{_LIMIT})*")
_VERSION = re.compile(r"(>=|<=|==|!=|=|>|<|~=)?\s*(\d+(?:\.\d+){0,2})(?:\.\*)?")


@dataclass(frozen=True, kw_only=True)
class Image:
    """The container of the run."""

    reference: str = ""
    """Its name, in a registry or in the engine's own store."""
    dockerfile: str = ""
    """The Dockerfile to build it from, instead of a name."""
    own_python: bool = False
    """Nothing is installed: the image's Python runs the script."""
    plain: bool = False
    """One of Azure's images, which only mean a plain Linux: where it is not available, the packages are installed natively."""
    interpreter: str = ""
    """The Python in the image, by name or path; empty to search for one."""
    registry: str = ""
    username: str = ""
    secret: str = ""
    """Name in the key vault of the registry's password."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What must be installed. Definitions with the same content have one recipe and share its build."""

    python: str
    """`3.8`, `3.6.2`, or a range such as `>=3.7,<3.9`; empty for any."""
    requirements: tuple[str, ...] = ()
    """Lines of a requirements file, sorted; options first."""
    packages: tuple[str, ...] = ()
    """Conda packages beside Python, as their specs, sorted."""
    channels: tuple[str, ...] = ()
    """The sources of conda packages, in order; empty for the machine's own."""
    image: Image | None = None
    """None to install natively."""
    notes: tuple[str, ...] = ()
    """The differences from the environment's name, for the log and the lock."""

    @property
    def index_key(self) -> str:
        """Names the build with conda packages from a package index, which is never used as a build from channels."""
        return hashlib.sha256(f"{self.key}\nindex".encode()).hexdigest()

    @property
    def key(self) -> str:
        parts: list[object] = [self.python, self.requirements]
        if self.packages or self.channels or self.image:
            parts += [self.packages, self.channels, asdict(self.image) if self.image else None]
        if self.notes:  # they are part of the lock
            parts += [{"notes": self.notes}]
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def recipe(definition: Mapping[str, Any], use: DockerUse | None = None) -> Recipe | None:
    """The packages to install and the image; None when the user manages them. InvalidInput names the part that cannot be
    built."""
    wishes(definition, use)  # refuses container settings that Roost does not support
    image = image_of(definition, use)
    python = _part(definition, "python")
    if python.get("userManagedDependencies"):
        if image is None or image.plain:
            return None
        named = str(python.get("interpreterPath") or "")
        own = replace(image, own_python=True, interpreter="" if named == "python" else named)
        return Recipe(python="", image=own)
    return replace(_packages(python), image=image, notes=_notes(definition))


def check_python(name: str, made: Recipe | None) -> None:
    """InvalidInput unless the environment names its Python, which a submitted environment must do."""
    if made is None or made.python or (made.image and made.image.own_python):
        return
    if not any(conda.name_of(each) == "python" for each in made.packages):  # a Python with its build is here
        raise InvalidInput(
            f"Environment {name!r} does not say which Python.", hint="Add python=3.11 to its dependencies."
        )


def _notes(definition: Mapping[str, Any]) -> tuple[str, ...]:
    """For a curated environment: one sentence for each difference from its name."""
    found = definition.get("notes") or ()
    if not isinstance(found, list | tuple) or not all(isinstance(each, str) for each in found):
        raise InvalidInput(f"`notes` of an environment must be a list of texts, got {found!r}.")
    return tuple(" ".join(each.split()) for each in found)


def _packages(python: Mapping[str, Any]) -> Recipe:
    if python.get("baseCondaEnvironment"):
        raise InvalidInput(
            f"base_conda_environment is {python['baseCondaEnvironment']!r}; Roost cannot build on another environment yet."
        )
    file = conda.read(_part(python, "condaDependencies"))
    wanted = python_wanted(file.python)
    if file.packages:
        packages = [*file.packages, *([f"pip {file.pip}".strip()] if file.pip is not None else [])]
        kept = requirements.checked(file.requirements)
        return Recipe(python=wanted, requirements=tuple(kept), packages=tuple(sorted(packages)), channels=file.channels)
    kept = requirements.checked([*file.requirements, *_pip_itself(file.pip)])
    named = {requirements.package(line) for line in kept}
    basics = [each for each in BASICS if each not in named]
    return Recipe(python=wanted, requirements=tuple(kept + basics), channels=file.channels)


def refuse_credentials(definition: Mapping[str, Any]) -> None:
    """InvalidInput for a credential in clear text in a channel or in a requirement's address, since definitions are stored. Other
    errors are reported when the environment is used."""
    file = _part(_part(definition, "python"), "condaDependencies")
    channels, items = (file.get(key) or () for key in ("channels", "dependencies"))
    for channel in channels if isinstance(channels, list | tuple) else ():
        conda.refuse_credential(str(channel))
    for item in items if isinstance(items, list | tuple) else ():
        if isinstance(item, Mapping):
            lines = item.get("pip") or ()
            for line in lines if isinstance(lines, list | tuple) else ():
                if not str(line).strip().startswith("-"):  # an option's password is kept out of locks and logs
                    requirements.refuse_credential(str(line))
        else:
            conda.refuse_credential(conda.split_channel(str(item))[0])


def variables(definition: Mapping[str, Any]) -> dict[str, str]:
    """The script's variables from the environment's conda file."""
    return conda.variables(_part(_part(definition, "python"), "condaDependencies"))


def _part(mapping: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = mapping.get(key) or {}
    if not isinstance(found, Mapping):
        raise InvalidInput(f"`{key}` of an environment must be an object, got {type(found).__name__}.")
    return found


def image_of(definition: Mapping[str, Any], use: DockerUse | None = None) -> Image | None:
    """The container of a run; None for none. An image of Azure's is used only where Docker is requested; any other always, unless
    the run disables Docker."""
    docker = _part(definition, "docker")
    reference, dockerfile = str(docker.get("baseImage") or ""), str(docker.get("baseDockerfile") or "")
    plain = not dockerfile and bool(is_azure(reference))
    wanted = use.use_docker if use else bool(docker.get("enabled")) or not plain
    if not wanted or not (reference or dockerfile):
        return None
    registry = _part(docker, "baseImageRegistry")
    address, username = str(registry.get("address") or ""), str(registry.get("username") or "")
    if address and reference and not reference.startswith(f"{address}/"):
        reference = f"{address}/{reference}"
    secret = str(registry.get("passwordSecret") or "") or (secret_name(address, username) if username else "")
    return Image(
        reference="" if dockerfile else reference,
        dockerfile=dockerfile,
        plain=plain,
        registry=address,
        username=username,
        secret=secret,
    )


def is_azure(reference: str) -> bool:
    """True for an image of Azure's; these only mean a plain Linux with MPI."""
    return bool(_AZURE_IMAGE.match(reference))


def _pip_itself(version: str | None) -> list[str]:
    """The pip requirement for a conda file that names pip; the build after a whole version is dropped."""
    if version is None or version in ("", "*"):
        return [] if version is None else ["pip"]
    exact = re.fullmatch(r"={0,2}(\d[\w.]*?)(\.?\*)?(?:[= ]\S+)?", version)
    if exact:
        whole = "." in exact[1] and not exact[2]
        return [f"pip=={exact[1]}{'' if whole else '.*'}"]
    if not _RANGE.fullmatch(version):
        raise InvalidInput(f"pip {version!r} is not understood.", hint="Write pip, pip=20.1 or pip>=19,<21.")
    return [f"pip{version}"]


def python_wanted(version: str) -> str:
    """Converts a conda spec of Python to `3.8`, `3.6.2` or a range; empty for any."""
    parts = [part.strip() for part in version.split(",") if part.strip() not in ("", "*")]
    ranges = []
    for part in parts:
        found = _VERSION.match(part)
        if not found:
            raise InvalidInput(f"Python {version!r} is not understood.", hint="Write python=3.8 or python>=3.8,<3.11.")
        operator, number = found[1] or "=", found[2]
        if operator in ("=", "==") and len(parts) == 1:
            return number
        ranges.append(f"{'==' if operator == '=' else operator}{number}")
    return ",".join(ranges)


def satisfies(found: tuple[int, ...], wanted: str) -> bool:
    """True when the Python version `found` satisfies `wanted`; for an exact version any patch is accepted."""
    for part in filter(None, wanted.split(",")):
        match = _VERSION.match(part)
        if match is None:
            return False
        operator, number = match[1] or "==", tuple(map(int, match[2].split(".")))
        if operator in ("==", "=", "~="):
            fits = found[: min(2, len(number))] == number[:2]
        else:
            have = found[: len(number)]
            fits = {
                ">=": have >= number,
                "<=": have <= number,
                ">": have > number,
                "<": have < number,
                "!=": have != number,
            }[operator]
        if not fits:
            return False
    return True
