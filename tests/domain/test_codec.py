"""Records go to plain JSON and come back equal; what does not fit is named."""

import json
from typing import Any

import pytest

from roost.domain import codec
from roost.domain.compute import Compute
from roost.domain.errors import InvalidInput
from roost.domain.files import Entry, EntryKind, RunFile
from roost.domain.people import Caller, Token
from roost.domain.permissions import Role
from roost.domain.plans import Access, Errand, Plan
from roost.domain.runs import Reason, Run, RunEvent, RunKind, RunSpec, RunStatus, Submission
from roost.domain.workspaces import Experiment, Workspace

SPEC = RunSpec(
    kind=RunKind.INTERACTIVE,
    snapshot="0" * 64,
    script="train.py",
    command=("python", "-m", "x"),
    arguments=("--lr", "0.1"),
    environment_variables={"A": "b"},
    timeout_seconds=2.5,
    node_count=2,
)
RECORDS: list[Any] = [
    SPEC,
    RunSpec(),
    Submission(id="r", experiment="e", spec=SPEC, tags={"a": None, "b": "c"}, properties={"p": "q"}, parent_id="p"),
    Run(
        id="r", workspace="w", experiment="e", number=3, spec=SPEC, user="u", created_at=1.5, ended_at=2.0, exit_code=-9
    ),
    RunEvent(to=RunStatus.FAILED, at=1.0, reason=Reason.EXIT_CODE, message="m", exit_code=1, handle="h"),
    Workspace(name="w", user="u", created_at=1.0),
    Experiment(id="i", workspace="w", name="e", user="u", created_at=1.0),
    Compute(name="local", engine="local", max_nodes=4),
    RunFile(path="outputs/a", blob="0" * 64, size=2**40, modified_at=1.0),
    Entry("a", EntryKind.LINK, 0o777, 0, "b"),
    Token(digest="0" * 64, user="u", run_id="", created_at=1.0, expires_at=None),
    Caller(user="u", role=Role.RUN, run_id="r"),
    Plan(run_id="r", workspace="w", experiment="e", spec=SPEC, errand=Errand.SALVAGE, node_rank=1),
    Access(url="http://127.0.0.1:1", token="t", endpoint_file="f"),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_every_record_comes_back_through_json(record: Any) -> None:
    text = json.dumps(codec.encode(record))
    assert codec.decode(type(record), json.loads(text)) == record


def test_unknown_fields_are_passed_over_and_missing_ones_take_their_default() -> None:
    assert codec.decode(RunSpec, {"script": "a.py", "from_the_future": [1]}) == RunSpec(script="a.py")
    assert codec.decode(RunEvent, {"to": "Running", "at": 3}) == RunEvent(to=RunStatus.RUNNING, at=3.0)


@pytest.mark.parametrize(
    ("cls", "data", "message"),
    [
        (RunSpec, {"script": 7}, "RunSpec.script must be str, got int '7'"),
        (RunSpec, {"node_count": "2"}, "RunSpec.node_count must be int, got str"),
        (RunSpec, {"node_count": True}, "RunSpec.node_count must be int, got bool"),
        (RunSpec, {"arguments": ["a", 1]}, r"RunSpec.arguments\[1\] must be str"),
        (RunSpec, {"arguments": "abc"}, "RunSpec.arguments must be a list"),
        (RunSpec, {"environment_variables": {"A": 1}}, "RunSpec.environment_variables.A must be str"),
        (RunSpec, {"environment_variables": []}, "RunSpec.environment_variables must be an object"),
        (RunSpec, {"kind": "other"}, "RunSpec.kind cannot be 'other'"),
        (RunSpec, {"timeout_seconds": "soon"}, "RunSpec.timeout_seconds must be float"),
        (RunSpec, [], "RunSpec must be an object"),
        (RunSpec, None, "RunSpec must be an object"),
        (Submission, {"id": "a", "experiment": "e"}, "Submission.spec is missing"),
        (Submission, {"id": "a", "experiment": "e", "spec": {"script": None}}, "Submission.spec.script must be str"),
        (RunEvent, {"to": "Sleeping", "at": 1.0}, "RunEvent.to cannot be 'Sleeping'"),
    ],
)
def test_what_does_not_fit_is_named(cls: type, data: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        codec.decode(cls, data)


def test_a_wrong_choice_lists_the_right_ones() -> None:
    with pytest.raises(InvalidInput) as caught:
        codec.decode(RunSpec, {"kind": "other"})
    assert caught.value.hint == "It is one of: script, interactive, replica."
