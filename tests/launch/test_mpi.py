import pytest

from roost import launch
from roost.domain.runs import RunSpec
from roost.domain.topology import LaunchKind, Topology
from roost.launch.base import Place
from roost.launch.mpi import BOOT

HERE = {"addresses": ("127.0.2.1", "127.0.2.2"), "nodes": ("n0", "n1"), "ports": ((41, 42), (51, 52))}
APART = {**HERE, "addresses": ("10.0.0.1", "10.0.0.2")}
MACHINE = ("--processes", "2", "--nodes", "n0,n1", "--addresses", "127.0.2.1,127.0.2.2", "--one-machine")


def _spec(**more: object) -> RunSpec:
    given = {"script": "t.py", "interpreter": "/p", "launch": LaunchKind.MPI, "node_count": 2, **more}
    return RunSpec(topology=Topology(processes_per_node=2), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (_spec(arguments=("--lr", "$LR")), (*MACHINE, "--", "/p", "-u", "t.py", "--lr", "$LR")),
        (_spec(script="", command=("./solve", "-n", "3")), (*MACHINE, "--", "./solve", "-n", "3")),
        (
            _spec(script="", command=("python t.py | tee x",), shell=True),
            (*MACHINE, "--shell", "--", "bash", "-c", "python t.py | tee x"),
        ),
    ],
)
def test_mpirun_on_the_first_node(spec: RunSpec, expected: tuple[str, ...]) -> None:
    (process,) = launch.find("mpi")(spec, Place(**HERE))
    assert process.argv == ("/p", *BOOT, "run", *expected)
    assert process.rank == -1
    assert not process.expands
    assert process.env["AZ_BATCHAI_MPI_MASTER_NODE"] == "127.0.2.1"
    assert process.env["AZ_BATCH_MASTER_NODE"] == "127.0.2.1:41"


def test_the_other_nodes_have_nothing_of_their_own() -> None:
    assert launch.find("mpi")(_spec(), Place(node_rank=1, **HERE)) == ()


def test_nodes_that_are_machines_are_not_taken_for_one() -> None:
    (process,) = launch.find("mpi")(_spec(), Place(**APART))
    assert "--one-machine" not in process.argv
