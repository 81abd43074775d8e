"""The engine of other machines, with this one as its host: the promises of engines, and hosts that do not answer."""

import contextlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contracts.engine import NOWHERE, EngineContract, eventually

from roost.domain.errors import InvalidInput, Unavailable
from roost.domain.hosts import Host, Hosts
from roost.domain.plans import Errand, Plan
from roost.domain.runs import RunSpec
from roost.engines.base import Abilities, AgentState
from roost.engines.hosts import HostsEngine

PLAN = Plan(run_id="r_1_0a", workspace="ws1", experiment="exp", spec=RunSpec(command=("true",)))


def host(home: Path, address: str = "127.0.0.1", *command: str) -> Host:
    return Host(address=address, command=command or ("env",), python=sys.executable, home=str(home))


class TestHostsEngine(EngineContract):
    @pytest.fixture
    def make_engine(self):
        return lambda home: HostsEngine(Hosts(hosts=(host(home),)))

    @pytest.fixture
    def abilities(self):
        return Abilities(hosts=("127.0.0.1",))

    def test_an_agent_outlives_the_way_to_its_host(self, home, make_engine):
        plan = self.plan(home)
        with contextlib.closing(make_engine(home)) as engine:
            thread, (handle,) = self.begin(engine, home, plan)
            thread.join()
        with contextlib.closing(make_engine(home)) as other:
            assert other.status(handle) is AgentState.ALIVE
            other.stop(handle)
            eventually((home / "runs" / plan.run_id / "ended.json").exists)
            self.end(home, plan, thread, [handle])
            eventually(lambda: other.status(handle) is AgentState.GONE)

    def test_the_agent_is_told_the_way_from_there(self, home):
        access = replace(NOWHERE, url="http://127.0.0.1:8")
        plan = self.plan(home)
        with contextlib.closing(HostsEngine(Hosts(hosts=(host(home),), url="http://127.0.0.1:9"))) as engine:
            engine.start(plan, access)
        told = json.loads((home / "runs" / plan.run_id / "plan.json").read_bytes())["access"]
        assert (told["url"], told.get("endpoint_file", "")) == ("http://127.0.0.1:9", "")


def test_a_build_is_the_first_host_s_and_anything_else_needs_its_own(tmp_path: Path) -> None:
    engine = HostsEngine(Hosts(hosts=(host(tmp_path, "10.0.0.2"), host(tmp_path, "10.0.0.3"))))
    assert engine._place(replace(PLAN, errand=Errand.BUILD)) == "10.0.0.2"
    assert engine._place(replace(PLAN, address="10.0.0.3")) == "10.0.0.3"
    with pytest.raises(InvalidInput, match=r"No host has the address 127.0.0.1"):
        engine.start(PLAN, NOWHERE)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("/nowhere/ssh",), "No such file or directory"),
        (("false",), "its process ended with 1"),
        (("printf", '{"version": "0.0.1"}\\n'), "it has Roost 0.0.1"),
    ],
)
def test_a_host_that_does_not_answer(tmp_path: Path, command: tuple[str, ...], words: str) -> None:
    with contextlib.closing(HostsEngine(Hosts(hosts=(host(tmp_path, "127.0.0.1", *command),)))) as engine:
        with pytest.raises(Unavailable, match=words):
            engine.start(PLAN, NOWHERE)
        with pytest.raises(Unavailable, match="did not answer a moment ago"):
            engine.start(PLAN, NOWHERE)
        handle = json.dumps({"host": "127.0.0.1", "handle": "{}"})
        assert engine.status(handle) is AgentState.UNKNOWN
        engine.stop(handle)
        assert engine.status(json.dumps({"host": "10.0.0.9", "handle": "{}"})) is AgentState.UNKNOWN


def test_a_process_on_a_host_that_was_killed_is_started_again(tmp_path: Path) -> None:
    handle = json.dumps({"host": "127.0.0.1", "handle": json.dumps({"run_id": "none", "pid": 0, "started": 0})})
    with contextlib.closing(HostsEngine(Hosts(hosts=(host(tmp_path),)))) as engine:
        assert engine.status(handle) is AgentState.GONE
        process = engine._channels["127.0.0.1"]._process
        assert process is not None
        process.kill()
        process.wait()
        assert engine.status(handle) is AgentState.GONE
