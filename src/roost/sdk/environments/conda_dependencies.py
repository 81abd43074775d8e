"""`CondaDependencies`: conda's environment file as an object, in the Azure ML SDK v1's form."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from roost.domain.errors import InvalidInput
from roost_job.listing import some

FILE_NAME = "conda_dependencies.yml"
SDK_VERSION = "1.61.0"
_NAME = re.compile(r"(?:\S+::)?([A-Za-z0-9_.-]+)")
_ADDRESS = re.compile(r"[\w+.-]*(?:/|:(?!:))")
_PLAIN = re.compile(r"([A-Za-z0-9][\w.-]*(?:\[[\w,.-]+\])?)\s*((?:[<>=!~].*)?)")
_DEFAULT = "azureml-defaults"
_MOST_INCLUDES = 20


def this_python() -> str:
    """The default Python of an environment: the minor version of the calling one."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


class CondaDependencies:
    """Channels, conda packages, pip packages: what is installed, and on which Python. See the guide."""

    DEFAULT_NUMBER_OF_CONDA_PACKAGES = 1
    """Python."""
    DEFAULT_NUMBER_OF_PIP_PACKAGES = 1
    """`azureml-defaults`, which the job library replaces."""
    PYTHON_PREFIX = "python"
    VALID_YML_KEYS = ("name", "channels", "dependencies", "prefix", "variables", "pip")

    def __init__(
        self,
        conda_dependencies_file_path: str | os.PathLike[str] | None = None,
        _underlying_structure: Mapping[str, Any] | None = None,
    ) -> None:
        if conda_dependencies_file_path is not None:
            self._structure = _read(Path(conda_dependencies_file_path))
        elif _underlying_structure is not None:
            self._structure = _checked(deepcopy(dict(_underlying_structure)), "The dependencies")
        else:
            self._structure = {
                "channels": ["conda-forge"],
                "dependencies": [f"python={this_python()}", {"pip": [_DEFAULT]}],
            }

    @staticmethod
    def create(
        pip_indexurl: str | None = None,
        pip_packages: Sequence[str] | None = None,
        conda_packages: Sequence[str] | None = None,
        python_version: str | None = None,
        pin_sdk_version: bool = True,
    ) -> "CondaDependencies":
        """With these packages; without any, with `azureml-defaults`, which the job library replaces."""
        for what, given in (("pip_packages", pip_packages), ("conda_packages", conda_packages)):
            if isinstance(given, str):
                raise InvalidInput(f"{what} must be a list, got the text {given!r}.", hint=f"{what}=[{given!r}]")
        made = CondaDependencies()
        made.set_python_version(python_version or this_python())
        if pip_packages:
            made.set_pip_requirements([_pinned(each) if pin_sdk_version else each for each in pip_packages])
        for package in conda_packages or ():
            made.add_conda_package(package)
        if pip_indexurl:
            made.set_pip_index_url(pip_indexurl)
        return made

    # ---- content

    @staticmethod
    def get_default_number_of_packages() -> int:
        """The number of packages without any additions."""
        return CondaDependencies.DEFAULT_NUMBER_OF_CONDA_PACKAGES + CondaDependencies.DEFAULT_NUMBER_OF_PIP_PACKAGES

    @staticmethod
    def merge_requirements(requirements: Sequence[str]) -> list[str]:
        """Joins lines for the same package: `a>=1` and `a<2` become `a>=1,<2`."""
        merged: dict[str, list[str]] = {}
        for line in requirements:
            found = _PLAIN.fullmatch(_text("requirements", line))
            name, limits = (found[1], found[2].strip()) if found else (line.strip(), "")
            kept = merged.setdefault(name, [])
            kept += [each.strip() for each in limits.split(",") if each.strip() and each.strip() not in kept]
        return [name + ",".join(limits) for name, limits in merged.items()]

    @property
    def conda_channels(self) -> Iterator[str]:
        return iter(list(self._structure.get("channels") or ()))

    @property
    def conda_packages(self) -> Iterator[str]:
        return iter([item for item in self._dependencies if isinstance(item, str)])

    @property
    def pip_packages(self) -> Iterator[str]:
        return iter([line for line in self._pip if not line.startswith("-")])

    @property
    def pip_options(self) -> Iterator[str]:
        return iter([line for line in self._pip if line.startswith("-")])

    def get_python_version(self) -> str | None:
        found = next((item for item in self.conda_packages if _name(item) == "python"), "")
        return re.sub(r"^python\s*=*\s*", "", found) or None

    def as_dict(self) -> dict[str, Any]:
        """A copy of the file's content."""
        return deepcopy(self._structure)

    # ---- changes

    def add_channel(self, channel: str) -> None:
        channels = self._structure.setdefault("channels", [])
        if channel not in channels:
            channels.append(channel)

    def remove_channel(self, channel: str) -> None:
        if channel in self._structure.get("channels", []):
            self._structure["channels"].remove(channel)

    def add_conda_package(self, conda_package: str) -> None:
        """Adds it, replacing one of the same name."""
        self.remove_conda_package(conda_package)
        sections = [item for item in self._dependencies if not isinstance(item, str)]
        self._structure["dependencies"] = [*self.conda_packages, _text("conda_package", conda_package), *sections]

    def remove_conda_package(self, conda_package: str) -> None:
        name = _name(_text("conda_package", conda_package))
        kept = [item for item in self._dependencies if not isinstance(item, str) or _name(item) != name]
        self._structure["dependencies"] = kept

    def add_pip_package(self, pip_package: str) -> None:
        """Adds it, replacing one of the same name."""
        self.remove_pip_package(pip_package)
        self._set_pip([*self._pip, pip_package])

    def remove_pip_package(self, pip_package: str) -> None:
        name = _name(_text("pip_package", pip_package))
        self._set_pip([line for line in self._pip if line.startswith("-") or _name(line) != name])

    def set_pip_requirements(self, pip_requirements: Sequence[str]) -> None:
        """Replaces all requirements by these."""
        self._set_pip([_text("pip_requirements", each) for each in pip_requirements])

    def set_pip_option(self, pip_option: str) -> None:
        word = _text("pip_option", pip_option).split()[0]
        self._set_pip([pip_option, *(line for line in self._pip if line.split()[0] != word)])

    def remove_pip_option(self, pip_option: str) -> None:
        """Removes it, with any value."""
        word = _text("pip_option", pip_option).split()[0]
        self._set_pip([line for line in self._pip if line.split()[0] != word])

    def set_pip_index_url(self, index_url: str) -> None:
        self.set_pip_option(f"--index-url {index_url}")

    def set_python_version(self, version: str) -> None:
        self.remove_conda_package("python")
        self._structure["dependencies"] = [f"python={_text('version', version)}", *self._dependencies]

    def add_tensorflow_conda_package(self, core_type: str = "cpu", version: str | None = None) -> None:
        self.add_conda_package(_tensorflow(core_type) + (f"={version}" if version else ""))

    def add_tensorflow_pip_package(self, core_type: str = "cpu", version: str | None = None) -> None:
        self.add_pip_package(_tensorflow(core_type) + (f"=={version}" if version else ""))

    def add_cntk_package(self, core_type: str = "cpu") -> None:
        raise InvalidInput(
            f"CNTK ({core_type}) has not been developed since 2019, and no package of it can be had.",
            hint="Use another framework, such as PyTorch.",
        )

    # ---- as a file

    def serialize_to_string(self) -> str:
        import yaml  # noqa: PLC0415 - loaded only to read or write such files

        return "# Conda environment of a Roost environment.\n" + yaml.safe_dump(self._structure, sort_keys=False)

    def save_to_file(self, base_directory: str, conda_file_path: str | None = None) -> str:
        """Writes it into the folder; returns the path within it."""
        name = conda_file_path or FILE_NAME
        self.save(Path(base_directory, name))
        return name

    def save(self, path: str | os.PathLike[str] | None = None) -> str:
        target = Path(path or FILE_NAME)
        target = target / FILE_NAME if target.is_dir() else target
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self.serialize_to_string(), encoding="utf-8")
        return str(target)

    @property
    def _dependencies(self) -> list[Any]:
        found: list[Any] = self._structure.setdefault("dependencies", [])
        return found

    @property
    def _pip(self) -> list[str]:
        return [line for item in self._dependencies if isinstance(item, dict) for line in item.get("pip") or ()]

    def _set_pip(self, lines: Sequence[str]) -> None:
        rest = [item for item in self._dependencies if isinstance(item, str)]
        self._structure["dependencies"] = [*rest, {"pip": list(lines)}] if lines else rest

    def __repr__(self) -> str:
        return self.serialize_to_string()


