"""A model with no code, from its run to a service that answers and refuses; only the replica ever opens its file."""

import json
import os
import urllib.request
from pathlib import Path

import psutil
import pytest
from tests.shared.folders import tree

from roost import Experiment, Model, ResourceConfiguration, ScriptRunConfig, Workspace
from roost.sdk.connection import discovery
from roost.sdk.models import no_code_environments
from roost_job.exceptions import WebserviceException

pytestmark = pytest.mark.slow

# What a pickle may do to whoever loads it: this one writes down which process that was, and becomes something with `predict`.
TRAIN = """
import pickle, sys

MADE = (
    "(lambda: (open(%r, 'a').write('%%d\\\\n' %% __import__('os').getpid()), "
    "type('Sum', (), {'predict': lambda self, rows: rows.sum(axis=1), 'n_features_in_': 2})())[1])()" % sys.argv[1]
)

class Estimator(object):
    def __reduce__(self):
        return eval, (MADE,)

with open("outputs/model.pkl", "wb") as file:
    pickle.dump(Estimator(), file)
"""


def test_from_the_run_to_an_answer(
    workspace: Workspace, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # scikit-learn itself is no part of the tests' Python: the interpreter of the run is good when it has this.
    monkeypatch.setitem(no_code_environments.MODULES, "sklearn", "numpy")
    opened = tmp_path / "opened.txt"
    config = ScriptRunConfig(
        str(tree(tmp_path / "src", {"train.py": TRAIN})), script="train.py", arguments=[str(opened)]
    )
    run = Experiment(workspace, "sums").submit(config)
    run.wait_for_completion()
    model = run.register_model(
        "sums",
        "outputs/model.pkl",
        model_framework=Model.Framework.SCIKITLEARN,
        model_framework_version="1.8",
        resource_configuration=ResourceConfiguration(cpu=1, memory_in_gb=1),
    )
    service = Model.deploy(workspace, "sums-service", [model])
    service.wait_for_deployment()
    try:
        assert service.state == "Healthy"
        assert service.run(json.dumps({"data": [[1, 2], [3, 4]]})) == {"predict": [3.0, 7.0]}
        assert service.run(json.dumps({"instances": [[1, 2]]})) == {"predictions": [3.0]}
        with pytest.raises(WebserviceException, match=r"must have the shape \[any, 2\] \(float64\)") as refused:
            service.run(json.dumps({"data": [[1]]}))
        assert "400" in str(refused.value)
        with urllib.request.urlopen(service.swagger_uri, timeout=30) as answer:
            assert '"example": {"data": [[0.0, 0.0]]}' in json.dumps(json.load(answer))

        record = discovery.read_record(home)
        loaders = {int(line) for line in opened.read_text().split()}
        assert record is not None
        assert loaders and not loaders & {record.pid, os.getpid()}
        assert all("roost_job.scoring" in " ".join(psutil.Process(pid).cmdline()) for pid in loaders)
    finally:
        service.delete()
