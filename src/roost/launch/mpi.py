"""MPI: one `mpirun` on the first node, which starts the ranks of all; the other nodes serve its commands.

Which Open MPI there is, and what it has to be told, is seen on the node alone, inside the run's environment or container:
`roost_job.mpi` finds it there, is its remote shell, and stands before each rank to give it its log and folder.
"""

from roost.domain.runs import RunSpec
from roost.launch.base import Place, Process, argv_of, on_one_machine
from roost_job.mpi import BOOT

MPIRUN = -1
"""No rank: its words are the node's."""


def mpi(spec: RunSpec, place: Place) -> tuple[Process, ...]:
    """Nothing on nodes but the first. `$VAR` in arguments is filled in where a rank runs, with its own variables."""
    if place.node_rank != 0:
        return ()
    words = [
        *("--processes", str(spec.topology.processes_per_node)),
        *("--nodes", ",".join(place.nodes)),
        *("--addresses", ",".join(place.addresses)),
        *(["--one-machine"] if on_one_machine(place) else []),
        *(["--shell"] if spec.shell else []),
    ]
    argv = (spec.interpreter, *BOOT, "run", *words, "--", *argv_of(spec))
    return (Process(argv=argv, env=_variables(place), rank=MPIRUN, expands=False),)


def _variables(place: Place) -> dict[str, str]:
    """What scripts of Azure read of the first node, to find each other beside MPI; `mpirun` hands them on to all ranks."""
    master = place.addresses[0]
    port = place.ports[0][0]
    return {
        "AZ_BATCHAI_MPI_MASTER_NODE": master,
        "AZ_BATCH_MASTER_NODE": f"{master}:{port}",
        "AZ_BATCH_NODE_LIST": ";".join(place.addresses),
        "AZ_BATCH_HOST_LIST": ",".join(place.addresses),
    }
