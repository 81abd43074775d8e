"""The everyday commands as they are seen: 80 and 200 columns, in a pipe, with and without colours; a yes where it is needed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli import commands
from tests.cli.terminals import on_terminal
from tests.cli.test_cli import roost
from tests.shared.folders import tree

NAME = "a rather long display name, longer than a narrow terminal has room for, 鳥"
SCRIPT = """
import os, sys
from azureml.core import Run
run = Run.get_context()
for step in range(50):
    run.log("loss", 1.0 / (step + 1), step=step)
os.makedirs("outputs", exist_ok=True)
open("outputs/model.txt", "w").write(sys.argv[2] * 50_000)
sys.exit(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
"""


def load(*words: str) -> Any:
    return json.loads(roost(*words))


@pytest.mark.slow
@pytest.mark.timeout(300)
class TestScreens:
    def test_a_day_with_runs(self, home: Path, tmp_path: Path) -> None:
        tree(tmp_path, {"train.py": SCRIPT, "wait.py": "import time\ntime.sleep(600)"})
        roost("submit", "--name", NAME, "--tag", "model=resnet", "--tag", "best", "train.py", "--lr", "0.1")
        roost("submit", "train.py", "--lr", "0.2", "3", code=1)
        second, first = load("run", "list", "--json")
        self.lists(first["id"], second["id"])
        self.shows(first["id"])
        self.compares(first["id"], second["id"])
        self.repeats(first["id"])
        self.cancels()
        self.deletes(first["id"], second["id"])

    def lists(self, first: str, second: str) -> None:
        narrow = on_terminal(["run", "list"], width=80)
        assert max(map(len, narrow.lines)) <= 80
        assert narrow.is_coloured
        assert first in narrow.text
        assert "a rather long" in narrow.text
        assert "…" in narrow.text
        assert narrow.lines[-1] == "No room for: experiment, target, tags. A wider terminal or --json shows them."
        assert "\x1b[2mNo room" in narrow.raw
        wide = on_terminal(["run", "list"], width=200)
        assert max(map(len, wide.lines)) <= 200
        for words in (NAME, "model=resnet", "train #1", "local"):
            assert words in wide.text
        assert "No room" not in wide.text
        assert not on_terminal(["run", "list"], NO_COLOR="1").is_coloured
        piped = roost("run", "list")
        assert NAME in piped
        assert "model=resnet" in piped
        assert "No room" not in piped
        assert "\x1b" not in piped

        assert [run["id"] for run in load("run", "list", "--json", "--tag", "model=resnet")] == [first]
        assert [run["id"] for run in load("run", "list", "--json", "--tag", "best", "--since", "1h")] == [first]
        assert load("run", "list", "--json", "--tag", "model=other") == []
        assert load("run", "list", "--json", "--since", "2040-01-01") == []
        assert [r["id"] for r in load("run", "list", "--json", "-s", "failed", "-s", "COMPLETED")] == [second, first]
        done = commands.run(["run", "list", "-n", "1"])
        assert f"--before {second}" in done.stderr
        assert [run["id"] for run in load("run", "list", "--json", "--before", second)] == [first]
        assert len(load("run", "list", "--json", "-n", "1", "--all")) == 2

    def shows(self, run_id: str) -> None:
        for width in (80, 200):
            screen = on_terminal(["run", "show", run_id], width=width)
            assert screen.code == 0
            assert screen.is_coloured
            assert "outputs/model.txt      150 kB" in screen.text
            metrics = on_terminal(["run", "metrics", run_id], width=width)
            assert "█" in metrics.text
            assert max(map(len, metrics.lines)) <= width
        assert "\x1b" not in roost("run", "show", run_id)
        assert not on_terminal(["run", "show", run_id], NO_COLOR="1").is_coloured

    def compares(self, first: str, second: str) -> None:
        plain = roost("run", "compare", first, second)
        (rate,) = [line for line in plain.splitlines() if line.startswith("* argument --lr")]
        assert rate.split()[-2:] == ["0.1", "0.2"]
        assert "* tag model" in plain
        assert "run script" not in plain
        assert "  run script" in roost("run", "compare", "--all", first, second)
        kinds = [line[2:].split()[0] for line in roost("run", "compare", "--all", second, first).splitlines()[1:]]
        assert kinds == sorted(kinds, key=["run", "argument", "tag", "metric"].index)
        narrow = on_terminal(["run", "compare", first, second], width=80)
        assert max(map(len, narrow.lines)) <= 80
        facts = load("run", "compare", first, second, "--json")
        assert facts[second]["argument/--lr"] == "0.2"
        assert "error: One run cannot be compared." in roost("run", "compare", first, code=1)

    def repeats(self, first: str) -> None:
        late = "from roost import Workspace; import sys; Workspace().get_run(sys.argv[1]).tag('late', 'x')"
        subprocess.run([sys.executable, "-c", late, first], check=True, timeout=60)
        run_id = roost("run", "repeat", "--detach", first).strip()
        roost("run", "logs", "-f", run_id)
        again = load("run", "show", run_id, "--json")["run"]
        before = load("run", "show", first, "--json")["run"]
        assert again["spec"] == before["spec"]
        assert again["properties"]["roost.repeats"] == first
        assert (again["display_name"], again["tags"]) == (before["display_name"], {"model": "resnet", "best": None})
        assert again["status"] == "Completed"
        assert load("run", "repeat", "--json", first)["status"] == "Completed"

    def cancels(self) -> None:
        waiting = [roost("submit", "-d", "wait.py").strip() for _ in range(3)]
        assert "error: Which runs?" in roost("run", "cancel", code=1)
        said = roost("run", "cancel", "--all", code=1)
        assert "error: 3 runs of workspace 'default' will be ended. Nobody is here to say yes." in said
        asked = on_terminal(["run", "cancel", "--all"], typed="n\n")
        assert (asked.code, "Nothing was done." in asked.text) == (1, True)
        assert "error: Only runs that have ended" in roost("run", "delete", "--yes", waiting[0], code=1)
        assert {each["id"] for each in load("run", "cancel", *waiting[:2], "--json")} == set(waiting[:2])
        assert on_terminal(["run", "cancel", "--all"], typed="y\n").code == 0
        for run_id in waiting:
            roost("run", "logs", "-f", run_id)
        assert {run["status"] for run in load("run", "list", "-e", "wait", "--json")} == {"Canceled"}
        assert "No run is going on." in roost("run", "cancel", "--all")

    def deletes(self, first: str, second: str) -> None:
        before = load("du", "--json")
        assert before["experiments"][0]["experiment"] == "train"
        assert load("gc", "--status", "Failed", "--dry-run", "--json")["runs"] == [second]
        refused = on_terminal(["run", "delete", first], typed="\n")
        assert (refused.code, "Nothing was done." in refused.text) == (1, True)
        assert load("run", "delete", first, "--yes", "--json") == {"deleted": [first]}
        assert f"error: There is no run '{first}'" in roost("run", "show", first, code=1)
        kept = load("gc", "--older-than", "0s", "--keep-tag", "best", "--yes", "--json")["runs"]
        assert second in kept
        assert {tuple(run["tags"]) for run in load("run", "list", "--json")} == {("best", "model")}
        swept = roost("gc")
        assert "stored files freed.\n" in swept
        assert "given back by the database." in swept
        assert "the grace for uploads" in swept
        planned = roost("gc", "--dry-run")
        assert "stored files would be freed.\n" in planned
        assert "The database would give back" in planned
        told = roost("du")
        assert "The disk is" in told and "files in the workspaces' own datastores" in told
        assert "error: Runs that are Running" in roost("gc", "-s", "Running", code=1)
