"""Horovod beside the frameworks of its years: corners of the catalogue's table, each as an estimator brings it along, compiled
here and used by two ranks. PyTorch 1.6 and 1.13, and TensorFlow 2.2, are in the parts `environments` and `articles`. Cold, it
downloads 1 GB and compiles for minutes; wheels are kept in ROOST_TEST_CACHE.
"""

from pathlib import Path

import pytest
from tests import skips
from tests.real import caches
from tests.shared.folders import tree
from tests.shared.interpreters import python

from roost import AmlCompute, ComputeTarget, Experiment, MpiConfiguration, PyTorch, TensorFlow, Workspace

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(1500),
    pytest.mark.filterwarnings("ignore:The estimator:DeprecationWarning"),
]

COMMON = """
import horovod
from azureml.core import Run

run = Run.get_context()
run.log("horovod_%d" % hvd.rank(), horovod.__version__)
run.log("sum_%d" % hvd.rank(), total)
"""
TORCH = """
import torch
import horovod.torch as hvd

hvd.init()
same = {"op": hvd.Sum} if hasattr(hvd, "Sum") else {"average": False}
total = float(hvd.allreduce(torch.tensor([hvd.rank() + 1.0]), **same)[0])
version = torch.__version__
"""
TENSORFLOW = """
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
same = {"op": hvd.Sum} if hasattr(hvd, "Sum") else {"average": False}
found = hvd.allreduce(tf.constant([hvd.rank() + 1.0]), **same)
total = float(found[0]) if tf.__version__ >= "2" else float(tf.Session().run(found)[0])
version = tf.__version__
"""


@pytest.fixture(autouse=True)
def cache(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is downloaded and compiled is kept for the next time, with that of other parts."""
    caches.keep_builds(monkeypatch)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.mark.parametrize(
    ("estimator", "version", "exact", "horovod", "minor"),
    [
        (PyTorch, "1.0", "1.0.1", "0.16.1", "3.6"),
        (TensorFlow, "1.13", "1.13.2", "0.16.1", "3.6"),
    ],
    ids=["torch-1.0", "tensorflow-1.13"],
)
def test_two_ranks_add_up(
    workspace: Workspace,
    experiment: Experiment,
    tmp_path: Path,
    estimator: type[PyTorch | TensorFlow],
    version: str,
    exact: str,
    horovod: str,
    minor: str,
) -> None:
    python(minor)
    skips.needs("mpi")
    cluster = ComputeTarget.create(
        workspace, "pair", AmlCompute.provisioning_configuration("STANDARD_NC6", max_nodes=2)
    )
    cluster.wait_for_completion()
    script = (TORCH if estimator is PyTorch else TENSORFLOW) + COMMON + 'run.log("version", version)\n'
    made = estimator(
        source_directory=str(tree(tmp_path / "src", {"script.py": script})),
        compute_target=cluster,
        entry_script="script.py",
        node_count=2,
        distributed_training=MpiConfiguration(),
        framework_version=version,
        use_gpu=True,
    )
    run = experiment.submit(made)
    run.wait_for_completion(show_output=True)
    logged = run.get_metrics()
    assert (logged["sum_0"], logged["sum_1"]) == (3.0, 3.0)
    assert (logged["horovod_0"], logged["horovod_1"]) == (horovod, horovod)
    assert exact in str(logged["version"])
