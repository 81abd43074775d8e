"""System packages: made sure of once, before any test, by one step. An apt-get of the test's own stands for the real one."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import debian
from tests.debian import Need

ROOT = Path(__file__).parents[2]
FIRST = Need("the first", ("first", "second"), ("first-program", "second"), ("test", "real"))
THIRD = Need("the third", ("third",), ("third|/nowhere/*/third",), ("real",))
INSTALL = """
for name in "$@"; do case $name in
    install|-*) ;;
    first) touch "$FAKE/first-program"; chmod +x "$FAKE/first-program" ;;
    unknown) echo "E: Unable to locate package unknown" >&2; exit 100 ;;
    *) touch "$FAKE/$name"; chmod +x "$FAKE/$name" ;;
esac; done
"""


class Machine:
    """A PATH with nothing but an apt-get that notes its calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: list[str] = []

    def apt(self, script: str) -> None:
        program = self.folder / "apt-get"
        program.write_text(f'#!/bin/sh\nPATH=/usr/bin:/bin\necho "$@" >>"$FAKE/calls"\nshift\n{script}')
        program.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        calls = self.folder / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def ensure(self, chore: str, lock_seconds: float = 60) -> list[Need]:
        return debian.ensure(chore, self.told.append, lock_seconds)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("FAKE", str(tmp_path))
    monkeypatch.setattr(debian, "NEEDS", (FIRST, THIRD))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    made = Machine(tmp_path)
    made.apt(INSTALL)
    yield made


def test_everything_is_installed_in_one_go_and_told(machine: Machine) -> None:
    assert machine.ensure("real") == []
    assert machine.calls == ["-q install -y --no-install-recommends first second third"]
    assert machine.told == ["Installing system packages: first second third"]
    assert machine.ensure("real") == []
    assert len(machine.calls) == 1, "what is there is not asked for again"


def test_a_chore_gets_what_it_needs_and_no_more(machine: Machine) -> None:
    machine.ensure("test")
    assert machine.calls == ["-q install -y --no-install-recommends first second"]
    assert debian.missing(THIRD) == "the third: not on this machine: third (apt install third)"


def test_a_machine_without_lists_of_packages_gets_them(machine: Machine) -> None:
    machine.apt('[ "$1" != update ] || { touch "$FAKE/lists"; exit 0; }; [ -e "$FAKE/lists" ] || exit 100' + INSTALL)
    assert machine.ensure("test") == []
    assert [call.split()[1] for call in machine.calls] == ["install", "update", "install"]


def test_one_name_that_is_unknown_does_not_stop_the_others(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = Need("another", ("unknown",), ("unknown",), ("real",))
    monkeypatch.setattr(debian, "NEEDS", (unknown, FIRST, THIRD))
    assert machine.ensure("real") == [unknown]
    assert debian.missing(FIRST) == debian.missing(THIRD) == ""
    assert any("Unable to locate package unknown" in line for line in machine.told)
    assert machine.told[-1].startswith("Tests will be skipped. another: not on this machine")


def test_another_apt_is_waited_for(machine: Machine) -> None:
    held = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (apt-get)"
    machine.apt(f'[ -e "$FAKE/free" ] || {{ touch "$FAKE/free"; echo "{held}" >&2; exit 100; }}' + INSTALL)
    assert machine.ensure("test") == []
    assert machine.told[1] == f"Waiting for another apt, at most 60 s. {held}"


def test_one_that_never_ends_is_not_waited_for_for_ever(machine: Machine) -> None:
    machine.apt('echo "E: Could not get lock /var/lib/apt/lists/lock" >&2; exit 100')
    assert machine.ensure("test", lock_seconds=0) == [FIRST]


def test_all_calls_together_wait_once_and_lists_are_fetched_once(machine: Machine) -> None:
    machine.apt('[ "$1" = update ] || { echo "E: Could not get lock /var/lib/dpkg/lock" >&2; exit 100; }')
    assert machine.ensure("real", lock_seconds=0.2) == [FIRST, THIRD]
    assert len([line for line in machine.told if line.startswith("Waiting")]) == 1
    assert len([call for call in machine.calls if "update" in call]) == 1


def test_an_installation_that_was_killed_is_finished_first(machine: Machine) -> None:
    (machine.folder / "dpkg").write_text('#!/bin/sh\n/usr/bin/touch "$FAKE/configured"\n')
    (machine.folder / "dpkg").chmod(0o755)
    advice = "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem."
    machine.apt(f'[ -e "$FAKE/configured" ] || {{ echo "{advice}" >&2; exit 100; }}' + INSTALL)
    assert machine.ensure("test") == []


@pytest.mark.parametrize("why", ["no root", "no apt"])
def test_without_root_or_apt_it_is_named(machine: Machine, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    if why == "no root":
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
    else:
        (machine.folder / "apt-get").unlink()
    assert machine.ensure("test") == [FIRST]
    assert machine.calls == []
    assert machine.told == [
        "Tests will be skipped. the first: not on this machine: first-program, second (apt install first second)"
    ]


def test_nothing_but_the_step_installs_system_packages() -> None:
    """No fixture does: neither by apt-get itself, nor by the step's own functions."""
    own = {Path("tests/debian.py"), Path("tests/chores/test_debian.py")}
    words = re.compile(r"apt-get|\bdpkg\b|\"apt\"|debian\.ensure|from tests\.debian import|sudo")
    files = [path.relative_to(ROOT) for folder in ("tests", "bench") for path in (ROOT / folder).rglob("*.py")]
    assert [path for path in files if path not in own and words.search((ROOT / path).read_text())] == []


def test_asking_what_is_missing_installs_nothing(machine: Machine) -> None:
    assert debian.missing(FIRST)
    assert machine.calls == []


def test_every_chore_of_make_makes_sure_first() -> None:
    """`make` prints what it would do: the step stands before pytest, the parts and the benchmarks."""
    for target, first, then in (
        ("test", "tests.debian test", "-m pytest"),
        ("test-real", "tests.debian real", "tests.parts"),
        ("bench", "tests.debian bench", "-m bench"),
    ):
        told = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        assert 0 <= told.find(first) < told.rfind(then), told


def test_a_chore_that_is_unknown_is_refused() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.debian", "tset"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "usage: python -m tests.debian test|real|bench\n")
