"""A notebook as a run: what it needs, and what is said when that is not there. With papermill: tests/real."""

import json
from pathlib import Path

import pytest

from azureml.contrib.notebook import AzureMLNotebookHandler, NotebookRunConfig, PapermillExecutionHandler
from azureml.core import Experiment
from roost.domain.errors import InvalidInput
from roost_job.exceptions import ActivityFailedException


def test_what_is_asked_for() -> None:
    handler = PapermillExecutionHandler(timeout=60, history=True, kernel_name=None)
    config = NotebookRunConfig(".", "deep/a.ipynb", parameters={"n": 1, "words": ["a"]}, handler=handler)
    assert (config.notebook, config.output_notebook) == ("deep/a.ipynb", "outputs/a.output.ipynb")
    assert isinstance(config.command, list) and config.command[:3] == ["python", "-m", "roost_job.notebooks"]
    assert json.loads(str(config.command[-1])) == {"execution_timeout": 60, "parameters": {"n": 1, "words": ["a"]}}
    assert isinstance(handler, AzureMLNotebookHandler)
    for wrong in (
        {"notebook": "a.py"},
        {"notebook": "../a.ipynb"},
        {"parameters": {"x": object()}},
        {"handler": "papermill"},
    ):
        with pytest.raises(InvalidInput):
            NotebookRunConfig(".", **{"notebook": "a.ipynb", **wrong})  # type: ignore[arg-type]


@pytest.mark.slow
def test_without_papermill_the_run_says_what_to_add(experiment: Experiment, tmp_path: Path) -> None:
    cells = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "nb").mkdir()
    (tmp_path / "nb/a.ipynb").write_text(json.dumps(cells))
    (tmp_path / "nb/papermill.py").write_text("raise ImportError('No module named papermill')")
    run = experiment.submit(NotebookRunConfig(str(tmp_path / "nb"), "a.ipynb"))
    with pytest.raises(ActivityFailedException):
        run.wait_for_completion()
    text = "".join(Path(log).read_text() for log in run.get_all_logs(str(tmp_path / "logs")))
    assert "A notebook is run by papermill, and papermill cannot be imported here" in text
    assert "hint: Add papermill to the packages of the run's environment." in text and "Traceback" not in text
