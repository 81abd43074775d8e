"""Names in a sentence: the first few, and how many more there are. Pure; every layer's hints use it."""

from typing import Iterable


def some(names: Iterable[object], most: int = 5) -> str:
    """`a, b, c and 4 more`: a cut list shows that it was cut. Empty for none."""
    every = [str(name) for name in names]
    if len(every) == most + 1:  # "and 1 more" is no shorter than its name
        most += 1
    rest = len(every) - most
    return ", ".join(every[:most]) + (" and %d more" % rest if rest > 0 else "")
