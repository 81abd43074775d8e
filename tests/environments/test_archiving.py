"""Files of locks, kept and installed from: the index is shut down, the channel and uv's cache are gone before that."""

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.environments.test_wheels import NEEDY, Node
from tests.shared import channels
from tests.shared.indexes import Index
from tests.shared.wheels import sdist, wheel

from roost.domain.errors import InvalidInput
from roost.domain.recipes import BASICS, Recipe
from roost.environments import base, pythons
from roost.environments.archiving import images
from roost.environments.archiving.base import KeptFiles
from roost.environments.archiving.fetching import Fetcher
from roost.environments.archiving.packages import Packages, _rank
from roost.environments.base import BuildFailed, Private
from roost.environments.conda.builder import CondaBuilder
from roost.environments.pip.builder import UvBuilder

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
EXACT = ".".join(map(str, sys.version_info[:3]))


class Keeping:
    """A place that files are kept in, and a machine that they are installed on afterwards."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kept = folder / "kept"
        self.said: list[str] = []

    def put(self, path: str, file: Path) -> None:
        target = self.kept / path
        target.parent.mkdir(parents=True, exist_ok=True)
        assert not target.exists(), f"{path} is kept twice"
        shutil.copyfile(file, target)

    @property
    def paths(self) -> set[str]:
        return {str(each.relative_to(self.kept)) for each in self.kept.rglob("*") if each.is_file()}

    def shelf(self) -> KeptFiles:
        return KeptFiles(self.paths, self.put)

    def builder(self, *, offline: bool = False, home: str = "home", **private: object) -> UvBuilder:
        own = Private(kept=(lambda: self.kept) if offline else None, **private)  # type: ignore[arg-type]
        scratch = self.folder / "scratch"
        scratch.mkdir(exist_ok=True)
        return UvBuilder(self.said.append, lambda: None, {}, scratch, self.folder / home, own)

    def lock(self, *requirements: str) -> base.Lock:
        return self.builder().resolve(Recipe(python=HERE, requirements=(*requirements, *BASICS)))

    def keep(self, lock: base.Lock, **private: object) -> KeptFiles:
        prefix = self.folder / "first"
        if not prefix.exists():
            self.builder(**private).install(lock, prefix)
        shelf = self.shelf()
        self.builder(**private).archive(lock, prefix, shelf)
        return shelf

    def install(self, lock: base.Lock, monkeypatch: pytest.MonkeyPatch, home: str = "other", **private: object) -> Path:
        """On a machine that has never seen anything of it, and whose way out is closed."""
        shutil.rmtree(self.folder / "shelf", ignore_errors=True)
        monkeypatch.setenv("UV_CACHE_DIR", str(self.folder / "empty"))
        monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        prefix = self.folder / "second"
        self.builder(offline=True, home=home, **private).install(lock, prefix)
        return prefix


@pytest.fixture
def keeping(tmp_path: Path, shelf: Path) -> Keeping:
    return Keeping(tmp_path)


def run(prefix: Path, text: str) -> str:
    done = subprocess.run([prefix / "bin" / "python", "-c", text], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_wheels_are_kept_and_installed_when_the_index_is_gone(
    keeping: Keeping, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(shelf, "upper", "1.2", requires=["lower>=2"])
    wheel(shelf, "lower", "2.0")
    lock = keeping.lock("upper")
    found = keeping.keep(lock)
    assert not found.missing
    names = [*(f"{name}-99.0" for name in BASICS), "lower-2.0", "upper-1.2"]
    assert keeping.paths == {f"pip/wheels/{name}-py3-none-any.whl" for name in names}
    prefix = keeping.install(lock, monkeypatch)
    assert run(prefix, "import upper, lower; print(upper.VERSION, lower.VERSION)") == "1.2 2.0"
    assert not list(prefix.glob("lib/python3*/site-packages/*.dist-info/direct_url.json")), "as an index would have it"


def test_from_an_index_behind_a_password(
    keeping: Keeping, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(tmp_path / "feed", "mine", "1.0")
    with Index(tmp_path / "feed") as index:
        option = f"--extra-index-url http://ann:open-sesame@{index.address}/simple"
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("UV_FIND_LINKS", str(shelf))
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://ann:open-sesame@{index.address}/simple")
        lock = keeping.lock(option, "mine")
        assert "open-sesame" not in lock.text
        found = keeping.keep(lock, requirements=(option,))
        assert not found.missing
    monkeypatch.delenv("UV_FIND_LINKS")
    assert run(keeping.install(lock, monkeypatch), "import mine; print(mine.VERSION)") == "1.0"
    assert "open-sesame" not in "\n".join(keeping.said)


def test_sources_are_kept_as_sources_and_as_the_wheel_that_they_make(
    keeping: Keeping, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdist(shelf, "rack", "1.0", tmp_path / "sign")
    (tmp_path / "sign").touch()
    lock = keeping.lock("rack")
    assert not keeping.keep(lock).missing
    assert {"pip/sources/rack-1.0.tar.gz", "pip/built/rack-1.0-py3-none-any.whl"} <= keeping.paths
    (tmp_path / "sign").unlink()  # who would build it now would wait for ever
    assert run(keeping.install(lock, monkeypatch), "import rack; print(rack.VERSION)") == "1.0"


def test_sources_are_kept_where_uv_has_no_cache(
    keeping: Keeping, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdist(shelf, "rack", "1.0", tmp_path / "sign")
    (tmp_path / "sign").touch()
    monkeypatch.setenv("UV_NO_CACHE", "1")  # as on a node whose user may not write it
    assert not keeping.keep(keeping.lock("rack")).missing
    assert "pip/built/rack-1.0-py3-none-any.whl" in keeping.paths


def test_what_was_compiled_for_the_environment_is_not_compiled_again(
    tmp_path: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(tmp_path, shelf, NEEDY)
    node.sign.touch()
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "roost-tests-tool").write_text("#!/bin/sh\necho 1.0\n")
    (tools / "roost-tests-tool").chmod(0o755)
    with monkeypatch.context() as here:
        here.setenv("PATH", str(tools), prepend=":")
        keeping = Keeping(tmp_path)
        lock = keeping.lock("upper==2.0", "rack")
        assert not keeping.keep(lock).missing
    compiled = [each for each in keeping.paths if each.startswith("pip/compiled/")]
    assert [each.rpartition("/")[2] for each in compiled] == ["rack-1.0-py3-none-any.whl"]
    assert "pip/sources/rack-1.0.tar.gz" in keeping.paths
    builds = Path(f"{node.sign}.builds").read_text()
    prefix = keeping.install(lock, monkeypatch)
    assert run(prefix, "import rack; print(rack.AGAINST[0])") == "2.0"
    assert Path(f"{node.sign}.builds").read_text() == builds, "nothing was compiled, nor is the tool on that machine"


def test_what_cannot_be_compiled_any_more_is_named_and_the_rest_is_kept(
    tmp_path: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(tmp_path, shelf, NEEDY)
    keeping = Keeping(tmp_path)
    lock = keeping.lock("upper==2.0", "rack")
    keeping.builder().install(
        replace(lock, body=lock.body.partition("# compile")[0].partition("rack==")[0]), tmp_path / "first"
    )
    found = keeping.keep(lock)  # the cache of compiled wheels is empty, and the tool that it needs is not there
    assert not node.builds
    assert list(found.missing) == ["rack==1.0"] and "this node lacks a tool of the tests" in found.missing["rack==1.0"]
    assert "pip/wheels/upper-2.0-py3-none-any.whl" in keeping.paths


def test_a_wheel_of_the_users_own(keeping: Keeping, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = wheel(tmp_path / "own", "mine", "1.0")
    blob = "ab" * 32

    def fetch(name: str, target: Path) -> None:
        assert name == blob
        shutil.copyfile(mine, target)

    line = f"mine @ roost-blob:{blob}/{mine.name}"
    lock = keeping.builder(fetch=fetch).resolve(Recipe(python=HERE, requirements=(line, *BASICS)))
    assert not keeping.keep(lock, fetch=fetch).missing
    assert f"pip/own/{blob}/{mine.name}" in keeping.paths
    assert run(keeping.install(lock, monkeypatch, fetch=fetch), "import mine; print(mine.VERSION)") == "1.0"


def test_what_is_gone_is_named_and_the_rest_is_kept(keeping: Keeping, shelf: Path) -> None:
    gone = wheel(shelf, "lower", "2.0")
    wheel(shelf, "upper", "1.0")
    lock = keeping.lock("lower", "upper")
    keeping.builder().install(lock, keeping.folder / "first")
    gone.unlink()
    found = keeping.keep(lock)
    assert list(found.missing) == ["lower==2.0"]
    assert str(shelf) not in found.missing["lower==2.0"]
    assert "pip/wheels/upper-1.0-py3-none-any.whl" in keeping.paths


def test_another_file_of_the_same_name_is_not_kept(keeping: Keeping, shelf: Path) -> None:
    wheel(shelf, "lower", "2.0")
    lock = keeping.lock("lower")
    keeping.builder().install(lock, keeping.folder / "first")
    wheel(shelf, "lower", "2.0", files={"lower.py": "VERSION = 'another'\n"})
    found = keeping.keep(lock)
    assert list(found.missing) == ["lower==2.0"]
    assert not [each for each in keeping.paths if "lower" in each]


def test_what_is_kept_already_is_not_fetched_again(keeping: Keeping, shelf: Path) -> None:
    wheel(shelf, "lower", "2.0")
    lock = keeping.lock("lower")
    keeping.keep(lock)
    before = keeping.paths
    shutil.rmtree(shelf)
    found = keeping.keep(lock)
    assert not found.missing and keeping.paths == before


def test_a_kept_file_that_was_changed_is_not_installed(
    keeping: Keeping, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(shelf, "lower", "2.0")
    lock = keeping.lock("lower")
    keeping.keep(lock)
    other = wheel(keeping.folder / "other", "lower", "2.0", files={"lower.py": "VERSION = 'another'\n"})
    shutil.copyfile(other, keeping.kept / "pip/wheels" / other.name)
    with pytest.raises(BuildFailed, match=r"(?i)hash"):
        keeping.install(lock, monkeypatch)


def test_a_python_that_is_not_there_is_said_before_anything_is_laid_out(keeping: Keeping, tmp_path: Path) -> None:
    lock = base.Lock(python="3.2.1", platform=keeping.lock("pip").platform, body="")

    def lay_out() -> Path:
        raise AssertionError("nothing is laid out")

    builder = UvBuilder(keeping.said.append, lambda: None, {}, tmp_path, tmp_path / "home", Private(kept=lay_out))
    with pytest.raises(BuildFailed, match=r"There is no Python 3\.2\.1 on this node"):
        builder.install(lock, tmp_path / "second")


def test_a_path_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    def put(path: str, file: Path) -> None:
        raise AssertionError("nothing is kept")

    for path in ("../x.whl", "/etc/x.whl", "pip/../../x.whl"):
        with pytest.raises(InvalidInput):
            KeptFiles(set(), put).add(path, tmp_path)


class Channel(Keeping):
    """The same with conda packages."""

    def conda(self, *, offline: bool = False, home: str = "home") -> CondaBuilder:
        own = Private(kept=(lambda: self.kept) if offline else None)
        scratch = self.folder / "scratch"
        scratch.mkdir(exist_ok=True)
        return CondaBuilder(self.said.append, lambda: None, {}, scratch, self.folder / home, own)


@pytest.fixture
def channel(tmp_path: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "channel"
    channels.machine(tmp_path, monkeypatch)
    channels.python(made, EXACT, pythons.choose(HERE).path)
    channels.module(made, "lower", "2.0")
    return made


def test_conda_packages_and_their_pip_part(
    channel: Path, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(shelf, "wheely", "1.0", requires=["lower>=2"])
    keeping = Channel(tmp_path)
    recipe = Recipe(python=HERE, requirements=("wheely",), packages=("lower",), channels=(str(channel),))
    lock = keeping.conda().resolve(recipe)
    keeping.conda().install(lock, tmp_path / "first")
    found = keeping.shelf()
    keeping.conda().archive(lock, tmp_path / "first", found)
    assert not found.missing
    names = {each.rpartition("/")[2] for each in keeping.paths}
    assert names == {f"python-{EXACT}-0.tar.bz2", "lower-2.0-0.tar.bz2", "wheely-1.0-py3-none-any.whl"}
    for place in (channel, shelf):
        shutil.rmtree(place)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "empty"))
    keeping.conda(offline=True, home="other").install(lock, tmp_path / "second")
    text = "import lower, wheely; print(lower.VERSION, wheely.VERSION)"
    assert run(tmp_path / "second", text) == "2.0 1.0"


def test_conda_packages_that_are_gone_or_others_are_named(channel: Path, tmp_path: Path) -> None:
    channels.module(channel, "upper", "1.0")
    keeping = Channel(tmp_path)
    recipe = Recipe(python=HERE, requirements=(), packages=("lower", "upper"), channels=(str(channel),))
    lock = keeping.conda().resolve(recipe)
    keeping.conda().install(lock, tmp_path / "first")
    (channel / "noarch" / "lower-2.0-0.tar.bz2").unlink()
    (channel / "noarch" / "upper-1.0-0.tar.bz2").write_bytes(b"something else")
    found = keeping.shelf()
    keeping.conda().archive(lock, tmp_path / "first", found)
    assert set(found.missing) == {"lower-2.0-0.tar.bz2", "upper-1.0-0.tar.bz2"}
    assert "hash mismatch" in found.missing["upper-1.0-0.tar.bz2"]
    with pytest.raises(BuildFailed, match=r"The conda package lower-2\.0-0\.tar\.bz2 is not among the kept files"):
        keeping.conda(offline=True, home="other").install(lock, tmp_path / "second")


def test_a_conda_lock_whose_names_lead_elsewhere_is_refused(channel: Path, tmp_path: Path) -> None:
    keeping = Channel(tmp_path)
    recipe = Recipe(python=HERE, requirements=(), packages=("lower",), channels=(str(channel),))
    lock = keeping.conda().resolve(recipe)
    first, *rest = lock.body.splitlines()
    hostile = json.dumps({**json.loads(first), "subdir": "../../.."})
    with pytest.raises(InvalidInput):
        keeping.conda().archive(replace(lock, body="\n".join([hostile, *rest])), tmp_path, keeping.shelf())


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[], list[bytes]]:
    """What an engine saves: a layer, another that is a link to it, the manifest first."""
    made = tmp_path / "saved"
    (made / "a").mkdir(parents=True)
    (made / "a" / "layer.tar").write_bytes(b"layer" * 1000)
    (made / "manifest.json").write_text("[]")
    file = tmp_path / "saved.tar"
    with tarfile.open(file, "w") as archive:
        archive.add(made / "manifest.json", "manifest.json")
        archive.add(made / "a", "a")
        link = tarfile.TarInfo("b/layer.tar")
        link.type, link.linkname = tarfile.SYMTYPE, "../a/layer.tar"
        archive.addfile(link)
    return lambda: [file.read_bytes()]


def test_an_image_is_taken_apart_and_put_together(tmp_path: Path, saved: Callable[[], list[bytes]]) -> None:
    keeping = Keeping(tmp_path)
    found = keeping.shelf()
    assert not images.is_kept(found)
    images.keep(saved(), found, tmp_path, lambda: None)
    assert images.is_kept(found)
    assert keeping.paths == {"image/manifest.json", "image/a/layer.tar", "image/b/layer.tar"}
    assert images.joined(keeping.kept, tmp_path / "loaded.tar")
    with tarfile.open(tmp_path / "loaded.tar") as archive:
        content = {each.name: archive.extractfile(each).read() for each in archive}  # type: ignore[union-attr]
    assert content == {"manifest.json": b"[]", "a/layer.tar": b"layer" * 1000, "b/layer.tar": b"layer" * 1000}
    assert not images.joined(tmp_path / "nothing", tmp_path / "loaded.tar")


def test_of_wheels_that_fit_the_newest_platforms_is_taken() -> None:
    given = [
        "a-1-py3-none-any.whl",
        "a-1-cp36-cp36m-manylinux1_x86_64.whl",
        "a-1-cp36-cp36m-manylinux_2_12_x86_64.manylinux2010_x86_64.whl",
        "a-1-cp36-cp36m-manylinux2014_x86_64.whl",
    ]
    assert sorted(given, key=_rank) == given


def test_a_download_that_breaks_off_is_tried_again(tmp_path: Path) -> None:
    data = b"wheel" * 1000
    attempts: list[int] = []

    class Broken(Fetcher):
        def _write(self, url: str, target: Path) -> str:
            attempts.append(1)
            if len(attempts) == 1:
                list(self._pieces("http://127.0.0.1:9/x.whl"))  # nobody is there
            target.write_bytes(data)
            return hashlib.sha256(data).hexdigest()

    fetcher = Broken({}, lambda: None)
    fetcher.fetch("http://127.0.0.1:9/x.whl", tmp_path / "x.whl", [hashlib.sha256(data).hexdigest()])
    assert len(attempts) == 2
    with pytest.raises(BuildFailed, match="not the one that was locked"):
        fetcher.fetch("http://127.0.0.1:9/x.whl", tmp_path / "y.whl", ["0" * 64])
    assert not (tmp_path / "y.whl").exists()


def test_a_connection_that_is_cut_is_not_taken_for_the_end_of_the_file(tmp_path: Path) -> None:
    data = b"wheel" * 1000
    sent = [data[:500], data]

    class Cut(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(sent.pop(0) if len(sent) > 1 else sent[0])

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Cut) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/x.whl"
        Fetcher({}, lambda: None).fetch(url, tmp_path / "x.whl", [])
        assert (tmp_path / "x.whl").read_bytes() == data, "it was tried again"
        sent[:] = [data[:500]]
        with pytest.raises(BuildFailed, match="the connection was cut 4500 bytes before the end"):
            Fetcher({}, lambda: None).fetch(url, tmp_path / "y.whl", [])
        server.shutdown()


def test_certificates_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="No such file"):
        Fetcher({"SSL_CERT_FILE": "/nowhere/ca.pem"}, lambda: None).fetch(
            "https://127.0.0.1:9/x.whl", tmp_path / "x", []
        )


def test_an_index_that_cannot_be_reached_is_asked_once(
    keeping: Keeping, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(shelf, "lower", "2.0")
    wheel(shelf, "upper", "1.0")
    lock = keeping.lock("lower", "upper")
    keeping.builder().install(lock, keeping.folder / "first")
    for name, value in {"UV_FIND_LINKS": "", "UV_NO_INDEX": "", "UV_HTTP_RETRIES": "0"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_CACHE_DIR", str(keeping.folder / "empty"))
    asked: list[object] = []
    ask = Packages._ask

    def counted(packages: Packages, wanted: Mapping[str, str]) -> dict[str, Mapping[str, Any]]:
        asked.extend([wanted] if wanted else [])
        return ask(packages, wanted)

    monkeypatch.setattr(Packages, "_ask", counted)
    found = keeping.keep(lock)
    assert {"lower==2.0", "upper==1.0"} <= set(found.missing)
    assert set(found.missing.values()) == {"the package index cannot be reached"}
    assert len(asked) == 1
