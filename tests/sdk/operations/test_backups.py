"""Back-up and restore: all of it comes back, a damaged file changes nothing, a home in use is left alone."""

import json
import sqlite3
import tarfile
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from tests.shared.contexts import ANN, Clock, make_house, submit

from roost.blobs.folder import FolderBlobs
from roost.domain.errors import Conflict, Incompatible, InvalidInput, NotFound
from roost.domain.files import RunFile
from roost.sdk.operations import backups
from roost.services import backups as server
from roost.services import files, streams, upkeep
from roost.services.upkeep_lock import STALLED_SECONDS, UpkeepLock
from roost.store import open_store

LONG = b"a line of live text\n" * 300_000


def quiet(done: int, total: int) -> None:
    assert 0 <= done <= total


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A back-up of one run with a file, with a blob beside that nobody refers to."""
    folder = tmp_path / "context"
    folder.mkdir()
    context = make_house(folder, store=f"sqlite:///{folder / 'roost.db'}")
    (folder / "vault.key").write_bytes(b"k" * 32)
    run = submit(context)
    content = context.blobs.put(b"weights" * 100_000)
    files.put(context, ANN, run.id, [RunFile(path="outputs/model", blob=content, size=0, modified_at=1.0)])
    streams.append(context, ANN, run.id, "logs/long.txt", 0, LONG)
    context.blobs.put(b"nobody's")
    made = server.make(context, ANN)
    path = tmp_path / "backup.tar"
    path.write_bytes(b"".join(made.pieces))
    assert path.stat().st_size == made.size
    assert list(folder.glob(".backup-*")) == []
    assert upkeep.sweep(context, ANN).blobs == 1  # it is over: sweeping goes on
    context.store.close()
    return path


def test_everything_comes_back(backup: Path, tmp_path: Path) -> None:
    summary = backups.restore(backup, tmp_path / "new", quiet)
    assert (summary.runs, summary.workspaces, summary.blobs) == (1, ["vision"], 4)
    rows = sqlite3.connect(tmp_path / "new" / "roost.db")
    ((run_id, blob),) = rows.execute("SELECT runs.id, blob FROM runs JOIN files ON run_seq = seq").fetchall()
    rows.close()
    assert run_id.startswith("train_")
    blobs = FolderBlobs(tmp_path / "new" / "blobs")
    assert blobs.get(blob) == b"weights" * 100_000
    assert len(list(blobs.walk())) == 4
    assert (tmp_path / "new" / "vault.key").read_bytes() == b"k" * 32
    assert (tmp_path / "new" / "roost.db").stat().st_mode & 0o077 == 0
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"roost.db", "vault.key", "blobs"}
    store = open_store(f"sqlite:///{tmp_path / 'new' / 'roost.db'}", blobs)
    assert store.streams.read(run_id, "logs/long.txt", 0, 10**9) == LONG
    store.close()


def test_what_a_lost_database_left_beside_it_goes(backup: Path, tmp_path: Path) -> None:
    """Its write-ahead log would be read into the restored one, and its mark would refuse it."""
    new = tmp_path / "new"
    new.mkdir()
    (new / "roost.db-wal").write_bytes(b"of another database")
    mark = {"identity": 1, "generation": 1000, "runs": 1000, "at": 1.0}
    (new / "roost.db.mark").write_text(json.dumps(mark))
    backups.restore(backup, new, quiet)
    store = open_store(f"sqlite:///{new / 'roost.db'}")
    assert [each.runs for each in store.upkeep.sizes()] == [1]
    store.close()


def changed(backup: Path, change: Callable[[str, bytes], bytes | None]) -> None:
    """Writes the file again with members changed, or left out."""
    with tarfile.open(backup) as archive:
        held = [(member.name, archive.extractfile(member).read()) for member in archive]  # type: ignore[union-attr]
    with tarfile.open(backup, "w") as archive:
        for name, content in held:
            after = change(name, content)
            if after is not None:
                member = tarfile.TarInfo(name)
                member.size = len(after)
                archive.addfile(member, BytesIO(after))


@pytest.mark.parametrize("part", ["roost.db", "vault.key", "blobs/"])
@pytest.mark.parametrize("harm", ["changed", "missing"])
def test_what_is_damaged_is_refused(backup: Path, tmp_path: Path, part: str, harm: str) -> None:
    seen = []

    def change(name: str, content: bytes) -> bytes | None:
        if not name.startswith(part) or seen:
            return content
        seen.append(name)
        return None if harm == "missing" else bytes([content[0] ^ 1]) + content[1:]

    changed(backup, change)
    with pytest.raises(InvalidInput, match="is damaged"):
        backups.restore(backup, tmp_path / "new", quiet)
    assert not (tmp_path / "new" / "roost.db").exists()
    assert not list((tmp_path / "new").glob(".restored*"))


@pytest.mark.parametrize("left", [0, 100, 600, 3000, 200_000, 700_000])
def test_what_is_cut_short_is_refused_and_the_home_can_be_used_again(backup: Path, tmp_path: Path, left: int) -> None:
    whole = backup.read_bytes()
    backup.write_bytes(whole[:left])
    with pytest.raises(InvalidInput, match="damaged"):
        backups.restore(backup, tmp_path / "new", quiet)
    backup.write_bytes(whole)
    assert backups.restore(backup, tmp_path / "new", quiet).runs == 1


def test_what_is_no_back_up(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    with tarfile.open(tmp_path / "tar", "w") as archive:
        archive.add(tmp_path / "text", "text")
    for name in ("text", "tar"):
        with pytest.raises(InvalidInput):
            backups.restore(tmp_path / name, tmp_path / "new", quiet)
    with pytest.raises(NotFound, match="nothing is not there"):
        backups.restore(tmp_path / "nothing", tmp_path / "new", quiet)


def test_a_format_of_later(backup: Path, tmp_path: Path) -> None:
    changed(backup, lambda name, text: text.replace(b'"format": 1', b'"format": 9') if name == "backup.json" else text)
    with pytest.raises(Incompatible, match="format 9"):
        backups.restore(backup, tmp_path / "new", quiet)


def test_a_home_that_cannot_be_made(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="/file cannot be made: File exists"):
        backups.restore(backup, tmp_path / "file", quiet)


def test_a_home_that_is_used_is_left_alone(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "roost.db").write_text("mine")
    with pytest.raises(Conflict, match="has a database already"):
        backups.restore(backup, tmp_path / "new", quiet)
    assert (tmp_path / "new" / "roost.db").read_text() == "mine"


def test_sweeping_waits_for_a_back_up_and_goes_on_when_it_is_given_up(tmp_path: Path) -> None:
    context = make_house(tmp_path)
    submit(context)
    made = server.make(context, ANN)
    assert context.upkeep.holder is not None
    del made  # the client went away before the first piece
    assert context.upkeep.holder is None
    assert list(tmp_path.glob(".backup-*")) == []
    context.store.close()


def test_a_back_up_whose_reader_stalls_gives_way_and_one_that_is_read_does_not(tmp_path: Path) -> None:
    clock = Clock()
    context = replace(make_house(tmp_path), upkeep=UpkeepLock(clock))
    submit(context)
    slow = server.make(context, ANN)
    for _ in slow.pieces:
        clock.pass_by(STALLED_SECONDS - 1)
        with pytest.raises(Conflict, match="under way"), context.upkeep.taken(patience=0):
            pass
    stalled = server.make(context, ANN)
    next(stalled.pieces)
    clock.pass_by(STALLED_SECONDS)
    assert upkeep.sweep(context, ANN).blobs == 0
    again = server.make(context, ANN)
    with pytest.raises(Conflict, match="given up"):
        next(stalled.pieces)
    assert sum(map(len, again.pieces)) == again.size
    assert context.upkeep.holder is None
    assert list(tmp_path.glob(".backup-*")) == []
    context.store.close()
