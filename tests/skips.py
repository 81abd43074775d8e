"""Skipped tests, counted by reason: what a person reads at the end of `make test` and of `make test-real`."""

from collections import Counter
from collections.abc import Iterable

_LONGEST = 160


def summary(reasons: Iterable[str]) -> list[str]:
    """Lines, the most frequent reason first; none when nothing was skipped."""
    counts = Counter(" ".join(reason.removeprefix("Skipped: ").split())[:_LONGEST] for reason in reasons)
    if not counts:
        return []
    lines = [f"  {count} × {reason}" for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    return [f"{counts.total()} skipped, for {len(counts)} reason{'s' * (len(counts) > 1)}:", *lines]
