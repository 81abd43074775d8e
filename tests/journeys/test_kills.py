"""Killed with -9, once each: the control plane, the agent, the script, a notebook."""

from pathlib import Path

import pytest
from tests.journeys import kills

from roost import Experiment, Workspace

pytestmark = pytest.mark.slow


def test_a_killed_control_plane_comes_back_with_every_point_once(
    experiment: Experiment, home: Path, tmp_path: Path
) -> None:
    kills.control_plane_killed(experiment, home, tmp_path, kills=2)


def test_a_killed_agent_fails_its_run_and_leaves_no_process(experiment: Experiment, tmp_path: Path) -> None:
    kills.agent_killed(experiment, tmp_path)


def test_a_killed_script_loses_nothing_it_logged(experiment: Experiment, tmp_path: Path) -> None:
    kills.script_killed(experiment, tmp_path)


def test_a_killed_notebook_is_delivered_by_who_comes_next(workspace: Workspace, tmp_path: Path) -> None:
    kills.notebook_killed(workspace, tmp_path)
