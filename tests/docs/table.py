"""How each page is read: see `reading.Page`. A block that is not listed here runs as it is printed."""

import contextlib
import gzip
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.docs.reading import InJob, NotRun, Page, Prepared, Saved
from tests.shared import wheels
from tests.shared.web import serving

TRAIN = "import sys\nprint(sys.argv)\n"
KEPT = """\
import os
from azureml.core import Run
os.makedirs("outputs/model", exist_ok=True)
open("outputs/model/weights.txt", "w").write("weights")
Run.get_context().log("loss", 0.25)
"""
PRICES = "day,region,price\n2024-01-01,north,9\n2024-01-02,south,12\n"
SUBMITTED = """\
from azureml.core import Experiment, ScriptRunConfig, Workspace
ws = Workspace.from_config()
run = Experiment(ws, "guides").submit(ScriptRunConfig(".", "made.py"))
run.wait_for_completion()
"""
NET = """\
class Net:
    def predict(self, rows):
        return Rows(rows)

class Rows(list):
    def tolist(self):
        return list(self)

def load(path):
    open(path).close()
    return Net()
"""
NO_PACKAGES = f"dependencies:\n- python={sys.version_info[0]}.{sys.version_info[1]}\n"


def _service_account() -> str:
    """A file as Google gives it, with a key that is nobody's."""
    key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return json.dumps(
        {
            "type": "service_account",
            "client_email": "roost@example.com",
            "private_key_id": "1",
            "private_key": key.decode(),
        }
    )


@contextlib.contextmanager
def _web(folder: Path) -> Iterator[str]:
    """A server that stands for example.org."""
    files = {f"mnist/train-{name}.gz": gzip.compress(name.encode()) for name in ("images", "labels")}
    (folder / "key.json").write_text(_service_account())
    with serving({**files, "b.csv": PRICES.encode()}) as web:
        yield web.url


@contextlib.contextmanager
def _index(folder: Path) -> Iterator[None]:
    """Packages come from a folder of wheels made here."""
    with pytest.MonkeyPatch.context() as patch:
        made = wheels.machine(folder.parent, patch)
        wheels.wheel(made, "lower", "2.0")
        yield


def _web_url(names: dict[str, Any]) -> str:
    return str(names["given"])


def _run_id(names: dict[str, Any]) -> str:
    return str(names["run"].id)


def _folder(name: str) -> Callable[[dict[str, Any]], str]:
    """In place of a folder of another machine: one in the reader's."""
    return lambda names: str(names["folder"] / name)


