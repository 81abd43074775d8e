"""Engines start, watch and stop agents; nothing else. `base.py` is the interface; one file per engine. How to write one:
docs/how-it-works/engines.md."""

import importlib
from importlib.metadata import entry_points
from typing import Any, Protocol

from roost.domain.errors import InvalidInput
from roost.engines.base import Abilities, Engine

ENGINES = {"local": "roost.engines.local", "inline": "roost.engines.inline", "hosts": "roost.engines.hosts"}
"""Name → module; each is an EngineModule and is loaded when it is first used."""
GROUP = "roost.engines"
"""Entry points of other packages: name → module, in addition to the table."""


class EngineModule(Protocol):
    """The functions of an engine's module. `settings` are those of the control plane; `settings.home` is its folder."""

    def abilities(self, settings: Any) -> Abilities | None:
        """The engine's abilities with these settings; None when they give it nothing to run on. Starts nothing and calls no
        service, since it runs before the control plane listens. Raises InvalidInput when the settings contradict each other."""

    def make(self, settings: Any) -> Engine:
        """The engine. Called only when `abilities` are not None."""


def load(name: str) -> EngineModule:
    """The module of an engine. InvalidInput when no engine has that name, or when it cannot be imported."""
    found = entry_points(group=GROUP, name=name) if name not in ENGINES else ()
    if name not in ENGINES and not found:
        raise InvalidInput(f"No engine named {name!r}.", hint=f"There are: {', '.join(names())}.")
    module: EngineModule
    try:
        module = next(iter(found)).load() if found else importlib.import_module(ENGINES[name])
    except (ImportError, AttributeError) as error:
        raise InvalidInput(
            f"The engine {name!r} cannot be loaded: {error}.",
            hint=f"Install its package into the control plane's Python, or correct its entry point in {GROUP!r}.",
        ) from error
    return module


def names() -> list[str]:
    """Names of all engines, ours and those of other packages."""
    return sorted({*ENGINES, *entry_points(group=GROUP).names})
