import os
import sys
import threading
from dataclasses import replace

import pytest

from roost.agent.folder import Folder
from roost.agent.preparing import job_library
from roost.agent.preparing.prepare import check, variables
from roost.domain.errors import InvalidInput, NotFound
from roost.domain.plans import Access, Plan
from roost.domain.runs import RunSpec

ACCESS = Access(url="http://127.0.0.1:1", token="8f1c2d")


def plan(**spec):
    return Plan(run_id="exp_1_ab", workspace="ws1", experiment="exp", spec=RunSpec(**spec))


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path / "runs" / "exp_1_ab")
    made.work.mkdir(parents=True)
    return made


class TestVariables:
    def make(self, folder, own=None, **spec):
        given = plan(interpreter="/env/bin/python", **spec)
        return variables(given, ACCESS, folder, folder.home / "lib", folder.root / "door", own or {"PATH": "/usr/bin"})

    def test_what_the_job_library_needs_is_there(self, folder):
        env = self.make(folder)
        assert env["ROOST_RUN_ID"] == env["AZUREML_RUN_ID"] == "exp_1_ab"
        assert env["ROOST_MARK"] == folder.mark
        assert env["ROOST_SPOOL"] == str(folder.spool)
        assert env["ROOST_DOOR"] == str(folder.root / "door")
        assert env["AZUREML_ARM_WORKSPACE_NAME"] == "ws1"
        assert env["AZUREML_ARM_PROJECT_NAME"] == "exp"
        assert env["PYTHONUNBUFFERED"] == "1"

    def test_secrets_stay_with_the_agent(self, folder):
        env = self.make(folder, {"ROOST_TOKEN": "t", "ROOST_URL": "u", "LC_KEPT": "k"})
        assert "ROOST_TOKEN" not in env
        assert "ROOST_URL" not in env
        assert env["LC_KEPT"] == "k"
        assert "8f1c2d" not in "".join(env.values())

    def test_the_interpreter_and_the_library_come_first(self, folder):
        named = {"PYTHONPATH": "/mine", "ROOST_PASS": "PYTHONPATH"}
        env = self.make(folder, {"PATH": "/usr/bin", **named})
        assert env["PATH"] == f"/env/bin{os.pathsep}/usr/bin"
        assert env["PYTHONPATH"] == f"{folder.home / 'lib'}{os.pathsep}/mine"
        assert self.make(folder)["PYTHONPATH"] == str(folder.home / "lib")

    def test_a_notebook_that_started_the_control_plane_leaves_no_trace(self, folder):
        kernel = {
            "PATH": "/people/ann/.venv/bin:/usr/bin",
            "VIRTUAL_ENV": "/people/ann/.venv",
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "JPY_PARENT_PID": "1",
            "PYTHONPATH": "/editor",
            "PYTHONBREAKPOINT": "editor.stop",
            "CONDA_PREFIX": "/opt/conda",
        }
        assert self.make(folder, kernel) == self.make(folder, {"PATH": "/usr/bin"})

    def test_an_image_keeps_its_own(self, folder):
        image = {
            "PATH": "/opt/venv/bin:/usr/bin",
            "VIRTUAL_ENV": "/opt/venv",
            "PYTHONPATH": "/app",
            "MPLBACKEND": "Agg",
        }
        given = replace(plan(interpreter="python"), image="sha256:1")
        env = variables(given, ACCESS, folder, folder.home / "lib", folder.root / "door", image)
        assert (env["VIRTUAL_ENV"], env["MPLBACKEND"]) == ("/opt/venv", "Agg")
        assert env["PATH"].endswith("/opt/venv/bin:/usr/bin") and env["PYTHONPATH"].endswith(":/app")

    def test_the_run_s_variables_win_over_the_node_s_and_not_over_ours(self, folder):
        mine = {"A": "run", "PYTHONPATH": "/theirs", "ROOST_RUN_ID": "other"}
        env = self.make(folder, {"A": "node"}, environment_variables=mine)
        assert env["A"] == "run"
        assert env["PYTHONPATH"].endswith("/theirs")
        assert env["ROOST_RUN_ID"] == "exp_1_ab"


class TestCheck:
    def test_a_script_that_is_there_passes(self, folder):
        (folder.work / "train.py").touch()
        check(folder, RunSpec(script="train.py", interpreter=sys.executable))

    def test_a_missing_script_is_named_with_its_neighbours(self, folder):
        (folder.work / "tran.py").touch()
        with pytest.raises(NotFound, match=r"'train.py' is not in the snapshot") as caught:
            check(folder, RunSpec(script="train.py", interpreter=sys.executable))
        assert "tran.py" in caught.value.hint

    def test_a_script_outside_is_refused(self, folder):
        with pytest.raises(InvalidInput, match="climbs out"):
            check(folder, RunSpec(script="../../plan.json", interpreter=sys.executable))

    @pytest.mark.parametrize("mode", [None, 0o644])
    def test_an_interpreter_that_cannot_be_used_is_named(self, folder, mode):
        (folder.work / "train.py").touch()
        python = folder.root / "python"
        if mode is not None:
            python.touch(mode)
        with pytest.raises(NotFound, match=r"interpreter .*python"):
            check(folder, RunSpec(script="train.py", interpreter=str(python)))


class TestJobLibrary:
    def test_it_holds_the_packages_and_imports(self, tmp_path):
        folder = job_library.ensure(tmp_path)
        assert folder.parent == tmp_path / "cache" / "job"
        assert (folder / "roost_job" / "tracking" / "records.py").is_file()

    def test_eight_at_once_make_one(self, tmp_path):
        found = []
        threads = [threading.Thread(target=lambda: found.append(job_library.ensure(tmp_path))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(found)) == 1
        assert [path.name for path in (tmp_path / "cache" / "job").iterdir()] == [job_library.name()]
