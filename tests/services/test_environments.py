from dataclasses import replace

import pytest
from tests.shared.contexts import ANN, Clock, submit

from roost.domain import recipes
from roost.domain.conda import AWAY_SECONDS, CHANNELS_ONLY, INDEX_FIRST
from roost.domain.environments import EnvironmentUse
from roost.domain.errors import Conflict, InvalidInput, NotFound
from roost.domain.runs import Run, RunStatus
from roost.services import environments, runs
from roost.services.context import Context
from roost.services.environments import Outcome

PYTHON = {"python": {"condaDependencies": {"dependencies": ["python=3.8"]}}}


def test_registered_and_found_again(context: Context) -> None:
    made, new = environments.register(context, ANN, "vision", "mine", {"name": "other", "version": "7", **PYTHON})
    assert (made.version, new, made.user) == ("1", True, "ann")
    assert made.definition == PYTHON, "name and version are not part of what is kept"
    assert environments.get(context, ANN, "vision", "mine") == made
    assert environments.listing(context, ANN, "vision") == [made]


@pytest.mark.parametrize("name", ["AzureML-x", "microsoft-x", "a/b", ""])
def test_names_that_are_refused(context: Context, name: str) -> None:
    with pytest.raises(InvalidInput):
        environments.register(context, ANN, "vision", name, PYTHON)
    assert environments.listing(context, ANN, "vision") == []


@pytest.mark.parametrize(
    "file",
    [
        {"channels": ["https://bob:open-sesame@host.test/team"]},
        {"channels": ["https://host.test/t/open-sesame/team"]},
        {"dependencies": ["https://open-sesame@host.test/team::numpy"]},
        {"dependencies": ["python=3.8", {"pip": ["x @ https://bob:open-sesame@host.test/x.whl"]}]},
    ],
)
def test_a_credential_in_the_clear_is_not_kept(context: Context, file: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="credential") as caught:
        environments.register(context, ANN, "vision", "mine", {"python": {"condaDependencies": file}})
    assert "sesame" not in str(caught.value)
    assert environments.listing(context, ANN, "vision") == []


def test_whatever_else_is_wrong_is_said_when_it_is_used(context: Context) -> None:
    file = {
        "channels": "conda-forge",
        "dependencies": [{"pip": ["--index-url https://bob:word@host.test"]}, {"npm": 3}, 5],
    }
    _, new = environments.register(context, ANN, "vision", "mine", {"python": {"condaDependencies": file}})
    assert new


