"""Compute: a named place where runs go, with a limit on how many are there at once."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Compute:
    name: str
    engine: str
    """A key of `roost.engines.ENGINES`."""
    max_nodes: int
    """How many runs are there at once; the rest wait in the order they were submitted."""
