"""Whole runs through a real control plane: what a script does, and what is kept of it."""

import time

import pytest
from tests.contracts.engine import eventually

from roost.agent.folder import Folder
from roost.agent.processes import marked
from roost.domain.runs import Reason, RunStatus

pytestmark = pytest.mark.slow


def test_a_script_runs_and_what_it_made_is_kept(plane):
    run = plane.run(
        """
        import pathlib, sys
        print("hello", flush=True)
        sys.stderr.write("and stderr\\n")
        pathlib.Path("outputs/model.txt").write_text("weights")
        pathlib.Path("logs/train.log").write_text("epoch 1")
        """
    )
    assert (run.status, run.reason, run.exit_code) == (RunStatus.COMPLETED, Reason.DONE, 0)
    assert plane.names(run) == ["logs/train.log", "outputs/model.txt", "system_logs/agent.log", "user_logs/std_log.txt"]
    assert plane.log(run) == "hello\nand stderr\n"
    assert plane.read(run, "outputs/model.txt") == b"weights"
    assert run.started_at < run.ended_at
    eventually(lambda: not plane.folder(run).exists())


def test_the_script_has_what_it_expects_around_it(plane):
    sources = {
        "train.py": """
            import os, sys, roost_job
            print(sys.argv[1:])
            print(os.getcwd().endswith("/work"), sorted(os.listdir(".")), sys.stdin.read() == "")
            print(os.environ["ROOST_RUN_ID"] == os.environ["AZUREML_RUN_ID"], os.environ["GREETING"])
            print("/cache/job/" in roost_job.__file__)
            print({name: value for name, value in os.environ.items() if "TOKEN" in name})
        """,
        "pkg/data.txt": "x",
    }
    arguments = ("$GREETING", "${ROOST_RANK}", "$NOT_THERE", "a b", "`id`")
    run = plane.submit(sources, arguments=arguments, environment_variables={"GREETING": "good morning"})
    assert plane.wait(run).status is RunStatus.COMPLETED, plane.log(run)
    assert plane.log(run).splitlines() == [
        "['good morning', '0', '$NOT_THERE', 'a b', '`id`']",
        "True ['logs', 'outputs', 'pkg', 'train.py'] True",
        "True good morning",
        "True",
        "{'AZUREML_RUN_TOKEN': 'kept-by-the-agent'}",
    ]


def test_a_command_instead_of_a_script(plane):
    run = plane.wait(plane.submit({"go.sh": "echo from the shell: $1"}, command=("sh", "go.sh", "$ROOST_RUN_ID")))
    assert run.status is RunStatus.COMPLETED
    assert plane.log(run) == f"from the shell: {run.id}\n"


def test_a_text_for_the_shell(plane, monkeypatch):
    text = "for word in a 'b c'; do echo \"$word\"; done && echo '$HOME' | tr -d '\\n' && exit 3"
    run = plane.wait(plane.submit({"a.txt": ""}, command=(text,), shell=True))
    assert (run.status, run.exit_code) == (RunStatus.FAILED, 3)
    assert plane.log(run) == "a\nb c\n$HOME"


def test_a_failing_script_tells_its_last_lines_and_keeps_its_outputs(plane):
    run = plane.run(
        """
        import pathlib
        pathlib.Path("outputs/partial.txt").write_text("half")
        print("epoch 1")
        raise ValueError("bad learning rate")
        """
    )
    assert (run.status, run.reason, run.exit_code) == (RunStatus.FAILED, Reason.EXIT_CODE, 1)
    assert run.message.startswith("The script ended with exit code 1.\nTraceback (most recent call last):")
    assert run.message.endswith("ValueError: bad learning rate")
    assert "epoch 1" not in run.message
    assert plane.read(run, "outputs/partial.txt") == b"half"


def test_a_script_that_was_killed_names_the_signal(plane):
    run = plane.run("import os, signal; print('before', flush=True); os.kill(os.getpid(), signal.SIGKILL)")
    assert (run.status, run.exit_code) == (RunStatus.FAILED, -9)
    assert "SIGKILL" in run.message
    assert "memory" in run.message
    assert plane.log(run) == "before\n"


@pytest.mark.parametrize(
    ("spec", "reason", "words"),
    [
        ({"interpreter": "/no/such/python"}, Reason.PREPARE_FAILED, "/no/such/python"),
        ({"interpreter": "/etc/passwd"}, Reason.PREPARE_FAILED, "may not be executed"),
        ({"command": ("no-such-program",)}, Reason.START_FAILED, "'no-such-program' cannot be started"),
        ({"command": ("./train.py",)}, Reason.START_FAILED, "chmod"),
    ],
)
def test_what_cannot_start_says_why(plane, spec, reason, words):
    run = plane.wait(plane.submit({"train.py": "pass"}, **spec))
    assert (run.status, run.reason) == (RunStatus.FAILED, reason)
    assert words in run.message
    assert "system_logs/agent.log" in plane.names(run)


