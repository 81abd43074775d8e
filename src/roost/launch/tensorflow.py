"""`tf.distribute`: workers and parameter servers, assigned to the nodes in turn, each with its `TF_CONFIG`.

Worker 0 is the chief by TensorFlow's own rule; if a task of type `chief` is requested, the first worker becomes it. Parameter
servers never end by themselves, so the run does not wait for them. With a chief, the run waits only for the chief.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from roost.domain.runs import RunSpec
from roost.domain.topology import Topology
from roost.launch.base import Place, Process, argv_of


@dataclass(frozen=True)
class _Task:
    kind: str
    index: int
    node: int
    address: str


def tensorflow(spec: RunSpec, place: Place) -> tuple[Process, ...]:
    tasks = list(_tasks(spec.topology, place))
    cluster: dict[str, list[str]] = {}
    for task in tasks:
        cluster.setdefault(task.kind, []).append(task.address)
    return tuple(
        Process(
            argv=argv_of(spec),
            env=_variables(task, cluster, rank),
            rank=rank,
            waited_for=task.kind == "chief" if spec.topology.chief else task.kind == "worker",
            expands=not spec.shell,
        )
        for rank, task in enumerate(tasks)
        if task.node == place.node_rank
    )


def _tasks(topology: Topology, place: Place) -> Iterator[_Task]:
    """Workers first, so that they have the lowest ranks; each node's tasks take its ports in turn."""
    chiefs = 1 if topology.chief else 0
    kinds = [("chief", i) for i in range(chiefs)]
    kinds += [("worker", i) for i in range(topology.workers - chiefs)]
    kinds += [("ps", i) for i in range(topology.parameter_servers)]
    nodes = len(place.addresses)
    for number, (kind, index) in enumerate(kinds):
        node = number % nodes
        yield _Task(kind, index, node, f"{place.addresses[node]}:{place.ports[node][number // nodes]}")


def _variables(task: _Task, cluster: dict[str, list[str]], rank: int) -> dict[str, str]:
    told = {"cluster": cluster, "task": {"type": task.kind, "index": task.index}, "environment": "cloud"}
    return {"TF_CONFIG": json.dumps(told), "AZ_BATCHAI_TASK_INDEX": str(rank)}
