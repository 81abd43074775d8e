"""Which engines there are: the table, and entry points of other packages."""

from pathlib import Path

import pytest
from tests.engines import packages, queueing

from roost import engines
from roost.domain.compute import Machine
from roost.domain.errors import InvalidInput
from roost.engines.base import Abilities


def test_engines_of_other_packages_stand_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(
        packages.install(tmp_path, twin="tests.engines.queueing", local="tests.engines.queueing")
    )
    assert engines.names() == ["hosts", "inline", "local", "twin"]
    assert engines.load("twin") is queueing
    assert engines.load("local").__name__ == "roost.engines.local", "ours cannot be replaced"  # type: ignore[attr-defined]


def test_an_engine_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(packages.install(tmp_path, twin="nowhere_at_all", odd="tests.engines.queueing:nothing"))
    with pytest.raises(InvalidInput, match="No engine named 'slurm'") as caught:
        engines.load("slurm")
    assert caught.value.hint == "There are: hosts, inline, local, odd, twin."
    with pytest.raises(InvalidInput, match="'twin' cannot be loaded: No module named 'nowhere_at_all'"):
        engines.load("twin")
    with pytest.raises(InvalidInput, match="'odd' cannot be loaded"):
        engines.load("odd")


@pytest.mark.parametrize(
    "words", [{}, {"queues": True, "hosts": ("10.0.0.2",)}, {"hosts": ("10.0.0.2",), "logical_nodes": True}]
)
def test_an_engine_gives_nodes_in_one_way(words: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="in one way"):
        Abilities(shared_disk=True, capacity=Machine(cores=2, memory_gb=8.0, gpus=0), **words)  # type: ignore[arg-type]
