"""Caches of this machine: what was not used for long goes, and nothing else."""

import os
import time
from pathlib import Path

from tests.sdk.folders import tree

from roost.environments import base as environments
from roost.sdk import upkeep

LOCKS = ["a" * 64, "b" * 64, "c" * 64]


def age(path: Path, days: float) -> None:
    os.utime(path, (time.time() - days * 86400,) * 2)


def test_folders_of_a_home(tmp_path: Path) -> None:
    tree(tmp_path, {"cache/snapshots/x": "12345", "logs/server.log": "1", "token": "t"})
    (tmp_path / "link").symlink_to(tmp_path)
    sizes = upkeep.folders(tmp_path)
    assert (sizes["cache/"], sizes["logs/"], sizes["token"]) == (5, 1, 1)


def test_old_caches_go(tmp_path: Path) -> None:
    tree(
        tmp_path, {"cache/snapshots/old": "12345", "cache/blobs/ab/old": "123", "cache/blobs/ab/new": "1", "token": "t"}
    )
    for place in ("cache/snapshots/old", "cache/blobs/ab/old", "token"):
        age(tmp_path / place, 40)
    old = upkeep.old_caches(tmp_path, 30 * 86400)
    assert {path.name for path, _ in old} == {"old"}
    assert upkeep.drop_caches(old) == 8
    assert upkeep.drop_caches(old) == 0
    assert (tmp_path / "token").exists()
    assert (tmp_path / "cache/blobs/ab/new").exists()
    assert upkeep.old_caches(tmp_path / "nothing", 0) == []


def test_environments_that_nobody_uses_go(tmp_path: Path) -> None:
    for lock in LOCKS:
        tree(tmp_path, {f"envs/{lock}/bin/python": "12345", f"envs/{lock}/{environments.READY}": ""})
    for lock in LOCKS[:2]:
        age(tmp_path / "envs" / lock / environments.READY, 40)
    held = environments.hold(tmp_path, LOCKS[0])
    old = upkeep.old_caches(tmp_path, 30 * 86400)
    assert [(prefix.name, size) for prefix, size in old] == [(LOCKS[0], 5), (LOCKS[1], 5)]
    assert upkeep.drop_caches(old) == 5
    os.close(held)
    assert {path.name for path in (tmp_path / "envs").iterdir() if path.is_dir()} == {LOCKS[0], LOCKS[2]}
