import pytest
from tests.shared.contexts import ANN, submit

from roost.domain.environments import EnvironmentUse
from roost.domain.errors import Conflict, InvalidInput, NotFound
from roost.domain.files import Entry, write_manifest
from roost.domain.runs import Reason, Run, RunStatus
from roost.services import archives, runs, upkeep
from roost.services.archives import Kept
from roost.services.context import Context

PYTHON = {"python": {"condaDependencies": {"dependencies": ["python=3.8"]}}}


def use(lock: str, **how: bool) -> EnvironmentUse:
    return EnvironmentUse(name="mine", definition=PYTHON, lock=lock, **how)


def keeping(context: Context, lock: str) -> Run:
    """A run whose agent keeps what it builds."""
    run = submit(context, environment=use(lock, archive=True))
    return move(context, run, RunStatus.PREPARING)


def move(context: Context, run: Run, to: RunStatus) -> Run:
    return runs.move(context, run.id, to, Reason.WAITING_FOR_ENVIRONMENT, "")[0]


def manifest(context: Context, *contents: bytes) -> str:
    entries = [
        Entry(f"pip/wheels/{place}.whl", size=len(content), content=context.blobs.put(content))
        for place, content in enumerate(contents)
    ]
    return context.blobs.put(write_manifest(entries))


def test_noted_down_counted_once_and_left_alone_by_sweeps(context: Context) -> None:
    lock = context.blobs.put(b"a lock")
    run = keeping(context, lock)
    listed = manifest(context, b"one", b"two", b"two")
    names = [context.blobs.put(each) for each in (b"one", b"two")]
    made = archives.put(context, ANN, run.id, Kept(lock=lock, manifest=listed, python="3.8.1"))
    assert (made.files, made.bytes, made.complete) == (3, 6, True)
    assert archives.get(context, ANN, lock) == made
    move(context, run, RunStatus.CANCELED)
    runs.delete(context, ANN, run.id)
    assert upkeep.sweep(context, ANN, grace=-(10.0**9)).blobs == 2, (
        "the run is gone with its snapshot, what is kept is not"
    )
    assert context.blobs.missing([lock, made.manifest, *names]) == []
    usage = upkeep.usage(context, ANN)
    assert usage.archive_bytes >= 6 and usage.unused_bytes == 0
    archives.drop(context, ANN, lock)
    assert upkeep.sweep(context, ANN, grace=-(10.0**9)).blobs == 4
    with pytest.raises(NotFound):
        archives.drop(context, ANN, lock)


def test_only_the_agent_of_a_run_that_keeps_says_what_is_kept(context: Context) -> None:
    lock, other = context.blobs.put(b"a lock"), context.blobs.put(b"another")
    kept = Kept(lock=lock, manifest=manifest(context, b"one"))
    plain = submit(context, environment=use(lock))
    move(context, plain, RunStatus.PREPARING)
    with pytest.raises(Conflict, match="keeps no files"):
        archives.put(context, ANN, plain.id, kept)
    run = keeping(context, other)
    with pytest.raises(InvalidInput, match="is for the lock"):
        archives.put(context, ANN, run.id, kept)
    move(context, run, RunStatus.QUEUED)
    with pytest.raises(Conflict):
        archives.put(context, ANN, run.id, Kept(lock=other, manifest=kept.manifest))
    assert archives.listing(context, ANN) == []


@pytest.mark.parametrize(
    "line", ["f\t644\t3\t{}\t../../x.whl\n", "f\t644\t3\t{}\t/etc/x.whl\n", "l\t644\t0\t/etc\tpip\n", "nonsense"]
)
def test_a_manifest_that_leads_elsewhere_is_refused(context: Context, line: str) -> None:
    lock = context.blobs.put(b"a lock")
    run = keeping(context, lock)
    text = line.format(context.blobs.put(b"one"))
    with pytest.raises(InvalidInput):
        archives.put(context, ANN, run.id, Kept(lock=lock, manifest=context.blobs.put(text.encode())))
    with pytest.raises(InvalidInput, match="1 of its 1 files are not here"):
        entry = Entry("pip/wheels/x.whl", size=1, content="ab" * 32)
        archives.put(context, ANN, run.id, Kept(lock=lock, manifest=context.blobs.put(write_manifest([entry]))))


def test_a_run_is_offline_only_with_all_of_it(context: Context) -> None:
    lock = context.blobs.put(b"a lock")
    with pytest.raises(InvalidInput, match="names no lock"):
        submit(context, environment=use("", offline=True))
    with pytest.raises(NotFound, match="Nothing is kept of environment 'mine'"):
        submit(context, environment=use(lock, offline=True))
    run = keeping(context, lock)
    lacks = tuple(f"p{number}==1: gone." for number in range(5))
    archives.put(context, ANN, run.id, Kept(lock=lock, manifest=manifest(context, b"one"), missing=lacks))
    with pytest.raises(InvalidInput, match=r"not complete: p0==1: gone; p1==1: gone; p2==1: gone, and 2 more\."):
        submit(context, environment=use(lock, offline=True))
    archives.put(context, ANN, run.id, Kept(lock=lock, manifest=manifest(context, b"one", b"two")))
    submit(context, environment=use(lock, offline=True))
