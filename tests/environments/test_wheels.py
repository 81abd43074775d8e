"""Compiled wheels: a package that wants another one there while it is built, by a rule of this machine's own."""

import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.shared.interpreters import every_python, python
from tests.shared.wheels import sdist, wheel

from roost.domain.recipes import BASICS, Recipe
from roost.environments import base
from roost.environments.base import BuildFailed
from roost.environments.curated import machine
from roost.environments.pip import repacking
from roost.environments.pip.builder import UvBuilder
from roost.environments.pip.wheels import STARTUP

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
RULES = """
[need.tool]
program = "roost-tests-tool"
install = "apt install roost-tests-tool"
what = "a tool of the tests"
packages = ["toolbox"]

[package.rack]
requires = ["lower"]

[package.rack.framework.upper]
packages = ["upper"]
present = { RACK = "upper" }

[[package.rack.rule]]
build = ["helper"]
frameworks = ["upper"]
overrides = ["RACK"]
"""
NEEDY = RULES.replace('frameworks = ["upper"]', 'frameworks = ["upper"]\nneeds = ["tool"]')


class Node:
    """A home with rules, and builders that share it."""

    def __init__(self, folder: Path, shelf: Path, rules: str = RULES) -> None:
        self.folder, self.shelf = folder, shelf
        self.home = folder / "home"
        self.home.mkdir(exist_ok=True)
        (self.home / "build-rules.toml").write_text(rules)
        self.sign = folder / "sign"
        for name, version in (("upper", "1.0"), ("upper", "2.0"), ("lower", "2.0"), ("helper", "1.0")):
            wheel(shelf, name, version)
        sdist(shelf, "rack", "1.0", self.sign, against="upper")
        self.said: list[str] = []

    def builder(self, meanwhile: base.Meanwhile = lambda: None) -> UvBuilder:
        return UvBuilder(self.said.append, meanwhile, {}, self.folder, self.home)

    def lock(self, *requirements: str) -> base.Lock:
        return self.builder().resolve(Recipe(python=HERE, requirements=(*requirements, *BASICS)))

    def install(self, lock: base.Lock, name: str) -> Path:
        self.builder().install(base.read_lock(lock.text), self.folder / name)
        return self.folder / name

    @property
    def builds(self) -> list[str]:
        path = Path(f"{self.sign}.builds")
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def node(tmp_path: Path, shelf: Path) -> Node:
    made = Node(tmp_path, shelf)
    made.sign.touch()
    return made


