"""Commands between nodes, as the one who asks for them sees it: what is asked once, and what is waited for."""

from typing import Any

import pytest

from roost.agent.launching.commands import execute
from roost.domain.errors import InvalidInput, NotFound, Unavailable


class Wire:
    """A link whose control plane gives these answers, in turn; one that is an error is raised."""

    def __init__(self, *answers: Any, attempt: int = 1) -> None:
        self.client = self
        self.attempt = attempt
        self.answers = list(answers)
        self.asked: list[tuple[str, str]] = []

    def path(self, *parts: str) -> str:
        return "/".join(parts)

    def call(self, method: str, path: str, **_: object) -> Any:
        self.asked.append((method, path))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


MEMBERS = {
    "members": [
        {"run_id": "r", "node_rank": rank, "node": f"n-{rank}", "address": f"127.0.0.{rank}", "given_at": 0.0}
        for rank in range(2)
    ]
}


def ends(*codes: int | None) -> list[dict[str, object]]:
    return [{"commands": [{"number": 7, "exit_code": code}]} for code in codes]


def test_a_command_that_runs_is_waited_for_over_the_patient_link() -> None:
    brief, patient = Wire(MEMBERS, {"number": 7}), Wire(*ends(None, None, 3))
    assert execute(patient, brief, "n-1", ["orted"]) == 3  # type: ignore[arg-type]
    assert brief.asked == [("GET", "agents"), ("POST", "agents/1/commands")]
    assert patient.asked == [("GET", "commands/7")] * 3


def test_one_that_cannot_be_asked_for_is_told_at_once() -> None:
    with pytest.raises(Unavailable):
        execute(Wire(), Wire(Unavailable("It is away.")), "n-1", ["orted"])  # type: ignore[arg-type]
    with pytest.raises(NotFound, match="no node 'n-9'"):
        execute(Wire(), Wire(MEMBERS), "n-9", ["orted"])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="list of words"):
        execute(Wire(), Wire(), "n-1", "orted")  # type: ignore[arg-type]


def test_one_that_is_gone_is_not_waited_for() -> None:
    with pytest.raises(NotFound, match="7 is not there"):
        execute(Wire({"commands": []}), Wire(MEMBERS, {"number": 7}), "127.0.0.1", ["orted"])  # type: ignore[arg-type]
