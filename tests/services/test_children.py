"""Children: made below a run, found again, ended with it; and how far a run's token reaches."""

from collections.abc import Callable

import pytest
from tests.services.houses import ANN, as_run, submission, submit, submit_interactive

from roost.domain.errors import Conflict, InvalidInput
from roost.domain.runs import Reason, Run, RunKind, RunSpec, RunStatus, Submission
from roost.services import children, lineage, metrics, runs
from roost.services.children import Newborn, Wanted
from roost.services.house import House


def bear(house: House, parent: Run, *ids: str, start: bool = True, **more: object) -> list[Run]:
    """Children that live in their parent's process."""
    asked = tuple(
        Submission(id=each, experiment="train", spec=RunSpec(kind=RunKind.INTERACTIVE), **more)  # type: ignore[arg-type]
        for each in ids
    )
    return children.create(house, ANN, parent.id, Newborn(children=asked, start=start))


def status(house: House, run_id: str) -> str:
    return runs.get(house, ANN, run_id).status.value


def test_made_once_and_running_at_once(house: House) -> None:
    parent = submit_interactive(house)
    first, second = bear(house, parent, "c1", "c2", tags={"n": "1"})
    assert (first.parent_id, first.status, first.tags) == (parent.id, RunStatus.RUNNING, {"n": "1"})
    assert [each.id for each in bear(house, parent, "c1", "c2", tags={"n": "1"})] == [first.id, second.id]
    (later,) = bear(house, parent, "c3", start=False)
    assert later.status is RunStatus.NOT_STARTED


def test_found_again(house: House) -> None:
    parent = submit_interactive(house)
    one, two = bear(house, parent, "c1", "c2", tags={"fold": "1"}, properties={"p": "x"})
    (deep,) = bear(house, one, "g1")
    runs.move(house, two.id, RunStatus.COMPLETED, Reason.DONE, "")

    def ids(**wanted: object) -> list[str]:
        return [each.id for each in children.listing(house, ANN, parent.id, Wanted(**wanted))]  # type: ignore[arg-type]

    assert ids() == ["c2", "c1"]
    assert ids(recursive=True) == ["c2", "c1", "g1"]
    assert ids(status=(RunStatus.COMPLETED,)) == ["c2"]
    assert ids(recursive=True, tags={"fold": None}) == ids(tags={"fold": "1"}) == ["c2", "c1"]
    assert ids(tags={"fold": "2"}) == ids(properties={"p": "y"}) == ids(kind=RunKind.SCRIPT) == []
    assert lineage.above(house, deep.id) == ("c1", parent.id)
    assert lineage.above(house, parent.id) == lineage.above(house, "nobody") == ()


@pytest.mark.parametrize("end", [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED])
def test_no_child_outlives_the_process_it_lived_in(house: House, end: RunStatus) -> None:
    parent = submit(house)
    (child,), (asleep,), (done,) = (
        bear(house, parent, "c1"),
        bear(house, parent, "c2", start=False),
        bear(house, parent, "c3"),
    )
    (deep,) = bear(house, child, "g1")
    runs.move(house, done.id, RunStatus.FAILED, Reason.MARKED_FAILED, "by itself")
    runs.move(house, parent.id, end, Reason.DONE, "")
    assert [status(house, each) for each in ("c1", "g1")] == [end.value, end.value]
    assert status(house, asleep.id) == "Canceled"
    assert runs.get(house, ANN, done.id).message == "by itself"
    assert (runs.get(house, ANN, deep.id).reason, child.id in runs.get(house, ANN, deep.id).message) == (
        Reason.PARENT_ENDED,
        True,
    )


def test_submitted_children_go_on_unless_their_parent_is_cancelled(house: House) -> None:
    for ending, expected in ((lambda run: runs.move(house, run.id, RunStatus.COMPLETED, Reason.DONE, ""), "NotStarted"),
                             (lambda run: runs.cancel(house, ANN, run.id), "Canceled")):  # fmt: skip
        parent = submit(house)
        (child,) = children.create(house, ANN, parent.id, Newborn(children=(submission(house),)))
        _end: Callable[[Run], object] = ending
        _end(parent)
        assert status(house, child.id) == expected


def test_a_cancel_reaches_everything_submitted_below(house: House) -> None:
    """Also below a child that lives in its parent's process, and below one that has ended."""
    parent = submit(house)
    (inside,) = bear(house, parent, "inside")
    (done,) = bear(house, parent, "done")
    (one,) = children.create(house, ANN, inside.id, Newborn(children=(submission(house),)))
    (two,) = children.create(house, ANN, done.id, Newborn(children=(submission(house),)))
    runs.move(house, done.id, RunStatus.COMPLETED, Reason.DONE, "")
    runs.cancel(house, ANN, parent.id)
    assert [status(house, each.id) for each in (one, two)] == ["Canceled", "Canceled"]


def test_a_run_that_is_being_cancelled_makes_no_more_children(house: House) -> None:
    parent = submit(house)
    for step in (RunStatus.QUEUED, RunStatus.PROVISIONING, RunStatus.RUNNING):
        runs.move(house, parent.id, step, Reason.NONE, "")
    assert runs.cancel(house, ANN, parent.id).status is RunStatus.CANCEL_REQUESTED
    with pytest.raises(Conflict, match="is CancelRequested"):
        children.create(house, as_run(parent.id), parent.id, Newborn(children=(submission(house),)))


def test_what_is_refused(house: House) -> None:
    parent = submit(house)
    with pytest.raises(InvalidInput, match="1001 children"):
        bear(house, parent, *(f"c{n}" for n in range(1001)))
    with pytest.raises(InvalidInput):
        bear(house, parent, "fine", "not fine")
    assert children.listing(house, ANN, parent.id, Wanted()) == []
    runs.move(house, parent.id, RunStatus.COMPLETED, Reason.DONE, "")
    late = Newborn(children=(Submission(id="late", experiment="train", spec=RunSpec(kind=RunKind.INTERACTIVE)),))
    with pytest.raises(Conflict, match="is Completed; its script cannot make children"):
        children.create(house, as_run(parent.id), parent.id, late)
    assert children.create(house, ANN, parent.id, late)[0].status is RunStatus.RUNNING


def test_metrics_of_a_whole_family(house: House) -> None:
    parent = submit(house)
    bear(house, parent, "c1")
    assert metrics.read_back_all(house, ANN, parent.id) == {parent.id: {}, "c1": {}}
    assert metrics.read_back_all(house, ANN, parent.id, kind=RunKind.SCRIPT) == {parent.id: {}}
