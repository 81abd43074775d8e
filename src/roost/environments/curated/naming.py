"""The parts of a curated environment's name: framework, version, Python, GPU or not. Pure."""

import re
from dataclasses import dataclass

PREFIX = "azureml-"
_LABEL = re.compile(r"(@latest|:\d+)$")
_PYTHON = re.compile(r"(?:^|-)py(\d)\.?(\d+)(?=-|$)")
_GPU = re.compile(r"gpu|cuda|(?:^|-)cu\d")
_CPU = re.compile(r"(?:^|-)cpu(?=-|$)")

Version = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Name:
    """The parts of a name; empty for a part that it does not have."""

    text: str
    """The whole name after `AzureML-`, in lower case."""
    python: str
    gpu: bool | None
    horovod: bool | None
    """True when the name has it; None for names whose environments had Horovod at the time: those for training before ACPT."""


def is_curated(name: str) -> bool:
    """True when only a curated environment can have the name."""
    return name.lower().startswith(PREFIX)


def parse(name: str) -> Name:
    text = _LABEL.sub("", name.lower()).removeprefix(PREFIX)
    python = _PYTHON.search(text)
    gpu = True if _GPU.search(text) else False if _CPU.search(text) else None
    return Name(
        text=text,
        python=f"{python[1]}.{python[2]}" if python else "",
        gpu=gpu,
        horovod=True if "horovod" in text else False if re.search("inference|acpt", text) else None,
    )


def split(text: str, pattern: str) -> str | None:
    """The version after a framework's pattern in a name, empty for none; None for another framework's name."""
    found = re.match(rf"(?:{pattern})-?(\d+(?:\.\d+)*)?(?=-|$)", text)
    return None if found is None else found.groups()[-1] or ""


def version(text: str) -> Version:
    """Numbers for comparison."""
    return tuple(int(part) for part in re.findall(r"\d+", text))