def against(prefix: Path) -> str:
    text = "import rack, lower; print(rack.AGAINST)"
    return subprocess.run(
        [prefix / "bin/python", "-c", text], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_compiled_for_what_is_in_the_same_lock(node: Node) -> None:
    lock = node.lock("rack", "upper==1.0")
    assert node.builds == [], "resolving asks the rule, not the package"
    assert "lower==2.0" in lock.body, "what the rule says that it depends on"
    assert "helper==1.0" in lock.body.splitlines()[-1], "what is there while it is compiled is locked too"
    assert any("rack==1.0 is compiled on the node for upper==1.0" in line for line in node.said)
    prefix = node.install(lock, "one")
    assert against(prefix) == "('1.0', 'upper', '')"
    there = subprocess.run([prefix / "bin/python", "-c", "import helper"], capture_output=True)
    assert there.returncode, "what was needed to compile does not stay"


def test_compiled_where_uv_has_no_cache(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_NO_CACHE", "1")  # as on a node whose user may not write it
    assert against(node.install(node.lock("rack", "upper==1.0"), "one")) == "('1.0', 'upper', '')"


def test_the_same_pair_is_compiled_once_and_another_anew(node: Node) -> None:
    one = node.install(node.lock("rack", "upper==1.0"), "one")
    two = node.install(node.lock("rack", "upper==1.0"), "two")
    assert node.builds == ["1.0 upper"]
    assert any("taken from the cache" in line for line in node.said)
    three = node.install(node.lock("rack", "upper==2.0"), "three")
    assert node.builds == ["1.0 upper", "2.0 upper"]
    assert [against(each)[2:5] for each in (one, two, three)] == ["1.0", "1.0", "2.0"]


def test_variables_of_the_node_win_and_count(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = node.lock("rack", "upper==1.0")
    node.install(lock, "one")
    monkeypatch.setenv("RACK", "gpu")
    assert against(node.install(lock, "two")) == "('1.0', 'gpu', '')"
    assert node.builds == ["1.0 upper", "1.0 gpu"]


def test_without_its_framework_nothing_is_locked(node: Node) -> None:
    with pytest.raises(BuildFailed, match="has none"):
        node.lock("rack")


def test_a_user_who_wants_a_wheel_gets_one(node: Node) -> None:
    with pytest.raises(BuildFailed, match="rack"):
        node.lock("rack", "upper", "--only-binary rack")
    wheel(node.shelf, "rack", "1.0")
    assert "# compile" not in node.lock("rack", "upper", "--only-binary rack").body


def test_a_wheel_of_an_index_is_taken_where_the_rule_allows_it(node: Node) -> None:
    (node.home / "build-rules.toml").write_text(RULES.replace("requires", "wheels = true\nrequires"))
    assert "# compile" in node.lock("rack", "upper").body
    wheel(node.shelf, "rack", "1.0")
    assert "# compile" not in node.lock("rack", "upper").body


def test_what_the_machine_lacks_is_said_before_anything_is_fetched(
    tmp_path: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(tmp_path, shelf, NEEDY)
    node.sign.touch()
    lock = node.lock("rack", "upper==1.0")
    with pytest.raises(BuildFailed, match=r"lacks a tool of the tests \(no roost-tests-tool\)") as caught:
        node.install(lock, "one")
    assert caught.value.hint == "Install on the node: apt install roost-tests-tool"
    assert not list((tmp_path / "one").glob("lib/*/site-packages/upper.py"))
    tool = tmp_path / "bin" / "roost-tests-tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho 7\n")
    tool.chmod(0o700)
    monkeypatch.setenv("PATH", str(tool.parent), prepend=":")
    node.install(lock, "two")
    tool.write_text("#!/bin/sh\necho 8\n")
    node.install(lock, "three")
    assert len(node.builds) == 2, "another version of the tool is another wheel"
    tool.unlink()
    wheel(shelf, "toolbox", "1.0", files={"toolbox.py": ""})
    node.install(node.lock("rack", "upper==1.0", "toolbox"), "four")


def test_many_at_once_compile_once(tmp_path: Path, shelf: Path) -> None:
    node = Node(tmp_path, shelf)
    lock = node.lock("rack", "upper==1.0")

    def go_on() -> None:
        """As soon as the others wait."""
        if sum("waiting for it" in line for line in node.said) == 2:
            node.sign.touch()

    def install(name: str) -> None:
        node.builder(go_on).install(lock, tmp_path / name)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(install, ("one", "two", "three")))
    assert node.builds == ["1.0 upper"]
    assert {against(tmp_path / name) for name in ("one", "two", "three")} == {"('1.0', 'upper', '')"}


def test_given_up_in_the_middle_and_done_at_the_next_try(tmp_path: Path, shelf: Path) -> None:
    node = Node(tmp_path, shelf)
    lock = node.lock("rack", "upper==1.0")

    class Enough(Exception):
        """Raised while it compiles."""

    def enough() -> None:
        if Path(f"{node.sign}.pid").exists():
            raise Enough

    with pytest.raises(Enough):
        node.builder(enough).install(lock, tmp_path / "one")
    assert not Path("/proc", Path(f"{node.sign}.pid").read_text(), "exe").exists()
    assert not list((node.home / "cache" / "wheels").glob("*/*.whl"))
    assert not list(tmp_path.glob("compile-*"))
    node.sign.touch()
    node.install(lock, "two")


def test_what_does_not_compile_says_why(node: Node) -> None:
    lock = node.lock("rack", "upper==1.0")
    Path(f"{node.sign}.fail").touch()
    with pytest.raises(BuildFailed, match=r"rack\.cc:1: it does not compile"):
        node.install(lock, "one")
    Path(f"{node.sign}.fail").unlink()
    node.install(lock, "two")


def test_flags_are_put_behind_the_compiler_s_own(node: Node) -> None:
    rules = RULES.replace('present = { RACK = "upper" }', 'flags = [{ versions = ">=1", add = "-std=c++17" }]')
    (node.home / "build-rules.toml").write_text(rules)
    prefix = node.install(node.lock("rack", "upper==1.0"), "one")
    assert against(prefix).endswith("/c++')")


def test_what_only_gpus_need_is_hidden_on_a_node_without_one(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = f'{RULES}hide = ["upper.VERSION"]\nunless = ["RACK_GPU"]\n'
    (node.home / "build-rules.toml").write_text(rules)
    monkeypatch.setattr(machine, "has_gpu", lambda: False)
    lock = node.lock("rack", "upper==1.0")
    assert against(node.install(lock, "one")) == "(None, 'upper', '')"
    monkeypatch.setenv("RACK_GPU", "1")
    assert against(node.install(lock, "two")) == "('1.0', 'upper', '')", "the node says that it is wanted"
    monkeypatch.delenv("RACK_GPU")
    monkeypatch.setattr(machine, "has_gpu", lambda: True)
    assert against(node.install(lock, "three")) == "('1.0', 'upper', '')", "another wheel than the one without"


@every_python
def test_names_are_hidden_from_every_python(tmp_path: Path, version: str) -> None:
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "__init__.py").touch()
    (tmp_path / "kit" / "place.py").write_text("HOME = '/usr/local'\nOTHER = 1\n")
    found = subprocess.run(
        [python(version), "-c", "from kit.place import HOME, OTHER; print(HOME, OTHER)"],
        env={"PYTHONPATH": f"{STARTUP}:{tmp_path}", "ROOST_BUILD_HIDES": "kit.place.HOME not.there"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "None 1\n"


def test_a_wheel_is_put_together_again_with_a_true_record(tmp_path: Path) -> None:
    made = wheel(tmp_path, "rack", "1.0", files={"rack/lib.so": "old", "rack/__init__.py": "\n"})

    def patchelf(arguments: list[str]) -> None:
        assert arguments[:2] == ["--set-rpath", "$ORIGIN/..:$ORIGIN/../../up"]
        Path(arguments[2]).write_text("new")

    repacking.set_runpath(made, ["$ORIGIN/..", "$ORIGIN/../../up"], patchelf)
    with zipfile.ZipFile(made) as archive:
        assert archive.read("rack/lib.so") == b"new"
        assert (
            "rack/lib.so,sha256=EVB6Di9eadXfpApiob17buV-a82FxnybhDGzb_8hxDc,3"
            in archive.read("rack-1.0.dist-info/RECORD").decode()
        )
    assert [each.name for each in tmp_path.iterdir()] == [made.name]
