"""An environment: its definition as the Azure ML SDK v1 writes it, registered by name and version. Pure.

Definition (what a person asked for, kept whole) → recipe (`recipes.py`: what has to be installed, with a hash) → lock (exact
versions for one platform, made by a build agent) → prefix (a folder named by the lock) or image.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roost.domain.errors import InvalidInput

BUILD_LOG = "azureml-logs/20_image_build_log.txt"
"""The file of a run in which its environment's build is told."""
LOCK_FILE = "system_logs/environment.lock"
"""The file of a run that says exactly what was installed."""
RESERVED = ("azureml", "microsoft")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,254}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A registered environment; each version stays as it is."""

    workspace: str
    name: str
    version: str
    """"1", "2", …: text, as the SDK has it."""
    definition: Mapping[str, Any]
    user: str
    created_at: float


@dataclass(frozen=True, kw_only=True)
class EnvironmentUse:
    """The environment of a run, as it was when it was submitted."""

    name: str
    version: str = ""
    """Empty for one that is not registered."""
    definition: Mapping[str, Any] = field(default_factory=dict)
    lock: str = ""
    """Blob of the lock of another run that this one is installed from as it is; empty to resolve, or to take what is known."""
    archive: bool = False
    """Every file of that lock is kept by a build agent before the run begins."""
    offline: bool = False
    """It is installed from what is kept of that lock, with no network."""


@dataclass(frozen=True, kw_only=True)
class Build:
    """Where a recipe stands on one platform."""

    key: str
    platform: str
    lock: str = ""
    """Blob of the lock; empty until it is known."""
    builder: str = ""
    """The run whose agent builds it now; empty for none."""
    failed_at: float = 0.0
    """When the last attempt failed: those who waited for it fail with it, later ones try again."""
    message: str = ""
    """The resolver's own words."""


@dataclass(frozen=True, kw_only=True)
class Archive:
    """What is kept of a lock's files, by content among the blobs: it can be installed when no index has them any more."""

    lock: str
    manifest: str
    """Blob that lists the files, by path and content."""
    python: str
    """The Python that the machine has to have; empty where it is among the files."""
    files: int
    bytes: int
    missing: tuple[str, ...] = ()
    """What is not kept, a line each with the reason; empty for an archive that is complete."""
    kept_at: float = 0.0

    @property
    def complete(self) -> bool:
        return not self.missing


def name(text: object) -> str:
    """An environment's name, or InvalidInput."""
    if not isinstance(text, str) or not _NAME.fullmatch(text):
        raise InvalidInput(
            f"Environment name {text!r} is not allowed.",
            hint="Use 1 to 255 letters, digits, `_`, `-` or `.`, the first a letter or digit.",
        )
    return text


def own_name(text: object) -> str:
    """A name that a person may register."""
    checked = name(text)
    if checked.lower().startswith(RESERVED):
        raise InvalidInput(
            f"Environment name {checked!r} is not allowed: the prefixes AzureML and Microsoft are for curated ones.",
            hint="Give it another name: env.clone(new_name).",
            cli_hint="Give the file another name: the environment is called like it.",
        )
    return checked


def digest(definition: Mapping[str, Any]) -> str:
    """Equal for equal definitions, whatever their order, name and version."""
    kept = {key: value for key, value in definition.items() if key not in ("name", "version")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
