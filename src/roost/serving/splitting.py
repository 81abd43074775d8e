"""Shares of the requests: a smooth weighted round-robin, so that a split of 90 to 10 is exactly one in ten, not random. Pure."""

from collections.abc import Mapping


class Split:
    def __init__(self, shares: Mapping[str, int]) -> None:
        self._shares = {name: share for name, share in shares.items() if share > 0}
        self._credit = dict.fromkeys(self._shares, 0)
        self._total = sum(self._shares.values())
        self._only = next(iter(self._shares)) if len(self._shares) == 1 else None

    def next(self) -> str | None:
        """The name that is next; None when no name has a share."""
        if self._only is not None or not self._shares:
            return self._only
        credit = self._credit
        for name, share in self._shares.items():
            credit[name] += share
        chosen = max(credit, key=credit.__getitem__)
        credit[chosen] -= self._total
        return chosen
