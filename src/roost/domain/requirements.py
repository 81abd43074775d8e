"""The lines of a requirements file that a node can install: each is a package, an address or an option. None may hold a
credential, since it would be stored with the environment. Pure; `recipes.py` calls `checked` for every `pip:` section.
"""

import re
from collections.abc import Iterable

from roost.domain.errors import InvalidInput

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")
_OURS = re.compile(
    r"azureml-(defaults|core|sdk|train(-.+)?|widgets|mlflow|dataset-runtime|dataprep(-native|-rslex)?|telemetry|tensorboard"
    r"|monitoring|contrib-services)"
)
_DATASETS = ("azureml-dataset-runtime", "azureml-dataprep")
_BROUGHT = {"numpy", "pandas", "pyarrow"}
"""Packages that come with those for datasets: tables are read with them, and scripts import them; see decision 034."""
_INDEXES = ("--index-url", "--extra-index-url", "--find-links", "-i", "-f", "--trusted-host")
_WITH_VALUE = (*_INDEXES, "--no-binary", "--only-binary")
_ALONE = ("--no-index", "--pre")
_OPTION = re.compile(r"(--?[A-Za-z-]+)(?:\s*=\s*|\s+|$)(.*)")
_CREDENTIAL = re.compile(r"(?<=://)([^/\s]+)@")
_SSH = re.compile(r"\bssh://[^/:\s]+@")
_VARIABLES = re.compile(r"(?:\$\{[A-Z0-9_]+\})+")
_ONE_SIGN = re.compile(r"([A-Za-z0-9][\w.-]*\s*(?:\[[^\]]*\])?)\s*=(?!=)\s*(\S+)")


def package(line: str) -> str:
    """The normalised package name of a requirement; empty for an option."""
    found = _REQUIREMENT.match(line)
    return re.sub(r"[-_.]+", "-", found[1]).lower() if found and not line.startswith("-") else ""


def checked(lines: Iterable[str]) -> list[str]:
    """The lines to install on a node, sorted, options first; packages that Roost replaces are left out."""
    options, kept = set[str](), set[str]()
    brought: set[str] = set()
    for line in (each for item in lines for each in re.sub(r"\\\r?\n", " ", item).splitlines()):
        text = re.sub(r"(^|\s)#.*$", "", line).strip()
        if text.endswith("\\"):
            raise InvalidInput(f"The requirement {text!r} goes on in a line that is not there.")
        if text.startswith("-"):
            options.update(_options(text))
        elif text and _wanted(text):
            kept.add(text)
        elif text:
            brought |= _brought(text)
    kept |= brought - {package(each) for each in kept}
    return [*sorted(options), *sorted(kept, key=lambda each: (each.lower(), each))]


def _wanted(text: str) -> bool:
    """True when a requirement is installed: Roost does not replace it. InvalidInput when a node cannot install it."""
    name = package(text)
    if one := _ONE_SIGN.match(text):
        raise InvalidInput(
            f"The requirement {text!r} is not understood: pip compares with two signs.",
            hint=f"Write {one[1].strip()}=={one[2].partition('=')[0]}; one sign is conda's, beside the `pip` section.",
        )
    if not name or text.startswith((".", "/")) or re.match(r"[\w+.-]+\s*@\s*file:", text):
        raise InvalidInput(
            f"The requirement {text!r} is a path; a node does not have it.",
            hint="Put the package into the source folder, or name one that pip can find.",
        )
    refuse_credential(text)
    if name.startswith("azureml-") and not _OURS.fullmatch(name):
        raise InvalidInput(
            f"The environment needs {name!r}, which Roost does not have.", hint="Leave it out of the packages."
        )
    return not _OURS.fullmatch(name)


def _brought(text: str) -> set[str]:
    """The packages that come with one that Roost replaces."""
    return _BROUGHT if package(text) in _DATASETS else set()


def refuse_credential(text: str) -> None:
    """InvalidInput for a password or token in clear text: locks and logs contain requirements unchanged."""
    for found in _CREDENTIAL.finditer(_SSH.sub("ssh://", text)):  # the user of git+ssh://git@host is no credential
        if not is_variable(found[1]):
            shown = _CREDENTIAL.sub("", text)
            raise InvalidInput(
                f"The requirement {shown!r} is written with a credential, which would be kept with the environment.",
                hint="Write a variable of the node there, such as ${TOKEN}, in capitals; or let the node have it in ~/.netrc.",
            )


def is_variable(user: str) -> bool:
    """True when the part before the @ of an address holds no secret: its password, or the token that replaces name and password,
    is a variable of the node."""
    name, _, password = user.partition(":")
    return _VARIABLES.fullmatch(password or name) is not None


def _options(text: str) -> list[str]:
    """The separate options of a line."""
    found = re.split(r"\s+(?=-)", text)
    for each in found:
        parts = _OPTION.fullmatch(each)
        word, value = parts.groups() if parts else (each, "")
        if word not in (*_WITH_VALUE, *_ALONE):
            raise InvalidInput(
                f"The requirement option {word!r} is not understood.",
                hint=f"Options that are: {', '.join((*_WITH_VALUE, *_ALONE))}.",
            )
        if len(value.split()) != (word in _WITH_VALUE):
            wanted = "one value" if word in _WITH_VALUE else "no value"
            raise InvalidInput(f"The requirement option {word!r} takes {wanted}, got {len(value.split())}.")
    return found
