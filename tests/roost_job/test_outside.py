"""What the SDK has and a job does not: said in words, and `hasattr` still answers."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from azureml import _lending
from roost import Environment, Model, Webservice
from roost_job.context import JobWorkspace
from roost_job.data.datasets import FileDataset, TabularDataset
from roost_job.door import _answer
from roost_job.exceptions import UserErrorException
from roost_job.models.models import Model as JobModel
from roost_job.outside import NotInJob, NotInRoost

WORKSPACE = JobWorkspace("vision")


@pytest.mark.parametrize("name", ["set_default_datastore", "environments", "compute_targets", "webservices"])
def test_of_a_workspace(name: str) -> None:
    with pytest.raises(UserErrorException, match=rf"Workspace\.{name} is not in a job\.\nhint: "):
        getattr(WORKSPACE, name)
    assert not hasattr(WORKSPACE, name)


def test_the_sdk_with_the_workspace_of_a_job() -> None:
    with pytest.raises(UserErrorException, match="In a job the workspace is known by its name"):
        Environment.list(WORKSPACE)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("what", "use"),
    [
        ("Model.deploy", lambda: Model.deploy(WORKSPACE, "birds", [])),
        ("Model.profile", lambda: Model.profile(WORKSPACE, "birds", [], None, None)),
        ("Webservice", lambda: Webservice(WORKSPACE, "birds")),
        ("Webservice", lambda: Webservice.list(WORKSPACE)),
        ("Model.deploy", lambda: JobModel.deploy(WORKSPACE, "birds", [])),
        ("Model.profile", lambda: JobModel.profile(WORKSPACE, "birds", [])),
    ],
)
def test_of_services(what: str, use: Callable[[], object]) -> None:
    with pytest.raises(NotInJob, match=rf"^{what} is not in a job\.\nhint: Do it outside of the run"):
        use()


def test_of_services_without_the_sdk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = _lending._unusable("InferenceConfig", "needs the Roost SDK.", "Use another Python.")
    with pytest.raises(UserErrorException, match="needs the Roost SDK"):
        config("score.py")
    monkeypatch.setenv("ROOST_RUN_ID", "train_1")
    monkeypatch.setenv("ROOST_SPOOL", str(tmp_path))
    with pytest.raises(NotInJob, match=r"^InferenceConfig is not in a job\.\nhint: Do it outside of the run"):
        config("score.py")


def test_addresses_of_a_models_files_are_left_out() -> None:
    with pytest.raises(NotInRoost, match=r"(?s)get_sas_urls`, and none is planned.*download"):
        JobModel(WORKSPACE, _facts={"name": "net", "version": 1}).get_sas_urls()


def test_of_datasets() -> None:
    table, files = TabularDataset(None, {}), FileDataset(None, {})
    for deed in (lambda: table.filter(1), lambda: table["price"]):
        with pytest.raises(
            UserErrorException, match=r"(?s)TabularDataset\.filter is not in a job.*to_pandas_dataframe"
        ):
            deed()
    with pytest.raises(UserErrorException, match=r"FileDataset\.as_mount is not in a job"):
        files.as_mount()
    with pytest.raises(AttributeError, match="FileDataset has no `nonsense`"):
        files.nonsense  # noqa: B018 - asking is the test
    with pytest.raises(AttributeError, match="Did you mean `download`"):
        files.donwload  # noqa: B018 - as above


def test_that_there_are_no_files_says_where(tmp_path: Path) -> None:
    sources = [{"datastore": "mine", "path": "a/*.png"}, {"url": "http://example.org/b"}]
    files = FileDataset(SimpleNamespace(ask=lambda *_, **__: []), {"sources": sources})
    with pytest.raises(UserErrorException, match=r"has no files now at mine/a/\*\.png and 1 more\."):
        files.download(str(tmp_path))


def test_a_dataset_that_is_not_there_is_the_same_error_as_outside() -> None:
    with pytest.raises(UserErrorException, match="No dataset"):
        _answer(b'{"error": {"code": "data_not_found", "message": "No dataset.", "hint": ""}}')
