"""Workspaces and experiments: made once, with names that are allowed."""

import pytest
from tests.services.houses import ANN

from roost.domain.errors import InvalidInput, NotFound
from roost.domain.workspaces import Origin
from roost.services import experiments, workspaces
from roost.services.house import House


def test_made_once_and_found_again(house: House) -> None:
    made = workspaces.ensure(house, ANN, "team-a", Origin(subscription_id="s", resource_group="g"))
    assert workspaces.ensure(house, ANN, "team-a") == made == workspaces.get(house, ANN, "team-a")
    first = experiments.ensure(house, ANN, "team-a", "train")
    assert experiments.ensure(house, ANN, "team-a", "train") == first
    assert list(experiments.listing(house, ANN, "team-a")) == [first]
    assert {each.name for each in workspaces.listing(house, ANN)} == {"team-a", "vision"}


@pytest.mark.parametrize("name", ["", "a", "../x", "a/b", "a b", ".hidden", "x" * 40])
def test_names_that_are_not_allowed(house: House, name: str) -> None:
    with pytest.raises(InvalidInput):
        workspaces.ensure(house, ANN, name)


def test_what_is_not_there(house: House) -> None:
    with pytest.raises(NotFound):
        workspaces.get(house, ANN, "nowhere")
    with pytest.raises(NotFound):
        experiments.ensure(house, ANN, "nowhere", "train")
    with pytest.raises(InvalidInput):
        workspaces.ensure(house, ANN, "fine", Origin(location="x" * 300))
