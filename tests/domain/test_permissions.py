"""The table of permissions, against a copy that is written out here: a role that gets more, or less, is a decision."""

import pytest

from roost.domain.errors import Forbidden
from roost.domain.people import SYSTEM, Caller
from roost.domain.permissions import ALLOWED, READS, Action, Role, may

GOLDEN = {
    "anyone": "health.read page.read session.begin",
    "browser": """
        health.read page.read session.begin
        server.read usage.read workspace.read experiment.read compute.read environment.read secret.list
        run.list run.read run.annotate run.cancel run.secret.list metric.read log.read file.read
        blob.read datastore.read stored-file.read dataset.read dataset.trace
        model.read model.trace endpoint.read
    """,
    "run": """
        health.read page.read session.begin
        server.read build.report archive.write archive.read
        run.read run.annotate run.cancel run.mark run.report run.create-child run.declare-data
        run.secret.list run.secret.read gang.read gang.command
        metric.write metric.read log.write log.read file.write file.read
        blob.write blob.read blob.fetch datastore.read stored-file.read stored-file.fetch stored-file.write
        dataset.register dataset.read model.register model.read model.change
    """,
    "system": "sweep run.cancel",
}


@pytest.mark.parametrize("role", GOLDEN)
def test_the_table_of_a_role(role: str) -> None:
    assert {action.value for action in ALLOWED[Role(role)]} == set(GOLDEN[role].split())


def test_a_person_may_do_everything() -> None:
    assert ALLOWED[Role.PERSON] == set(Action)
    assert set(ALLOWED) == set(Role), "every role has its row"


def test_what_a_run_reads_of_those_above_it() -> None:
    golden = "run.read run.secret.list run.secret.read gang.read metric.read log.read file.read"
    assert {action.value for action in READS} == set(golden.split())


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("action", Action)
def test_require_refuses_what_the_table_does_not_have(role: Role, action: Action) -> None:
    caller = Caller(user="ann", role=role, run_id="train_1" if role is Role.RUN else "")
    if may(role, action):
        caller.require(action)
    else:
        with pytest.raises(Forbidden, match=action.value):
            caller.require(action)


@pytest.mark.parametrize(("role", "run_id"), [(Role.PERSON, "train_1"), (Role.BROWSER, "train_1"), (Role.RUN, "")])
def test_only_a_run_s_caller_has_a_run(role: Role, run_id: str) -> None:
    with pytest.raises(ValueError, match="has the run"):
        Caller(user="ann", role=role, run_id=run_id)


def test_the_system_is_no_person() -> None:
    with pytest.raises(Forbidden, match=r"secret\.read"):
        SYSTEM.require(Action.SECRET_READ)
