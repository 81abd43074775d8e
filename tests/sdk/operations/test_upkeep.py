"""Caches of this machine: what was not used for long goes, and nothing else."""

import os
import time
from pathlib import Path

from tests.shared.folders import tree

from roost.environments import base as environments
from roost.environments import caches
from roost.sdk.operations import upkeep

LOCKS = ["a" * 64, "b" * 64, "c" * 64]


def age(path: Path, days: float) -> None:
    os.utime(path, (time.time() - days * 86400,) * 2)


def test_folders_of_a_home(tmp_path: Path) -> None:
    tree(tmp_path, {"cache/snapshots/x": "12345", "logs/server.log": "1", "token": "t"})
    (tmp_path / "link").symlink_to(tmp_path)
    sizes = upkeep.folders(tmp_path)
    assert (sizes["cache/"], sizes["logs/"], sizes["token"]) == (5, 1, 1)


def test_what_a_cache_and_an_environment_share_counts_once(tmp_path: Path) -> None:
    tree(tmp_path, {"cache/conda/pkgs/six-1/six.py": "12345", "envs/x/own.py": "1"})
    for name in ("six.py", "again.py"):
        (tmp_path / "envs/x" / name).hardlink_to(tmp_path / "cache/conda/pkgs/six-1/six.py")
    assert upkeep.folders(tmp_path) == {"cache/": 5, "envs/": 1}


def test_what_builders_keep_goes_as_a_whole_unless_a_build_has_it(tmp_path: Path) -> None:
    places = ["cache/wheels/k1", "cache/wheels/.k2.part", "cache/uv/i1", "cache/uv/i2"]
    for place in places:
        tree(tmp_path, {f"{place}/a": "12345", f"{place}/deep/b": "1"})
        age(tmp_path / place, 40)
    age(tmp_path / "cache/uv/i1/deep/b", 400)
    used = tmp_path / "cache/uv/i2"
    old = upkeep.old_caches(tmp_path, 30 * 86400)
    assert {(str(path.relative_to(tmp_path)), size) for path, size in old} == {(place, 6) for place in places}
    with caches.using(used):
        assert upkeep.drop_caches(old) == 18
    assert (used / "deep" / "b").exists()
    assert upkeep.old_caches(tmp_path, 30 * 86400) == [], "a use counts"
    assert not any((tmp_path / place).exists() for place in places[:3])


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
