"""What every engine promises (`roost/engines/base.py`), tried with real agents while no control plane answers: such an agent
runs its script, keeps what it made, and waits for as long as the run's folder is there.

An implementation subclasses `EngineContract` and gives a `make_engine` fixture: home → engine.
"""

import contextlib
import shutil
import sys
import threading
import time

import pytest

from roost.domain import names
from roost.domain.errors import Conflict, InvalidInput, RoostError
from roost.domain.plans import Access, Errand, Plan
from roost.domain.runs import RunSpec
from roost.engines.base import AgentState

NOWHERE = Access(url="http://127.0.0.1:9", token="8f1c2d")
"""Nobody listens there."""


def eventually(condition, seconds=20.0):
    """Waits for another process: there is nothing else to await."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)
    return found


class EngineContract:
    """Each test has its own home; whatever agents are left at its end go when their folders do."""

    @pytest.fixture
    def home(self, tmp_path):
        home = tmp_path / "home"
        home.mkdir()
        yield home
        shutil.rmtree(home / "runs", ignore_errors=True)

    @pytest.fixture
    def engine(self, make_engine, home):
        with contextlib.closing(make_engine(home)) as engine:
            yield engine

    def plan(self, home, code="import time; time.sleep(600)"):
        """A run whose script says that it is there and then does as told. Its id is its processes' mark, so no two are alike."""
        run_id = names.new_run_id("exp", 1)
        ready = home / f"{run_id}.ready"
        code = f"import os, pathlib; pathlib.Path({str(ready)!r}).write_text(str(os.getpid())); {code}"
        return Plan(
            run_id=run_id, workspace="ws1", experiment="exp", spec=RunSpec(command=(sys.executable, "-c", code))
        )

    def begin(self, engine, home, plan):
        """Starts a run and waits until its script is there. `start` may return before or after the run's end."""
        answers = []

        def start():
            try:
                answers.append(engine.start(plan, NOWHERE))
            except RoostError as error:
                answers.append(error)

        thread = threading.Thread(target=start)
        thread.start()
        ready = home / f"{plan.run_id}.ready"
        eventually(lambda: (ready.exists() and ready.read_text()) or any(isinstance(a, RoostError) for a in answers))
        assert not any(isinstance(answer, RoostError) for answer in answers), answers
        return thread, answers

    def end(self, home, plan, thread, answers):
        """Takes the run's folder away: its agent ends, and `start` has returned by then at the latest."""
        shutil.rmtree(home / "runs" / plan.run_id, ignore_errors=True)
        thread.join(30)
        assert not thread.is_alive()
        [handle] = answers
        assert isinstance(handle, str)
        return handle

    def test_a_started_agent_ends_and_is_gone(self, engine, home):
        plan = self.plan(home)
        handle = self.end(home, plan, *self.begin(engine, home, plan))
        eventually(lambda: engine.status(handle) is AgentState.GONE)

    def test_a_second_start_is_refused_and_leaves_the_first_alone(self, engine, home):
        plan = self.plan(home)
        running = self.begin(engine, home, plan)
        before = (home / "runs" / plan.run_id / "plan.json").read_bytes()
        with pytest.raises(Conflict, match=plan.run_id):
            engine.start(Plan(**{**vars(plan), "errand": Errand.SALVAGE}), NOWHERE)
        assert (home / "runs" / plan.run_id / "plan.json").read_bytes() == before
        self.end(home, plan, *running)

    def test_another_engine_object_understands_the_handle(self, engine, home, make_engine):
        plan = self.plan(home)
        handle = self.end(home, plan, *self.begin(engine, home, plan))
        with contextlib.closing(make_engine(home)) as other:
            eventually(lambda: other.status(handle) is AgentState.GONE)
            other.stop(handle)

    def test_stopping_what_is_gone_is_safe_twice(self, engine, home):
        plan = self.plan(home)
        handle = self.end(home, plan, *self.begin(engine, home, plan))
        eventually(lambda: engine.status(handle) is AgentState.GONE)
        engine.stop(handle)
        engine.stop(handle)

    def test_a_run_id_that_is_a_path_is_refused(self, engine, home):
        with pytest.raises(InvalidInput):
            engine.start(Plan(**{**vars(self.plan(home)), "run_id": "../escape"}), NOWHERE)
        assert not (home / "escape").exists()

    def test_a_home_that_cannot_be_written_raises_and_starts_nothing(self, make_engine, tmp_path):
        home = tmp_path / "home"
        home.mkdir()
        (home / "runs").write_text("in the way")
        with contextlib.closing(make_engine(home)) as engine, pytest.raises(RoostError, match="runs"):
            engine.start(self.plan(home), NOWHERE)

    def test_the_plan_is_for_the_owner_s_eyes(self, engine, home):
        plan = self.plan(home)
        running = self.begin(engine, home, plan)
        folder = home / "runs" / plan.run_id
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / "plan.json").stat().st_mode & 0o777 == 0o600
        self.end(home, plan, *running)
