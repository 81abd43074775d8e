"""Files and streams of a run: one set of names, live until sealed, never outside."""

import pytest
from tests.shared.contexts import ANN, submit

from roost.domain.errors import InvalidInput, NotFound
from roost.domain.files import STD_LOG, RunFile
from roost.domain.runs import RunStatus
from roost.services import files, streams
from roost.services.context import Context
from roost.services.signals import run_topic

LOG = STD_LOG
OLD = "azureml-logs/70_driver_log.txt"


def _file(context: Context, path: str, data: bytes) -> RunFile:
    return RunFile(path=path, blob=context.blobs.put(data), size=len(data), modified_at=1.0)


def test_a_stream_grows_only_at_its_mark(context: Context) -> None:
    run = submit(context)
    assert streams.append(context, ANN, run.id, LOG, 0, b"hello ") == 6
    assert streams.append(context, ANN, run.id, LOG, 0, b"hello ") == 6
    assert streams.append(context, ANN, run.id, LOG, 6, b"world") == 11
    assert streams.append(context, ANN, run.id, LOG, 50, b"gap") == 11
    assert streams.read(context, ANN, run.id, LOG, 6).data == b"world"
    assert streams.append(context, ANN, run.id, LOG, 0, b"anew", reset=True) == 4


def test_appending_wakes_who_reads(context: Context) -> None:
    run = submit(context)
    with context.signals.listen(run_topic(run.id)) as listener:
        streams.append(context, ANN, run.id, LOG, 0, b"x")
        assert listener.wait(0)


def test_a_live_stream_is_a_file_and_sealing_replaces_it(context: Context) -> None:
    run = submit(context)
    streams.append(context, ANN, run.id, LOG, 0, b"line one\n")
    (live,) = files.listing(context, ANN, run.id)
    assert (live.path, live.blob, live.size) == (LOG, "", 9)
    assert b"".join(files.read(context, ANN, run.id, LOG, 5)) == b"one\n"
    assert files.put(context, ANN, run.id, [_file(context, LOG, b"line one\n")]) == 1
    (sealed,) = files.listing(context, ANN, run.id)
    assert sealed.blob and sealed.size == 9
    piece = streams.read(context, ANN, run.id, LOG, 5)
    assert (piece.data, piece.offset, piece.sealed, piece.status) == (b"one\n", 9, True, RunStatus.NOT_STARTED)
    assert list(context.store.streams.names(run.id)) == []


def test_a_late_shipper_does_not_open_a_sealed_stream_again(context: Context) -> None:
    run = submit(context)
    files.put(context, ANN, run.id, [_file(context, LOG, b"line one\n")])
    assert streams.append(context, ANN, run.id, LOG, 0, b"line one\n") == 9
    assert len(files.listing(context, ANN, run.id)) == 1


def test_the_older_name_reads_the_same_and_is_not_listed(context: Context) -> None:
    run = submit(context)
    streams.append(context, ANN, run.id, LOG, 0, b"hello")
    assert b"".join(files.read(context, ANN, run.id, OLD)) == b"hello"
    assert files.size(context, ANN, run.id, OLD) == 5
    assert streams.read(context, ANN, run.id, OLD, 0).data == b"hello"
    assert [file.path for file in files.listing(context, ANN, run.id)] == [LOG]
    with pytest.raises(InvalidInput):
        streams.append(context, ANN, run.id, OLD, 0, b"x")
    with pytest.raises(InvalidInput):
        files.put(context, ANN, run.id, [_file(context, OLD, b"x")])


def test_a_stream_that_is_not_there_yet_is_empty(context: Context) -> None:
    piece = streams.read(context, ANN, submit(context).id, "logs/later.txt", 0)
    assert (piece.data, piece.offset, piece.sealed) == (b"", 0, False)


def test_prefixes_are_folders(context: Context) -> None:
    run = submit(context)
    files.put(context, ANN, run.id, [_file(context, path, b"x") for path in ("outputs/a", "outputs/b/c", "outputs2/a")])
    streams.append(context, ANN, run.id, "logs/a.txt", 0, b"x")
    assert [file.path for file in files.listing(context, ANN, run.id, "outputs")] == ["outputs/a", "outputs/b/c"]
    assert [file.path for file in files.listing(context, ANN, run.id, "logs/")] == ["logs/a.txt"]


@pytest.mark.parametrize("path", ["../a", "/etc/passwd", "a/../../b", "a\\b", "", ".", "C:/x", "a\0b", "x" * 2000])
def test_no_path_leads_outside(context: Context, path: str) -> None:
    run = submit(context)
    with pytest.raises(InvalidInput):
        files.put(context, ANN, run.id, [_file(context, "outputs/fine", b"x"), _file(context, path, b"x")])
    with pytest.raises(InvalidInput):
        files.size(context, ANN, run.id, path)
    with pytest.raises(InvalidInput):
        streams.append(context, ANN, run.id, path, 0, b"x")
    assert files.listing(context, ANN, run.id) == []


def test_a_file_whose_blob_is_not_here_is_refused(context: Context) -> None:
    run = submit(context)
    lost = RunFile(path="outputs/a", blob="ab" * 32, size=1, modified_at=1.0)
    with pytest.raises(InvalidInput) as caught:
        files.put(context, ANN, run.id, [_file(context, "outputs/b", b"x"), lost])
    assert "ab" * 32 in caught.value.message
    assert files.listing(context, ANN, run.id) == []


def test_a_missing_file_is_named_with_those_there_are(context: Context) -> None:
    run = submit(context)
    files.put(context, ANN, run.id, [_file(context, "outputs/model.pt", b"x")])
    with pytest.raises(NotFound) as caught:
        files.size(context, ANN, run.id, "outputs/modle.pt")
    assert "outputs/model.pt" in caught.value.hint
