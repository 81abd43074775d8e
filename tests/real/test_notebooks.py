"""A notebook as a run, with papermill and a kernel in an environment that Roost builds."""

import json
from pathlib import Path

import pytest

from azureml.contrib.notebook import NotebookRunConfig
from azureml.core import Environment, Experiment, RunConfiguration
from azureml.core.conda_dependencies import CondaDependencies
from roost_job.exceptions import ActivityFailedException

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]


def notebook(*sources: str) -> str:
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"c{number}",
            "metadata": {"tags": ["parameters"]} if number == 0 else {},
            "outputs": [],
            "source": source,
        }
        for number, source in enumerate(sources)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps({"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})


def test_a_notebook_is_run_with_its_parameters(experiment: Experiment, tmp_path: Path) -> None:
    source = tmp_path / "nb"
    source.mkdir()
    log = "from azureml.core import Run\nrun = Run.get_context()\nrun.log('double', 2 * n)\nprint('n is', n)"
    (source / "a.ipynb").write_text(notebook("n = 1", log))
    (source / "bad.ipynb").write_text(notebook("n = 1", "1 / 0"))
    environment = Environment("notebooks")
    environment.python.conda_dependencies = CondaDependencies.create(pip_packages=["papermill", "ipykernel"])
    config = RunConfiguration()
    config.environment = environment
    run = experiment.submit(NotebookRunConfig(str(source), "a.ipynb", parameters={"n": 21}, run_config=config))
    run.wait_for_completion()
    assert run.get_metrics() == {"double": 42}
    assert "outputs/a.output.ipynb" in run.get_file_names()
    text = "".join(Path(each).read_text() for each in run.get_all_logs(str(tmp_path / "logs")))
    assert "n is 21" in text
    failed = experiment.submit(NotebookRunConfig(str(source), "bad.ipynb", run_config=config))
    with pytest.raises(ActivityFailedException):
        failed.wait_for_completion()
    text = "".join(Path(each).read_text() for each in failed.get_all_logs(str(tmp_path / "more")))
    assert "A cell of bad.ipynb failed: ZeroDivisionError: division by zero" in text
    assert "outputs/bad.output.ipynb" in failed.get_file_names()
