"""Files of tables for the tests of frames: made by name, and read into pandas."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from roost_job.data import frames

Make = Callable[[Mapping[str, str | bytes]], list[tuple[str, str, str]]]
CSV: dict[str, Any] = {"type": "delimited"}


@pytest.fixture
def files(tmp_path: Path) -> Make:
    """Files by name; on the disk they have other names, as in a cache."""

    def make(content: Mapping[str, str | bytes]) -> list[tuple[str, str, str]]:
        made = []
        for number, (name, data) in enumerate(content.items()):
            path = tmp_path / f"{number:08x}"
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
            made.append((name, str(path), f"ws/store@1/{name}"))
        return made

    return make


def read(given: list[tuple[str, str, str]], *applied: Mapping[str, Any], **form: Any) -> Any:
    return frames.read({"format": {**CSV, **form}, "steps": list(applied)}, given)
