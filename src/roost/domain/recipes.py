"""What has to be installed for an environment: a definition (`environments.py`) becomes a recipe, whose key names its build.

Start with `recipe`. A recipe says which Python, which conda packages from which channels, which pip requirements, and in which
image; the builders in `roost.environments` lock it and install the lock.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from roost.domain.errors import InvalidInput

BASICS = ("pip", "setuptools", "wheel")
"""What conda's Python brings along, and scripts of those years take for granted."""
_AZURE_IMAGE = re.compile(r"(mcr\.microsoft\.com/)?azureml/", re.IGNORECASE)
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")
_OURS = re.compile(r"azureml-(defaults|core|sdk|train(-.+)?|widgets|mlflow|dataset-runtime|telemetry|tensorboard)")
_OPTIONS = ("--index-url", "--extra-index-url", "--find-links", "-i", "-f", "--no-binary", "--only-binary", "--pre")
_CONDA = re.compile(r"(?:[\w.-]+::)?([A-Za-z0-9_.-]+)\s*(.*)")
_VERSION = re.compile(r"(>=|<=|==|!=|=|>|<|~=)?\s*(\d+(?:\.\d+){0,2})(?:\.\*)?")


@dataclass(frozen=True, kw_only=True)
class Image:
    """The container that the run is in."""

    reference: str = ""
    """Its name, in a registry or in the engine's own store."""
    dockerfile: str = ""
    """The text that it is built from, instead of a name."""
    own_python: bool = False
    """Nothing is installed: the image's Python runs the script."""
    plain: bool = False
    """One of Azure's, which mean a plain Linux: where it cannot be had, the packages are installed natively."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What has to be installed. Two definitions that ask for the same have one recipe, and share its build."""

    python: str
    """`3.8`, `3.6.2`, or a range such as `>=3.7,<3.9`; empty for any."""
    requirements: tuple[str, ...] = ()
    """Lines of a requirements file, sorted; options first."""
    packages: tuple[str, ...] = ()
    """Conda packages beside Python, as their specs, sorted."""
    channels: tuple[str, ...] = ()
    """Where conda packages come from, the first before the others; empty for the machine's own."""
    image: Image | None = None
    """None to install natively."""

    @property
    def key(self) -> str:
        parts: list[object] = [self.python, self.requirements]
        if self.packages or self.channels or self.image:
            parts += [self.packages, self.channels, asdict(self.image) if self.image else None]
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def recipe(definition: Mapping[str, Any]) -> Recipe | None:
    """What to install; None when the user manages it. InvalidInput names what Roost cannot build yet."""
    _check_containers(_part(definition, "docker"))
    python = _part(definition, "python")
    if python.get("userManagedDependencies"):
        return None
    if python.get("baseCondaEnvironment"):
        raise InvalidInput(
            f"base_conda_environment is {python['baseCondaEnvironment']!r}; Roost cannot build on another environment yet."
        )
    conda = _part(python, "condaDependencies")
    wanted, pip_lines = _conda(conda.get("dependencies") or ())
    kept = _requirements(pip_lines)
    named = {_canonical(line) for line in kept}
    return Recipe(python=wanted, requirements=tuple(kept + [each for each in BASICS if each not in named]))


def base_image(definition: Mapping[str, Any]) -> str:
    """The image of Azure's that a native build stands in for; empty for none."""
    docker = _part(definition, "docker")
    return str(docker.get("baseImage") or "") if docker.get("enabled") else ""


def _part(mapping: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = mapping.get(key) or {}
    if not isinstance(found, Mapping):
        raise InvalidInput(f"`{key}` of an environment must be an object, got {type(found).__name__}.")
    return found


def _check_containers(docker: Mapping[str, Any]) -> None:
    if docker.get("baseDockerfile"):
        raise InvalidInput(
            "The environment has a Dockerfile; Roost cannot build containers yet.",
            hint="Name its packages in conda_dependencies and set docker.base_dockerfile = None.",
        )
    image = str(docker.get("baseImage") or "")
    if image and not _AZURE_IMAGE.match(image):
        raise InvalidInput(
            f"The environment needs the image {image!r}; Roost cannot run containers yet.",
            hint="Leave docker.base_image out, or give one of Azure's: those are built natively on the node.",
        )


def _conda(dependencies: Iterable[object]) -> tuple[str, list[str]]:
    """The Python that is wanted, and the pip lines; InvalidInput names conda packages beyond python and pip."""
    python, pip_lines, others = "", [], []
    for item in dependencies:
        if isinstance(item, Mapping):
            unknown = [key for key in item if key != "pip"]
            if unknown:
                raise InvalidInput(f"The conda file has a section {unknown[0]!r}; only `pip` is known.")
            pip_lines += [str(line) for line in item.get("pip") or ()]
            continue
        found = _CONDA.fullmatch(str(item).strip())
        package, version = (found[1].lower(), found[2].strip()) if found else (str(item), "")
        if package == "python":
            python = python_wanted(version)
        elif package == "pip":
            exact = re.fullmatch(r"={1,2}\s*(\d[\w.]*)", version)
            pip_lines.append(f"pip=={exact[1]}" if exact and exact[1].count(".") else "pip")
        else:
            others.append(str(item))
    if others:
        raise InvalidInput(
            f"The environment needs conda packages, which Roost cannot install yet: {', '.join(others)}.",
            hint="Move them to the pip section where pip has them; beside it only python and pip may stand.",
        )
    return python, pip_lines


def python_wanted(version: str) -> str:
    """Conda's words for a Python as `3.8`, `3.6.2` or a range; empty for any."""
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
    """Whether a Python of version `found` is what `wanted` asks for; of an exact one any patch will do."""
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


def _canonical(line: str) -> str:
    """The name of the package that a requirement is for, normalised; empty for an option."""
    found = _REQUIREMENT.match(line)
    return re.sub(r"[-_.]+", "-", found[1]).lower() if found and not line.startswith("-") else ""


def _requirements(lines: Iterable[str]) -> list[str]:
    """Lines that can be installed on a node, sorted; those that Roost itself stands for are left out."""
    options, kept = set(), set()
    for line in lines:
        text = re.sub(r"(^|\s)#.*$", "", line).strip()
        if not text:
            continue
        if text.startswith("-"):
            options.add(_option(text))
            continue
        package = _canonical(text)
        if not package or text.startswith((".", "/")) or re.match(r"[\w+.-]+\s*@\s*file:", text):
            raise InvalidInput(
                f"The requirement {text!r} is a path; a node does not have it.",
                hint="Put the package into the source folder, or name one that pip can find.",
            )
        if _OURS.fullmatch(package):
            continue
        if package.startswith("azureml-"):
            raise InvalidInput(
                f"The environment needs {package!r}, which Roost does not have.", hint="Leave it out of the packages."
            )
        kept.add(text)
    return [*sorted(options), *sorted(kept, key=lambda each: (each.lower(), each))]


def _option(text: str) -> str:
    word = re.split(r"[\s=]", text, maxsplit=1)[0]
    if word not in _OPTIONS:
        raise InvalidInput(
            f"The requirement {text!r} is not understood.", hint=f"Options that are: {', '.join(_OPTIONS)}."
        )
    return text
