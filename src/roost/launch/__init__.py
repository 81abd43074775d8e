"""One run → its processes on a node. Pure: no clock, files or network. `base.py` has the interface and the simplest launch."""

from collections.abc import Mapping

from roost.domain.errors import InvalidInput
from roost.domain.topology import LaunchKind
from roost.launch.base import Launch, single
from roost.launch.mpi import mpi
from roost.launch.pytorch import pytorch
from roost.launch.serve import serve
from roost.launch.tensorflow import tensorflow

LAUNCHES: Mapping[str, Launch] = {
    LaunchKind.SINGLE: single,
    LaunchKind.MPI: mpi,
    LaunchKind.PYTORCH: pytorch,
    LaunchKind.TENSORFLOW: tensorflow,
    LaunchKind.SERVE: serve,
}
"""The launches by their names in `RunSpec.launch`."""


def find(name: str) -> Launch:
    """The launch with that name; InvalidInput lists the existing ones."""
    if name not in LAUNCHES:
        raise InvalidInput(f"There is no launch named {name!r}.", hint=f"It is one of: {', '.join(sorted(LAUNCHES))}.")
    return LAUNCHES[name]
