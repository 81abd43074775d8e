"""ROOST_TEST_REQUIRE: what it names must not skip, and every test skips through `tests/skips.py`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests import debian, skips

ROOT = Path(__file__).parents[2]


@pytest.fixture
def require(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv(skips.VARIABLE, raising=False)
    return monkeypatch


def test_a_word_that_is_not_required_skips(require: pytest.MonkeyPatch) -> None:
    require.setenv(skips.VARIABLE, "root,chromium")
    with pytest.raises(pytest.skip.Exception, match="no FUSE here"):
        skips.skip("fuse", "no FUSE here")


@pytest.mark.parametrize(
    ("text", "word"),
    [("fuse", "fuse"), ("root, fuse", "fuse"), ("interpreters", "python3.6"), ("interpreters,root", "python3.13")],
)
def test_a_word_that_is_required_fails(require: pytest.MonkeyPatch, text: str, word: str) -> None:
    require.setenv(skips.VARIABLE, text)
    words = f"ROOST_TEST_REQUIRE names '{word}', and the test would skip: it is not here"
    with pytest.raises(pytest.fail.Exception, match=words):
        skips.skip(word, "it is not here")


def test_packages_and_root_are_looked_up(require: pytest.MonkeyPatch) -> None:
    require.setattr(debian, "missing", lambda need: f"{need.what}: not on this machine")
    with pytest.raises(pytest.skip.Exception, match="Chromium: not on this machine"):
        skips.needs("chromium")
    require.setenv(skips.VARIABLE, "chromium")
    with pytest.raises(pytest.fail.Exception, match="Chromium: not on this machine"):
        skips.needs("chromium")
    require.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(pytest.skip.Exception, match="needs root"):
        skips.needs("root")
    require.undo()
    require.setattr(debian, "missing", lambda need: "")
    assert [skips.needs(word) for word in skips.PACKAGES] == [None] * len(skips.PACKAGES)


def test_unknown_words_are_refused(require: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="'gpu' is no word"):
        skips.skip("gpu", "none here")
    assert skips.required("") == skips.required(" , ") == frozenset()
    with pytest.raises(ValueError, match="ROOST_TEST_REQUIRE has chromum, gpu; the words are: interpreters, "):
        skips.required("gpu,root,chromum")


def test_pytest_refuses_an_unknown_word_before_any_test() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/domain/test_names.py"],
        env={**os.environ, skips.VARIABLE: "chromum"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "ROOST_TEST_REQUIRE has chromum" in done.stderr


def test_the_words_that_a_machine_can_have(require: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without pyenv, root, programs and apt's lists: only what is known without them."""
    program = "import os, runpy; os.geteuid = lambda: 1000; runpy.run_module('tests.skips', run_name='__main__')"
    bare = {"PATH": str(tmp_path), "PYENV_ROOT": str(tmp_path), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=bare, cwd=ROOT, capture_output=True, text=True)
    words = skips.required(done.stdout.strip())
    assert done.returncode == 0, done.stderr
    assert not words & {"root", "disks", "fuse", "chromium", "podman", "namespaces", "cgroups", *skips.PYTHONS}
    (tmp_path / "versions").mkdir()
    done = subprocess.run([sys.executable, "-c", program], env=bare, cwd=ROOT, capture_output=True, text=True)
    assert set(skips.PYTHONS) <= skips.required(done.stdout.strip())


def test_a_package_that_apt_knows_can_be_had_by_root(require: pytest.MonkeyPatch, tmp_path: Path) -> None:
    apt = tmp_path / "apt-cache"
    apt.write_text('#!/bin/sh\n[ "$2" = known ]\n')
    apt.chmod(0o755)
    require.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def can(*packages: str) -> bool:
        return skips._can_install(debian.Need("it", packages, ("/nowhere/*",), ("test",)))()

    require.setattr(os, "geteuid", lambda: 0)
    assert (can("known"), can("known", "unknown")) == (True, False)
    require.setattr(os, "geteuid", lambda: 1000)
    assert not can("known")


def test_every_skip_goes_through_it_with_a_known_word() -> None:
    """Also in the benchmarks. The tests of the chores write tests that skip by themselves."""
    files = [path for name in ("tests", "bench") for path in sorted((ROOT / name).rglob("*.py"))]
    files = [path for path in files if path.parent != Path(__file__).parent and path != Path(skips.__file__)]
    own = re.compile(r"pytest\.skip\(|mark\.skip|importorskip|unittest\.skip|SkipTest")
    assert [path for path in files if own.search(path.read_text())] == []
    used = {word for path in files for word in re.findall(r'skips\.(?:skip|needs)\(\s*"([^"]+)"', path.read_text())}
    assert used and used <= set(skips.WORDS)
    needed = {word for path in files for word in re.findall(r'skips\.needs\("([^"]+)"', path.read_text())}
    assert {"fuse", "chromium"} <= needed <= {"root", *skips.PACKAGES}
