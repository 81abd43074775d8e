"""Children: made below a run, found again, ended with it; and how far a run's token reaches."""

from collections.abc import Callable

import pytest
from tests.shared.contexts import ANN, as_run, submission, submit, submit_interactive

from roost.domain.errors import Conflict, InvalidInput
from roost.domain.runs import Reason, Run, RunKind, RunSpec, RunStatus, Submission
from roost.services import children, lineage, metrics, runs
from roost.services.children import Newborn, Wanted
from roost.services.context import Context


def bear(context: Context, parent: Run, *ids: str, start: bool = True, **more: object) -> list[Run]:
    """Children that live in their parent's process."""
    asked = tuple(
        Submission(id=each, experiment="train", spec=RunSpec(kind=RunKind.INTERACTIVE), **more)  # type: ignore[arg-type]
        for each in ids
    )
    return children.create(context, ANN, parent.id, Newborn(children=asked, start=start))


def status(context: Context, run_id: str) -> str:
    return runs.get(context, ANN, run_id).status.value


def test_made_once_and_running_at_once(context: Context) -> None:
    parent = submit_interactive(context)
    first, second = bear(context, parent, "c1", "c2", tags={"n": "1"})
    assert (first.parent_id, first.status, first.tags) == (parent.id, RunStatus.RUNNING, {"n": "1"})
    assert [each.id for each in bear(context, parent, "c1", "c2", tags={"n": "1"})] == [first.id, second.id]
    (later,) = bear(context, parent, "c3", start=False)
    assert later.status is RunStatus.NOT_STARTED


def test_found_again(context: Context) -> None:
    parent = submit_interactive(context)
    one, two = bear(context, parent, "c1", "c2", tags={"fold": "1"}, properties={"p": "x"})
    (deep,) = bear(context, one, "g1")
    runs.move(context, two.id, RunStatus.COMPLETED, Reason.DONE, "")

    def ids(**wanted: object) -> list[str]:
        return [each.id for each in children.listing(context, ANN, parent.id, Wanted(**wanted))]  # type: ignore[arg-type]

    assert ids() == ["c2", "c1"]
    assert ids(recursive=True) == ["c2", "c1", "g1"]
    assert ids(status=(RunStatus.COMPLETED,)) == ["c2"]
    assert ids(recursive=True, tags={"fold": None}) == ids(tags={"fold": "1"}) == ["c2", "c1"]
    assert ids(tags={"fold": "2"}) == ids(properties={"p": "y"}) == ids(kind=RunKind.SCRIPT) == []
    assert lineage.above(context, deep.id) == ("c1", parent.id)
    assert lineage.above(context, parent.id) == lineage.above(context, "nobody") == ()


@pytest.mark.parametrize("end", [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELED])
def test_no_child_outlives_the_process_it_lived_in(context: Context, end: RunStatus) -> None:
    parent = submit(context)
    (child,), (asleep,), (done,) = (
        bear(context, parent, "c1"),
        bear(context, parent, "c2", start=False),
        bear(context, parent, "c3"),
    )
    (deep,) = bear(context, child, "g1")
    runs.move(context, done.id, RunStatus.FAILED, Reason.MARKED_FAILED, "by itself")
    runs.move(context, parent.id, end, Reason.DONE, "")
    assert [status(context, each) for each in ("c1", "g1")] == [end.value, end.value]
    assert status(context, asleep.id) == "Canceled"
    assert runs.get(context, ANN, done.id).message == "by itself"
    assert (runs.get(context, ANN, deep.id).reason, child.id in runs.get(context, ANN, deep.id).message) == (
        Reason.PARENT_ENDED,
        True,
    )


def test_submitted_children_go_on_unless_their_parent_is_cancelled(context: Context) -> None:
    for ending, expected in ((lambda run: runs.move(context, run.id, RunStatus.COMPLETED, Reason.DONE, ""), "NotStarted"),
                             (lambda run: runs.cancel(context, ANN, run.id), "Canceled")):  # fmt: skip
        parent = submit(context)
        (child,) = children.create(context, ANN, parent.id, Newborn(children=(submission(context),)))
        _end: Callable[[Run], object] = ending
        _end(parent)
        assert status(context, child.id) == expected


def test_a_cancel_reaches_everything_submitted_below(context: Context) -> None:
    """Also below a child that lives in its parent's process, and below one that has ended."""
    parent = submit(context)
    (inside,) = bear(context, parent, "inside")
    (done,) = bear(context, parent, "done")
    (one,) = children.create(context, ANN, inside.id, Newborn(children=(submission(context),)))
    (two,) = children.create(context, ANN, done.id, Newborn(children=(submission(context),)))
    runs.move(context, done.id, RunStatus.COMPLETED, Reason.DONE, "")
    runs.cancel(context, ANN, parent.id)
    assert [status(context, each.id) for each in (one, two)] == ["Canceled", "Canceled"]


def test_a_run_that_is_being_cancelled_makes_no_more_children(context: Context) -> None:
    parent = submit(context)
    for step in (RunStatus.QUEUED, RunStatus.PROVISIONING, RunStatus.RUNNING):
        runs.move(context, parent.id, step, Reason.NONE, "")
    assert runs.cancel(context, ANN, parent.id).status is RunStatus.CANCEL_REQUESTED
    with pytest.raises(Conflict, match="is CancelRequested"):
        children.create(context, as_run(parent.id), parent.id, Newborn(children=(submission(context),)))


def test_what_is_refused(context: Context) -> None:
    parent = submit(context)
    with pytest.raises(InvalidInput, match="1001 children"):
        bear(context, parent, *(f"c{n}" for n in range(1001)))
    with pytest.raises(InvalidInput):
        bear(context, parent, "fine", "not fine")
    assert children.listing(context, ANN, parent.id, Wanted()) == []
    runs.move(context, parent.id, RunStatus.COMPLETED, Reason.DONE, "")
    late = Newborn(children=(Submission(id="late", experiment="train", spec=RunSpec(kind=RunKind.INTERACTIVE)),))
    with pytest.raises(Conflict, match="is Completed; its script cannot make children"):
        children.create(context, as_run(parent.id), parent.id, late)
    assert children.create(context, ANN, parent.id, late)[0].status is RunStatus.RUNNING


def test_metrics_of_a_whole_family(context: Context) -> None:
    parent = submit(context)
    bear(context, parent, "c1")
    assert metrics.read_back_all(context, ANN, parent.id) == {parent.id: {}, "c1": {}}
    assert metrics.read_back_all(context, ANN, parent.id, kind=RunKind.SCRIPT) == {parent.id: {}}
