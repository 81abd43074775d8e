"""The settings of the control plane: one field each, with its environment variable and its meaning."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from roost.domain.conda import INDEX_IF_UNREACHABLE, PACKAGE_SOURCES
from roost.domain.errors import InvalidInput


def _about(variable: str, meaning: str) -> dict[str, str]:
    return {"variable": variable, "meaning": meaning}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The values for this start: from the command line, else the environment, else the default."""

    home: Path = field(
        default=Path("~/.roost"),
        metadata=_about("ROOST_HOME", "Folder of everything the embedded control plane keeps."),
    )
    host: str = field(
        default="127.0.0.1",
        metadata=_about("ROOST_HOST", "Address to listen on; loopback unless said otherwise."),
    )
    port: int = field(
        default=0,
        metadata=_about("ROOST_PORT", "Port to listen on; 0 takes the one of last time, or any that is free."),
    )
    allowed_hosts: tuple[str, ...] = field(
        default=(),
        metadata=_about(
            "ROOST_ALLOWED_HOSTS", "Further names, comma-separated, under which clients may reach the server."
        ),
    )
    local_slots: int = field(
        default=0,
        metadata=_about(
            "ROOST_LOCAL_SLOTS", "How many runs are on `local` at once; 0 means as many as there are processors."
        ),
    )
    store_url: str = field(
        default="", metadata=_about("ROOST_STORE_URL", "Database; empty for SQLite in the home folder.")
    )
    local_engine: str = field(
        default="local", metadata=_about("ROOST_LOCAL_ENGINE", "Engine behind the target `local`.")
    )
    engines: tuple[str, ...] = field(
        default=("inline", "hosts"),
        metadata=_about(
            "ROOST_ENGINES",
            "Further engines, comma-separated, that clusters can be made on; `hosts` counts when its file names a machine.",
        ),
    )
    disk_limit: int = field(
        default=90,
        metadata=_about(
            "ROOST_DISK_LIMIT", "Percent of the home's disk at which no new run is taken in; 0 for no limit."
        ),
    )
    conda_packages: str = field(
        default=INDEX_IF_UNREACHABLE,
        metadata=_about(
            "ROOST_CONDA_PACKAGES",
            f"Where conda packages of environments come from: {', '.join(PACKAGE_SOURCES[:-1])} or {PACKAGE_SOURCES[-1]}.",
        ),
    )
    archive_builds: bool = field(
        default=False,
        metadata=_about(
            "ROOST_ARCHIVE_BUILDS",
            "Whether every build of an environment keeps the files that it was made of: 1 or 0.",
        ),
    )
    data_roots: tuple[str, ...] = field(
        default=(),
        metadata=_about(
            "ROOST_DATA_ROOTS",
            "Folders, comma-separated, that datastores may be in. Empty: any that the server's user sees while it listens on "
            "loopback, none otherwise.",
        ),
    )
    data_endpoints: tuple[str, ...] = field(
        default=(),
        metadata=_about(
            "ROOST_DATA_ENDPOINTS",
            "Hosts of object stores, comma-separated, that datastores may name beside Azure's, Amazon's and Google's own. "
            "Empty: any while the server listens on loopback, none otherwise.",
        ),
    )
    hosts: str = field(
        default="",
        metadata=_about(
            "ROOST_HOSTS", "File of the machines that the engine `hosts` has; empty: hosts.toml in the home."
        ),
    )
    user: str = field(
        default="",
        metadata=_about("ROOST_USER", "Name that stands on what is made; empty for the user of this process."),
    )

    @property
    def is_shared(self) -> bool:
        """True when clients on other machines may reach it."""
        return self.host not in ("::1", "localhost") and not self.host.startswith("127.")

    @property
    def slots(self) -> int:
        return self.local_slots or len(os.sched_getaffinity(0))

    @property
    def store(self) -> str:
        return self.store_url or f"sqlite:///{self.home / 'roost.db'}"

    @property
    def blob_folder(self) -> Path:
        return self.home / "blobs"

    @property
    def hosts_file(self) -> Path:
        return Path(self.hosts).expanduser() if self.hosts else self.home / "hosts.toml"

    @property
    def log_file(self) -> Path:
        return self.home / "logs" / "server.log"

    @property
    def server_file(self) -> Path:
        return self.home / "server.json"

    @property
    def token_file(self) -> Path:
        return self.home / "token"

    @property
    def lock_file(self) -> Path:
        return self.home / "server.lock"


def read(environment: Mapping[str, str], **given: object) -> Settings:
    """Settings from the arguments (None counts as absent) and the environment; InvalidInput names a value that is not valid."""
    values: dict[str, Any] = {}
    for each in fields(Settings):
        variable = each.metadata["variable"]
        if given.get(each.name) is not None:
            values[each.name] = given[each.name]
        elif environment.get(variable):
            values[each.name] = _parse(variable, environment[variable], each.default)
    settings = Settings(**values)
    if not 0 <= settings.port <= 65535:
        raise InvalidInput(f"The port must be 0 to 65535, got {settings.port}.")
    if settings.local_slots < 0:
        raise InvalidInput(f"ROOST_LOCAL_SLOTS must not be negative, got {settings.local_slots}.")
    if not 0 <= settings.disk_limit <= 100:
        raise InvalidInput(f"ROOST_DISK_LIMIT is a percentage, 0 to 100, got {settings.disk_limit}.")
    if settings.conda_packages not in PACKAGE_SOURCES:
        raise InvalidInput(
            f"ROOST_CONDA_PACKAGES is {settings.conda_packages!r}.", hint=f"Say one of: {', '.join(PACKAGE_SOURCES)}."
        )
    home = Path(settings.home).expanduser().absolute()
    return Settings(**{**{f.name: getattr(settings, f.name) for f in fields(Settings)}, "home": home})


def _parse(variable: str, text: str, like: object) -> object:
    if isinstance(like, bool):
        words = {
            "1": True,
            "true": True,
            "yes": True,
            "on": True,
            "0": False,
            "false": False,
            "no": False,
            "off": False,
        }
        if text.strip().lower() not in words:
            raise InvalidInput(f"{variable} must be 1 or 0, got {text!r}.")
        return words[text.strip().lower()]
    if isinstance(like, int):
        try:
            return int(text)
        except ValueError:
            raise InvalidInput(f"{variable} must be a whole number, got {text!r}.") from None
    if isinstance(like, tuple):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return Path(text) if isinstance(like, Path) else text
