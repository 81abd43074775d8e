"""PyTorch's Gloo, which now and then aborts a process that is about to exit, all of its work done. Bare `torchrun` of the same
script does so too: 3 times of 50 on two busy cores, with PyTorch 2.13.
"""

from collections.abc import Callable
from pathlib import Path

from roost import Run
from roost_job.exceptions import ActivityFailedException

ABORTED = "terminate called without an active exception"


def completed(begin: Callable[[], Run], folder: Path) -> Run:
    """A run that came to its end. One that Gloo aborted is submitted again, once; any other failure is raised."""
    run = begin()
    try:
        run.wait_for_completion()
        return run
    except ActivityFailedException:
        texts = (Path(each).read_text() for each in run.get_all_logs(str(folder / "aborted")))
        if not any(ABORTED in text for text in texts):
            raise
    print(f"Gloo aborted a process of {run.id} at its exit; it is submitted again.")
    again = begin()
    again.wait_for_completion()
    return again
