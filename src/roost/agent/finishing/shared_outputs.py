"""Outputs that several nodes of a run fill: delivered node by node, once the scripts of all have succeeded.

Each node lists its delivered files in a file of the run, where later nodes read which names are taken. The last node has the
output registered, so that a dataset is never partial.
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
    """Waits until it is this node's turn; False when another node has failed, and nothing is to be delivered."""
    params = {"before": plan.node_rank, "wait": _WAIT_SECONDS}
    while True:
        answer = persist(lambda: link.client.call("GET", link.path("agents"), params=params))
        may = may_deliver([decode(Member, each) for each in answer["members"]], plan.node_rank)
        if may is not None:
            return may


def taken(link: Link, plan: Plan, output: str) -> dict[str, str]:
    """The files that earlier nodes have delivered: hash by name."""
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
    """The files to upload, and the names that were taken: a later node's file of the same name but other content is stored as
    `NAME.node1`. A file with the same content is skipped."""
    own, moved = [], []
    for name, path in found:
        if name not in others:
            own.append((name, path))
        elif hash_file(path) != others[name]:
            own.append((f"{name}.node{node_rank}", path))
            moved.append(name)
    return own, moved


def note(link: Link, plan: Plan, output: str, delivered: Sequence[tuple[str, Path]]) -> None:
    """Lists this node's delivered files for later nodes."""
    data = json.dumps({name: hash_file(path) for name, path in delivered}, indent=1).encode()
    blob = persist(lambda: link.carrier.put(data))
    name = NOTE.format(output, plan.node_rank)
    persist(lambda: link.put_files([RunFile(path=name, blob=blob, size=len(data), modified_at=time.time())]))
