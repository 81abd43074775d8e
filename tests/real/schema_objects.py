"""A control plane with one real thing of every noun, and the words that name them in addresses."""

import secrets
from dataclasses import dataclass
from pathlib import Path

from tests.shared.clients import Client
from tests.shared.folders import tree

from roost import (
    AmlCompute,
    ComputeTarget,
    Dataset,
    Environment,
    Experiment,
    InferenceConfig,
    LocalWebservice,
    Model,
    ScriptRunConfig,
    Workspace,
)
from roost.domain.people import Token
from roost.sdk.connection import discovery
from roost.services.people import digest
from roost.store import open_store

TRAIN = """
import os
from azureml.core import Run

run = Run.get_context()
for step in range(20):
    run.log("loss", 1 / (step + 1))
run.log("odd", float("nan"))
run.log_list("list", [1, 2, 3])
run.log("word", "a")
run.log_table("table", {"a": [1, 2], "b": [3, 4]})
run.tag("kind", "line")
os.makedirs("outputs", exist_ok=True)
open("outputs/model.txt", "w").write("7" * 100)
print("trained")
"""
SCORE = "def init():\n    pass\n\ndef run(data):\n    return data\n"


@dataclass(frozen=True)
class Things:
    url: str
    person: str
    """The owner's token."""
    run: str
    """The run's token."""
    words: dict[str, dict[str, str]]
    """By the noun of a path (what stands before its first parameter but the workspace's) and the parameter's name."""

    def path_parameters(self, path: str, names: list[str]) -> dict[str, str]:
        own = next((words for start, words in self.words.items() if start and start in path), {})
        return {name: {**self.words[""], **own}[name] for name in names}


def make(home: Path, folder: Path) -> Things:
    workspace = Workspace()
    tree(folder, {"train/train.py": TRAIN, "serve/score.py": SCORE, "data/a.csv": "x,y\n1,2\n"})
    run = Experiment(workspace, "lines").submit(ScriptRunConfig(str(folder / "train"), script="train.py"))
    run.wait_for_completion()
    model = run.register_model(model_name="line", model_path="outputs/model.txt")
    store = workspace.get_default_datastore()
    store.upload_files([str(folder / "data/a.csv")], target_path="things")
    dataset = Dataset.File.from_files((store, "things/a.csv")).register(workspace, "points")
    ComputeTarget.create(workspace, "cpu", AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", max_nodes=2))
    Environment("birds").register(workspace)
    workspace.get_default_keyvault().set_secret("key", "a secret value")
    config = InferenceConfig(entry_script="score.py", source_directory=str(folder / "serve"))
    service = Model.deploy(workspace, "line-svc", [model], config, LocalWebservice.deploy_configuration())
    service.wait_for_deployment()
    record = discovery.read_record(home)
    assert record is not None
    token = (home / "token").read_text().strip()
    words = {
        "/computes/": {"name": "cpu", "node": "cpu-1"},
        "/environments/": {"name": "birds"},
        "/models/": {"name": model.name, "version": str(model.version)},
        "/datasets/": {"name": "points", "dataset_id": dataset.id},
        "/datastores/": {"name": store.name, "path": "things/a.csv"},
        "/endpoints/": {"name": "line-svc"},
        "/secrets/": {"name": "key"},
        "/experiments/": {"name": "lines"},
        "/streams/": {"name": "user_logs/std_log.txt"},
        "/outputs/": {"name": "out"},
        "/studio/": {"name": "list.js"},
        "/data/": {"name": "points"},
        "/blobs/": {"name": _blob(record.url, token, run.id)},
        "": {
            "workspace": workspace.name,
            "name": workspace.name,
            "run_id": run.id,
            "path": "outputs/model.txt",
            "spool": "0.spool",
            "node_rank": "0",
            "number": "1",
            "lock": "0" * 64,
        },
    }
    return Things(record.url, token, _token_of_run(home, run.id), words)


def _blob(url: str, token: str, run_id: str) -> str:
    """The name of the content of a file that the run wrote."""
    name: str = Client(url, token).get(f"/api/runs/{run_id}/files?prefix=outputs/").json["files"][0]["blob"]
    return name


def _token_of_run(home: Path, run_id: str) -> str:
    """One more of those that the run's agent has."""
    token, store = secrets.token_hex(16), open_store(f"sqlite:///{home / 'roost.db'}")
    try:
        store.people.add_token(Token(digest=digest(token), user="ann", run_id=run_id, created_at=1.0, expires_at=None))
    finally:
        store.close()
    return token
