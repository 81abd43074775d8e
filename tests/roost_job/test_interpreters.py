"""The job library in the Pythons that scripts run on: told by real interpreters, read back by the server's own decoder."""

import os
import signal
import subprocess
import textwrap
from collections.abc import Mapping
from pathlib import Path

from tests.roost_job import spools
from tests.roost_job.conftest import SOURCE, RunScript
from tests.roost_job.doors import FakeDoor
from tests.shared.interpreters import each_python, every_python, python


@every_python
def test_every_file_compiles(version: str) -> None:
    text = "import sys\nfor path in sys.argv[1:]: compile(open(path, encoding='utf-8').read(), path, 'exec')"
    files = [str(path) for package in ("roost_job", "azureml") for path in (SOURCE / package).rglob("*.py")]
    assert len(files) > 20
    subprocess.run([python(version), "-W", "error", "-c", text, *files], check=True)


@every_python
def test_all_log_calls(
    version: str, tmp_path: Path, job_env: Mapping[str, str], run_script: RunScript, door: FakeDoor
) -> None:
    text = """
        from decimal import Decimal
        from azureml.core import Run
        from azureml.exceptions import UserErrorException

        run = Run.get_context()
        assert run is Run.get_context() and run.id == "train_1700000000_1a2b3c4d"
        assert (run.experiment.name, run.experiment.workspace.name) == ("train", "vision")
        for step in range(1000):
            run.log("loss", 1.0 / (step + 1), step=step)
        run.log("epoch", 1)
        run.log("epoch", 2)
        run.log("big", 2 ** 64)
        run.log("nan", float("nan"))
        run.log("größe", "ünï")
        run.log("flag", True)
        run.log("decimal", Decimal("0.25"))
        run.log_list("list", [1, 2.5, "x"])
        run.log_list("one", [7])
        run.log_list("none", [])
        run.log_row("row", x=1, y="a")
        run.log_row("row", x=2, y="b")
        run.log_table("table", {"x": [1, 2], "y": [3, 4]})
        for wrong in ([1], range(3), (i for i in "ab"), {"x": 1}):
            try:
                run.log("wrong", wrong)
            except UserErrorException as error:
                assert "log_list" in str(error)
            else:
                raise AssertionError(wrong)
        with open("picture.png", "wb") as picture:
            picture.write(b"png")
        run.log_image("picture", path="picture.png")
        run.upload_file("outputs/kept.png", "picture.png")
        run.tag("stage", "test")
        run.add_properties({"p": "1"})
        assert run.get_tags() == {"stage": "test"} and run.get_properties() == {"p": "1"}
        run.flush()
        run.complete()
    """
    run_script(python(version), text, job_env)
    found = spools.shown(tmp_path / "spool")
    assert found.pop("loss") == [1.0 / (step + 1) for step in range(1000)]
    assert str(found.pop("nan")) == "nan"
    picture = next(iter(door.files))
    assert found == {
        "epoch": [1, 2],
        "big": float(2**64),
        "größe": "ünï",
        "flag": True,
        "decimal": 0.25,
        "list": [1, 2.5, "x"],
        "one": 7,
        "row": {"x": [1, 2], "y": ["a", "b"]},
        "table": {"x": [1, 2], "y": [3, 4]},
        "picture": f"aml://artifactId/ExperimentRun/dcid.train_1700000000_1a2b3c4d/{picture}",
    }
    assert door.files == {picture: b"png", "outputs/kept.png": b"png"}
    assert [path.name.split("-")[0] for path in (tmp_path / "spool").iterdir()] == ["3"]


@each_python
def test_forked_workers_subprocesses_and_threads(
    version: str, tmp_path: Path, job_env: Mapping[str, str], run_script: RunScript
) -> None:
    """Eight forked writers that inherit an open spool, each with two threads at once, and a subprocess of its own."""
    text = """
        import os, subprocess, sys, threading
        from azureml.core import Run

        run = Run.get_context()
        run.log("before", 1)
        children = []
        for worker in range(8):
            pid = os.fork()
            if pid == 0:
                start = threading.Barrier(2)

                def work(half):
                    start.wait()
                    for step in range(250):
                        Run.get_context().log("shared", worker * 500 + half * 250 + step, step=step)

                threads = [threading.Thread(target=work, args=(half,)) for half in range(2)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                os._exit(0 if Run.get_context() is run else 1)
            children.append(pid)
            run.log("parent", worker)
        for pid in children:
            assert os.waitpid(pid, 0)[1] == 0
        code = "from azureml.core import Run; run = Run.get_context(); run.log('sub', run.id)"
        subprocess.check_call([sys.executable, "-c", code])
        run.log("after", 1)
    """
    run_script(python(version), text, job_env)
    folder = tmp_path / "spool"
    found = spools.values(folder)
    assert sorted(found.pop("shared")) == list(range(4000))
    assert found == {"before": [1], "parent": list(range(8)), "sub": ["train_1700000000_1a2b3c4d"], "after": [1]}
    pids = [path.name.split("-")[1] for path in folder.iterdir()]
    assert len(pids) == len(set(pids)) == 10