def requirement_lines(path: Path, depth: int = 0) -> list[str]:
    """The lines of a requirements file, including those of included files."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"The requirements {str(path)!r} cannot be read: {_why(error)}.",
            hint=f"A line `-r {path.name}` names it, from the folder of its own file." if depth else _beside(path),
        ) from None
    lines = [line.strip() for line in re.sub(r"\\\r?\n", " ", text).splitlines()]
    return _included([line for line in lines if line and not line.startswith("#")], path.parent, depth)


def _included(lines: Sequence[str], folder: Path, depth: int = 0) -> list[str]:
    if depth > _MOST_INCLUDES:
        raise InvalidInput(f"Requirements in {str(folder)!r} include each other without end.")
    found: list[str] = []
    for line in lines:
        include = re.match(r"(?:-r|--requirement)(?:\s*=?\s*)(\S+)", line)
        found += requirement_lines(folder / include[1], depth + 1) if include else [line]
    return found


def _read(path: Path) -> dict[str, Any]:
    import yaml  # noqa: PLC0415 - loaded only to read or write such files

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"The conda file {str(path)!r} cannot be read: {_why(error)}.", hint=_beside(path)) from None
    except yaml.YAMLError as error:
        tab = "\\t" in str(error)
        raise InvalidInput(
            f"The conda file {str(path)!r} is not YAML: {error}",
            hint="Indent with spaces: YAML takes no tabs." if tab else "",
        ) from None
    structure = _checked(data, f"The conda file {str(path)!r}")
    for item in structure["dependencies"]:
        if isinstance(item, dict) and "pip" in item:
            item["pip"] = _included([str(line) for line in item["pip"] or ()], path.parent)
    return structure


def _why(error: OSError | UnicodeDecodeError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _beside(path: Path) -> str:
    """A hint with the similar files in the folder of a file that cannot be read."""
    folder = path.parent
    there = sorted(each.name for each in folder.glob(f"*{path.suffix}") if each.is_file()) if folder.is_dir() else []
    return f"In {str(folder.resolve())!r} there are: {some(there)}." if there and path.suffix else ""


def _checked(data: object, what: str) -> dict[str, Any]:
    if not isinstance(data, dict) or not isinstance(data.get("dependencies") or [], list):
        raise InvalidInput(f"{what} must have a list of `dependencies`, got {str(data)[:80]!r}.")
    data["dependencies"] = data.get("dependencies") or []
    for item in data["dependencies"]:
        if not isinstance(item, str) and not (isinstance(item, dict) and isinstance(item.get("pip") or [], list)):
            raise InvalidInput(f"{what} has {item!r} among its dependencies; text or a `pip` list can stand there.")
    return data


def _name(requirement: str) -> str:
    """The package of a requirement; an address alone is returned unchanged."""
    text = requirement.strip()
    found = None if "::" not in text and _ADDRESS.match(text) else _NAME.match(text)
    return re.sub(r"[-_.]+", "-", found[1]).lower() if found else text


def _text(what: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{what} must be text that is not empty, got {value!r}.")
    return value.strip()


def _pinned(package: str) -> str:
    plain = re.fullmatch(r"azureml-[\w-]+(\[[\w,-]+\])?", package)
    return f"{package}~={SDK_VERSION}" if plain else package


def _tensorflow(core_type: str) -> str:
    if core_type not in ("cpu", "gpu"):
        raise InvalidInput(f"core_type must be 'cpu' or 'gpu', got {core_type!r}.")
    return "tensorflow" if core_type == "cpu" else "tensorflow-gpu"
