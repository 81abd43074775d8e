"""Variables that name another user's folders, as `su` leaves them: passed over, and named by `roost doctor`."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.shared.users import closed_folder, folder_for_all, ordinary_user

from roost.domain.errors import InvalidInput
from roost.environments import places, pythons
from roost.environments.conda import settings as conda_settings
from roost.environments.containers import workshop
from roost.environments.pip import settings as pip_settings
from roost.environments.pythons import Python
from roost.sdk.core import configs
from roost.sdk.environments import conda_environments
from roost.sdk.operations import checks, systemd
from roost.sdk.runs import git

__all__ = ["closed_folder"]


@pytest.fixture
def program() -> Iterator[Path]:
    """A Python 3.9 that every user may run: it answers as one."""
    pythons._ask(sys.executable)  # kept: this interpreter may itself be where the ordinary user cannot read
    folder = folder_for_all("roost-python-")
    path = folder / "python3.9"
    path.write_text('#!/bin/sh\necho 3.9.7\necho "$0"\n')
    path.chmod(0o755)
    yield path
    shutil.rmtree(folder)


@pytest.mark.parametrize("pyenv", ["", "/.pyenv"], ids=["closed itself", "in a closed one"])
def test_a_python_is_found_beside_places_that_cannot_be_read(closed_folder: Path, program: Path, pyenv: str) -> None:
    """In a closed folder not even whether a place is there can be asked."""
    own = {"PYENV_ROOT": f"{closed_folder}{pyenv}", "PATH": f"{closed_folder}:{closed_folder}/bin:{program.parent}"}
    with ordinary_user():
        assert "3.9" in pythons.minors(own)
        assert Python(str(program), (3, 9, 7)) in pythons.found("", own["PATH"], own["PYENV_ROOT"])


def test_a_home_that_cannot_be_read(closed_folder: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(closed_folder))
    with ordinary_user():
        assert Python(str(program), (3, 9, 7)) in pythons.found("", str(program.parent), "")
        assert conda_settings.read(os.environ).channels == ()
        assert list(conda_environments._prefixes()) == []
        assert pip_settings.usable({"HOME": str(closed_folder)})["UV_NO_CACHE"] == "1"


@pytest.mark.parametrize("variable", ["CONDA_PREFIX", "CONDA_ROOT", "CONDARC", "XDG_CONFIG_HOME", "MAMBA_ROOT_PREFIX"])
def test_conda(closed_folder: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, str(closed_folder))
    with ordinary_user():
        assert conda_settings.read({variable: str(closed_folder), "HOME": "/nowhere"}).channels == ()
        assert closed_folder not in list(conda_environments._prefixes())


def test_what_pip_is_told_goes_on_without_them(closed_folder: Path, tmp_path: Path) -> None:
    here = closed_folder.parent
    own = {
        "HOME": "/nowhere",
        "PIP_CONFIG_FILE": f"{closed_folder}/pip.conf",
        "PIP_FIND_LINKS": f"{closed_folder} {here} https://host.test/wheels",
        "PIP_EXTRA_INDEX_URL": f"file://{closed_folder}/simple https://host.test/simple",
        "XDG_CONFIG_HOME": str(closed_folder),
    }
    with ordinary_user():
        told = pip_settings.read(own, tmp_path / "none").variables
    assert told["UV_FIND_LINKS"] == f"{here},https://host.test/wheels"
    assert told["UV_INDEX"] == "https://host.test/simple"


def test_what_uv_would_stop_at_is_taken_away(closed_folder: Path) -> None:
    here = closed_folder.parent
    here.chmod(0o777)
    own = {"UV_CONFIG_FILE": f"{closed_folder}/uv.toml", "UV_FIND_LINKS": f"{closed_folder},{here}", "PATH": "/bin"}
    with ordinary_user():
        kept = {"UV_FIND_LINKS": str(here), "PATH": "/bin"}
        for cache in ({"UV_CACHE_DIR": f"{closed_folder}/c"}, {"XDG_CACHE_HOME": str(closed_folder)}):
            assert pip_settings.usable(own | cache) == kept | {"UV_NO_CACHE": "1"} | (
                cache if "XDG_CACHE_HOME" in cache else {}
            )
        mine = {"UV_CACHE_DIR": f"{here}/not/yet"}
        assert pip_settings.usable(own | mine) == kept | mine


def test_other_places_that_are_looked_into(closed_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(closed_folder))
    inside = closed_folder / "project"
    with ordinary_user():
        assert workshop._places([f"file://{inside}", str(inside)], Path("/x")) == []
        assert git.look(str(inside)).properties() == {}
        with pytest.raises(InvalidInput, match="There is no configuration file or folder"):
            configs.find(str(inside), None)
        assert not os.path.exists(systemd.place(inside))
        assert list(checks._service()) == []


def test_doctor_names_them_with_the_next_step(closed_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*places.READ, *places.WRITTEN, *places.LISTS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYENV_ROOT", str(closed_folder / ".pyenv"))
    monkeypatch.setenv("UV_CACHE_DIR", str(closed_folder / "cache"))
    monkeypatch.setenv("PATH", f"{closed_folder}/bin:/usr/bin:{closed_folder}/shims:/nowhere")
    monkeypatch.setenv("CONDA_PREFIX", "/nowhere")
    monkeypatch.setenv("ROOST_HOME", str(closed_folder / "home"))
    with ordinary_user():
        found = list(checks._places())
        (home,) = checks._home()
        disk = list(checks._disk())
    assert [(each.level, each.fact, each.hint) for each in found] == [
        (
            "warn",
            f"PYENV_ROOT is {closed_folder}/.pyenv, which this user may not use: passed over.",
            "unset PYENV_ROOT, or set it to a place of yours.",
        ),
        (
            "warn",
            f"UV_CACHE_DIR is {closed_folder}/cache, which this user may not use: passed over.",
            "unset UV_CACHE_DIR, or set it to a place of yours.",
        ),
        (
            "warn",
            f"PATH has {closed_folder}/bin, {closed_folder}/shims, which this user may not use: passed over.",
            "Take what is not yours out of PATH.",
        ),
    ]
    assert (home.level, home.fact) == ("bad", f"{closed_folder}/home cannot be written to.")
    assert home.hint == "Set ROOST_HOME to a folder of yours."
    assert disk