def test_a_time_out_ends_the_tree_and_keeps_the_outputs(plane):
    run = plane.run(
        """
        import pathlib, subprocess, time
        subprocess.Popen(["sleep", "600"], start_new_session=True)
        pathlib.Path("outputs/so_far.txt").write_text("42")
        time.sleep(600)
        """,
        timeout_seconds=1.0,
    )
    assert (run.status, run.reason, run.exit_code) == (RunStatus.FAILED, Reason.TIMED_OUT, -15)
    assert "1 s" in run.message
    assert plane.read(run, "outputs/so_far.txt") == b"42"
    assert marked(Folder(plane.folder(run)).mark) == []


def test_a_cancel_ends_what_ignores_sigterm_and_what_left_the_session(plane):
    run = plane.submit(
        {
            "train.py": """
                import os, pathlib, signal, subprocess, sys, time
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                deaf = "import signal, time; signal.signal(15, 1); time.sleep(600)"
                subprocess.Popen([sys.executable, "-c", deaf], start_new_session=True)
                if os.fork() == 0:
                    os.setsid()
                    if os.fork() == 0:
                        time.sleep(600)
                    os._exit(0)
                pathlib.Path("outputs/checkpoint").write_text("7")
                print("ready", flush=True)
                time.sleep(600)
            """
        }
    )
    eventually(lambda: plane.says(run, "ready"))
    began = time.monotonic()
    plane.cancel(run)
    run = plane.wait(run)
    assert (run.status, run.reason) == (RunStatus.CANCELED, Reason.CANCELED_BY_USER)
    assert time.monotonic() - began < 15  # 10 s for the processes, the rest for a busy machine
    assert marked(Folder(plane.folder(run)).mark) == []
    assert plane.read(run, "outputs/checkpoint") == b"7"


def test_a_cancel_breaks_off_a_long_working_copy(plane):
    """The script is never started, and what came with the snapshot is no output."""
    many = {f"outputs/{number:05d}": b"" for number in range(40_000)}
    run = plane.submit({"train.py": "", **many})
    eventually((plane.folder(run) / "work" / "outputs" / "00100").exists)
    plane.cancel(run)
    run = plane.wait(run)
    assert (run.status, run.reason) == (RunStatus.CANCELED, Reason.CANCELED_BY_USER)
    assert plane.names(run) == ["system_logs/agent.log"]
    assert b"Prepared." not in plane.read(run, "system_logs/agent.log")


def test_a_cancelled_script_may_save_its_work(plane):
    run = plane.submit(
        {
            "train.py": """
                import pathlib, signal, sys, time
                def save(*_):
                    pathlib.Path("outputs/checkpoint").write_text("saved")
                    sys.exit(0)
                signal.signal(signal.SIGTERM, save)
                print("ready", flush=True)
                time.sleep(600)
            """
        }
    )
    eventually(lambda: plane.says(run, "ready"))
    plane.cancel(run)
    assert plane.wait(run).status is RunStatus.CANCELED
    assert plane.read(run, "outputs/checkpoint") == b"saved"


def test_what_a_script_leaves_running_is_ended_with_it(plane):
    run = plane.run(
        """
        import subprocess
        for _ in range(50):
            subprocess.Popen(["sleep", "600"], start_new_session=True)
        """
    )
    assert run.status is RunStatus.COMPLETED
    assert marked(Folder(plane.folder(run)).mark) == []
    assert b"50 processes that the script left" in plane.read(run, "system_logs/agent.log")


def test_logs_arrive_while_the_script_runs(plane, tmp_path):
    gate = tmp_path / "gate"
    run = plane.submit(
        {
            "train.py": f"""
                import os, pathlib, time
                print("first", end="", flush=True)
                pathlib.Path("logs/deep").mkdir()
                pathlib.Path("logs/deep/a.log").write_text("line 1")
                while not os.path.exists({str(gate)!r}):
                    time.sleep(0.01)
                print(" last")
            """
        }
    )
    eventually(lambda: {"user_logs/std_log.txt", "logs/deep/a.log"} <= set(plane.names(run)))
    assert plane.log(run) == "first"
    assert plane.read(run, "logs/deep/a.log") == b"line 1"
    gate.touch()
    assert plane.wait(run).status is RunStatus.COMPLETED
    assert plane.log(run) == "first last\n"


def test_fifty_megabytes_of_log_with_bytes_that_are_no_text(plane):
    run = plane.run(
        """
        import sys
        line = bytes(range(256)) * 4
        for _ in range(50 * 1024):
            sys.stdout.buffer.write(line)
        """
    )
    assert run.status is RunStatus.COMPLETED
    assert plane.read(run, "user_logs/std_log.txt") == bytes(range(256)) * 4 * 50 * 1024


