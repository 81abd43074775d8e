"""A model: files by content under a name and a version, with its origin. Its files never change after registration. Pure.

A model keeps the last segment of the path that it was registered from: the file `outputs/model.pt` is `model.pt` in it, the
folder `outputs/` is `outputs/…`. So a scoring script finds `AZUREML_MODEL_DIR/model.pt`, or `AZUREML_MODEL_DIR/outputs/…`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from roost.domain.errors import InvalidModel

FRAMEWORKS = ("Custom", "TensorFlow", "ScikitLearn", "Onnx", "PyTorch", "TFKeras", "MLflow")
"""The names of `Model.Framework`; another name is stored, but such a model cannot be deployed without code."""
_NAME = re.compile(r"[a-zA-Z0-9][\w.-]{0,254}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Resources:
    """The resources of a service that has no code of its own."""

    cpu: float | None = None
    memory_gb: float | None = None
    gpu: int | None = None


@dataclass(frozen=True, kw_only=True)
class Model:
    """A registered version. Only its tags, its description and added properties can change."""

    workspace: str
    name: str
    version: int
    """Counts from 1 within its name."""
    manifest: str
    """Blob hash of the list of its files (`domain/files.py`)."""
    path: str
    """The folder that holds all its files, or its only file; empty for several files side by side."""
    size: int = 0
    framework: str = "Custom"
    framework_version: str = ""
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    run_id: str = ""
    """Id of the run that registered it or owns its files; empty for a model that a person brought."""
    experiment: str = ""
    parent: str = ""
    """Id of the model that this one was made from, for example by an export; empty for none."""
    datasets: tuple[tuple[str, str], ...] = ()
    """The data that it was made with: (purpose, such as "training data"; id of the registered dataset)."""
    sample_input: str = ""
    sample_output: str = ""
    """Ids of registered datasets."""
    resources: Resources = field(default_factory=Resources)
    user: str = ""
    created_at: float = 0.0
    modified_at: float = 0.0

    @property
    def id(self) -> str:
        return f"{self.name}:{self.version}"


def checked_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidModel(
            f"Model name {name!r} is not allowed.",
            hint="Use 1 to 255 letters, digits, `_`, `-` or `.`, the first a letter or digit.",
        )
    return name


def parse_id(text: object) -> tuple[str, int | None]:
    """`name:version`, or a name alone, which means its newest version."""
    name, mark, version = str(text).rpartition(":")
    if not mark:
        return checked_name(text), None
    if not version.isascii() or not version.isdigit() or not 0 < int(version[:12]) < 1 << 31:
        raise InvalidModel(f"{text!r} names no version of a model.", hint="Write NAME or NAME:VERSION, such as net:3.")
    return checked_name(name), int(version)
