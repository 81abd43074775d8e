"""MPI: one `mpirun` on the first node starts the ranks of all nodes; the other nodes execute its commands.

The version of Open MPI and its options can be found only on the node, inside the run's environment or container: `roost_job.mpi`
finds it there, is its remote shell, and starts each rank with its log and folder.
"""

from roost.domain.runs import RunSpec
from roost.launch.base import Place, Process, argv_of, on_one_machine
from roost_job.mpi import BOOT

MPIRUN = -1
"""Not a rank: its output goes to the node's own log."""


def mpi(spec: RunSpec, place: Place) -> tuple[Process, ...]:
    """One process on the first node, none on the others. `$VAR` in arguments is filled in by each rank's own variables."""
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
    """Azure's variables about the nodes, by which scripts find each other without MPI; `mpirun` passes them to all ranks."""
    master = place.addresses[0]
    port = place.ports[0][0]
    return {
        "AZ_BATCHAI_MPI_MASTER_NODE": master,
        "AZ_BATCH_MASTER_NODE": f"{master}:{port}",
        "AZ_BATCH_NODE_LIST": ";".join(place.addresses),
        "AZ_BATCH_HOST_LIST": ",".join(place.addresses),
    }
