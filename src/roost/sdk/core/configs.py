"""Finds and reads a workspace's configuration file, in Azure's format and search order. Pure except for reading files."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from roost.domain import names
from roost.domain.errors import InvalidInput

FOLDERS = (".azureml", "aml_config")
NAMES = ("config.json", "project.json")
KEYS = ("subscription_id", "resource_group", "workspace_name")
_ALSO = {"Id": "", "Scope": ""}


@dataclass(frozen=True, kw_only=True)
class WorkspaceConfig:
    subscription_id: str
    resource_group: str
    workspace_name: str
    file: Path


def find(path: str | None, file_name: str | None) -> Path | None:
    """The file to use: `path` itself if it is a file; else upwards from `path` (the current folder), in each folder
    `.azureml/`, then `aml_config/`, then the folder itself. None when there is none."""
    start = Path(path).expanduser() if path is not None else Path.cwd()
    if os.path.isfile(start):
        return start
    if path is not None and not os.path.exists(start):
        raise InvalidInput(f"There is no configuration file or folder {path!r}.", hint="Check `path` of from_config().")
    wanted = (file_name,) if file_name else NAMES
    start = start.absolute()
    for place in (*FOLDERS, ""):
        for folder in (start, *start.parents):
            for name in wanted:
                found = folder / place / name
                if os.path.isfile(found) and (place or _is_ours(found)):
                    return found
    return None


def _is_ours(file: Path) -> bool:
    """True when a plain `config.json`, which may belong to any program, looks like a workspace's, damaged or not."""
    try:
        content = json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return True
    return isinstance(content, dict) and any(key in content for key in (*KEYS, *_ALSO))


def read(file: Path) -> WorkspaceConfig:
    """The file's content; raises InvalidInput with the file and the wrong key."""
    try:
        content = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise InvalidInput(
            f"{file} is not valid JSON: {error}.", hint=f"It needs the keys {', '.join(KEYS)}."
        ) from None
    if not isinstance(content, dict):
        raise InvalidInput(f"{file} must hold a JSON object.", hint=f"It needs the keys {', '.join(KEYS)}.")
    if isinstance(content.get("Scope"), str) and not any(key in content for key in KEYS):
        content = _from_scope(file, content["Scope"])
    if "workspace_name" not in content:
        raise InvalidInput(f"{file} has no 'workspace_name'.", hint=f"It has the keys {', '.join(KEYS)}.")
    content = {**dict.fromkeys(KEYS, ""), **content}  # the other two mean nothing to Roost, and are stored if given
    for key in KEYS:
        if not isinstance(content[key], str) or (key == "workspace_name" and not content[key]):
            raise InvalidInput(f"{key!r} in {file} must be a text that is not empty, got {content[key]!r}.")
    try:
        names.workspace(content["workspace_name"])
    except InvalidInput as error:
        raise InvalidInput(f"'workspace_name' in {file}: {error.message}", hint=error.hint) from None
    return WorkspaceConfig(**{key: content[key] for key in KEYS}, file=file)


def _from_scope(file: Path, scope: str) -> dict[str, str]:
    """Reads the older project.json: one address instead of three keys."""
    parts = scope.strip("/").split("/")
    pairs = dict(zip(parts[::2], parts[1::2], strict=False))
    try:
        return {
            "subscription_id": pairs["subscriptions"],
            "resource_group": pairs["resourceGroups"],
            "workspace_name": pairs["workspaces"],
        }
    except KeyError:
        raise InvalidInput(f"'Scope' in {file} is not the address of a workspace: {scope!r}.") from None
