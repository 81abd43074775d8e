"""Reading spools back with the server's own decoder."""

from pathlib import Path
from typing import Any

from roost.domain.metrics import Point, points, read_back
from roost.domain.spools import decode


def logged(folder: Path) -> dict[str, list[Point]]:
    """Every point of every spool in the folder, by metric; nothing in it may be damaged or left over."""
    found: dict[str, list[Point]] = {}
    for path in sorted(folder.glob("*.spool")):
        for name, values in one(path.read_bytes()).items():
            found.setdefault(name, []).extend(values)
    return found


def one(data: bytes, whole: bool = True) -> dict[str, list[Point]]:
    batch = decode(data, {})
    assert not batch.damaged
    assert not whole or batch.consumed == len(data)
    found: dict[str, list[Point]] = {}
    for series in batch.series:
        found.setdefault(series.name, []).extend(points(series))
    return found


def values(folder: Path) -> dict[str, list[Any]]:
    return {name: [point.value for point in found] for name, found in logged(folder).items()}


def shown(folder: Path) -> dict[str, Any]:
    """What `get_metrics` would show."""
    return {name: read_back(found) for name, found in logged(folder).items()}
