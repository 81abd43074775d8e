"""Data that several nodes of a run have written under one name: delivered node by node, once the scripts of all have ended well.

Each node notes what it has delivered among the run's files; those after it see there which names are taken. The last one has the
whole registered, so that a dataset never has half of it.
"""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from roost.agent.link import Link, persist
from roost.blobs.hashing import hash_file
from roost.domain.codec import decode
from roost.domain.errors import NotFound
from roost.domain.files import RunFile
from roost.domain.gangs import Member, may_deliver
from roost.domain.plans import Plan

_WAIT_SECONDS = 5
NOTE = "system_logs/output_{}_node_{}.json"


def turn(link: Link, plan: Plan) -> bool:
    """Waits until it is this node's turn; False when another has not ended well, and nothing is to be delivered."""
    params = {"before": plan.node_rank, "wait": _WAIT_SECONDS}
    while True:
        answer = persist(lambda: link.client.call("GET", link.path("agents"), params=params))
        may = may_deliver([decode(Member, each) for each in answer["members"]], plan.node_rank)
        if may is not None:
            return may


def taken(link: Link, plan: Plan, output: str) -> dict[str, str]:
    """What the nodes before this one have delivered: content by name."""
    found: dict[str, str] = {}
    for rank in range(plan.node_rank):
        try:
            body = link.client.fetch("GET", link.path("files", NOTE.format(output, rank))).body
        except NotFound:  # it had nothing to deliver
            continue
        found.update(json.loads(body))
    return found


def beside(
    found: Sequence[tuple[str, Path]], others: Mapping[str, str], node_rank: int
) -> tuple[list[tuple[str, Path]], list[str]]:
    """What is left to be uploaded, and which names are others': of two files of one name and other content, the later node's
    stands beside the other's as `NAME.node1`. The same content is there already."""
    own, moved = [], []
    for name, path in found:
        if name not in others:
            own.append((name, path))
        elif hash_file(path) != others[name]:
            own.append((f"{name}.node{node_rank}", path))
            moved.append(name)
    return own, moved


def note(link: Link, plan: Plan, output: str, delivered: Sequence[tuple[str, Path]]) -> None:
    """For the nodes after this one."""
    data = json.dumps({name: hash_file(path) for name, path in delivered}, indent=1).encode()
    blob = persist(lambda: link.carrier.put(data))
    name = NOTE.format(output, plan.node_rank)
    persist(lambda: link.put_files([RunFile(path=name, blob=blob, size=len(data), modified_at=time.time())]))
