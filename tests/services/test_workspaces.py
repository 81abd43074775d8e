"""Workspaces and experiments: made once, with names that are allowed."""

import pytest
from tests.shared.contexts import ANN

from roost.domain.errors import InvalidInput, NotFound
from roost.domain.workspaces import Origin
from roost.services import experiments, workspaces
from roost.services.context import Context


def test_made_once_and_found_again(context: Context) -> None:
    made = workspaces.ensure(context, ANN, "team-a", Origin(subscription_id="s", resource_group="g"))
    assert workspaces.ensure(context, ANN, "team-a") == made == workspaces.get(context, ANN, "team-a")
    first = experiments.ensure(context, ANN, "team-a", "train")
    assert experiments.ensure(context, ANN, "team-a", "train") == first
    assert list(experiments.listing(context, ANN, "team-a")) == [first]
    assert {each.name for each in workspaces.listing(context, ANN)} == {"team-a", "vision"}


@pytest.mark.parametrize("name", ["", "a", "../x", "a/b", "a b", ".hidden", "x" * 40])
def test_names_that_are_not_allowed(context: Context, name: str) -> None:
    with pytest.raises(InvalidInput):
        workspaces.ensure(context, ANN, name)


def test_what_is_not_there(context: Context) -> None:
    with pytest.raises(NotFound):
        workspaces.get(context, ANN, "nowhere")
    with pytest.raises(NotFound):
        experiments.ensure(context, ANN, "nowhere", "train")
    with pytest.raises(InvalidInput):
        workspaces.ensure(context, ANN, "fine", Origin(location="x" * 300))
