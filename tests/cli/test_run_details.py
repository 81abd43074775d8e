"""What commands tell of a run: the last point of each kind of metric, its family, and a build's log when there is no other."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli import commands
from tests.cli.commands import ROOST
from tests.cli.terminals import on_terminal
from tests.cli.test_cli import roost
from tests.contracts.engine import eventually
from tests.shared.folders import tree

from roost.cli.commands.runs import details, metric_summaries, metrics
from roost.domain.datasets import Definition, Input, Mode, Output, Source, token
from roost.domain.runs import RunSpec

LOGS = """
from azureml.core import Run
run = Run.get_context()
run.log("loss", 0.5)
run.log("word", "first")
run.log("word", "zweites 鳥")
run.log("flag", True)
run.log("mixed", 3)
run.log("mixed", "no number")
run.log("back", "text")
run.log("back", 7)
run.log_list("list", [1, 2, 3])
run.log_row("row", x=1, y="z")
run.log_table("table", {"x": [1, 2]})
for fold in range(7):
    with run.child_run(name="fold %d" % fold) as child:
        child.log("score", fold)
"""


HOSTILE = """
from roost import Dataset, Experiment, Model, Workspace
ws = Workspace()
told = dict(description="d\x1b[2J", tags={"t\x07": "v\x9b2J"})
Dataset.File.from_files((ws.get_default_datastore(), "x"), validate=False).register(ws, "data", **told)
Model.register(ws, __file__, "net", **told)
for number in range(2):
    with Experiment(Workspace(), "evil").start_logging(outputs=None, display_name="a\x1b[2Jb") as run:
        run.log("m\x1b]0;x\x07", number)
        run.upload_file("a\u202eb.txt", __file__)
        with run.child_run(name="c\x9b2Jd") as child:
            pass
