"""An engine that does what a test tells it to, and remembers what it was asked."""

import threading

from roost.domain.errors import Conflict
from roost.domain.plans import Access, Errand, Plan, seat
from roost.engines.base import AgentState, Waiting


class ScriptedEngine:
    """Keeps the promises of `engines.base.Engine`: a node refuses a second start while an agent is there."""

    def __init__(self) -> None:
        self.started: list[Plan] = []
        self.access: list[Access] = []
        self.stopped: list[str] = []
        self.states: dict[str, AgentState | Waiting] = {}
        self.holds = ""
        """Why its queue holds back those that are started from now on; empty for an engine without one."""
        self.failures: list[Exception] = []
        """Raised by the next starts, one each, before anything is started."""
        self.lost_answers = 0
        """So many next starts do start, but their answer never arrives."""
        self._lock = threading.Lock()

    def start(self, plan: Plan, access: Access) -> str:
        with self._lock:
            if self.failures:
                raise self.failures.pop(0)
            place = seat(plan.run_id, plan.node_rank, plan.attempt)
            there = {handle: state for handle, state in self.states.items() if handle.rpartition(":")[0] == place}
            if AgentState.ALIVE in there.values():
                raise Conflict(f"Run {place} has an agent already.")
            for handle, state in there.items():
                if isinstance(state, Waiting):
                    return handle
            self.started.append(plan)
            self.access.append(access)
            handle = f"{place}:{len(self.started)}"
            self.states[handle] = Waiting(self.holds) if self.holds else AgentState.ALIVE
            if self.lost_answers:
                self.lost_answers -= 1
                raise KeyboardInterrupt
            return handle

    def status(self, handle: str) -> AgentState | Waiting:
        return self.states.get(handle, AgentState.GONE)

    def stop(self, handle: str) -> None:
        self.stopped.append(handle)
        if isinstance(self.states.get(handle), Waiting):
            self.states[handle] = AgentState.GONE

    def close(self) -> None:
        """Agents stay."""

    def kill(self, run_id: str) -> None:
        for handle in self.states:
            if handle.startswith(run_id):
                self.states[handle] = AgentState.GONE

    def errands(self) -> list[Errand]:
        return [plan.errand for plan in self.started]
