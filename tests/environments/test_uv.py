import subprocess
import sys
from pathlib import Path

import pytest
from tests.environments.wheels import sdist, wheel
from tests.interpreters import python

from roost.domain.recipes import BASICS, Recipe
from roost.environments import base, pythons
from roost.environments.base import BuildFailed
from roost.environments.uv import UvBuilder

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"


class Build:
    """A builder whose words are kept."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.builder = UvBuilder(self.said.append, lambda: None)

    def lock(self, *requirements: str, version: str = HERE) -> base.Lock:
        return self.builder.resolve(Recipe(python=version, requirements=(*requirements, *BASICS)))


def test_locked_exactly_with_hashes_and_without_addresses(shelf: Path, tmp_path: Path) -> None:
    wheel(shelf, "upper", "1.2", requires=["lower>=2"])
    wheel(shelf, "lower", "2.0")
    wheel(shelf, "lower", "1.0")
    build = Build()
    lock = build.lock("upper")
    pinned = [line.split()[0] for line in lock.body.splitlines() if "==" in line]
    assert pinned == ["lower==2.0", "pip==99.0", "setuptools==99.0", "upper==1.2", "wheel==99.0"]
    assert lock.body.count("--hash=sha256:") == 5
    assert lock.python.startswith(HERE)
    for told in (lock.text, *build.said):
        assert str(shelf) not in told
    assert build.lock("upper") == lock, "the same again is the same lock"


@pytest.mark.parametrize("version", [HERE, "3.8"])
def test_a_prefix_is_a_python_with_what_the_lock_names(shelf: Path, tmp_path: Path, version: str) -> None:
    python(version)
    wheel(shelf, "lower", "2.0")
    build = Build()
    lock = build.lock("lower==2.0", version=version)
    build.builder.install(base.read_lock(lock.text), tmp_path / "prefix")
    text = "import sys, lower; print('%d.%d' % sys.version_info[:2], lower.VERSION, sys.prefix)"
    done = subprocess.run([tmp_path / "prefix/bin/python", "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [version, "2.0", str(tmp_path / "prefix")]


def test_no_solution_is_told_in_the_resolver_s_words(shelf: Path) -> None:
    wheel(shelf, "lower", "2.0")
    build = Build()
    with pytest.raises(BuildFailed, match="lower==3") as caught:
        build.lock("lower==3.0")
    assert caught.value.hint
    assert str(shelf) not in str(caught.value)
    assert any("lower==3" in line for line in build.said)


def test_a_changed_wheel_is_not_installed(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel(shelf, "lower", "2.0")
    lock = Build().lock("lower")
    wheel(shelf, "lower", "2.0", files={"lower.py": "VERSION = 'evil'\n"})
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "another"))
    with pytest.raises(BuildFailed, match=r"(?i)hash"):
        Build().builder.install(lock, tmp_path / "prefix")


def test_what_it_started_ends_with_it(shelf: Path, tmp_path: Path) -> None:
    """A package that takes for ever to be built is given up as soon as nobody wants it."""
    sign = tmp_path / "sign"
    sdist(shelf, "slow", "1.0", sign)
    begun = Path(f"{sign}.pid")

    class Enough(Exception):
        """Raised while uv works."""

    def enough() -> None:
        if begun.exists():
            raise Enough

    builder = UvBuilder(lambda _: None, enough)
    with pytest.raises(Enough):
        builder.resolve(Recipe(python=HERE, requirements=("slow",)))
    assert not Path("/proc", begun.read_text(), "exe").exists()


def test_a_package_is_built_where_it_has_no_wheel(shelf: Path, tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    sdist(shelf, "slow", "1.0", sign)
    sign.touch()
    assert "slow==1.0" in Build().lock("slow").body


@pytest.mark.parametrize(
    ("wanted", "given"), [("3.8.1", "3.8"), ("3.8", "3.8"), (">=3.7,<3.9", "3.8"), (HERE, HERE), (f"=={HERE}", HERE)]
)
def test_the_nearest_python_is_chosen(wanted: str, given: str) -> None:
    python(given)
    assert pythons.choose(wanted).text.startswith(f"{given}.")


def test_the_nearest_patch_is_told(shelf: Path) -> None:
    build = Build()
    build.lock(version=f"{HERE}.0")
    assert any("nearest to" in line for line in build.said) or pythons.choose(f"{HERE}.0").text == f"{HERE}.0"


def test_a_python_that_is_not_here_is_named_with_those_that_are() -> None:
    with pytest.raises(BuildFailed, match=r"no Python 3\.5") as caught:
        pythons.choose("3.5")
    assert HERE in caught.value.hint
