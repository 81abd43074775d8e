"""What a person is told about a snapshot: what was left out, what is large, how far it has come."""

from pathlib import Path

import pytest
from tests.shared.folders import LocalBlobs, tree

from azureml._restclient import snapshots_client
from roost.sdk.core import upload_messages
from roost.sdk.runs import snapshots


@pytest.fixture
def blobs(tmp_path: Path) -> LocalBlobs:
    return LocalBlobs(tmp_path / "blobs")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tree(tmp_path / "source", {"train.py": "print(1)"})


def take(source: Path, blobs: LocalBlobs, tmp_path: Path) -> set[str]:
    return set(blobs.entries(snapshots.take(str(source), blobs, tmp_path / "home")))


def sparse(path: Path, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)


def test_a_large_folder_that_is_left_out_is_named_once(
    source: Path, blobs: LocalBlobs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sparse(source / ".venv/lib/big.so", 11 * upload_messages.MEGABYTE)
    sparse(source / "own/lib/big.so", 11 * upload_messages.MEGABYTE)
    tree(source, {"own/pyvenv.cfg": "", ".git/HEAD": "ref", "__pycache__/a.pyc": ""})
    assert take(source, blobs, tmp_path) == {"train.py"}
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert ".venv, own." in said and ".git" not in said and "__pycache__" not in said
    take(source, blobs, tmp_path)
    assert capsys.readouterr().err == ""
    tree(source, {f".git/objects/{number}": "" for number in range(upload_messages.LEFT_OUT_FILES + 1)})
    take(source, blobs, tmp_path)
    assert ": .git." in capsys.readouterr().err


def test_the_largest_files_of_a_large_snapshot_are_named(
    source: Path, blobs: LocalBlobs, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_messages, "LARGE_BYTES", 3 * upload_messages.MEGABYTE)
    take(source, blobs, tmp_path)
    assert capsys.readouterr().err == ""
    sparse(source / "data/é big.bin", 3 * upload_messages.MEGABYTE)
    sparse(source / "data/small.bin", upload_messages.MEGABYTE)
    take(source, blobs, tmp_path)
    said = capsys.readouterr().err
    assert "4.0 MB; the largest: data/é big.bin (3.0 MB), data/small.bin (1.0 MB)" in said
    assert ".amlignore" in said


def test_many_new_files_are_worth_a_warning_too(
    source: Path, blobs: LocalBlobs, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_messages, "LARGE_FILES", 10)
    tree(source, {f"data/{number}": "x" for number in range(11)})
    take(source, blobs, tmp_path)
    assert "takes in 12 new files" in capsys.readouterr().err


def test_progress_is_for_those_who_watch(
    source: Path, blobs: LocalBlobs, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_messages, "_PATIENCE", 0.0)
    monkeypatch.setattr(upload_messages, "_EVERY", 0.0)
    monkeypatch.setattr(snapshots, "_FILES_AT_ONCE", 2)
    tree(source, {f"data/{number}": "x" for number in range(4)})
    take(source, blobs, tmp_path)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(upload_messages, "_is_watched", lambda: True)
    tree(source, {f"data/{number}": "other" for number in range(4)})
    take(source, blobs, tmp_path)
    said = capsys.readouterr().err
    assert "Snapshot: 2 of 5 files" in said and "Snapshot: 5 of 5 files, 0.0 MB of 0.0 MB\n" in said


def test_there_is_no_limit_to_lift(
    source: Path, blobs: LocalBlobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots_client, "SNAPSHOT_MAX_SIZE_BYTES", 1)
    assert take(source, blobs, tmp_path) == {"train.py"}
