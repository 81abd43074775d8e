"""Installed environments of this machine: their sizes and last uses, and which of them go."""

import os
import time
from pathlib import Path

import pytest

from roost.environments import base
from roost.sdk.environments import prefixes

OLD, NEW, HALF = "a" * 64, "b" * 64, "c" * 64


def installed(home: Path, lock: str, days: float) -> None:
    place = home / "envs" / lock
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "python").write_bytes(b"x" * 1000)
    (place / base.READY).touch()
    used = time.time() - days * 86400
    os.utime(place / base.READY, (used, used))


def test_found_with_size_and_last_use_and_looking_is_no_use(tmp_path: Path) -> None:
    installed(tmp_path, OLD, 40)
    installed(tmp_path, NEW, 1)
    (tmp_path / "envs" / HALF).mkdir()
    assert [each.lock for each in prefixes.listing(tmp_path)] == [OLD, NEW], (
        "the longest unused first, the half-made not at all"
    )
    found = prefixes.find(tmp_path, OLD)
    assert found is not None
    assert found.bytes == 1000
    assert time.time() - found.used_at > 39 * 86400
    assert prefixes.find(tmp_path, HALF) is None


def test_what_was_not_used_for_long_goes_unless_a_run_has_it(tmp_path: Path) -> None:
    installed(tmp_path, OLD, 40)
    installed(tmp_path, NEW, 1)
    going = prefixes.unused(tmp_path, 30 * 86400)
    assert [each.lock for each in going] == [OLD]
    held = base.hold(tmp_path, OLD)
    assert prefixes.drop(going) == []
    os.close(held)
    assert prefixes.drop(going) == going
    assert [each.lock for each in prefixes.listing(tmp_path)] == [NEW]


def test_what_killed_builds_have_left_goes_too(tmp_path: Path) -> None:
    installed(tmp_path, OLD, 40)
    installed(tmp_path, HALF, 1)
    half = tmp_path / "envs" / HALF
    (half / base.READY).unlink()
    os.utime(half, (time.time() - 50 * 86400,) * 2)
    going = prefixes.unused(tmp_path, 30 * 86400)
    assert [(each.lock, each.whole, each.bytes) for each in going] == [(HALF, False, 1000), (OLD, True, 1000)]
    assert prefixes.drop(going) == going
    assert not half.exists()


def test_without_an_engine_there_are_no_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    assert prefixes.unused_images(tmp_path) == []
    assert prefixes.drop_images(tmp_path, []) == []
