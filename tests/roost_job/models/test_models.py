"""Models in a job: which files are meant, what is said of them, and where a model is on this machine."""

import os
from pathlib import Path

import pytest

from roost_job.context import JobWorkspace
from roost_job.exceptions import ModelNotFoundException, UserErrorException, WebserviceException
from roost_job.models import model_settings as settings
from roost_job.models.models import Model, ResourceConfiguration, described

NOTHING = dict.fromkeys(
    (
        "tags",
        "properties",
        "description",
        "datasets",
        "model_framework",
        "model_framework_version",
        "sample_input_dataset",
        "sample_output_dataset",
        "resource_configuration",
        "_parent",
    )
)


def tree(root: Path, *paths: str) -> Path:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    return root


def names(found: list[list[str]]) -> list[str]:
    assert all(os.path.isabs(path) for _, path in found)
    return [name for name, _ in found]


# ---- files


def test_a_file_or_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(tmp_path / "net", "a", ".hidden", ".git/x", "sub/b")
    assert names(settings.local_files(root / "a")) == ["a"]
    assert names(settings.local_files(f"{root}/")) == ["net/.hidden", "net/a", "net/.git/x", "net/sub/b"]
    monkeypatch.chdir(root)
    assert names(settings.local_files(".")) == ["net/.hidden", "net/a", "net/.git/x", "net/sub/b"]
    assert names(settings.local_files("sub/../a")) == ["a"]


def test_children_of_a_folder(tmp_path: Path) -> None:
    root = tree(tmp_path, "a", "one/b", "two/b", "two/c/d")
    assert names(settings.local_files(root, ["a", "one/b", "two/c"])) == ["a", "b", "c/d"]
    with pytest.raises(WebserviceException, match="would be 'b'"):
        settings.local_files(root, ["one/b", "two/b"])
    for wrong in (["none"], ["../x"], ["/etc/passwd"], ["."]):
        with pytest.raises(WebserviceException, match="cannot be found in"):
            settings.local_files(root, wrong)
    for nothing in ([], "a"):
        with pytest.raises(UserErrorException, match="list of paths"):
            settings.local_files(root, nothing)


def test_links_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    tree(tmp_path / "store", "blob")
    root = tree(tmp_path / "net", "a")
    (root / "weights").symlink_to(tmp_path / "store/blob")
    (root / "folder").symlink_to(tmp_path / "store")
    assert names(settings.local_files(root)) == ["net/a", "net/weights", "net/folder/blob"]
    (root / "back").symlink_to(root)
    with pytest.raises(WebserviceException, match="a link leads back"):
        settings.local_files(root)


def test_what_no_model_can_be_made_of(tmp_path: Path) -> None:
    (tmp_path / "empty/sub").mkdir(parents=True)
    with pytest.raises(WebserviceException, match="has no files"):
        settings.local_files(tmp_path / "empty")
    with pytest.raises(WebserviceException, match="cannot be found"):
        settings.local_files(tmp_path / "none")
    with pytest.raises(WebserviceException, match="is an address"):
        settings.local_files("https://example.org/model.pt")
    with pytest.raises(UserErrorException, match="must be text"):
        settings.local_files(3)
    os.mkfifo(tree(tmp_path / "net", "a") / "pipe")
    with pytest.raises(WebserviceException, match="is not a file"):
        settings.local_files(tmp_path / "net")
    (tmp_path / "lost").mkdir()
    (tmp_path / "lost/link").symlink_to("nowhere")
    with pytest.raises(WebserviceException, match="cannot be read"):
        settings.local_files(tmp_path / "lost")


# ---- words


def test_tags_as_dict_or_list() -> None:
    assert settings.labels("tags", {"a": 1, "b": None}) == {"a": "1", "b": ""}
    assert settings.labels("tags", ["a", ["b", "2"], ("c", 3)]) == {"a": "", "b": "2", "c": "3"}
    assert settings.wanted("tags", ["a", ["b", "2"]]) == {"a": None, "b": "2"}
    assert settings.labels("tags", None) == {}
    for wrong in ("text", 3, [["a", "b", "c"]], [3]):
        with pytest.raises(UserErrorException, match="tags"):
            settings.labels("tags", wrong)


def test_resources() -> None:
    given = ResourceConfiguration(cpu=1, memory_in_gb=0.5)
    assert settings.resources(given) == {"cpu": 1.0, "memory_gb": 0.5, "gpu": None}
    again = ResourceConfiguration.deserialize(given.serialize())
    assert again is not None and vars(again) == vars(given)
    for wrong in (
        {"cpu": 0},
        {"memory_in_gb": -1},
        {"cpu": "1"},
        {"cpu": True},
        {"cpu": float("nan")},
        {"gpu": -1},
        {"gpu": 0.5},
    ):
        with pytest.raises(WebserviceException, match="Invalid configuration"):
            ResourceConfiguration(**wrong)  # type: ignore[arg-type]
    with pytest.raises(UserErrorException, match="must be a ResourceConfiguration"):
        settings.resources({"cpu": 1})  # type: ignore[arg-type]


