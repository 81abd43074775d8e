"""The run of the TensorFlow article on one node, its dataset mounted: python examples/mnist/submit.py

The article takes MNIST from a host that is gone; files of the same form, with ten noisy patterns, are made here.
"""

import gzip
import random
import struct
import tempfile
from pathlib import Path

from azureml.core import Dataset, Environment, Experiment, ScriptRunConfig, Workspace
from azureml.core.conda_dependencies import CondaDependencies

SIDE = 28


def write(folder: Path, kind: str, count: int, seed: int) -> None:
    """Images and labels, in the form of MNIST."""
    patterns = [random.Random(digit).randbytes(SIDE * SIDE) for digit in range(10)]
    chance = random.Random(seed)
    labels = bytes(chance.randrange(10) for _ in range(count))
    images = b"".join(
        bytes(
            (point * 3 + noise) // 4
            for point, noise in zip(patterns[label], chance.randbytes(SIDE * SIDE), strict=True)
        )
        for label in labels
    )
    (folder / f"{kind}-images-idx3-ubyte.gz").write_bytes(
        gzip.compress(struct.pack(">IIII", 2051, count, SIDE, SIDE) + images)
    )
    (folder / f"{kind}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(struct.pack(">II", 2049, count) + labels))


ws = Workspace.from_config()
with tempfile.TemporaryDirectory() as name:
    write(Path(name), "train", 1000, seed=1)
    write(Path(name), "t10k", 200, seed=2)
    store = ws.get_default_datastore()
    store.upload(name, target_path="mnist", overwrite=True, show_progress=False)
dataset = Dataset.File.from_files(path=(store, "mnist")).register(
    workspace=ws, name="mnist-dataset", description="training and test dataset", create_new_version=True
)
print(dataset.to_path())

env = Environment("tensorflow-mnist")  # the article: Environment.get(workspace=ws, name="AzureML-TensorFlow-2.2-GPU")
env.python.conda_dependencies = CondaDependencies.create(pip_packages=["tensorflow-cpu==2.21.0"])
args = ["--data-folder", dataset.as_mount()]
args += ["--batch-size", 64, "--first-layer-neurons", 256, "--second-layer-neurons", 128, "--learning-rate", 0.01]
src = ScriptRunConfig(
    source_directory=str(Path(__file__).parent / "scripts"),
    script="tf_mnist.py",
    arguments=args,
    compute_target="local",
    environment=env,
)
run = Experiment(ws, name="tf-mnist").submit(src)
run.wait_for_completion(show_output=True)
print(run.get_metrics())
print(run.get_file_names())
