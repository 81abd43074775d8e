"""The main job: submit a training script, watch it live, read back its metrics, download what it made.

Every line below is code for the Azure ML SDK v1. `make demo` runs it; so does `python examples/demo.py`.
"""

import os
import shutil
import sys
from pathlib import Path

from azureml.core import Experiment, ScriptRunConfig, Workspace

here = Path(__file__).parent

ws = Workspace.from_config()
experiment = Experiment(ws, name="spirals")
src = ScriptRunConfig(
    source_directory=str(here / "train"),
    script="train.py",
    arguments=["--epochs", 25, "--hidden", 16],
    compute_target="local",
)
run = experiment.submit(src)
run.wait_for_completion(show_output=True)

metrics = run.get_metrics()
target = here / "demo-outputs" / "model.json"
run.download_file(name="outputs/model.json", output_file_path=str(target))

print("What happened")
print(f"  {run.id} ended {run.get_status()}")
print(f"  loss went from {metrics['loss'][0]:.3f} to {metrics['loss'][-1]:.3f} in {len(metrics['loss'])} epochs")
print(f"  accuracy on points it had not seen: {metrics['accuracy'][-1]:.1%}")
print(f"  it kept {', '.join(run.get_file_names())}")
print(f"  the model was downloaded to {target}")
beside = Path(sys.executable).with_name("roost")
roost = "roost" if shutil.which("roost") else os.path.relpath(beside)
print("Where to look")
print(f"  {roost} run show {run.id}")
print(f"  {roost} run logs {run.id}")
print(f"  {roost} run list")
print(f"The control plane goes on in the background; {roost} down ends it.")
