"""What every engine promises (`roost/engines/base.py`), tried with real agents while no control plane answers: such an agent
runs its script, keeps what it made, and waits for as long as the run's folder is there.

An engine subclasses `EngineContract` and gives two fixtures: `make_engine`, home → engine, whose agents have their folders in
`home/runs` on this machine and are let in at once; and `abilities`, what its module returns. One that queues subclasses
`QueueContract` too. This file needs `roost` and `pytest` and nothing else of the tests: engines of others can have a copy.
"""

import contextlib
import json
import shutil
import sys
import threading
import time
from dataclasses import replace

import pytest

from roost.domain import names
from roost.domain.errors import Conflict, InvalidInput, RoostError
from roost.domain.plans import Access, Errand, Plan
from roost.domain.runs import RunSpec
from roost.engines.base import AgentState, Waiting

NOWHERE = Access(url="http://127.0.0.1:9", token="8f1c2d")
"""Nobody listens there."""


def eventually(condition, seconds=20.0):
    """Waits for another process: there is nothing else to await."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)
    return found


class _Homes:
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

    def is_there(self, home, plan):
        """Whether the run's script has begun."""
        ready = home / f"{plan.run_id}.ready"
        return ready.exists() and bool(ready.read_text())


class EngineContract(_Homes):
    def begin(self, engine, home, plan, access=NOWHERE):
        """Starts a run and waits until its script is there. `start` may return before or after the run's end."""
        answers = []

        def start():
            try:
                answers.append(engine.start(plan, access))
            except RoostError as error:
                answers.append(error)

        thread = threading.Thread(target=start)
        thread.start()
        eventually(lambda: self.is_there(home, plan) or any(isinstance(a, RoostError) for a in answers))
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

    def handle(self, plan, thread, answers):
        """Of a run whose script is there. An engine whose `start` returns at the run's end knows another way to it."""
        thread.join(30)
        [handle] = answers
        return handle

    def test_a_running_agent_is_alive_for_any_engine_object_until_it_is_stopped(self, engine, home, make_engine):
        plan = self.plan(home)
        running = self.begin(engine, home, plan)
        handle = self.handle(plan, *running)
        assert engine.status(handle) is AgentState.ALIVE
        with contextlib.closing(make_engine(home)) as other:
            assert other.status(handle) is AgentState.ALIVE
        engine.stop(handle)
        engine.stop(handle)
        eventually((home / "runs" / plan.run_id / "ended.json").exists)
        self.end(home, plan, *running)
        eventually(lambda: engine.status(handle) is AgentState.GONE)

    def test_an_agent_gets_its_token_and_where_the_disk_is_shared_the_path(self, engine, home, abilities):
        plan = self.plan(home)
        access = replace(NOWHERE, endpoint_file="/control/server.json" if abilities.shared_disk else "")
        running = self.begin(engine, home, plan, access)
        told = json.loads((home / "runs" / plan.run_id / "plan.json").read_bytes())["access"]
        assert (told["token"], told.get("endpoint_file", "")) == (access.token, access.endpoint_file)
        self.end(home, plan, *running)

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

    def test_a_home_that_cannot_be_written_raises_and_starts_nothing(self, make_engine, abilities, tmp_path):
        home = tmp_path / "home"
        home.mkdir()
        (home / "runs").write_text("in the way")
        plan = self.plan(home)
        with contextlib.closing(make_engine(home)) as engine:
            if abilities.queues:  # nobody looks at the node before the queue lets the agent in
                handle = engine.start(plan, NOWHERE)
                eventually(lambda: engine.status(handle) is AgentState.GONE)
            else:
                with pytest.raises(RoostError, match="runs"):
                    engine.start(plan, NOWHERE)
        assert not self.is_there(home, plan)

    def test_the_plan_is_for_the_owner_s_eyes(self, engine, home):
        plan = self.plan(home)
        running = self.begin(engine, home, plan)
        folder = home / "runs" / plan.run_id
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / "plan.json").stat().st_mode & 0o777 == 0o600
        self.end(home, plan, *running)


class QueueContract(_Homes):
    """An engine that queues. Here `make_engine` gives one that holds every agent back, and `let_in(home, handle)` lets one in."""

    @pytest.fixture
    def held(self, engine, home):
        """A plan whose agent waits, and its handle."""
        plan = self.plan(home)
        return plan, engine.start(plan, NOWHERE)

    def test_an_agent_waits_with_words_until_it_is_let_in(self, engine, home, held, let_in):
        plan, handle = held
        state = engine.status(handle)
        assert isinstance(state, Waiting) and state.why
        assert not self.is_there(home, plan)
        let_in(home, handle)
        eventually(lambda: self.is_there(home, plan))
        eventually(lambda: engine.status(handle) is AgentState.ALIVE)

    def test_started_again_while_it_waits_it_is_the_same_one(self, engine, home, held, let_in):
        plan, handle = held
        assert engine.start(plan, replace(NOWHERE, token="another")) == handle
        let_in(home, handle)
        eventually(lambda: self.is_there(home, plan))
        eventually(lambda: engine.status(handle) is AgentState.ALIVE)
        with pytest.raises(Conflict, match=plan.run_id):
            engine.start(plan, NOWHERE)

    def test_stopped_while_it_waits_it_never_starts(self, engine, home, held, let_in, make_engine):
        plan, handle = held
        engine.stop(handle)
        engine.stop(handle)
        eventually(lambda: engine.status(handle) is AgentState.GONE)
        let_in(home, handle)
        other = self.plan(home)
        last = engine.start(other, NOWHERE)
        let_in(home, last)
        eventually(lambda: self.is_there(home, other))
        assert not self.is_there(home, plan)
        assert engine.status(handle) is AgentState.GONE

    def test_it_waits_while_no_engine_object_is_there(self, engine, home, held, let_in, make_engine):
        plan, handle = held
        engine.close()
        with contextlib.closing(make_engine(home)) as other:
            assert isinstance(other.status(handle), Waiting)
            let_in(home, handle)
            eventually(lambda: self.is_there(home, plan))
            eventually(lambda: other.status(handle) is AgentState.ALIVE)
