"""`RunDetails`: the link in a terminal, a small view in a notebook."""

import builtins
import sys
import types

import pytest

from azureml.widgets import RunDetails
from roost import Experiment
from roost.domain.errors import InvalidInput


def test_it_shows_a_run_and_nothing_else() -> None:
    with pytest.raises(InvalidInput, match="RunDetails shows a Run, got str"):
        RunDetails("run")


@pytest.mark.slow
def test_in_a_terminal_and_in_a_notebook(
    experiment: Experiment, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with experiment.start_logging() as run:
        run.log("loss", 0.25)
        run.log("<b>", "text & more")
    RunDetails(run).show()
    assert capsys.readouterr().out == f"{run.id}: Completed\n{run.get_portal_url()}\n"
    assert RunDetails(run).get_widget_data()["run_metrics"] == {"loss": 0.25, "<b>": "text & more"}

    shown: list[str] = []
    display = types.ModuleType("IPython.display")
    display.HTML, display.display = str, shown.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(builtins, "__IPYTHON__", True, raising=False)
    RunDetails(run).show()
    (page,) = shown
    assert run.get_portal_url() in page
    assert "<td>loss</td><td>1</td><td>0.25</td>" in page
    assert "<td>&lt;b&gt;</td><td>1</td><td>text &amp; more</td>" in page
    assert capsys.readouterr().out == ""
