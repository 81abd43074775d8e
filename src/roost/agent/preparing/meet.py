"""The meeting of a run's nodes: each agent reports its free ports and waits until all are ready. Then all start.

The control plane has the list of nodes. When one never comes, the control plane ends the run, and the halt ends the wait here.
"""

import contextlib
import logging
import random
import socket
from collections.abc import Iterator, Mapping

from roost.agent.link import Link
from roost.agent.orders import Orders
from roost.domain.codec import decode
from roost.domain.errors import Unavailable
from roost.domain.gangs import Member
from roost.domain.plans import Plan
from roost.domain.topology import LaunchKind, ports_on_a_node
from roost.launch.base import Place

_WAIT_SECONDS = 5
_LOWEST, _HIGHEST = 16000, 32000
"""Below the kernel's range for outgoing connections, so that none of these ports is taken by chance."""
_TRIES = 2000
log = logging.getLogger("roost.agent")


def meet(link: Link, plan: Plan, orders: Orders, environment: Mapping[str, str]) -> Place:
    """This node's place among all nodes, once all are ready. Raises NotWanted when the run is halted meanwhile."""
    spec = plan.spec
    shared = environment.get("ROOST_SHARED", "")
    if spec.launch in (LaunchKind.SINGLE, LaunchKind.SERVE) and spec.node_count == 1:
        return Place(addresses=(plan.address,), nodes=(plan.node,))
    with _held(ports_on_a_node(spec.launch, spec.node_count, spec.topology)) as ports:
        if spec.node_count == 1:
            return Place(addresses=(plan.address,), nodes=(plan.node,), ports=(ports,), shared=shared)
        members = _everyone(link, plan, ports, orders)
    log.info("All %d nodes are here: %s.", len(members), ", ".join(member.node for member in members))
    return Place(
        node_rank=plan.node_rank,
        addresses=tuple(member.address for member in members),
        nodes=tuple(member.node for member in members),
        ports=tuple(member.ports for member in members),
        shared=shared,
    )


def _everyone(link: Link, plan: Plan, ports: tuple[int, ...], orders: Orders) -> list[Member]:
    route = link.path("agents", str(plan.node_rank), "meet")
    said = {"ports": list(ports), "attempt": plan.attempt}
    log.info("Ready; waits for the other nodes.")
    while True:
        orders.check()
        answer = link.client.call("POST", route, params={"wait": _WAIT_SECONDS}, json=said)
        if answer["met"]:
            orders.check()
            return [decode(Member, each) for each in answer["members"]]


@contextlib.contextmanager
def _held(count: int) -> Iterator[tuple[int, ...]]:
    """Ports that are free on every address of this machine; no other process gets them until they are released."""
    with contextlib.ExitStack() as stack:
        ports: list[int] = []
        for _ in range(_TRIES):
            if len(ports) == count:
                break
            port = random.randrange(_LOWEST, _HIGHEST)  # noqa: S311 - no secret
            holder = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            with contextlib.suppress(OSError):
                holder.bind(("", port))
                ports.append(port)
        else:
            raise Unavailable(f"No {count} ports between {_LOWEST} and {_HIGHEST} are free on this node.")
        yield tuple(ports)
