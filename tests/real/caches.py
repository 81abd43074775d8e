"""What real tests keep for the next time: ROOST_TEST_CACHE, by default in the home of the user who runs them."""

import os
from pathlib import Path

import pytest


def folder(name: str) -> Path:
    return Path(os.environ.get("ROOST_TEST_CACHE") or Path.home() / ".cache" / "roost-tests") / name


def keep_builds(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Builds of environments download and compile into the folder that all parts share. Call it before anything is started."""
    kept = folder("environments")
    monkeypatch.setenv("UV_CACHE_DIR", str(kept / "uv"))
    monkeypatch.setenv("ROOST_WHEEL_CACHE", str(kept / "wheels"))
    return kept
