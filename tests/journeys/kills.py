"""Stories in which something is killed with -9. `test_kills.py` tells each once, `tests/real/test_kills.py` many times.

Each takes an experiment of an embedded control plane whose ROOST_HOME is `home`, and asserts what must be true afterwards.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from roost import Experiment, Run, ScriptRunConfig, Workspace

# Logs about 1,000 points a second until it is told that it is enough; how many it has logged stands in a file the test can see.
STEADY = """
import os, sys, time
from azureml.core import Run

run, seen, enough = Run.get_context(), open(sys.argv[1], "w"), sys.argv[2]
begun, count = time.monotonic(), 0
while not os.path.exists(enough):
    for count in range(count + 1, count + 51):
        run.log("loss", count)
    print("step", count)
    seen.seek(0)
    seen.write("%d\\n" % count)
    seen.flush()
    time.sleep(max(0, begun + count / 1000 - time.monotonic()))
"""

# Leaves something of everything, starts a child that leaves its session, tells who is who, and waits for the end.
BUSY = """
import json, os, subprocess, sys, time
from azureml.core import Run

run = Run.get_context()
os.makedirs("outputs", exist_ok=True)
open("outputs/model.txt", "w").write("weights")
print("said before the end")
for i in range(2000):
    run.log("loss", i)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
told = sys.argv[1]
open(told + ".part", "w").write(json.dumps({"script": os.getpid(), "agent": os.getppid(), "child": child.pid}))
os.rename(told + ".part", told)
time.sleep(600)
"""

DYING = """
import os
from azureml.core import Run

run = Run.get_context()
os.makedirs("outputs", exist_ok=True)
open("outputs/model.txt", "w").write("weights")
print("said before the end")
for i in range(5000):
    run.log("loss", i)
os.kill(os.getpid(), 9)
"""

NOTEBOOK = """
import sys
from azureml.core import Experiment, Workspace

run = Experiment(Workspace.from_config(sys.argv[1]), "notebook").start_logging()
print("run", run.id, flush=True)
i = 0
while True:
    run.log("loss", i)
    i += 1
    if i == 5000:
        print("logged", i, flush=True)
"""


def until(what: Callable[[], Any], *, seconds: float = 60) -> Any:
    """What it gives once that is something; fails when it does not come in time."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, f"waited {seconds} s in vain"
        time.sleep(0.02)
    return found


def submit(experiment: Experiment, folder: Path, script: str, *arguments: Any) -> Run:
    source = folder / "source"
    source.mkdir(parents=True, exist_ok=True)
    (source / "train.py").write_text(script)
    return experiment.submit(ScriptRunConfig(str(source), script="train.py", arguments=list(arguments)))


def text_of(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def server_pid(home: Path) -> int:
    return int(json.loads((home / "server.json").read_text())["pid"])


def logged(run: Run) -> list[Any]:
    found = run.get_metrics().get("loss", [])
    return found if isinstance(found, list) else [found]


def std_log(run: Run, folder: Path) -> str:
    target = folder / "std_log.txt"
    run.download_file("user_logs/std_log.txt", str(target))
    return target.read_text()


def control_plane_killed(experiment: Experiment, home: Path, folder: Path, *, kills: int) -> None:
    """The run goes on without it; brought back, it has every point once and in order, and the run ends Completed."""
    seen, enough = folder / "seen", folder / "enough"
    run = submit(experiment, folder, STEADY, str(seen), str(enough))
    until(lambda: len(logged(run)) > 100)

    def step() -> int:
        return int(text_of(seen).split("\n")[0] or 0)

    for _ in range(kills):
        killed = server_pid(home)
        os.kill(killed, signal.SIGKILL)
        at = step()
        until(lambda: step() > at + 300)  # noqa: B023 - the script goes on while nobody listens
        assert len(logged(run)) > 0  # asking brings the control plane back
        assert server_pid(home) != killed
        before = len(logged(run))
        until(lambda: len(logged(run)) > before)  # noqa: B023 - and what was logged meanwhile is on its way
    enough.touch()
    run.wait_for_completion()
    assert run.get_status() == "Completed"
    count = step()
    assert logged(run) == list(range(1, count + 1))
    steps = [line for line in std_log(run, folder).splitlines() if line.startswith("step ")]
    assert steps == [f"step {i}" for i in range(50, count + 1, 50)]


def agent_killed(experiment: Experiment, folder: Path) -> None:
    """Failed for that reason within 30 s; no process is left; logs, metrics and outputs up to then are kept."""
    told = folder / "who"
    told.unlink(missing_ok=True)
    run = submit(experiment, folder, BUSY, str(told))
    who = json.loads(until(lambda: text_of(told)))
    assert psutil.pid_exists(who["agent"])
    os.kill(who["agent"], signal.SIGKILL)
    until(lambda: run.get_status() in ("Completed", "Failed", "Canceled"), seconds=30)
    assert run.get_status() == "Failed"
    assert reason(run) == "agent_lost"
    assert [name for name, pid in who.items() if alive(pid)] == []
    assert logged(run) == list(range(2000))
    assert "said before the end" in std_log(run, folder)
    run.download_file("outputs/model.txt", str(folder / "model.txt"))
    assert (folder / "model.txt").read_text() == "weights"


def script_killed(experiment: Experiment, folder: Path) -> None:
    """Nothing that it logged, printed or wrote before is lost."""
    run = submit(experiment, folder, DYING)
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Failed"
    assert reason(run) == "exit_code"
    assert logged(run) == list(range(5000))
    assert "said before the end" in std_log(run, folder)
    assert "outputs/model.txt" in run.get_file_names()


def notebook_killed(workspace: Workspace, folder: Path) -> None:
    """Points that a killed `start_logging` left behind arrive when the next process comes."""
    argv = [sys.executable, "-c", NOTEBOOK, str(folder)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as notebook:
        assert notebook.stdout
        told = dict(line.split() for line in iter(notebook.stdout.readline, "logged 5000\n") if line.startswith("run "))
        notebook.kill()
    comer = "import sys; from azureml.core import Workspace; Workspace.from_config(sys.argv[1]).get_run(sys.argv[2])"
    subprocess.run([sys.executable, "-c", comer, str(folder), told["run"]], check=True, timeout=60)
    run = workspace.get_run(told["run"])
    until(lambda: len(logged(run)) >= 5000)
    until(lambda: run.get_status() in ("Completed", "Failed", "Canceled"))
    assert logged(run) == list(range(len(logged(run))))


def reason(run: Run) -> str:
    """Why it stands where it stands, as the API tells it."""
    home = Path(os.environ["ROOST_HOME"])
    url = json.loads((home / "server.json").read_text())["url"]
    token = (home / "token").read_text().strip()
    request = urllib.request.Request(f"{url}/api/runs/{run.id}", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(json.load(answer)["reason"])


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
