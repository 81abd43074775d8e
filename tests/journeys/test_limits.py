"""A script that wants more memory than its node's size has is ended by the kernel, and the run says so."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests import skips
from tests.shared.folders import tree

from roost import AmlCompute, ComputeTarget, Experiment, ScriptRunConfig, Workspace
from roost_job.exceptions import ActivityFailedException

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.fixture
def groups(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of control groups in which memory can be limited."""
    name = f"roost-test-{os.getpid()}"
    for root, limit in (("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
        place = Path(root, name)
        with suppress(OSError):
            place.mkdir()
            if (place / limit).exists():
                monkeypatch.setenv("ROOST_CGROUP", str(place))
                yield place
                place.rmdir()
                return
            place.rmdir()
    skips.skip(
        "cgroups",
        "No control group with a limit of memory can be made here: that takes root, or a folder that is delegated.",
    )


def test_the_want_of_memory_is_told(groups: Path, workspace: Workspace, tmp_path: Path) -> None:
    target = ComputeTarget.create(
        workspace, "small", AmlCompute.provisioning_configuration("Standard_A1_v2", max_nodes=1)
    )
    source = tree(tmp_path / "src", {"train.py": "print('so far')\nheap = [bytearray(2**26) for _ in range(64)]\n"})
    run = Experiment(workspace, "tests").submit(ScriptRunConfig(str(source), "train.py", compute_target=target))
    with pytest.raises(ActivityFailedException, match=r"(?s)ran out of memory: its limit is 2 GiB.*so far"):
        run.wait_for_completion()
    assert list(groups.glob("*/")) == []
