"""`torch.distributed`: several processes on each node; each gets its rank in two families of variables.

`init_method="env://"` reads `RANK`, `WORLD_SIZE` and others; older scripts for Azure pass `AZ_BATCHAI_…` as arguments. Both are
always set, also for a command that calls `torchrun` itself.
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
    first, other = place.ports[0][:2]  # a port each, since a script may use both ways to meet
    # With a shared folder, processes meet by a file, as on Azure; else by the first node's address.
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
    if on_one_machine(place):  # logical nodes have loopback addresses
        given |= dict.fromkeys(("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"), "lo")
    return {name: value for name, value in given.items() if name not in spec.environment_variables}


def _own(rank: int, local: int) -> dict[str, str]:
    return {"RANK": str(rank), "LOCAL_RANK": str(local), "AZ_BATCHAI_TASK_INDEX": str(rank)}
