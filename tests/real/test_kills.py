"""Killed with -9 again and again: what happens once in a hundred shows itself here. The stories are `tests/journeys/kills.py`."""

from pathlib import Path

import pytest
from tests.journeys import kills

from roost import Experiment, Workspace

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

ROUNDS = 10


def test_the_control_plane_is_killed_ten_times_in_one_run(workspace: Workspace, home: Path, tmp_path: Path) -> None:
    kills.control_plane_killed(Experiment(workspace, "kills"), home, tmp_path, kills=ROUNDS)


def test_ten_agents_are_killed(workspace: Workspace, tmp_path: Path) -> None:
    for number in range(ROUNDS):
        kills.agent_killed(Experiment(workspace, "kills"), new_folder(tmp_path, number))


def test_ten_scripts_are_killed(workspace: Workspace, tmp_path: Path) -> None:
    for number in range(ROUNDS):
        kills.script_killed(Experiment(workspace, "kills"), new_folder(tmp_path, number))


def test_ten_notebooks_are_killed(workspace: Workspace, tmp_path: Path) -> None:
    for number in range(ROUNDS):
        kills.notebook_killed(workspace, new_folder(tmp_path, number))


def new_folder(tmp_path: Path, number: int) -> Path:
    folder = tmp_path / f"round-{number}"
    folder.mkdir()
    return folder
