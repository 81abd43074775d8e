"""Sweeping: what goes, what stays, and what happens when somebody uses a blob in the middle of it; room for new runs."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.shared.contexts import ANN, Clock, snapshot, submission, submit

from roost.blobs.folder import FolderBlobs
from roost.domain.errors import Conflict, DiskFull
from roost.domain.files import Entry, RunFile, write_manifest
from roost.domain.runs import Reason, RunStatus
from roost.services import files, runs, streams, upkeep
from roost.services.context import Context

NOW = 1_800_000_000.0
DAY = 24 * 3600.0


@pytest.fixture
def clock() -> Clock:
    return Clock(time.time())


def age(context: Context, *names: str, seconds: float = 7200.0) -> None:
    for name in names:
        os.utime(path_of(context, name), (time.time() - seconds,) * 2)


def path_of(context: Context, name: str) -> Path:
    return Path(context.facts.blob_folder) / name[:2] / name


def all_blobs(context: Context) -> set[str]:
    return {name for name, _, _ in context.blobs.walk()}


def ended(context: Context, **changes: object) -> str:
    run = submit(context, **changes)
    runs.move(context, run.id, RunStatus.FAILED, Reason.NONE, "")
    return run.id


class TestSweep:
    def test_what_rows_and_manifests_refer_to_stays(self, context: Context) -> None:
        run_id = ended(context)
        kept = context.blobs.put(b"result")
        files.put(context, ANN, run_id, [RunFile(path="outputs/a", blob=kept, size=6, modified_at=1.0)])
        lost = context.blobs.put(b"nobody's")
        before = all_blobs(context)
        age(context, *before)
        swept = upkeep.sweep(context, ANN)
        assert (swept.blobs, swept.bytes, swept.young_blobs) == (1, 8, 0)
        assert all_blobs(context) == before - {lost}
        assert upkeep.sweep(context, ANN).blobs == 0

    def test_live_text_stays_until_its_run_is_over_or_deleted(self, context: Context) -> None:
        run_id, text = submit(context).id, b"a line of text\n" * 400_000
        before = all_blobs(context)
        streams.append(context, ANN, run_id, "user_logs/std_log.txt", 0, text)
        pieces = all_blobs(context) - before
        assert pieces, "six megabytes are not in rows"
        age(context, *all_blobs(context))
        assert upkeep.sweep(context, ANN).blobs == 0
        assert streams.read(context, ANN, run_id, "user_logs/std_log.txt", 0).data == text[: streams.MAX_READ]
        assert b"".join(files.read(context, ANN, run_id, "user_logs/std_log.txt")) == text
        runs.move(context, run_id, RunStatus.FAILED, Reason.NONE, "")
        runs.delete(context, ANN, run_id)
        age(context, *all_blobs(context))
        assert upkeep.sweep(context, ANN).bytes >= len(text)
        assert not all_blobs(context) & pieces

    def test_deleting_a_run_frees_what_no_other_refers_to(self, context: Context) -> None:
        shared = snapshot(context, train="print(1)")
        first, second = ended(context, snapshot=shared), ended(context, snapshot=shared)
        content = b"x" * 100_000
        files.put(
            context, ANN, first, [RunFile(path="outputs/a", blob=context.blobs.put(content), size=0, modified_at=1.0)]
        )
        age(context, *all_blobs(context))
        would = upkeep.sweep(context, ANN, dry_run=True, without=[first])
        assert (would.blobs, would.bytes) == (1, 100_000)
        assert upkeep.sweep(context, ANN).blobs == 0
        assert runs.delete(context, ANN, first) == [first]
        assert upkeep.sweep(context, ANN).bytes == 100_000
        assert runs.delete(context, ANN, second) == [second]
        assert upkeep.sweep(context, ANN).blobs == 2
        assert all_blobs(context) == set()

    def test_what_was_used_within_the_grace_stays(self, context: Context, clock: Clock) -> None:
        name = context.blobs.put(b"in flight")
        swept = upkeep.sweep(context, ANN)
        assert (swept.blobs, swept.young_blobs, swept.young_bytes) == (0, 1, 9)
        clock.pass_by(upkeep.GRACE_SECONDS + 1)
        assert upkeep.sweep(context, ANN).blobs == 1
        assert context.blobs.size(name) is None

    @pytest.mark.parametrize("use", ["put", "put_file", "put_stream", "missing", "keep"])
    def test_every_use_of_an_old_blob_keeps_it(self, context: Context, tmp_path: Path, use: str) -> None:
        (tmp_path / "file").write_bytes(b"again")
        name = context.blobs.put(b"again")
        age(context, name)
        uses = {
            "put": lambda: context.blobs.put(b"again"),
            "put_file": lambda: context.blobs.put_file(tmp_path / "file"),
            "put_stream": lambda: context.blobs.put_stream([b"again"], expected=name),
            "missing": lambda: context.blobs.missing([name]),
            "keep": lambda: context.blobs.keep(name),
        }
        uses[use]()
        assert upkeep.sweep(context, ANN).blobs == 0

    def test_a_manifest_that_stays_keeps_what_it_lists(self, context: Context) -> None:
        content = context.blobs.put(b"print(1)")
        manifest = context.blobs.put(write_manifest([Entry(path="train.py", size=8, content=content)]))
        age(context, content, manifest)
        assert context.blobs.missing([manifest]) == []  # a client asks for the manifest of its cache alone
        assert upkeep.sweep(context, ANN).blobs == 0
        assert context.blobs.get(content) == b"print(1)"

    def test_a_manifest_asked_for_in_the_middle_of_a_sweep_keeps_what_it_lists(self, context: Context) -> None:
        content = context.blobs.put(b"print(1)")
        manifest = context.blobs.put(write_manifest([Entry(path="train.py", size=8, content=content)]))
        other = context.blobs.put(b"nobody's")
        age(context, content, manifest, other)
        asking = replace(context, blobs=_AskedFor(context.blobs, manifest))  # type: ignore[arg-type]
        assert upkeep.sweep(asking, ANN).bytes == 8
        assert all_blobs(context) == {content, manifest}

    def test_a_sweep_that_was_killed_loses_nothing_that_was_used_meanwhile(self, context: Context) -> None:
        name = context.blobs.put(b"used")
        folder = Path(context.facts.blob_folder)
        path_of(context, name).rename(folder / "tmp" / f"swept-{name}")
        assert FolderBlobs(folder).get(name) == b"used"

    def test_only_one_at_a_time(self, context: Context) -> None:
        with context.upkeep.taken(), pytest.raises(Conflict, match="under way"):
            upkeep.sweep(context, ANN)
        assert upkeep.sweep(context, ANN).blobs == 0

    def test_a_run_cannot_be_deleted_while_it_goes_on(self, context: Context) -> None:
        run = submit(context)
        with pytest.raises(Conflict, match="has not ended"):
            runs.delete(context, ANN, run.id)
        assert runs.delete(context, ANN, "train_1_nothere") == []


class _AskedFor:
    """Blobs of which one is asked for by a client at the moment the sweep would take it."""

    def __init__(self, blobs: object, name: str) -> None:
        self._blobs, self._name = blobs, name

    def __getattr__(self, word: str) -> object:
        return getattr(self._blobs, word)

    def discard(self, name: str, *, unless_since: float) -> int | None:
        if name == self._name:
            self._blobs.missing([name])  # type: ignore[attr-defined]
        return self._blobs.discard(name, unless_since=unless_since)  # type: ignore[attr-defined,no-any-return]


class TestUsage:
    def test_each_byte_is_counted_once(self, context: Context) -> None:
        run_id = ended(context)
        for path in ("outputs/a", "outputs/b"):
            file = RunFile(path=path, blob=context.blobs.put(b"result"), size=6, modified_at=1.0)
            files.put(context, ANN, run_id, [file])
        context.blobs.put(b"nobody's")
        used = upkeep.usage(context, ANN)
        assert (used.file_bytes, used.unused_bytes, used.blobs) == (6, 8, 4)
        assert used.snapshot_bytes == sum(size for _, size, _ in context.blobs.walk()) - 14
        (experiment,) = used.experiments
        assert (experiment.experiment, experiment.runs, experiment.bytes) == ("train", 1, 12)
        assert used.disk_bytes >= used.disk_used > 0

    def test_data_in_the_workspaces_own_datastores(self, context: Context) -> None:
        assert upkeep.usage(context, ANN).data_bytes == 0
        written(context, "vision/workspaceblobstore/birds/a.txt", 10)
        written(context, "other/workspacefilestore/b.txt", 5)
        assert upkeep.usage(context, ANN).data_bytes == 15


class TestUploadsThatBroke:
    def test_what_they_left_is_swept_a_day_later(self, context: Context) -> None:
        kept = written(context, "vision/workspaceblobstore/birds/a.txt", 10, age=10 * DAY)
        going = written(context, "vision/workspaceblobstore/birds/.roost-part-0123456789abcdef", 20, age=DAY - 60)
        left = written(context, "vision/workspaceblobstore/.roost-part-fedcba9876543210", 30, age=DAY + 60)
        assert upkeep.sweep(context, ANN, dry_run=True).part_bytes == 30
        assert left.exists()
        assert upkeep.sweep(context, ANN).part_bytes == 30
        assert (kept.exists(), going.exists(), left.exists()) == (True, True, False)
        assert upkeep.sweep(context, ANN).part_bytes == 0


def written(context: Context, name: str, size: int, age: float = 0.0) -> Path:
    path = Path(context.facts.home) / "data" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    os.utime(path, (time.time() - age,) * 2)
    return path


class TestRoom:
    def test_a_full_disk_takes_no_new_run_while_others_go_on(self, context: Context) -> None:
        running = submission(context)
        run, _ = runs.submit(context, ANN, "vision", running)
        full = replace(context, disk_limit=1)
        with pytest.raises(DiskFull, match=r"is \d+\.\d % full, the limit is 1 %") as refused:
            runs.submit(full, ANN, "vision", submission(full))
        assert "roost gc" in refused.value.hint
        assert runs.submit(full, ANN, "vision", running) == (run, False)
        child, new = runs.submit(full, ANN, "vision", submission(full, parent_id=run.id))
        assert (child.parent_id, new) == (run.id, True)
        runs.move(full, run.id, RunStatus.RUNNING, Reason.NONE, "")
        files.put(full, ANN, run.id, [RunFile(path="a", blob=full.blobs.put(b"x"), size=1, modified_at=1.0)])

    def test_below_the_limit_there_is_room(self, context: Context) -> None:
        for limit in (0, 100):
            run = submit(replace(context, disk_limit=limit))
            assert context.store.runs.get(run.id) == run
