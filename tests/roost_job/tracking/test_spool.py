"""The spool: everything logged is on disk, in order; what cannot be written is counted, and never raised."""

import errno
import math
import os
import signal
import struct
import sys
import textwrap
import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.roost_job import spools
from tests.roost_job.conftest import RunScript
from tests.shared import disks

from roost.domain import names
from roost.domain.spools import decode
from roost_job.exceptions import UserErrorException
from roost_job.tracking import records
from roost_job.tracking.spool import DROPPED, Writer


def test_numbers_read_back_as_logged(tmp_path: Path) -> None:
    writer = Writer(str(tmp_path))
    logged = [0.5, float("inf"), float("-inf"), 5e-324, 1, -(2**63), 2**63 - 1, 2**63, 2**100]
    for step, value in enumerate(logged):
        writer.number("loss", value, step)
    writer.number("loss", float("nan"))
    found = spools.logged(tmp_path)["loss"]
    by_step = {point.step: point.value for point in found}
    assert [by_step[step] for step in range(len(logged))] == [*logged[:7], float(2**63), float(2**100)]
    assert {type(by_step[step]) for step in (4, 5, 6)} == {int}
    assert math.isnan(by_step[None])


@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=5), st.floats() | st.integers(-(2**63), 2**63 - 1)), max_size=40)
)
def test_any_names_and_numbers(tmp_path_factory: pytest.TempPathFactory, given: list[tuple[str, float]]) -> None:
    folder = tmp_path_factory.mktemp("any")
    writer = Writer(str(folder))
    wanted: dict[str, list[bytes]] = {}
    for name, value in given:
        if "\0" in name:
            with pytest.raises(UserErrorException):
                writer.number(name, value)
            continue
        writer.number(name, value)
        wanted.setdefault(name, []).append(repr(value).encode())
    writer.close()
    found = spools.values(folder)
    assert {name: sorted(map(repr, values)) for name, values in found.items()} == {
        name: sorted(value.decode() for value in values) for name, values in wanted.items()
    }


def test_nothing_on_disk_before_the_first_record(tmp_path: Path) -> None:
    writer = Writer(str(tmp_path / "deep" / "er"))
    assert writer.path is None
    assert list(tmp_path.iterdir()) == []
    writer.number("a", 1)
    assert writer.path is not None and Path(writer.path).parent == tmp_path / "deep" / "er"


def test_name_and_header_of_a_spool(tmp_path: Path) -> None:
    for rank, space in ((4, "user"), (0, "system")):
        writer = Writer(str(tmp_path), rank, space)
        writer.number("a", 1)
        path = Path(writer.path or "")
        assert names.spool(path.name) == path.name
        assert path.name.startswith(f"{'system' if space == 'system' else rank}-{os.getpid()}-")
        assert decode(path.read_bytes(), {}).space == space


@pytest.mark.parametrize("name", ["", None, 3, b"loss", ["loss"], "x" * 1025, "a\0b"])
def test_bad_names_are_refused_and_make_no_file(tmp_path: Path, name: object) -> None:
    writer = Writer(str(tmp_path))
    with pytest.raises(UserErrorException):
        writer.number(name, 1.0)  # type: ignore[arg-type]
    with pytest.raises(UserErrorException):
        writer.obj(name, "text", "x")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["1", 1.5, 2**63, -(2**63) - 1, [1]])
@pytest.mark.parametrize("known", [False, True])
def test_bad_steps_are_refused_and_leave_the_spool_whole(tmp_path: Path, step: object, known: bool) -> None:
    writer = Writer(str(tmp_path))
    if known:
        writer.number("a", 1)
    for value in (1, 0.5):
        with pytest.raises(UserErrorException, match="step"):
            writer.number("a", value, step)  # type: ignore[arg-type]
    writer.number("a", 2)
    assert spools.values(tmp_path) == {"a": [1, 2] if known else [2]}


def test_an_object_past_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MAX_BODY", 1000)
    writer = Writer(str(tmp_path))
    with pytest.raises(UserErrorException, match="at most 1000"):
        writer.obj("a", "text", "x" * 1000)
    assert list(tmp_path.iterdir()) == []


