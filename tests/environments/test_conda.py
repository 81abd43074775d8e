import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.shared import channels, wheels

from roost.domain.recipes import BASICS, Recipe
from roost.environments import base, builders, pythons
from roost.environments.base import BuildFailed
from roost.environments.conda import activation as conda_activation
from roost.environments.conda import cache as conda_cache
from roost.environments.conda import process as conda_process
from roost.environments.conda import reach as conda_reach
from roost.environments.conda.builder import CondaBuilder
from roost.environments.conda.settings import Channel

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
EXACT = ".".join(map(str, sys.version_info[:3]))


@pytest.fixture
def channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shelf: Path) -> Path:
    """A channel with this Python; the machine's conda has no other."""
    made = tmp_path / "channel"
    channels.machine(tmp_path, monkeypatch)
    channels.python(made, EXACT, pythons.choose(HERE).path)
    return made


class Build:
    """A builder whose words are kept."""

    def __init__(self, folder: Path, channel: Path | str, meanwhile: base.Meanwhile = lambda: None) -> None:
        self.said: list[str] = []
        self.channel = str(channel)
        (folder / "run").mkdir(exist_ok=True)
        self.builder = CondaBuilder(self.said.append, meanwhile, {}, folder / "run", folder / "home")

    def recipe(self, *packages: str, pip: tuple[str, ...] = (), python: str = HERE) -> Recipe:
        return Recipe(python=python, requirements=pip, packages=packages, channels=(self.channel,))

    def lock(self, *packages: str, pip: tuple[str, ...] = (), python: str = HERE) -> base.Lock:
        return self.builder.resolve(self.recipe(*packages, pip=pip, python=python))