def test_a_thousand_small_outputs(plane):
    run = plane.run(
        """
        import pathlib
        for n in range(1000):
            folder = pathlib.Path("outputs/%d" % (n % 10))
            folder.mkdir(exist_ok=True)
            (folder / ("%d.txt" % n)).write_text(str(n))
        """
    )
    assert run.status is RunStatus.COMPLETED
    kept = [name for name in plane.names(run) if name.startswith("outputs/")]
    assert len(kept) == 1000
    assert plane.read(run, "outputs/3/333.txt") == b"333"


@pytest.mark.parametrize(
    ("script", "kept"),
    [
        ("import os, shutil; shutil.rmtree(os.getcwd())", []),
        ("import os; os.rmdir('outputs'); open('outputs', 'w').write('a file')", ["outputs"]),
        ("import os; os.symlink('/etc', 'outputs/e'); os.symlink('/etc/passwd', 'outputs/p')", []),
        ("import os; open('outputs/a', 'w'); os.symlink('a', 'outputs/b')", ["outputs/a", "outputs/b"]),
        ("import os; open('outputs/a', 'w'); os.symlink('..', 'outputs/up')", ["outputs/a"]),
        ("import os; os.mkfifo('outputs/pipe'); os.mkfifo('logs/pipe'); open('outputs/a', 'w')", ["outputs/a"]),
        ("import os; os.chmod('outputs', 0o500); os.chmod('.', 0o500)", []),
    ],
)
def test_odd_outputs(plane, script, kept):
    run = plane.run(script)
    assert run.status is RunStatus.COMPLETED, run.message
    assert [name for name in plane.names(run) if name.startswith("outputs")] == kept
    eventually(lambda: not plane.folder(run).exists())


def test_an_output_that_cannot_be_kept_is_named_and_the_rest_is_kept(plane):
    run = plane.run("open('outputs/good', 'w'); open('outputs/bad\\nname', 'w')")
    assert (run.status, run.reason) == (RunStatus.FAILED, Reason.UPLOAD_FAILED)
    assert "bad" in run.message
    assert "outputs/good" in plane.names(run)
    assert (plane.folder(run) / "work" / "outputs" / "bad\nname").exists()


def test_metrics_of_the_script_and_of_the_node_arrive(plane):
    run = plane.run(
        """
        import os, sys, time
        from roost_job.tracking.spool import Writer
        writer = Writer(os.environ["ROOST_SPOOL"])
        for step in range(1000):
            writer.number("loss", 1.0 / (step + 1), step)
        time.sleep(2)
        """
    )
    assert run.status is RunStatus.COMPLETED
    assert plane.metrics(run)["loss"] == [1.0 / (step + 1) for step in range(1000)]
    path = f"/api/runs/{run.id}/metrics/summary"
    measured = {metric["name"] for metric in plane.client.call("GET", path, params={"space": "system"})["metrics"]}
    assert {"node/cpu_percent", "node/memory_bytes", "run/memory_bytes", "run/processes"} <= measured


def test_a_node_that_does_not_share_the_control_plane_s_disk(own_plane):
    plane = own_plane
    for mark in (plane.home / "blobs").glob(".roost-*"):
        mark.unlink()
    sources = {
        "train.py": """
            open("outputs/big", "wb").write(b"x" * 3_000_000)
            open("outputs/copy", "w").write(open("a/b").read())
        """,
        "a/b": "small",
        "a/large": b"y" * 1_000_000,
    }
    for _ in range(2):  # the second time its snapshot is in the node's cache
        run = plane.wait(plane.submit(sources))
        assert run.status is RunStatus.COMPLETED, run.message
        assert plane.read(run, "outputs/big") == b"x" * 3_000_000
        assert plane.read(run, "outputs/copy") == b"small"
    assert any((plane.home / "cache" / "blobs").iterdir())


def test_an_upload_that_is_refused_keeps_nothing_else_back(plane):
    run = plane.run(
        """
        from azureml.core import Run
        run = Run.get_context()
        open("mine.txt", "w").write("x")
        try:
            run.upload_file("azureml-logs/70_driver_log.txt", "mine.txt")
        except Exception as error:
            print(type(error).__name__, str(error).splitlines()[0])
        run.upload_file("notes/mine.txt", "mine.txt")
        open("outputs/model.txt", "w").write("weights")
        """
    )
    assert run.status is RunStatus.COMPLETED
    assert "'azureml-logs/70_driver_log.txt' is another name of 'user_logs/std_log.txt'" in plane.log(run)
    assert {"notes/mine.txt", "outputs/model.txt"} <= set(plane.names(run))
