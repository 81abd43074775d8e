import pytest

from roost.agent import environments
from roost.agent.folder import Folder
from roost.agent.prepare import variables
from roost.domain.plans import Access, Plan
from roost.domain.runs import RunSpec

LOCK = "cd" * 32


class Nobody:
    """A control plane and orders that must not be asked."""

    def __getattr__(self, name):
        raise AssertionError(f"asked for {name}")


def plan(lock):
    spec = RunSpec(script="train.py", interpreter="/usr/bin/python3")
    return Plan(run_id="exp_1_ab", workspace="ws1", experiment="exp", spec=spec, lock=lock)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "runs" / "exp_1_ab")


def test_without_a_lock_the_interpreter_stays(folder):
    assert environments.install(folder, plan(""), Nobody(), Nobody()) == plan("")


def test_a_prefix_that_is_there_needs_nobody(folder):
    prefix = folder.home / "envs" / LOCK
    prefix.mkdir(parents=True)
    (prefix / ".ready").touch()
    found = environments.install(folder, plan(LOCK), Nobody(), Nobody())
    assert found.spec.interpreter == str(prefix / "bin" / "python")
    own = {"PATH": "/usr/bin", "VIRTUAL_ENV": "/server", "PYTHONHOME": "/server"}
    env = variables(found, Access(url="", token=""), folder, folder.home, folder.root, own)
    assert env["VIRTUAL_ENV"] == str(prefix)
    assert env["PATH"].startswith(f"{prefix}/bin:")
    assert "PYTHONHOME" not in env