@each_python
def test_many_ranks_with_one_metric(version: str, tmp_path: Path, job_env: dict[str, str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import os
        from azureml.core import Run
        for step in range(200):
            Run.get_context().log("loss", int(os.environ["ROOST_RANK"]) * 1000 + step, step=step)
        """)
    )
    ranks = [
        subprocess.Popen([python(version), str(script)], env={**job_env, "ROOST_RANK": str(rank)}) for rank in range(6)
    ]
    assert [rank.wait(timeout=60) for rank in ranks] == [0] * 6
    by_rank = {path.name.split("-")[0]: spools.one(path.read_bytes()) for path in (tmp_path / "spool").iterdir()}
    assert {rank: [point.value for point in found["loss"]] for rank, found in by_rank.items()} == {
        str(rank): [rank * 1000 + step for step in range(200)] for rank in range(6)
    }


@each_python
def test_killed_while_it_writes(version: str, tmp_path: Path, job_env: Mapping[str, str]) -> None:
    """With -9 in a loop that tells how far it has come: everything it told of is there, in order, and no half frame harms."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import itertools, os
        from azureml.core import Run
        run = Run.get_context()
        for step in itertools.count():
            run.log("loss", step, step=step)
            if step % 10 == 0:
                run.log_row("row", x=step)
                os.write(1, b"%d\\n" % step)
        """)
    )
    with subprocess.Popen([python(version), str(script)], env=dict(job_env), stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        told = -1
        while told < 2000:
            told = int(writer.stdout.readline())
        os.kill(writer.pid, signal.SIGKILL)
        told = int(([told, *writer.stdout.read().split(b"\n")[:-1]])[-1])
    (path,) = (tmp_path / "spool").iterdir()
    found = spools.one(path.read_bytes(), whole=False)
    steps = [point.value for point in found["loss"]]
    assert steps == list(range(len(steps))) and len(steps) > told
    assert [point.value["x"] for point in found["row"]][: told // 10 + 1] == list(range(0, told + 1, 10))


@each_python
def test_disk_full(version: str, tmp_path: Path, job_env: Mapping[str, str], run_script: RunScript) -> None:
    """A limit on the size of files, as small as a header and a few records: new spools, then drops, then on again."""
    text = """
        import os, resource
        from azureml.core import Run

        def limit(size):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        run = Run.get_context()
        limit(300)
        for step in range(20):
            run.log("kept", step, step=step)
        limit(10)
        for step in range(20):
            run.log("lost", step, step=step)
        limit(resource.RLIM_INFINITY)
        run.log("kept", 20, step=20)
    """
    done = run_script(python(version), text, job_env)
    assert done.stderr.count("cannot write metrics") == 1
    found = spools.values(tmp_path / "spool")
    assert sorted(found["kept"]) == list(range(21))
    assert found["roost.dropped"] == [20]
    assert "lost" not in found


@each_python
def test_offline(version: str, tmp_path: Path, job_env: dict[str, str], run_script: RunScript) -> None:
    env = {name: value for name, value in job_env.items() if not name.startswith("ROOST_")}
    env["PYTHONIOENCODING"] = "ascii"
    text = """
        from azureml.core import Run
        from azureml.core.run import _OfflineRun
        from azureml.exceptions import RunEnvironmentException

        run = Run.get_context()
        assert type(run) == _OfflineRun and not isinstance(run, Run) and run.id.startswith("OfflineRun_")
        assert run.id != Run.get_context().id and not hasattr(run, "experiment")
        run.log("gr\\u00f6\\u00dfe", 0.5)
        try:
            Run.get_context(allow_offline=False)
        except RunEnvironmentException as error:
            print(error.message)
    """
    said = run_script(python(version), text, env).stdout
    assert said.startswith("Attempted to log scalar metric gr\\xf6\\xdfe:\n0.5\n") and "There is no run here" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["library", "script.py"]


@each_python
def test_names_that_need_the_sdk(version: str, job_env: Mapping[str, str], run_script: RunScript) -> None:
    """Importable, so that a script's import line passes; used, they say what is missing."""
    text = """
        from azureml.core import Experiment, ScriptRunConfig, Workspace
        from azureml.core.workspace import Workspace as Same
        from azureml.exceptions import UserErrorException

        assert not isinstance(3, Workspace) and Same.__name__ == "Workspace"
        for use in (lambda: Workspace.from_config(), lambda: Experiment("ws", "x"), lambda: ScriptRunConfig(".")):
            try:
                use()
            except UserErrorException as error:
                print(error)
            else:
                raise AssertionError(use)
    """
    said = run_script(python(version), text, job_env).stdout
    assert said.count("needs the Roost SDK") == 3
    assert "Workspace.from_config" in said and "Python 3.11 or later" in said
