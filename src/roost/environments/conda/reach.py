"""The channels that were unreachable a short time ago. Stored in the home, so that a machine without them does not try again for
every environment with an exact Python.
"""

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from roost.domain.conda import AWAY_SECONDS
from roost.environments.conda.settings import Channel
from roost.machine import files


class Reach:
    """The record in a cache folder. **Processes**: any number; the last write wins, and a lost entry is only tried again."""

    def __init__(self, cache: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = cache / "away.json"
        self._clock = clock

    def away(self, channels: Sequence[Channel]) -> list[str]:
        """The channels that were unreachable a short time ago."""
        known = self._read()
        now = self._clock()
        return [each.name for each in channels if 0 <= now - known.get(_key(each), 0.0) < AWAY_SECONDS]

    def note(self, channels: Sequence[Channel], away: Iterable[str]) -> None:
        """Stores the current result."""
        gone = set(away)
        known = self._read()
        now = self._clock()
        kept = {key: at for key, at in known.items() if 0 <= now - at < AWAY_SECONDS}
        for channel in channels:
            kept.pop(_key(channel), None)
            if channel.name in gone:
                kept[_key(channel)] = now
        if kept != known:
            with contextlib.suppress(OSError):
                files.write(self._path, json.dumps(kept))

    def _read(self) -> dict[str, float]:
        try:
            known = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return {}
        return {str(key): float(at) for key, at in known.items()} if isinstance(known, dict) else {}


def _key(channel: Channel) -> str:
    return hashlib.sha256(f"{channel.name}\n{channel.url}".encode()).hexdigest()
