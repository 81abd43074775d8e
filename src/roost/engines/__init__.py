"""Engines start, watch and stop agents; nothing else. `base.py` is the promise; one file per engine."""

ENGINES = {"local": "roost.engines.local", "inline": "roost.engines.inline", "hosts": "roost.engines.hosts"}
"""Name → module; each module has `make(settings) -> Engine` and is loaded when it is first used."""
