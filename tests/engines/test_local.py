"""The local engine beyond the contract: kills of each of its processes."""

import contextlib
import json
import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contracts.engine import NOWHERE, EngineContract, eventually

from roost.domain.plans import Errand
from roost.engines import local
from roost.engines.base import AgentState
from roost.engines.local import LocalEngine


def alive(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


class TestLocalEngine(EngineContract):
    @pytest.fixture
    def make_engine(self):
        return LocalEngine

    @pytest.fixture
    def abilities(self):
        return local.abilities(None)

    def started(self, engine, home, plan):
        """The handle, and the pids of keeper, agent and script."""
        thread, answers = self.begin(engine, home, plan)
        thread.join()
        keeper = json.loads(answers[0])["pid"]
        agent = json.loads((home / "runs" / plan.run_id / "agent.json").read_text())["pid"]
        return answers[0], keeper, agent, int((home / f"{plan.run_id}.ready").read_text())

    def test_an_agent_is_alive_while_its_script_runs(self, engine, home, make_engine):
        handle, *_ = self.started(engine, home, self.plan(home))
        assert engine.status(handle) is AgentState.ALIVE
        with contextlib.closing(make_engine(home)) as other:
            assert other.status(handle) is AgentState.ALIVE

    def test_agents_stay_when_the_engine_closes(self, home, make_engine):
        with contextlib.closing(make_engine(home)) as engine:
            handle, _, _, script = self.started(engine, home, self.plan(home))
        assert alive(script)
        with contextlib.closing(make_engine(home)) as other:
            assert other.status(handle) is AgentState.ALIVE

    @pytest.mark.slow
    def test_stop_ends_the_script_politely(self, engine, home):
        saved = home / "saved"
        code = (
            f"import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path({str(saved)!r}).touch(), "
            "sys.exit(0))); pathlib.Path('armed').touch(); time.sleep(600)"
        )
        plan = self.plan(home, code)
        handle, _, agent, script = self.started(engine, home, plan)
        eventually((home / "runs" / plan.run_id / "work" / "armed").exists)
        engine.stop(handle)
        engine.stop(handle)
        eventually(lambda: not alive(script))
        assert saved.exists()
        ended = eventually((home / "runs" / plan.run_id / "ended.json").exists)
        assert ended
        assert alive(agent)  # nobody has taken what the run made: it keeps trying
        assert engine.status(handle) is AgentState.ALIVE

    @pytest.mark.slow
    def test_a_keeper_that_was_killed_leaves_the_agent_alive(self, engine, home):
        handle, keeper, agent, script = self.started(engine, home, self.plan(home))
        os.kill(keeper, signal.SIGKILL)
        eventually(lambda: not alive(keeper))
        assert alive(agent)
        assert alive(script)
        assert engine.status(handle) is AgentState.ALIVE
        engine.stop(handle)
        eventually(lambda: not alive(script))

    @pytest.mark.slow
    def test_a_killed_agent_is_survived_by_its_keeper_which_ends_the_script(self, engine, home):
        handle, keeper, agent, script = self.started(engine, home, self.plan(home))
        os.kill(agent, signal.SIGKILL)
        eventually(lambda: not alive(script))
        assert alive(keeper)  # its salvage pass waits for a control plane
        assert engine.status(handle) is AgentState.ALIVE

    @pytest.mark.slow
    def test_keeper_and_agent_killed_are_gone_though_the_script_lives(self, engine, home):
        handle, keeper, agent, script = self.started(engine, home, self.plan(home))
        os.kill(keeper, signal.SIGKILL)
        os.kill(agent, signal.SIGKILL)
        eventually(lambda: engine.status(handle) is AgentState.GONE)
        assert alive(script)
        os.kill(script, signal.SIGKILL)

    @pytest.mark.slow
    def test_a_warm_process_that_died_is_replaced(self, engine, home):
        first, *_ = self.started(engine, home, self.plan(home))
        warm = engine._warm._process
        warm.kill()
        warm.wait()
        second, *_ = self.started(engine, home, self.plan(home))
        assert engine.status(first) is engine.status(second) is AgentState.ALIVE

    def test_a_script_is_not_started_where_an_agent_died_before(self, engine, home):
        plan = self.plan(home)
        agent = home / "runs" / plan.run_id / "agent.json"
        agent.parent.mkdir(parents=True)
        agent.write_text(json.dumps({"pid": 0, "started": 0, "errand": "run"}))
        handle = engine.start(plan, NOWHERE)
        eventually(lambda: json.loads(agent.read_text())["errand"] == "salvage")
        engine.stop(handle)  # what ships is left alone
        assert engine.status(handle) is AgentState.ALIVE
        assert not (home / f"{plan.run_id}.ready").exists()

    def test_the_handle_of_another_life_is_gone(self, engine):
        assert engine.status(json.dumps({"pid": os.getpid(), "started": 1, "run_id": "exp_9_zz"})) is AgentState.GONE

    def test_a_copy_of_the_home_leaves_the_processes_of_the_first_alone(self, engine, home, make_engine, tmp_path):
        """Its rows, handles and folders name the same runs."""
        plan = self.plan(home)
        handle, keeper, agent, script = self.started(engine, home, plan)
        copied = tmp_path / "copied"
        shutil.copytree(home, copied, ignore=shutil.ignore_patterns("*.sock"))
        with contextlib.closing(make_engine(copied)) as other:
            assert other.status(handle) is AgentState.GONE
            other.stop(handle)
            other._insist(handle)  # what `stop` does after its grace
            salvage = other.start(replace(plan, errand=Errand.SALVAGE), NOWHERE)
            eventually(lambda: "Salvage: 0 processes" in (copied / "runs" / plan.run_id / "agent.log").read_text())
            assert other.status(salvage) is AgentState.ALIVE
            assert engine.status(salvage) is AgentState.ALIVE  # its own agent, of the same run
            assert alive(keeper)
            assert alive(agent)
            assert alive(script)
        shutil.rmtree(copied)

    @pytest.mark.slow
    def test_twenty_at_once(self, engine, home):
        plans = [self.plan(home, code="pass") for _ in range(20)]
        handles = [engine.start(plan, NOWHERE) for plan in plans]
        for plan in plans:
            eventually((home / "runs" / plan.run_id / "ended.json").exists)
        assert {engine.status(handle) for handle in handles} == {AgentState.ALIVE}