class Registered:
    id = "id-1"


def test_datasets() -> None:
    assert settings.datasets([("training data", Registered())], None) == [["training data", "id-1"]]
    for wrong in (["x"], [("training data",)], [("training data", object())], [("training data", None)]):
        with pytest.raises(WebserviceException, match="dataset"):
            described(None, **{**NOTHING, "datasets": wrong})
    with pytest.raises(WebserviceException, match="sample input dataset"):
        described(None, **{**NOTHING, "sample_input_dataset": "a name"})


def test_a_framework_version_needs_its_framework() -> None:
    with pytest.raises(WebserviceException, match="without a valid framework"):
        described(None, **{**NOTHING, "model_framework_version": "2.0"})
    said = described(None, **{**NOTHING, "model_framework": Model.Framework.TENSORFLOW, "model_framework_version": 2.0})
    assert (said["framework"], said["framework_version"]) == ("TensorFlow", "2.0")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("sklearn", "ScikitLearn"),
        ("scikit_learn", "ScikitLearn"),
        ("torch", "PyTorch"),
        ("TF 2", "TensorFlow"),
        ("tf.keras", "TFKeras"),
        ("ScikitLearn", None),
        ("scikit-learn", None),
        ("ONNX", None),
        ("Custom", None),
        ("xgboost", None),
        (None, None),
    ],
)
def test_a_framework_that_looks_like_a_known_one_is_told(
    given: str | None, meant: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    names = "tags properties description datasets model_framework_version sample_input_dataset sample_output_dataset"
    others = dict.fromkeys([*names.split(), "resource_configuration", "_parent"])
    assert described(None, model_framework=given, **others).get("framework") == given
    said = capsys.readouterr().err
    assert said == (
        f"The framework {given!r} is kept as it is; only as {meant!r} could the model be deployed with no code.\n"
        if meant
        else ""
    )


def test_what_is_asked_for_must_be_named() -> None:
    workspace = JobWorkspace("vision")
    with pytest.raises(WebserviceException, match="one of id or name"):
        Model(workspace)
    for wrong in ("net", "net:", "net:x", ":3"):
        with pytest.raises(ModelNotFoundException, match="ModelNotFound"):
            Model(workspace, id=wrong)
    with pytest.raises(UserErrorException, match="must be a Workspace"):
        Model("vision", "net")


# ---- where it is


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("AZUREML_MODEL_DIR", "ROOST_RUN_ID", "ROOST_SPOOL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_outside_of_runs_the_cache_then_this_folder(here: Path) -> None:
    with pytest.raises(WebserviceException, match="not found in cache at azureml-models") as missing:
        Model.get_model_path("net")
    assert str(here) in missing.value.message
    tree(here, "net/a")
    assert Model.get_model_path("net") == "net"
    tree(here, "azureml-models/net/2/m.pt", "azureml-models/net/10/outputs/a", "azureml-models/net/10/outputs/b")
    assert Model.get_model_path("net") == "azureml-models/net/10/outputs"
    assert Model.get_model_path("net", version=2) == "azureml-models/net/2/m.pt"
    assert Model.get_model_path("net", 3) == "net", "another version is not there; the folder is what is left"
    tree(here, "azureml-models/net/11/a", "azureml-models/net/11/b", "azureml-models/net/.12.part/a")
    assert Model.get_model_path("net") == "azureml-models/net/11"
    for wrong in (None, "", 3):
        with pytest.raises(WebserviceException, match="model_name"):
            Model.get_model_path(wrong)  # type: ignore[arg-type]
    with pytest.raises(WebserviceException, match="should be an int"):
        Model.get_model_path("net", version="1")  # type: ignore[arg-type]


def test_in_a_service_its_own_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(here, "app/azureml-models/net/3/m.pt", "app/azureml-models/other/1/outputs/a", "app/azureml-models/other/2/b")
    models = str(here / "app/azureml-models")
    monkeypatch.setenv("AZUREML_MODEL_DIR", f"{models}/net/3")
    assert Model.get_model_path("net") == f"{models}/net/3/m.pt" == Model.get_model_path("net", version=3)
    with pytest.raises(WebserviceException):
        Model.get_model_path("net", version=2)
    monkeypatch.setenv("AZUREML_MODEL_DIR", models)
    assert Model.get_model_path("net") == f"{models}/net/3/m.pt"
    assert Model.get_model_path("other") == f"{models}/other/2/b"
    assert Model.get_model_path("other", version=1) == f"{models}/other/1/outputs"