def test_cut_at_every_byte_everything_before_is_there(tmp_path: Path) -> None:
    writer = Writer(str(tmp_path))
    path, ends = None, []
    for number in range(6):
        for name in ("loss", "größe"):
            writer.number(name, number, number)
            path = Path(writer.path or "")
            ends.append(path.stat().st_size)
        writer.obj("row", "row", {"x": number})
        ends.append(path.stat().st_size)
    data = path.read_bytes()
    assert ends[-1] == len(data)
    for cut in range(len(data) + 1):
        found = spools.one(data[:cut], whole=False)
        assert sum(map(len, found.values())) == sum(end <= cut for end in ends), cut


def test_threads_share_one_spool(tmp_path: Path) -> None:
    writer = Writer(str(tmp_path))
    start = threading.Barrier(8)

    def work(number: int) -> None:
        start.wait()
        for step in range(500):
            writer.number(f"own{number}", step)
            writer.number("shared", step)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(tmp_path.iterdir())) == 1
    found = spools.values(tmp_path)
    assert all(found[f"own{number}"] == list(range(500)) for number in range(8))
    assert sorted(found["shared"]) == sorted(list(range(500)) * 8)


def test_a_signal_handler_may_log_during_a_log_call(tmp_path: Path) -> None:
    writer = Writer(str(tmp_path))
    seen = []

    def handler(*_: object) -> None:
        seen.append(len(seen))
        writer.number("signals", len(seen))

    before = signal.signal(signal.SIGPROF, handler)
    count = armed = 0
    try:
        while len(seen) < 100:
            if armed == len(seen):  # one at a time, at ever other moments of the calls that follow
                armed += 1
                signal.setitimer(signal.ITIMER_PROF, 0.00001 + 0.000001 * armed)
            writer.number("loop", count)
            count += 1
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    found = spools.values(tmp_path)
    assert found["loop"] == list(range(count))
    assert sorted(found["signals"]) == list(range(1, len(seen) + 1))


FULL = """
    import os, resource, sys
    from roost_job.tracking.spool import Writer

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    writer = Writer(os.environ["ROOST_SPOOL"])
"""


def test_no_room_at_all_warns_once_and_counts(
    tmp_path: Path, job_env: Mapping[str, str], run_script: RunScript
) -> None:
    """A limit on file sizes that not even a header fits into, later lifted."""
    done = run_script(
        sys.executable,
        textwrap.dedent(FULL)
        + textwrap.dedent("""
        limit(10)
        for step in range(50):
            writer.number("loss", step)
            writer.obj("note", "text", "x")
        assert os.listdir(os.environ["ROOST_SPOOL"]) == []
        limit(resource.RLIM_INFINITY)
        for step in range(5):
            writer.number("loss", 100 + step)
        """),
        job_env,
    )
    assert done.stderr.count("\n") == 1 and "cannot write metrics" in done.stderr and "File too large" in done.stderr
    assert spools.values(tmp_path / "spool") == {DROPPED: [100], "loss": [100, 101, 102, 103, 104]}


def test_a_file_at_its_size_limit_goes_on_in_a_new_one(
    tmp_path: Path, job_env: Mapping[str, str], run_script: RunScript
) -> None:
    done = run_script(
        sys.executable,
        textwrap.dedent(FULL)
        + textwrap.dedent("""
        limit(500)
        for step in range(100):
            writer.number("loss", step, step)
            writer.obj("note", "text", str(step), step)
        """),
        job_env,
    )
    assert done.stderr == ""
    found = spools.logged(tmp_path / "spool")  # none has half a frame at its end
    assert sorted(point.value for point in found["loss"]) == list(range(100))
    assert sorted(int(point.value) for point in found["note"]) == list(range(100))
    assert all(path.stat().st_size <= 500 for path in (tmp_path / "spool").iterdir())


