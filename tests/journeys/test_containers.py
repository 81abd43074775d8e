"""Docker in scripts on a machine that has none: what Azure's images mean runs natively, an image of one's own says what to do."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.shared import wheels
from tests.shared.folders import tree

from azureml.core import Environment, Experiment, Run, ScriptRunConfig, Workspace
from azureml.core.runconfig import DEFAULT_CPU_IMAGE, DockerConfiguration
from roost.domain.environments import LOCK_FILE
from roost.sdk.runs import waiting
from roost_job.exceptions import ActivityFailedException

pytestmark = pytest.mark.slow

CONDA = """
channels:
- conda-forge
dependencies:
- python=3.11
- pip:
  - azureml-defaults
  - lower
"""
SCRIPT = """
import lower
from azureml.core import Run
Run.get_context().log("lower", lower.VERSION)
"""


@pytest.fixture
def submit(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    wheels.wheel(wheels.machine(tmp_path, monkeypatch), "lower", "2.0")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    source = tree(tmp_path / "source", {"train.py": SCRIPT})
    (tmp_path / "conda_dependencies.yml").write_text(CONDA)

    def send(made: Environment, **more: object) -> Run:
        config = ScriptRunConfig(source_directory=str(source), script="train.py", environment=made, **more)
        return Experiment(Workspace.from_config(), name="pytorch-birds").submit(config)

    return send


@pytest.mark.parametrize("way", ["the environment's", "the run's"])
def test_azures_image_runs_natively_and_says_so(submit: Callable[..., Run], way: str) -> None:
    made = Environment.from_conda_specification(name="pytorch-1.6-gpu", file_path="./conda_dependencies.yml")
    if way == "the run's":
        assert made.docker.base_image == DEFAULT_CPU_IMAGE
        use = {"docker_runtime_config": DockerConfiguration(use_docker=True, shm_size="8g")}
    else:
        made.docker.enabled = True
        made.docker.base_image = "mcr.microsoft.com/azureml/openmpi3.1.2-cuda10.1-cudnn7-ubuntu18.04"
        use = {}
    run = submit(made, **use)
    shown = io.StringIO()
    waiting.stream(run._connection.watcher, run.id, run.get_portal_url(), shown)
    assert run.get_status() == "Completed", shown.getvalue()
    assert run.get_metrics() == {"lower": "2.0"}
    said = f"Installed natively instead of in the image {made.docker.base_image}: There is no container engine on this machine"
    assert said in shown.getvalue()
    run.download_file(LOCK_FILE, "lock.txt")
    assert f"# note {said}" in Path("lock.txt").read_text()
    again = submit(made, **use)
    shown = io.StringIO()
    waiting.stream(again._connection.watcher, again.id, again.get_portal_url(), shown)
    assert again.get_status() == "Completed", shown.getvalue()
    assert "20_image_build_log" not in shown.getvalue() and said in shown.getvalue(), "said though nothing was built"


def test_an_image_of_ones_own_says_the_way_out(submit: Callable[..., Run], home: Path) -> None:
    made = Environment.from_docker_image("mine", "team/image:1", conda_specification="./conda_dependencies.yml")
    run = submit(made)
    with pytest.raises(
        ActivityFailedException, match=r"needs the image team/image:1\. There is no container engine"
    ) as caught:
        run.wait_for_completion()
    assert "Install and start Docker or Podman" in str(caught.value)
    assert not list((home / "envs").glob("[0-9a-f]*")), "nothing else was built"
    natively = submit(made, docker_runtime_config=DockerConfiguration(use_docker=False))
    natively.wait_for_completion()
    assert natively.get_metrics() == {"lower": "2.0"}