def test_what_is_missing_is_named(context: Context) -> None:
    with pytest.raises(NotFound, match="nothing"):
        environments.get(context, ANN, "vision", "nothing")
    with pytest.raises(NotFound) as caught:
        environments.get(context, ANN, "vision", "AzureML-PyTorch-1.6-GPU")
    assert "Curated environments" in caught.value.hint
    with pytest.raises(NotFound, match="elsewhere"):
        environments.listing(context, ANN, "elsewhere")


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ({"docker": {"baseImage": "ubuntu", "arguments": ["--privileged"]}}, "--privileged"),
        ({"python": {"condaDependencies": {"dependencies": [{"pip": ["six"]}]}}}, "which Python"),
        ({"python": 3}, "must be an object"),
    ],
)
def test_a_run_with_an_environment_that_cannot_be_built_is_not_made(
    context: Context, definition: dict[str, object], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        submit(context, environment=EnvironmentUse(name="mine", definition=definition))


def test_only_a_run_that_is_preparing_has_a_build_to_end(context: Context) -> None:
    run = submit(context, environment=EnvironmentUse(name="mine", definition=PYTHON))
    with pytest.raises(Conflict):
        environments.end_build(context, ANN, run.id, Outcome(lock=context.blobs.put(b"lock")))
    runs.report(context, ANN, run.id, runs.Report(to=RunStatus.PREPARING))
    with pytest.raises(InvalidInput, match="not here"):
        environments.end_build(context, ANN, run.id, Outcome(lock="ab" * 32))
    with pytest.raises(Conflict):
        environments.end_build(context, ANN, submit(context).id, Outcome(message="x"))


def test_where_a_build_stands_can_be_asked_and_its_lock_forgotten(context: Context) -> None:
    assert environments.look_up(context, ANN, "vision", PYTHON).lock == ""
    key = recipes.recipe(PYTHON)
    assert key is not None
    lock = context.blobs.put(b"a lock")
    context.store.environments.end_build(key.key, environments._platform(), lock=lock)
    assert environments.look_up(context, ANN, "vision", PYTHON).lock == lock
    assert environments.look_up(context, ANN, "vision", PYTHON, forget=True).lock == ""
    with pytest.raises(InvalidInput, match="managed by the user"):
        environments.look_up(context, ANN, "vision", {"python": {"userManagedDependencies": True}})


def test_a_run_with_a_lock_of_its_own_is_built_from_that_and_leaves_the_recipe_alone(context: Context) -> None:
    recipe = recipes.recipe(PYTHON)
    assert recipe is not None
    old, new = context.blobs.put(b"old"), context.blobs.put(b"new")
    context.store.environments.end_build(recipe.key, environments._platform(), lock=new)
    with pytest.raises(InvalidInput, match="is not here"):
        submit(context, environment=EnvironmentUse(name="mine", definition=PYTHON, lock="ab" * 32))
    run = submit(context, environment=EnvironmentUse(name="mine", definition=PYTHON, lock=old))
    standing = environments.standing(context, run)
    assert standing is not None
    assert (standing.key, standing.lock) == (old, "")
    runs.report(context, ANN, run.id, runs.Report(to=RunStatus.PREPARING))
    environments.end_build(context, ANN, run.id, Outcome(lock=old))
    assert getattr(environments.standing(context, run), "lock", "") == old
    assert environments.look_up(context, ANN, "vision", PYTHON).lock == new
    known = submit(context, environment=EnvironmentUse(name="mine", definition=PYTHON, lock=new))
    assert getattr(environments.standing(context, known), "lock", "") == new, "that is the recipe's own"


CONDA = {"python": {"condaDependencies": {"dependencies": ["python=3.8", "numpy"]}}}


def _build(context: Context, lock: str, *, from_index: bool) -> Run:
    """A run whose agent has built its environment."""
    run = submit(context, environment=EnvironmentUse(name="mine", definition=CONDA))
    runs.report(context, ANN, run.id, runs.Report(to=RunStatus.PREPARING))
    standing = environments.standing(context, run)
    assert standing is not None and not standing.lock
    environments.claim(context, run, standing)
    return environments.end_build(context, ANN, run.id, Outcome(lock=lock, from_index=from_index))


def _known(context: Context) -> str:
    """The lock that a new run would be installed from; empty when it would have to be built."""
    standing = environments.standing(
        context, submit(context, environment=EnvironmentUse(name="mine", definition=CONDA))
    )
    assert standing is not None
    return standing.lock


def test_a_lock_from_an_index_counts_until_the_channels_are_to_be_asked_again(context: Context) -> None:
    assert isinstance(context.clock, Clock)
    index, channel = context.blobs.put(b"index"), context.blobs.put(b"channel")
    run = _build(context, index, from_index=True)
    assert _known(context) == index
    context.clock.pass_by(AWAY_SECONDS + 1)
    assert _known(context) == "", "an agent is to ask the channels"
    assert environments.index_lock(context, run) == index, "and has what the index gave, should they be away still"
    assert environments.look_up(context, ANN, "vision", CONDA).lock == index
    _build(context, index, from_index=True)
    assert _known(context) == index
    context.clock.pass_by(AWAY_SECONDS + 1)
    _build(context, channel, from_index=False)
    assert _known(context) == channel, "that is what was asked for"
    again = submit(context, environment=EnvironmentUse(name="mine", definition=CONDA, lock=index))
    standing = environments.standing(context, again)
    assert standing is not None and (standing.key, standing.lock) == (index, ""), "a run with its lock gets that"
    assert environments.look_up(context, ANN, "vision", CONDA, forget=True).lock == ""
    assert environments.index_lock(context, run) == ""


def test_a_lock_from_an_index_is_not_known_where_only_channels_count(context: Context) -> None:
    index, channel = context.blobs.put(b"index"), context.blobs.put(b"channel")
    _build(context, index, from_index=True)
    strict, first = (replace(context, conda_packages=each) for each in (CHANNELS_ONLY, INDEX_FIRST))
    assert (_known(context), _known(strict), _known(first)) == (index, "", index)
    assert environments.look_up(strict, ANN, "vision", CONDA).lock == ""
    _build(strict, channel, from_index=False)
    assert (_known(context), _known(strict), _known(first)) == (channel, channel, index)