def run(prefix: Path, text: str) -> str:
    done = subprocess.run([prefix / "bin" / "python", "-c", text], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_locked_exactly_and_installed_with_a_pip_part(channel: Path, shelf: Path, tmp_path: Path) -> None:
    channels.module(channel, "lower", "2.0")
    channels.module(channel, "lower", "1.0")
    channels.module(channel, "upper", "1.2", depends=["lower >=1"])
    wheels.wheel(shelf, "wheely", "1.0", requires=["lower>=2", "other"])
    wheels.wheel(shelf, "other", "3.0")
    build = Build(tmp_path, channel)
    lock = build.lock("upper", pip=("wheely",))
    assert (lock.kind, lock.python, lock.notes) == (base.CONDA, EXACT, ())
    packages = [json.loads(line) for line in lock.body.splitlines() if line.startswith("{")]
    assert [(each["name"], each["version"]) for each in packages] == [
        ("lower", "2.0"),
        ("python", EXACT),
        ("upper", "1.2"),
    ]
    assert all(len(each["sha256"]) == 64 and each["size"] and each["channel"] == str(channel) for each in packages)
    pinned = [line.split()[0] for line in lock.body.splitlines() if "==" in line and not line.startswith("{")]
    assert pinned == ["other==3.0", "wheely==1.0"], "conda's package is there already, as pip would find it"
    assert str(shelf) not in lock.text
    assert build.lock("upper", pip=("wheely",)) == lock, "the same again is the same lock"
    build.builder.install(base.read_lock(lock.text), tmp_path / "prefix")
    text = "import sys, lower, upper, wheely; print(lower.VERSION, upper.VERSION, wheely.VERSION, sys.prefix)"
    assert run(tmp_path / "prefix", text).split() == ["2.0", "1.2", "1.0", str(tmp_path / "prefix")]
    assert any(line.startswith("Installing 3 conda packages (") for line in build.said)
    assert any(line.startswith("Linked 3 conda packages") for line in build.said)


def test_what_every_python_brings_along_is_there_where_the_channel_has_it(channel: Path, tmp_path: Path) -> None:
    channels.module(channel, "pip", "20.0")
    channels.module(channel, "lower", "2.0")
    assert '"pip"' in Build(tmp_path, channel).lock("lower").body


def test_two_channels_with_different_packages_of_one_name(channel: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    channels.module(channel, "lower", "2.0")
    files = {"site-packages/lower.py": "VERSION = 'other'\n"}
    channels.package(other, "lower", "2.0", depends=["python"], files=files, noarch="python")
    named = {str(channel): "2.0", str(other): "other"}
    for number, (place, version) in enumerate([*named.items(), *named.items()]):
        build = Build(tmp_path, channel)
        build.builder.install(build.lock(f"{place}::lower"), tmp_path / f"prefix{number}")
        assert run(tmp_path / f"prefix{number}", "import lower; print(lower.VERSION)") == version


def test_pip_replaces_what_conda_has_when_it_must(channel: Path, shelf: Path, tmp_path: Path) -> None:
    channels.module(channel, "lower", "1.0")
    wheels.wheel(shelf, "lower", "2.0")
    build = Build(tmp_path, channel)
    mark = {f"lib/python{HERE}/EXTERNALLY-MANAGED": "[externally-managed]\nError=hands off\n"}
    channels.package(channel, "marked", "1.0", files=mark)
    lock = build.lock("lower", "marked", pip=("lower>=2",))
    build.builder.install(lock, tmp_path / "prefix")
    assert run(tmp_path / "prefix", "import lower; print(lower.VERSION)") == "2.0"


def test_no_solution_is_told_in_the_solver_s_words(channel: Path, tmp_path: Path) -> None:
    channels.module(channel, "lower", "2.0")
    channels.module(channel, "upper", "1.0", depends=["lower >=3"])
    with pytest.raises(BuildFailed, match=r"upper 1\.0 would require\s+└─ lower >=3") as caught:
        Build(tmp_path, channel).lock("upper")
    assert "channel that has them" in caught.value.hint
    with pytest.raises(BuildFailed, match=r"No candidates were found for python 3\.5\.\*"):
        Build(tmp_path, channel).lock("lower", python="3.5")


def test_specs_of_named_channels(channel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "places" / "other"
    channels.module(channel, "lower", "1.0")
    channels.module(other, "lower", "2.0")
    channels.machine(tmp_path, monkeypatch, channel_alias=(tmp_path / "places").as_uri())
    lock = Build(tmp_path, channel).lock("other::lower")
    assert '"version": "2.0", "build": "0", "build_number": 0, "channel": "other"' in lock.body
    assert "places" not in lock.text
    Build(tmp_path, channel).builder.install(lock, tmp_path / "prefix")
    assert run(tmp_path / "prefix", "import lower; print(lower.VERSION)") == "2.0"


def test_a_spec_that_is_none(channel: Path, tmp_path: Path) -> None:
    with pytest.raises(BuildFailed) as caught:
        Build(tmp_path, channel).lock("lower[version='>>1']")
    assert "name=1.2" in caught.value.hint


@pytest.mark.parametrize("address", ["/nowhere/channel", "http://127.0.0.1:9/channel"])
def test_a_channel_that_is_away_is_named(channel: Path, tmp_path: Path, address: str) -> None:
    build = Build(tmp_path, address)
    with pytest.raises(BuildFailed) as caught:
        build.lock("lower")
    assert address in "\n".join([str(caught.value), *build.said])
    assert caught.value.hint


def test_a_package_that_was_changed_is_not_installed(channel: Path, tmp_path: Path) -> None:
    made = channels.module(channel, "lower", "2.0")
    lock = Build(tmp_path, channel).lock("lower")
    made.write_bytes(channels.module(tmp_path / "another", "lower", "2.0", depends=["evil"]).read_bytes())
    with pytest.raises(BuildFailed, match=r"(?i)hash") as caught:
        Build(tmp_path, channel).builder.install(lock, tmp_path / "prefix")
    assert "Nothing of it is used" in caught.value.hint


def test_a_package_that_was_cut_off_is_fetched_anew_once_it_is_whole(channel: Path, tmp_path: Path) -> None:
    made = channels.module(channel, "lower", "2.0")
    lock = Build(tmp_path, channel).lock("lower")
    whole = made.read_bytes()
    made.write_bytes(whole[: len(whole) // 2])
    home = tmp_path / "home"
    build = Build(tmp_path, channel)

    def ensure() -> Path:
        return base.ensure(home, "ab" * 32, lambda place: build.builder.install(lock, place), build.said.append, list)

    with pytest.raises(BuildFailed):
        ensure()
    assert base.find(home, "ab" * 32) is None
    made.write_bytes(whole)
    assert run(ensure(), "import lower; print(lower.VERSION)") == "2.0"


@pytest.mark.slow
def test_builders_at_once_share_what_they_fetch(channel: Path, tmp_path: Path) -> None:
    channels.module(channel, "lower", "2.0")
    names = ["a", "b", "c"]
    for name in names:
        channels.package(channel, name, "1.0", depends=["lower"], files={f"share/{name}": name * 100_000})
    locks = [Build(tmp_path, channel).lock(name, "lower") for name in names]

    def install(place: int) -> str:
        prefix = tmp_path / f"prefix{place}"
        Build(tmp_path, channel).builder.install(locks[place % 3], prefix)
        return run(prefix, "import lower; print(lower.VERSION)")

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(install, range(6))) == ["2.0"] * 6


def test_it_ends_as_soon_as_nobody_wants_it(channel: Path, tmp_path: Path) -> None:
    class Enough(Exception):
        """Raised while rattler works."""

    def enough() -> None:
        raise Enough

    build = Build(tmp_path, channel, enough)
    with pytest.raises(Enough):
        build.lock("lower")


def test_offline_uses_what_was_fetched_before(channel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    channels.module(channel, "lower", "2.0")
    monkeypatch.setenv("CONDA_OFFLINE", "true")
    build = Build(tmp_path, "http://127.0.0.1:9/channel")
    with pytest.raises(BuildFailed, match="no usable repodata cache") as caught:
        build.lock("lower")
    assert "fetched before" in caught.value.hint
    assert any("offline" in line for line in build.said)


def test_offline_a_folder_is_still_a_channel(channel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    channels.module(channel, "lower", "2.0")
    monkeypatch.setenv("CONDA_OFFLINE", "true")
    assert Build(tmp_path, channel).lock("lower").python == EXACT


def test_a_long_reason_is_cut() -> None:
    words = "\n".join(f"└─ p{number} would require" for number in range(60))
    told = conda_process.failure(f"Cannot solve the request because of: {words}", "SolverError").message.splitlines()
    assert told[0] == "The conda packages cannot be had together: └─ p0 would require"
    assert (len(told), told[-1]) == (26, "…")


@pytest.mark.parametrize(
    ("words", "step"),
    [
        ("write failed: No space left on device (os error 28)", "disk is full"),
        ("HTTP status client error (404 Not Found)", "not got it any more"),
        ("HTTP status client error (403 Forbidden)", "credential"),
        ("invalid peer certificate: UnknownIssuer", "ssl_verify"),
        ("client error (Connect)", "when it is back"),
        ("could not find subdir 'noarch' in channel", "noarch"),
        ("something else", ""),
    ],
)
def test_each_failure_has_its_next_step(words: str, step: str) -> None:
    assert step in conda_process.failure(words, "InstallerError").hint


def test_a_python_comes_from_the_channels_that_are_there(channel: Path, tmp_path: Path) -> None:
    wanted = f"{HERE}.99"
    channels.python(channel, wanted, pythons.choose(HERE).path)
    build = Build(tmp_path, channel)
    recipe = Recipe(python=wanted, requirements=BASICS, channels=("http://127.0.0.1:9/team", str(channel)))
    assert build.builder.resolve(recipe).python == wanted
    assert Build(tmp_path, channel).builder.resolve(recipe).python == wanted


def test_a_python_that_is_not_here_comes_from_a_channel(channel: Path, tmp_path: Path) -> None:
    wanted = f"{HERE}.99"
    channels.python(channel, wanted, pythons.choose(HERE).path)
    build = Build(tmp_path, channel)
    recipe = build.recipe(python=wanted, pip=BASICS)
    assert builders.kind_of(recipe) == base.CONDA
    lock = build.builder.resolve(recipe)
    assert (lock.kind, lock.python, lock.notes) == (base.CONDA, wanted, ())


def test_without_channels_the_nearest_python_is_taken_and_told(channel: Path, shelf: Path, tmp_path: Path) -> None:
    wanted = f"{HERE}.99"
    wheels.wheel(shelf, "lower", "2.0")
    build = Build(tmp_path, "http://127.0.0.1:9/channel")
    lock = build.builder.resolve(build.recipe(python=wanted, pip=("lower", *BASICS)))
    assert lock.kind == base.PIP
    assert lock.notes == (f"Python {pythons.choose(wanted).text}, the nearest to {wanted} on this node.",)
    assert f"# note {lock.notes[0]}" in lock.text
    assert any("cannot be reached" in line for line in build.said)
    again = Build(tmp_path, "http://127.0.0.1:9/channel")
    assert again.builder.resolve(again.recipe(python=wanted, pip=("lower", *BASICS))) == lock
    assert any("could not be reached lately" in line for line in again.said)
    assert not any("asking" in line for line in again.said)


def test_no_python_at_all_is_an_error_that_names_those_that_are(channel: Path, tmp_path: Path) -> None:
    build = Build(tmp_path, channel)
    with pytest.raises(BuildFailed, match=r"no Python 3\.5") as caught:
        build.builder.resolve(build.recipe(python="3.5", pip=BASICS))
    assert HERE in caught.value.hint
    assert any("Python 3.5 cannot be had from conda: " in line for line in build.said)


def test_a_python_that_is_here_needs_no_channel() -> None:
    assert builders.kind_of(Recipe(python=HERE)) == base.PIP
    assert builders.kind_of(Recipe(python=HERE, packages=("numpy",))) == base.CONDA


def test_a_lock_of_another_platform_is_refused(tmp_path: Path, channel: Path) -> None:
    lock = base.Lock(kind=base.CONDA, python=EXACT, platform="plan9-mips", body="")
    with pytest.raises(BuildFailed, match="plan9-mips"):
        Build(tmp_path, channel).builder.install(lock, tmp_path / "prefix")


def test_what_is_out_of_reach_is_remembered_for_a_while(tmp_path: Path) -> None:
    now = [1000.0]
    reach = conda_reach.Reach(tmp_path, lambda: now[0])
    here, there = Channel("here", ""), Channel("there", "http://x.test")
    assert reach.away([here, there]) == []
    reach.note([here, there], ["there"])
    assert reach.away([here, there]) == ["there"]
    assert "x.test" not in (tmp_path / "away.json").read_text()
    now[0] += conda_reach.AWAY_SECONDS
    assert reach.away([here, there]) == []
    reach.note([there], ["there"])
    reach.note([there], [])
    assert reach.away([there]) == []
    (tmp_path / "away.json").write_text("?")
    assert reach.away([there]) == []


def test_what_activation_sets_is_noted_down(channel: Path, tmp_path: Path) -> None:
    files = {
        "etc/conda/activate.d/a.sh": 'export A_DATA="$CONDA_PREFIX/share"\nPATH=/x:$PATH\necho noise\n',
        "etc/conda/env_vars.d/b.json": '{"B_MODE": "fast"}',
    }
    channels.package(channel, "active", "1.0", files=files)
    build = Build(tmp_path, channel)
    prefix = tmp_path / "prefix"
    build.builder.install(build.lock("active"), prefix)
    assert conda_activation.read(prefix) == {
        "A_DATA": f"{prefix}/share",
        "B_MODE": "fast",
        "CONDA_PREFIX": str(prefix),
        "CONDA_DEFAULT_ENV": str(prefix),
        "CONDA_SHLVL": "1",
    }
    assert conda_activation.read(tmp_path) == {}


def test_an_activation_that_fails_is_told(channel: Path, tmp_path: Path) -> None:
    channels.package(channel, "active", "1.0", files={"etc/conda/activate.d/a.sh": "echo no luck >&2; exit 3\n"})
    build = Build(tmp_path, channel)
    with pytest.raises(BuildFailed, match="no luck") as caught:
        build.builder.install(build.lock("active"), tmp_path / "prefix")
    assert "activate.d" in caught.value.hint


def test_packages_that_no_prefix_has_go_and_come_again(channel: Path, tmp_path: Path) -> None:
    channels.module(channel, "lower", "2.0")
    build = Build(tmp_path, channel)
    lock, prefix, home = build.lock("lower"), tmp_path / "home" / "prefix", tmp_path / "home"
    assert conda_cache.unused(home, time.time() + 60) == []
    build.builder.install(lock, prefix)
    assert "lower-2.0-0" not in [path.name for path, _ in conda_cache.unused(home, time.time() + 60)], "a prefix has it"
    shutil.rmtree(prefix)
    assert conda_cache.unused(home, time.time() - 60) == [], "a build has touched it lately"
    old = dict(conda_cache.unused(home, time.time() + 60))
    (package,) = [path for path in old if path.name == "lower-2.0-0"]
    assert old[package] > 0
    held = os.open(package.with_name(f"{package.name}.lock"), os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_SH)
    assert not conda_cache.drop(package)
    os.close(held)
    assert conda_cache.drop(package)
    assert not package.exists()
    build.builder.install(lock, prefix)
    assert run(prefix, "import lower; print(lower.VERSION)") == "2.0"


def test_the_parts_of_defaults_are_called_so(tmp_path: Path) -> None:
    build = Build(tmp_path, "http://127.0.0.1:9/channel")
    assert build.builder._and(["main", "r", "conda-forge"]) == "defaults/main, defaults/r and conda-forge"
