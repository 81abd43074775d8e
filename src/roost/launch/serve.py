"""The worker of an endpoint's replica: the job library's own program, in the model's environment. The agent restarts it."""

from roost.domain.runs import RunSpec
from roost.launch.base import Place, Process


def serve(spec: RunSpec, place: Place) -> tuple[Process, ...]:
    """One process."""
    return (Process(argv=(spec.interpreter, "-u", "-m", "roost_job.scoring"), rank=place.node_rank, expands=False),)