@pytest.mark.parametrize("pages", [1, 2, 3])
def test_a_full_disk(tmp_path: Path, pages: int, capfd: pytest.CaptureFixture[str]) -> None:
    """A real one, a few pages large; once there is room again, logging goes on in the same file."""
    with disks.small_disk(tmp_path / "disk", str(4096 * pages)) as disk, closing(Writer(str(disk))) as writer:
        for step in range(1000):
            writer.number("loss", step)
        path = Path(writer.path or "")
        kept = spools.values(disk)["loss"]
        assert kept == list(range(len(kept))) and 0 < len(kept) < 1000
        disks.enlarge(disk, "1m")
        writer.number("loss", 1000)
        writer.number("loss", 1001)
        assert spools.values(disk) == {"loss": [*kept, 1000, 1001], DROPPED: [1000 - len(kept)]}
        assert Path(writer.path or "") == path
    assert capfd.readouterr().err.count("No space left on device") == 1


def test_a_folder_that_cannot_be_made(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    writer = Writer(str(blocked / "spool"))
    for step in range(10):
        writer.number("loss", step)
    assert capfd.readouterr().err.count("\n") == 1
    blocked.unlink()
    writer.number("loss", 10)
    assert spools.values(blocked / "spool") == {DROPPED: [10], "loss": [10]}


def test_what_is_still_dropped_at_the_end_is_told(
    tmp_path: Path, job_env: dict[str, str], run_script: RunScript
) -> None:
    (tmp_path / "file").write_text("in the way")
    job_env["ROOST_SPOOL"] = str(tmp_path / "file" / "spool")
    text = """
        import os
        from roost_job.tracking.spool import Writer
        writer = Writer(os.environ["ROOST_SPOOL"])
        for step in range(7):
            writer.number("loss", step)
    """
    assert "drop 7 metric records" in run_script(sys.executable, text, job_env).stderr


def test_a_script_that_closed_all_files_goes_on_in_a_new_spool(
    tmp_path: Path, job_env: Mapping[str, str], run_script: RunScript
) -> None:
    """As programs do that make themselves daemons."""
    text = """
        import os
        from roost_job.tracking.spool import Writer
        writer = Writer(os.environ["ROOST_SPOOL"])
        writer.number("loss", 1)
        os.closerange(3, 100)
        writer.number("loss", 2)
        writer.number("loss", 3)
    """
    assert run_script(sys.executable, text, job_env).stderr == ""
    assert sorted(spools.values(tmp_path / "spool")["loss"]) == [1, 2, 3]
    assert len(list((tmp_path / "spool").iterdir())) == 2


@pytest.mark.parametrize("how", ["error after a part", "part, then full, and truncating fails"])
def test_a_failing_disk_is_left_for_a_new_spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """The old file ends in half a frame that cannot be taken back; the record that met it is not lost."""
    real, calls = os.write, []

    def write(fd: int, data: bytes) -> int:
        calls.append(fd)
        if len(calls) == 1:
            written = real(fd, data[:9])
            if how != "error after a part":
                return written
            raise OSError(errno.EIO, "Input/output error")
        if len(calls) == 2 and how != "error after a part":
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data)

    def truncate(fd: int, size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    writer = Writer(str(tmp_path))
    writer.number("loss", 1)
    monkeypatch.setattr("roost_job.tracking.spool._write", write)
    monkeypatch.setattr(os, "ftruncate", truncate)
    writer.number("loss", 2)
    writer.number("loss", 3)
    found = [spools.one(path.read_bytes(), whole=False) for path in tmp_path.iterdir()]
    assert len(found) == 2
    assert sorted(point.value for each in found for point in each["loss"]) == [1, 2, 3]


def test_a_frame_is_as_the_format_says(tmp_path: Path) -> None:
    writer = Writer(str(tmp_path))
    writer.number("a", 0.5, 7)
    bodies = [bytes(body) for body, _ in records.frames(Path(writer.path or "").read_bytes())]
    assert [body[0] for body in bodies] == [records.HEADER, records.NAME, records.FLOAT]
    assert struct.unpack_from("<BIq", bodies[2])[1:] == (0, 7)


def test_close_and_go_on(tmp_path: Path) -> None:
    writer = Writer(str(tmp_path))
    writer.close()
    writer.number("a", 1)
    writer.close()
    writer.number("a", 2)
    assert sorted(spools.values(tmp_path)["a"]) == [1, 2]
    assert len(list(tmp_path.iterdir())) == 2
