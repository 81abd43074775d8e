"""`Model` in the SDK: what would be deployed, printed; and what is said without asking anybody."""

import json

import pytest

from roost import Model, ResourceConfiguration
from roost_job.exceptions import UserErrorException
from roost_job.models import models as job


class Config:
    def __init__(self) -> None:
        self.cpu_cores = 1
        self.tags = {"a": ("b", None)}
        self.inner = ResourceConfiguration(cpu=1)
        self._private = "not shown"


def test_what_would_be_deployed(capsys: pytest.CaptureFixture[str]) -> None:
    Model.print_configuration(["net:1"], {"entry_script": "score.py"}, Config(), deployment_target=None)
    said = json.loads(capsys.readouterr().out)
    assert said == {
        "models": ["net:1"],
        "inference_config": {"entry_script": "score.py"},
        "deployment_config": {
            "cpu_cores": 1,
            "tags": {"a": ["b", None]},
            "inner": {"cpu": 1, "memory_in_gb": None, "gpu": None},
        },
        "deployment_target": None,
    }


def test_it_is_the_job_librarys_class_and_more() -> None:
    assert issubclass(Model, job.Model)
    assert Model.Framework is job.Model.Framework and Model.Framework.TENSORFLOW == "TensorFlow"
    for asked in (lambda: Model(None, "net"), lambda: Model.list("vision")):
        with pytest.raises(UserErrorException, match="must be a Workspace"):
            asked()