"""


@pytest.mark.slow
def test_names_that_a_run_gave_do_not_steer_the_terminal(home: Path, tmp_path: Path) -> None:
    (tmp_path / "make.py").write_text(HOSTILE)
    subprocess.run([sys.executable, "make.py"], check=True, cwd=tmp_path)
    first, second = (run["id"] for run in json.loads(roost("run", "list", "--json")))
    missing = commands.run(["run", "metrics", first, "--name", "no"])
    said = [
        roost("run", "show", first),
        roost("experiment", "show", "evil"),
        roost("run", "compare", first, second),
        roost("data", "show", "data"),
        roost("model", "show", "net"),
        missing.stderr,
    ]
    assert [re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text) for text in said] == [[]] * len(said)
    assert "a\ufffd[2Jb" in said[0] and "hint: " in missing.stderr
    narrow = on_terminal(["run", "compare", first, second, "--all"], width=40)
    assert "\x1b]" not in narrow.raw and "\x07" not in narrow.raw


def test_a_command_to_paste_has_names_as_single_words() -> None:
    path = "a;touch x\x1b.json"
    command = metrics._command(None, f"{metrics._ADDRESS}run_1/{path}")  # type: ignore[arg-type]
    assert command == "roost run download run_1 --prefix 'a;touch x\ufffd.json'"


@pytest.mark.parametrize(
    ("summary", "text"),
    [
        ({"kind": "scalar", "last": 0.5, "text": None}, "0.5"),
        ({"kind": "scalar", "last": {"float": "NaN"}, "text": None}, "NaN"),
        ({"kind": "text", "last": 3.0, "text": "no number"}, "no number"),
        ({"kind": "text", "last": None, "text": ""}, ""),
        ({"kind": "flag", "last": None, "text": "False"}, "False"),
        ({"kind": "table", "last": None, "text": None}, "table"),
        ({"kind": "text", "last": None}, "text"),
    ],
)
def test_the_last_point_of_a_metric(summary: dict[str, Any], text: str) -> None:
    assert metric_summaries.last(summary) == text


@pytest.mark.slow
def test_metrics_and_family(home: Path, tmp_path: Path) -> None:
    tree(tmp_path, {"train.py": LOGS})
    roost("submit", "train.py", "--note", "a b", "")
    (run,) = json.loads(roost("run", "list", "--json"))
    lines = {line.split()[0]: line.split()[1:] for line in roost("run", "metrics", run["id"]).splitlines()}
    assert lines["loss"][:2] == ["1", "0.5"]
    assert lines["word"] == ["2", "zweites", "鳥"]
    assert lines["flag"] == ["1", "True"]
    assert lines["mixed"][:3] == ["2", "no", "number"]
    assert lines["back"][:2] == ["2", "7"]
    assert lines["list"] == ["1", "3"]
    assert lines["row"] == ["1", "x=1,", "y=z"]
    assert lines["table"] == ["1", "table"]
    facts = json.loads(roost("run", "compare", run["id"], run["id"], "--json"))[run["id"]]
    assert (facts["metric/word"], facts["metric/flag"], facts["metric/mixed"]) == ("zweites 鳥", "True", "no number")

    said = roost("run", "metrics", run["id"], "--name", "lost", code=1)
    assert said == f"error: Run {run['id']} has logged no metric 'lost'.\nhint: Did you mean 'loss', 'list'?\n"
    said = roost("run", "logs", run["id"], "--file", "user_logs/std_log", code=1)
    assert said.startswith(
        f"error: Run {run['id']} has no file 'user_logs/std_log'.\nhint: Did you mean 'user_logs/std_log.txt'"
    )

    shown = roost("run", "show", run["id"])
    assert "  runs        train.py --note 'a b' ''  on local\n" in shown
    assert "Children: 7 (7 Completed)" in shown
    assert f"Next\n  roost run logs {run['id']}\n" in shown
    assert "  Completed  fold 0" in shown
    assert f"… and 2 more children: roost run show {run['id']} --json" in shown
    children = json.loads(roost("run", "show", run["id"], "--json"))["children"]
    assert [child["display_name"] for child in children] == [f"fold {number}" for number in range(7)]
    child = roost("run", "show", children[0]["id"])
    assert f"  parent      {run['id']}, Completed" in child
    assert "run logs" not in child
    for words in (["--dry-run"], ["--yes"]):
        done = commands.run(["gc", "--older-than", "0s", *words])
        assert "8 runs " in done.stdout, done


@pytest.mark.slow
def test_who_follows_a_run_in_a_queue_is_told_why_it_waits(home: Path, tmp_path: Path) -> None:
    tree(
        tmp_path,
        {"hold.py": "import pathlib, sys, time\nwhile not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.1)\n"},
    )
    gate = tmp_path / "gate"
    roost("compute", "create", "one", "--max", "1")
    first, second, third = (roost("submit", "-d", "--target", "one", "hold.py", str(gate)).strip() for _ in range(3))
    words = [ROOST, "run", "logs", "-f", third]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as watching:
        assert watching.stdout is not None
        queued = "Queued. The node of cluster one is taken; 1 run is ahead of it."
        assert any(line.startswith(queued) for line in watching.stdout)  # what it waited for before may stand above
        assert roost("run", "cancel", second) == f"{second}: Canceled\n"
        eventually(lambda: "  why " not in roost("run", "show", first))
        gate.touch()
        assert watching.wait(60) == 0


@pytest.mark.slow
def test_the_log_of_a_build_that_failed(home: Path, tmp_path: Path) -> None:
    tree(tmp_path, {"train.py": "print(1)", "reqs.txt": "--no-index\nno-such-package-here\n"})
    run_id = roost("submit", "--detach", "--environment", "reqs.txt", "train.py").strip()
    followed = told(run_id, "-f")
    assert "The log of its environment's build, azureml-logs/20_image_build_log.txt:" in followed.stderr
    assert "no-such-package-here" in followed.stdout
    plain = told(run_id)
    assert plain.stderr.startswith("It has written nothing. The log of its environment's build, azureml-logs/20_image")
    assert plain.stdout == followed.stdout


def told(run_id: str, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [ROOST, "run", "logs", *words, run_id], capture_output=True, text=True, timeout=90, check=True
    )


@pytest.mark.slow
def test_a_note_on_the_workspace_is_said_once_and_apart(home: Path) -> None:
    code = "from azureml.core import Workspace\nfor _ in range(3): Workspace.from_config()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == ""
    assert done.stderr.count("No config.json found: using workspace 'default'.") == 1


def test_what_a_run_reads_and_fills() -> None:
    one = Definition(sources=(Source(url="http://host/a.csv?page=1"), Source(datastore="store", path="b")))
    spec = RunSpec(
        inputs=(Input(name="birds", definition=one, mode=Mode.DOWNLOAD),),
        outputs=(
            Output(name="made", datastore="store", path="out/{run-id}", register_as="results"),
            Output(name="plain"),
        ),
    )
    assert details.data_lines(spec) == [
        "  input       birds, download: http://host/a.csv and 1 more",
        "  output      made: store/out/{run-id}, becomes dataset 'results'",
        "  output      plain: the default datastore/dataset/{run-id}/plain",
    ]
    uses = {
        "input": {"birds": "birds, version 2", "cats:1": "cats, version 1"},
        "output": {"made": "results, version 3"},
    }
    assert details.data_lines(spec, uses, "run_7")[:3] == [
        "  input       birds, download: dataset birds, version 2, at http://host/a.csv and 1 more",
        "  read        dataset cats, version 1, got by name",
        "  output      made: store/out/run_7, is dataset results, version 3",
    ]
    own = {
        "read": {"birds": "birds", "store/in": "store/in"},
        "wrote": {"plain": "plain", "store/out": "store/out"},
        "output": {"cats:2": "cats, version 2"},
    }
    assert details.data_lines(spec, own)[3:] == [
        "  read        store/in, by the script",
        "  wrote       store/out, by the script",
        "  made        dataset cats, version 2, by the script",
    ]
    many = {"read": {f"store/{n}": f"store/{n}" for n in range(20)}}
    assert details.data_lines(RunSpec(), many)[-1] == "              and 8 places more"
    assert details.plain(spec, "train.py", "--to", token("made"), token("birds")) == "train.py --to <made> <birds>"
