"""`torch.distributed`: so many processes on each node, each told who it is in both families of variables.

`RANK`, `WORLD_SIZE` and their kin are what `init_method="env://"` reads; `AZ_BATCHAI_…` is what scripts of Azure's first years
hand on as arguments. Both are set whichever form the configuration has. A command that calls `torchrun` itself gets them too.
"""

from roost.domain.runs import RunSpec
from roost.launch.base import Place, Process, argv_of, on_one_machine

INIT_FILE = "pytorch-init"


def pytorch(spec: RunSpec, place: Place) -> tuple[Process, ...]:
    count = spec.topology.processes_per_node
    return tuple(
        Process(
            argv=argv_of(spec),
            env={**_common(spec, place), **_own(place.node_rank * count + local, local)},
            rank=place.node_rank * count + local,
            expands=not spec.shell,
        )
        for local in range(count)
    )


def _common(spec: RunSpec, place: Place) -> dict[str, str]:
    count, nodes = spec.topology.processes_per_node, len(place.addresses)
    first, other = place.ports[0][:2]  # a port each: nothing says that a script uses only one of the two ways to meet
    # A script may meet by a file where the nodes share a folder, as they did on Azure; else by the first node's address.
    meeting = f"file://{place.shared}/{INIT_FILE}" if place.shared else f"tcp://{place.addresses[0]}:{other}"
    given = {
        "MASTER_ADDR": place.addresses[0],
        "MASTER_PORT": str(first),
        "WORLD_SIZE": str(nodes * count),
        "LOCAL_WORLD_SIZE": str(count),
        "NODE_RANK": str(place.node_rank),
        "AZ_BATCHAI_PYTORCH_INIT_METHOD": meeting,
        "AZ_BATCHAI_MASTER_NODE": place.addresses[0],
    }
    if on_one_machine(place):  # whatever networks the machine has: the nodes reach each other here
        given |= dict.fromkeys(("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"), "lo")
    return {name: value for name, value in given.items() if name not in spec.environment_variables}


def _own(rank: int, local: int) -> dict[str, str]:
    return {"RANK": str(rank), "LOCAL_RANK": str(local), "AZ_BATCHAI_TASK_INDEX": str(rank)}
