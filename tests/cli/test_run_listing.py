"""Lists of runs with arguments and metrics, labels from the shell, what `gc` keeps, and where runs are when none is here."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.terminals import on_terminal
from tests.shared.folders import tree
from typer.testing import CliRunner

from roost.cli import rendering
from roost.cli.commands.runs import columns
from roost.cli.main import app
from roost.domain.arguments import in_order, parameters
from roost.domain.errors import InvalidInput
from roost_job.exceptions import AzureMLException

MAKE = """
import math
from roost import Experiment, Workspace
exp = Experiment(Workspace.from_config(), "sweep")
for number in range(24):
    run = exp.start_logging(outputs=None, snapshot_directory=None, display_name="")
    run.tag("fold", str(number))
    run.log("acc", math.nan if number == 3 else 0.5 + (7 * number % 24) / 100)
    for name in range(9):
        run.log("metric_%d" % name, number * name)
    run.complete()
run = exp.start_logging(outputs=None, snapshot_directory=None)
run.upload_file("m.txt", __file__)
run.complete()
run.register_model("birds", model_path="m.txt")
"""
THERE: Mapping[str, list[str]] = {"params": ["lr", "epochs"], "metrics": ["val_acc", "epochs"], "tags": ["model"]}


class TestColumns:
    def test_a_bare_name_finds_either(self) -> None:
        assert columns._find("lr", THERE) == columns.Column("params", "lr", "lr")
        assert columns._find("--lr", THERE).path == "params.lr"
        assert columns._find("val_acc", THERE).path == "metrics.val_acc"
        assert columns._find("metrics.epochs", THERE).path == "metrics.epochs"
        with pytest.raises(InvalidInput) as both:
            columns._find("epochs", THERE)
        assert both.value.hint == "Say which: metrics.epochs or params.epochs."

    def test_an_unknown_one_names_near_ones_and_what_there_is(self) -> None:
        with pytest.raises(InvalidInput, match="No run of this list has a column 'valacc'") as wrong:
            columns._find("valacc", THERE)
        assert wrong.value.hint.startswith(
            "Did you mean metrics.val_acc? Arguments: lr, epochs. Metrics: val_acc, epochs. Tags: model. Fields: id,"
        )
        with pytest.raises(InvalidInput):
            columns.names(" , ")
        assert columns.names("id,lr, --lr ,acc") == ["id", "lr", "acc"], "each once"

    def test_parameters_of_scripts_and_commands(self) -> None:
        words = ("data.csv", "--lr", "0.1", "--momentum=0.9", "--fast", "-v", "3")
        assert parameters(words) == {"lr": "0.1", "momentum": "0.9", "fast": "yes", "v": "3"}
        assert parameters((), ("python", "train.py", "--lr", "5")) == {"lr": "5"}
        assert parameters((), ("python train.py --lr 5 --name 'a b'",), True) == {"lr": "5", "name": "a b"}
        assert parameters((), ("echo 'it", "x"), True) == {}

    def test_numbers_then_words_then_nothing(self) -> None:
        values = {1: "10", 2: 2.0, 3: "auto", 4: None, 5: float("nan"), 6: "", 7: 2, 8: float("inf")}
        assert in_order(values) == [7, 2, 1, 8, 3, 6, 5, 4]
        assert in_order(values, descending=True) == [8, 1, 7, 2, 3, 6, 5, 4]


def test_text_of_others_does_not_steer_the_terminal() -> None:
    assert rendering.clean("\x1b[2Ja\tb\nc\u202e 鳥 👩\u200d🔬") == "\ufffd[2Ja b c 鳥 👩\u200d🔬"


def roost(*words: str, code: int = 0) -> str:
    """What a command prints, in this process: a story of many commands need not start Python for each."""
    done = CliRunner().invoke(app, list(words))
    if isinstance(done.exception, AzureMLException):
        assert code == 1, done.exception
        return f"error: {done.exception.message}\nhint: {done.exception.cli_hint or done.exception.hint}\n"
    assert done.exit_code == code, done.output
    return done.stdout


def stderr(*words: str) -> list[str]:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.stderr.splitlines()


def load(*words: str) -> Any:
    return json.loads(roost(*words))


@pytest.mark.slow
@pytest.mark.timeout(300)
class TestStory:
    def test_many_runs(self, home: Path, tmp_path: Path) -> None:
        tree(
            tmp_path,
            {
                "make.py": MAKE,
                "train.py": "print(1)",
                ".azureml/config.json": json.dumps(
                    {"subscription_id": "s", "resource_group": "g", "workspace_name": "birds"}
                ),
            },
        )
        subprocess.run([sys.executable, "make.py"], check=True, timeout=90, cwd=tmp_path)
        self.sorts()
        self.compares()
        self.labels()
        self.keeps_what_made_models()
        (tmp_path / ".azureml" / "config.json").unlink()
        self.names_other_workspaces()

    def sorts(self) -> None:
        best = load("run", "list", "--sort", "-acc", "-n", "3", "--json")
        assert [run["metrics"]["acc"] for run in best] == pytest.approx([0.73, 0.72, 0.70])
        every = load("run", "list", "--sort", "acc", "--all", "--json")
        assert len(every) == 25
        assert [run["metrics"].get("acc") for run in every[-2:]] == [None, {"float": "NaN"}]
        table = roost("run", "list", "--columns", "number,acc,tags.fold,duration", "--sort", "acc:desc", "-n", "2")
        assert [line.split()[:3] for line in table.splitlines()] == [
            ["number", "acc", "tags.fold"],
            ["18", "0.73", "17"],
            ["11", "0.72", "10"],
        ]
        said = roost("run", "list", "--sort", "metric", code=1)
        assert said.startswith("error: No run of this list has a column 'metric'.\nhint: Did you mean metrics.metric_")
        narrow = on_terminal(["run", "list", "--sort", "-acc"], width=80)
        assert max(map(len, narrow.lines)) <= 80
        assert "acc" in narrow.lines[0]

    def compares(self) -> None:
        ids = [run["id"] for run in load("run", "list", "-n", "12", "--json")]
        for width in (80, 160):
            screen = on_terminal(["run", "compare", *ids], width=width)
            assert max(map(len, screen.lines)) <= width
            for run_id in ids:
                assert run_id.rpartition("_")[2] in screen.text
            assert "metric_8" in screen.text
        assert max(map(len, roost("run", "compare", *ids).splitlines())) > 160, "a pipe has it whole"

    def labels(self) -> None:
        run_id = load("run", "list", "-n", "1", "--json")[0]["id"]
        roost("run", "tag", run_id, "best=yes", "seen")
        roost("run", "name", run_id, "the good one")
        said = roost("run", "describe", run_id, "Learned with smaller steps.")
        assert said.splitlines()[:2] == [f"Run {run_id}  “the good one”", "  description Learned with smaller steps."]
        assert roost("run", "tag", run_id, "--remove", "seen").splitlines()[-1] == "  tag         best = yes"
        assert "error: Run" in roost("run", "tag", run_id, "--remove", "bset", code=1)
        assert "error: Which tags?" in roost("run", "tag", run_id, code=1)
        shown = roost("run", "show", run_id)
        for words in ("“the good one”", "Learned with smaller steps.", "best = yes"):
            assert words in shown
        assert "the good one" in roost("run", "list", "--columns", "id,name", "--tag", "best")

    def keeps_what_made_models(self) -> None:
        newest = load("run", "list", "-n", "1", "--json")[0]["id"]
        assert "24 runs submitted more than 0 seconds ago would be deleted." in roost(
            "gc", "--older-than", "0s", "--dry-run"
        )
        said = stderr("gc", "--older-than", "0s", "--dry-run")
        kept = said[said.index("These are kept, because registered models come from them:") + 1 :]
        assert kept[0].startswith(f"  {newest}  Completed")
        assert kept[0].endswith("made birds:1")
        assert kept[1] == "--model-runs deletes them too; the models stay."
        assert newest in load("gc", "--older-than", "0s", "--dry-run", "--model-runs", "--json")["runs"]
        refused = roost("run", "delete", newest, code=1)
        assert "Registered models come from it and stay, but not how they were made: birds:1." in refused

    def names_other_workspaces(self) -> None:
        assert stderr("run", "list") == [
            "No runs in workspace 'default' yet.",
            "There are runs in workspace 'birds'. List them with: roost --workspace birds run list",
            "No config.json in this folder or above names a workspace: commands use 'default'.",
        ]
        assert len(load("--workspace", "birds", "run", "list", "--all", "--json")) == 25
        assert [each["name"] for each in load("workspace", "list", "--json")] == ["birds", "default"]
        assert "sweep" in roost("-w", "birds", "experiment", "list")
        assert "error: Experiment 'sweep' has runs" in roost("-w", "birds", "experiment", "delete", "sweep", code=1)
        assert "error: No workspaces found with name=brds" in roost("-w", "brds", "run", "list", code=1)
