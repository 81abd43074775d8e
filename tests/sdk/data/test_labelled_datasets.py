"""Labelled data: an export of labels as JSON lines, and the files that its rows name."""

import json
from pathlib import Path

import pytest
from tests.shared.folders import tree

from azureml.contrib.dataset import FileHandlingOption, LabeledDatasetTask
from roost import Dataset, Datastore, TabularDataset, Workspace
from roost.domain.errors import InvalidInput

pytestmark = pytest.mark.slow


@pytest.fixture
def labels(workspace: Workspace, tmp_path: Path) -> TabularDataset:
    rows = [
        {"image_url": "AmlDatastore://pictures/birds/a/1.jpg", "label": "owl", "label_confidence": 1.0},
        {
            "image_url": "azureml://subscriptions/s/resourcegroups/r/workspaces/w/datastores/pictures/paths/birds/b/2.jpg",
            "label": "kite",
            "label_confidence": 0.5,
        },
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    lost = json.dumps({"image_url": "AmlDatastore://pictures/birds/gone.jpg"}) + "\n"
    away = json.dumps({"image_url": "AmlDatastore://pictures/../secret"}) + "\n"
    content = {
        "birds/a/1.jpg": "owl",
        "birds/b/2.jpg": "kite",
        "l.jsonl": lines,
        "lost.jsonl": lost,
        "away.jsonl": away,
    }
    store = Datastore.register_folder(workspace, "pictures", tree(tmp_path / "data", content))
    found: TabularDataset = Dataset._Labeled.from_json_lines(
        (store, "l.jsonl"), LabeledDatasetTask.IMAGE_CLASSIFICATION
    )
    return found


def test_files_come_with_their_labels(labels: TabularDataset, tmp_path: Path) -> None:
    assert labels.to_pandas_dataframe()["image_url"][0] == "AmlDatastore://pictures/birds/a/1.jpg", "a text until then"
    for _ in range(2):
        frame = labels.to_pandas_dataframe(
            file_handling_option=FileHandlingOption.DOWNLOAD,
            target_path=str(tmp_path / "here"),
            overwrite_download=True,
        )
        assert frame["image_url"][0] == str(tmp_path / "here/birds/a/1.jpg")
        assert [Path(path).read_text() for path in frame["image_url"]] == frame["label"].tolist() == ["owl", "kite"]
    frame = labels.take(1).to_pandas_dataframe(file_handling_option=FileHandlingOption.MOUNT)
    assert [Path(path).read_text() for path in frame["image_url"]] == ["owl"]


def test_two_datastores_may_have_the_same_path(workspace: Workspace, tmp_path: Path) -> None:
    for name in ("one", "two"):
        Datastore.register_folder(workspace, name, tree(tmp_path / name, {"a/1.jpg": name}))
    rows = "".join(json.dumps({"image_url": f"AmlDatastore://{name}/a/1.jpg"}) + "\n" for name in ("one", "two"))
    tree(tmp_path / "one", {"l.jsonl": rows})
    labels = Dataset.Tabular.from_json_lines_files((workspace.datastores["one"], "l.jsonl"))
    for option in FileHandlingOption:
        frame = labels.to_pandas_dataframe(file_handling_option=option, target_path=str(tmp_path / option.name))
        assert [Path(path).read_text() for path in frame["image_url"]] == ["one", "two"]


def test_what_cannot_be_brought(labels: TabularDataset) -> None:
    store = labels.workspace.datastores["pictures"]
    with pytest.raises(InvalidInput, match="must be FileHandlingOption"):
        labels.to_pandas_dataframe(file_handling_option="STREAM")
    for name, words in (
        ("lost", r"does not have 'birds/gone\.jpg', which the table names"),
        ("away", "no column of files"),
    ):
        table = Dataset.Tabular.from_json_lines_files((store, f"{name}.jsonl"))
        with pytest.raises(InvalidInput, match=words):
            table.to_pandas_dataframe(file_handling_option=FileHandlingOption.DOWNLOAD)
    with pytest.raises(InvalidInput, match="no column of files"):
        labels.keep_columns("label").to_pandas_dataframe(file_handling_option=FileHandlingOption.DOWNLOAD)
