"""The summary of a run: its status, how long it took, why it failed; each said once."""

from dataclasses import replace

import pytest

from roost.domain.runs import Reason, Run, RunSpec, RunStatus
from roost.sdk.runs import waiting
from roost_job.exceptions import ActivityFailedException

TRACE = 'Traceback (most recent call last):\n  File "train.py", line 1, in <module>\nValueError: bad'
FAILED = Run(
    id="r",
    workspace="w",
    experiment="e",
    number=1,
    spec=RunSpec(),
    user="u",
    created_at=10.0,
    started_at=12.0,
    ended_at=17.6,
    status=RunStatus.FAILED,
    reason=Reason.EXIT_CODE,
    message=f"On node 1: Rank 1 ended with exit code 1.\n{TRACE}\nIt was ended on node 0 too.",
)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (FAILED, "Duration: 5.6 s (waited 2.0 s before)\n"),
        (replace(FAILED, created_at=11.9), "Duration: 5.6 s\n"),
        (replace(FAILED, ended_at=137.2), "Duration: 2:05 min (waited 2.0 s before)\n"),
        (replace(FAILED, created_at=12.0, ended_at=12 + 3723.0), "Duration: 1:02:03 h\n"),
        (replace(FAILED, started_at=None), "Duration: it ended before its script began, after 7.6 s\n"),
        (replace(FAILED, ended_at=None), ""),
    ],
)
def test_how_long_it_took(run: Run, words: str) -> None:
    assert waiting._times(run) == words


def test_a_failure_in_short_has_the_error_and_no_frames() -> None:
    assert waiting.brief(FAILED) == "On node 1: Rank 1 ended with exit code 1.\nValueError: bad"
    plain = replace(FAILED, message="The script ended with exit code 127.\nbash: nothing: command not found")
    assert waiting.brief(plain) == plain.message
    said = (
        "Not built.\nerror: No solution\n  cause: Because there is no a==3\n         and you require a==3.\nhint: Look."
    )
    unsolved = replace(FAILED, reason=Reason.ENVIRONMENT_FAILED, message=said)
    assert waiting.brief(unsolved).splitlines()[1:] == [
        "cause: Because there is no a==3 and you require a==3.",
        "hint: Look.",
    ]
    limit = replace(FAILED, reason=Reason.TIMED_OUT, message="It took too long.\nmore")
    assert waiting.brief(limit) == "timed out: It took too long.\nmore"
    with pytest.raises(ActivityFailedException, match="ValueError: bad") as caught:
        waiting.raise_for_failure(FAILED, shown=True)
    assert "Traceback" not in str(caught.value)
    with pytest.raises(ActivityFailedException, match="Traceback"):
        waiting.raise_for_failure(FAILED)
