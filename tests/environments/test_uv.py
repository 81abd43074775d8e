import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.shared import disks
from tests.shared.indexes import Index
from tests.shared.interpreters import python
from tests.shared.wheels import sdist, wheel

from roost.domain.recipes import BASICS, Recipe
from roost.environments import base, pythons
from roost.environments.base import BuildFailed
from roost.environments.pip.builder import UvBuilder

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


@pytest.mark.parametrize(("name", "meant"), [("scikit-lern==0.22", "scikit-learn"), ("cv2", "opencv-python")])
def test_a_name_that_no_index_has_is_answered_with_the_one_that_was_meant(shelf: Path, name: str, meant: str) -> None:
    with pytest.raises(BuildFailed, match="was not found") as caught:
        Build().lock(name)
    assert caught.value.hint == f"Did you mean {meant} instead of {name.partition('=')[0]}?"


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
    there = pythons.choose(HERE).text
    build.lock(version=f"{HERE}.999")
    assert [line for line in build.said if "nearest to" in line] == [
        f"Python {there}, the nearest to {HERE}.999 on this node."
    ]


def test_a_lock_of_another_patch_is_installed_with_the_nearest_and_told(shelf: Path, tmp_path: Path) -> None:
    build = Build()
    build.builder.install(replace(build.lock(), python=f"{HERE}.99"), tmp_path / "prefix")
    assert f"Python {pythons.choose(HERE).text}, the nearest to {HERE}.99 on this node." in build.said


def test_a_python_that_is_not_here_is_named_with_those_that_are() -> None:
    with pytest.raises(BuildFailed, match=r"no Python 3\.5") as caught:
        pythons.choose("3.5")
    assert HERE in caught.value.hint


def test_two_versions_of_one_package_are_named(shelf: Path) -> None:
    wheel(shelf, "lower", "1.0")
    wheel(shelf, "lower", "2.0")
    build = Build()
    with pytest.raises(BuildFailed) as caught:
        build.lock("lower==1.0", "lower==2.0")
    assert "lower==1.0" in caught.value.hint and "lower==2.0" in caught.value.hint
    assert caught.value.hint.endswith("are both asked for; keep one of them.")
    assert "Resolving 2 requirements." in build.said


def test_a_package_that_cannot_be_built_says_why(shelf: Path, tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    sdist(shelf, "slow", "1.0", sign)
    sign.touch()
    Path(f"{sign}.fail").touch()
    with pytest.raises(BuildFailed, match="it does not compile") as caught:
        Build().lock("slow")
    assert caught.value.hint.startswith("slow==1.0 has no wheel for this Python and could not be built here")
    assert "python=3.8" in caught.value.hint
    Path(f"{sign}.fail").unlink()
    assert "slow==1.0" in Build().lock("slow").body


def test_an_index_that_is_away(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    config = tmp_path / "pip.conf"
    before = config.read_text()
    config.write_text(
        "[global]\nindex-url = http://ann:open-sesame@127.0.0.1:9/simple\nextra-index-url =\nfind-links =\n"
    )
    build = Build()
    with pytest.raises(BuildFailed, match="<address>") as caught:
        build.lock("lower")
    assert "could not be reached" in caught.value.hint
    for word in ("127.0.0.1", "open-sesame"):
        assert word not in "\n".join([str(caught.value), *build.said])
    config.write_text(before)
    wheel(shelf, "lower", "2.0")
    assert "lower==2.0" in Build().lock("lower").body


def test_the_password_of_an_index_reaches_it_and_nobody_else(shelf: Path, tmp_path: Path) -> None:
    wheel(shelf, "lower", "2.0")
    option = "--extra-index-url http://ann:open-sesame@{}/simple"
    with Index(shelf) as index:
        build = Build()
        # The machine's pip knows no index at all: the user's own option is another matter.
        (tmp_path / "pip.conf").write_text(
            f"[global]\nindex-url = file://{tmp_path}/nothing\nextra-index-url =\nfind-links = {shelf}\n"
        )
        (tmp_path / "nothing").mkdir()
        wheel(tmp_path / "private", "secretive", "1.0")
        index.folder = tmp_path / "private"
        build = Build()
        lock = build.lock("secretive", option.format(index.address))
        assert "secretive==1.0" in lock.body
        assert f"--extra-index-url http://{index.address}/simple" in lock.body
        for told in (lock.text, *build.said):
            assert "open-sesame" not in told
        given = (option.format(index.address),)
        UvBuilder(lambda _: None, lambda: None, {}, tmp_path, tmp_path, base.Private(requirements=given)).install(
            lock, tmp_path / "prefix"
        )
        assert index.refused == 0
        with pytest.raises(BuildFailed) as caught:
            Build().lock("secretive", option.format(index.address).replace("open-sesame", "wrong-word"))
        assert "password" in caught.value.hint
        assert "wrong-word" not in str(caught.value)


def test_a_full_disk_is_told_and_the_next_try_works(shelf: Path, tmp_path: Path) -> None:
    wheel(shelf, "large", "1.0", files={"large.py": f"WORDS = {'x' * 8_000_000!r}\n"})
    lock = Build().lock("large")
    with disks.small_disk(tmp_path / "small", "2m") as small:
        with pytest.raises(BuildFailed, match="No space left") as caught:
            base.ensure(small, "ab" * 32, lambda prefix: Build().builder.install(lock, prefix), str, lambda: None)
        assert "disk is full" in caught.value.hint
        assert base.find(small, "ab" * 32) is None
        disks.enlarge(small, "64m")
        made = base.ensure(small, "ab" * 32, lambda prefix: Build().builder.install(lock, prefix), str, lambda: None)
        subprocess.run([made / "bin" / "python", "-c", "import large"], check=True)


def test_a_lock_for_another_platform_is_refused(tmp_path: Path) -> None:
    lock = base.Lock(python=f"{HERE}.0", platform="plan9-mips", body="")
    with pytest.raises(BuildFailed, match="plan9-mips") as caught:
        Build().builder.install(lock, tmp_path / "prefix")
    assert "--fresh" in caught.value.hint


def test_a_direct_address_with_a_password_of_the_node(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = wheel(tmp_path, "lower", "2.0")
    monkeypatch.setenv("FEED_TOKEN", "open-sesame")
    with Index(tmp_path) as index:
        line = f"lower @ http://ann:${{FEED_TOKEN}}@{index.address}/files/{file.name}"
        build = Build()
        lock = build.lock(line)
        assert line in lock.body and "open-sesame" not in lock.text
        build.builder.install(base.read_lock(lock.text), tmp_path / "prefix")
        monkeypatch.setenv("FEED_TOKEN", "another-word")
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
        with pytest.raises(BuildFailed, match="401") as caught:
            build.lock(line)
    text = "import lower; print(lower.VERSION)"
    done = subprocess.run([tmp_path / "prefix/bin/python", "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "2.0\n"
    for told in (caught.value.message, *build.said):
        assert "another-word" not in told and "open-sesame" not in told
