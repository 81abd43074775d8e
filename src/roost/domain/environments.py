"""An environment: its definition as the Azure ML SDK v1 writes it, registered by name and version. Pure.

Definition (the request, stored whole) → recipe (`recipes.py`: what must be installed, with a hash) → lock (exact versions for one
platform, made by a build agent) → prefix (a folder named by the lock) or image.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roost.domain.errors import InvalidInput

BUILD_LOG = "azureml-logs/20_image_build_log.txt"
"""The run's file with the log of its environment's build."""
LOCK_FILE = "system_logs/environment.lock"
"""The run's file that lists exactly what was installed."""
RESERVED = ("azureml", "microsoft")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,254}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A registered environment; a version never changes."""

    workspace: str
    name: str
    version: str
    """"1", "2", …: text, as the SDK has it."""
    definition: Mapping[str, Any]
    user: str
    created_at: float


@dataclass(frozen=True, kw_only=True)
class EnvironmentUse:
    """The environment of a run at the time of its submission."""

    name: str
    version: str = ""
    """Empty for an unregistered environment."""
    definition: Mapping[str, Any] = field(default_factory=dict)
    lock: str = ""
    """Blob of another run's lock, to be installed exactly; empty to resolve the recipe or use a known lock."""
    archive: bool = False
    """A build agent stores every file of that lock before the run starts."""
    offline: bool = False
    """Install from the stored files of that lock, without a network."""


@dataclass(frozen=True, kw_only=True)
class Build:
    """The state of a recipe's build on one platform."""

    key: str
    platform: str
    lock: str = ""
    """Blob of the lock; empty until it exists."""
    builder: str = ""
    """The run whose agent is building it; empty for none."""
    failed_at: float = 0.0
    """Time of the last failure: runs that waited for this build fail with it, later runs try again."""
    message: str = ""
    """The resolver's own message."""


@dataclass(frozen=True, kw_only=True)
class Archive:
    """The stored files of a lock, as blobs: it can be installed even when no index has the files any more."""

    lock: str
    manifest: str
    """Blob that lists the files, by path and content."""
    python: str
    """The Python that the machine must have; empty when it is among the files."""
    files: int
    bytes: int
    missing: tuple[str, ...] = ()
    """The files that are not stored, a line each with the reason; empty for a complete archive."""
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
    """Equal for equal definitions, regardless of order, name and version."""
    kept = {key: value for key, value in definition.items() if key not in ("name", "version")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