PAGES = {
    "README.md": Page(
        files={"train.py": TRAIN},
        blocks={"make demo": NotRun("runs all tests; test_docs.py checks the targets")},
    ),
    "docs/start.md": Page(
        blocks={
            "make install": NotRun("installs the Roost that is tested; tests/chores/test_install.py"),
            "for epoch in range(10)": Saved("train.py"),
        },
    ),
    "docs/guides/submit.md": Page(
        files={"birds/train.py": TRAIN, "train.py": TRAIN},
        blocks={"NotebookRunConfig": NotRun("needs papermill from an index; tests/real/test_notebooks.py")},
    ),
    "docs/guides/track.md": Page(
        files={"sample.png": b"\x89PNG\r\n\x1a\npicture", "model.pt": "weights", "other.py": TRAIN},
        blocks={
            'run.log_row("by angle"': InJob(),
            "log_confusion_matrix": InJob("from azureml.core import Run\nrun = Run.get_context()\n"),
            "run.child_run(": InJob("from azureml.core import Run, ScriptRunConfig\nrun = Run.get_context()\n"),
            "run.get_details_with_logs()": Prepared("run = runs[0]"),
        },
        changes={"ID ID ID": lambda names: " ".join(run.id for run in names["runs"])},
    ),
    "docs/guides/compute.md": Page(
        files={"birds/train.py": TRAIN},
        blocks={"ROOST_HOST=": NotRun("needs other machines; tests/real/test_hosts.py")},
    ),
    "docs/guides/containers.md": Page(
        files={"requirements.txt": "six\n", "Dockerfile": "FROM debian:12\n", "env.yml": NO_PACKAGES},
        before="password = 'secret'",
    ),
    "docs/guides/secrets.md": Page(
        files={"client.pem": "certificate\n"},
        blocks={'Run.get_context().get_secret("db-password")': InJob()},
    ),
    "docs/guides/data.md": Page(
        files={
            "train.py": TRAIN,
            "write.py": "import sys\nopen(sys.argv[2] + '/a.csv', 'w').write('n\\n1\\n')\n",
            "images/1.png": "picture",
            "made/1.png": "picture",
            "a.csv": PRICES,
            "b.csv": PRICES,
            "pictures/1.jpg": "picture",
            "scans/tables/a.jsonl": '{"day": "2024-01-01"}\n',
            "scans/labels.jsonl": '{"image_url": "AmlDatastore://scans/2024/1.png", "label": "bird"}\n',
        },
        before="import pandas\npandas.DataFrame({'n': [1]}).to_parquet('scans/tables/a.parquet')\n",
        around=_web,
        changes={
            "http://example.org": _web_url,
            'account_key="…"': 'account_key="a2V5"',
            "https://example.org/b.csv": lambda names: f"{names['given']}/b.csv",
            "/mnt/scans": _folder("scans"),
            "/mnt/pictures": _folder("pictures"),
        },
        blocks={
            'run.input_datasets["training"]  ': InJob(
                before="import argparse, os\nfrom azureml.core import Dataset, Datastore, Run\n"
                "parser = argparse.ArgumentParser()\nparser.add_argument('--data')\nparser.add_argument('--prices')\n"
                "args = parser.parse_args()\n",
                arguments=lambda names: [
                    "--data",
                    names["files"].as_named_input("training").as_mount(),
                    "--prices",
                    names["table"].as_named_input("prices"),
                ],
            ),
            "azureml.opendatasets": NotRun("needs public addresses; tests/sdk/data/test_open_datasets.py"),
        },
    ),
    "docs/guides/distributed.md": Page(
        blocks={"AzureML-PyTorch-1.6-GPU": NotRun("needs PyTorch 1.6 on Python 3.6; tests/real/test_articles.py")},
    ),
    "docs/guides/endpoints.md": Page(
        files={
            "conda_dependencies.yml": NO_PACKAGES,
            "model.pt": "2",
            "request.json": '{"data": [[0.1, 0.2]]}',
            "serve/net.py": NET,
        },
        before="from azureml.core import Workspace\nfrom azureml.core.model import Model\n"
        "for _ in range(2):\n    Model.register(Workspace.from_config(), 'model.pt', 'net')\n",
        around=_index,
        changes={
            "import json, os": "import json, os\nfrom net import load",
            "' http://127.0.0.1:24680/score": lambda names: f"' {names['service'].scoring_uri}",
        },
        blocks={
            "def init():": Saved("serve/score.py"),
            "service.update(inference_config=new_config)": Prepared("new_config = config"),
        },
    ),
    "docs/guides/environments.md": Page(
        files={"requirements.txt": "lower\n", "train.py": TRAIN},
        around=_index,
        changes={
            "--curated AzureML-PyTorch-1.6-GPU": "--curated AzureML-Minimal",
            "RUN": _run_id,
            "NAME": "birds",
            "FILE": "lock.txt",
        },
    ),
    "docs/guides/models.md": Page(
        files={"made.py": KEPT, "rows.csv": PRICES},
        before=SUBMITTED
        + "from azureml.core import Dataset\nstore = ws.get_default_datastore()\n"
        + "store.upload_files(['rows.csv'], target_path='rows')\n"
        + "dataset = Dataset.File.from_files((store, 'rows')).register(ws, 'rows')\n",
    ),
    "docs/guides/no-code.md": Page(blocks={"TENSORFLOW": NotRun("needs TensorFlow; tests/real/test_serving.py")}),
    "docs/guides/onnx.md": Page(
        blocks={
            "model.to_onnx": NotRun("needs PyTorch; tests/real/test_serving.py"),
            "roost model export-onnx": NotRun("needs PyTorch; tests/real/test_serving.py"),
            "torch.onnx.export": NotRun("needs PyTorch; tests/real/test_serving.py"),
        },
    ),
    "docs/guides/operate.md": Page(
        files={"made.py": KEPT},
        before=SUBMITTED,
        changes={
            "roost run delete ID…": lambda names: f"roost run delete {names['run'].id} --yes",
            "~/other": "other",
            "~/.config/fish/completions/": "",
        },
        blocks={
            "roost up --install": NotRun("needs systemd of a user"),
            "ROOST_STORE_URL": NotRun("needs PostgreSQL; tests/real/test_postgres.py"),
        },
    ),
    "docs/guides/studio.md": Page(files={"made.py": KEPT}, before=SUBMITTED),
}
