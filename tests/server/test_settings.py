"""Settings: each with a variable and a meaning; the command line before the environment before the default."""

import os
from dataclasses import fields
from pathlib import Path

import pytest

from roost.domain.errors import InvalidInput
from roost.server.settings import Settings, read


def test_each_has_a_variable_and_a_meaning() -> None:
    for each in fields(Settings):
        assert each.metadata["variable"].startswith("ROOST_")
        assert each.metadata["meaning"].endswith(".")
    assert len({each.metadata["variable"] for each in fields(Settings)}) == len(fields(Settings))


def test_what_wins(tmp_path: Path) -> None:
    settings = read({"ROOST_HOME": "/elsewhere", "ROOST_PORT": "5", "ROOST_ALLOWED_HOSTS": "a, b:1,"}, home=tmp_path)
    assert (settings.home, settings.port, settings.allowed_hosts) == (tmp_path, 5, ("a", "b:1"))
    assert read({"ROOST_PORT": "5"}, port=6, host=None).port == 6
    assert read({}).home == Path("~/.roost").expanduser()


def test_as_many_runs_as_processors() -> None:
    assert read({}).slots == len(os.sched_getaffinity(0))
    assert read({"ROOST_LOCAL_SLOTS": "7"}).slots == 7


@pytest.mark.parametrize(
    ("variable", "value"),
    [("ROOST_PORT", "many"), ("ROOST_PORT", "-1"), ("ROOST_LOCAL_SLOTS", "-2"), ("ROOST_CONDA_PACKAGES", "pypi")],
)
def test_what_does_not_fit_is_named(variable: str, value: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read({variable: value})
    assert value in caught.value.message


@pytest.mark.parametrize(
    ("host", "shared"),
    [("127.0.0.1", False), ("localhost", False), ("::1", False), ("0.0.0.0", True), ("10.0.0.5", True)],
)
def test_who_may_reach_it(host: str, shared: bool) -> None:
    assert read({"ROOST_HOST": host}).is_shared == shared
