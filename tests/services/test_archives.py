import pytest
from tests.services.houses import ANN, submit

from roost.domain.environments import EnvironmentUse
from roost.domain.errors import Conflict, InvalidInput, NotFound
from roost.domain.files import Entry, write_manifest
from roost.domain.runs import Reason, Run, RunStatus
from roost.services import archives, runs, upkeep
from roost.services.archives import Kept
from roost.services.house import House

PYTHON = {"python": {"condaDependencies": {"dependencies": ["python=3.8"]}}}


def use(lock: str, **how: bool) -> EnvironmentUse:
    return EnvironmentUse(name="mine", definition=PYTHON, lock=lock, **how)


def keeping(house: House, lock: str) -> Run:
    """A run whose agent keeps what it builds."""
    run = submit(house, environment=use(lock, archive=True))
    return move(house, run, RunStatus.PREPARING)


def move(house: House, run: Run, to: RunStatus) -> Run:
    return runs.move(house, run.id, to, Reason.WAITING_FOR_ENVIRONMENT, "")[0]


def manifest(house: House, *contents: bytes) -> str:
    entries = [
        Entry(f"pip/wheels/{place}.whl", size=len(content), content=house.blobs.put(content))
        for place, content in enumerate(contents)
    ]
    return house.blobs.put(write_manifest(entries))


def test_noted_down_counted_once_and_left_alone_by_sweeps(house: House) -> None:
    lock = house.blobs.put(b"a lock")
    run = keeping(house, lock)
    listed = manifest(house, b"one", b"two", b"two")
    names = [house.blobs.put(each) for each in (b"one", b"two")]
    made = archives.put(house, ANN, run.id, Kept(lock=lock, manifest=listed, python="3.8.1"))
    assert (made.files, made.bytes, made.complete) == (3, 6, True)
    assert archives.get(house, ANN, lock) == made
    move(house, run, RunStatus.CANCELED)
    runs.delete(house, ANN, run.id)
    assert upkeep.sweep(house, ANN, grace=-(10.0**9)).blobs == 2, (
        "the run is gone with its snapshot, what is kept is not"
    )
    assert house.blobs.missing([lock, made.manifest, *names]) == []
    usage = upkeep.usage(house, ANN)
    assert usage.archive_bytes >= 6 and usage.unused_bytes == 0
    archives.drop(house, ANN, lock)
    assert upkeep.sweep(house, ANN, grace=-(10.0**9)).blobs == 4
    with pytest.raises(NotFound):
        archives.drop(house, ANN, lock)


def test_only_the_agent_of_a_run_that_keeps_says_what_is_kept(house: House) -> None:
    lock, other = house.blobs.put(b"a lock"), house.blobs.put(b"another")
    kept = Kept(lock=lock, manifest=manifest(house, b"one"))
    plain = submit(house, environment=use(lock))
    move(house, plain, RunStatus.PREPARING)
    with pytest.raises(Conflict, match="keeps no files"):
        archives.put(house, ANN, plain.id, kept)
    run = keeping(house, other)
    with pytest.raises(InvalidInput, match="is for the lock"):
        archives.put(house, ANN, run.id, kept)
    move(house, run, RunStatus.QUEUED)
    with pytest.raises(Conflict):
        archives.put(house, ANN, run.id, Kept(lock=other, manifest=kept.manifest))
    assert archives.listing(house, ANN) == []


@pytest.mark.parametrize(
    "line", ["f\t644\t3\t{}\t../../x.whl\n", "f\t644\t3\t{}\t/etc/x.whl\n", "l\t644\t0\t/etc\tpip\n", "nonsense"]
)
def test_a_manifest_that_leads_elsewhere_is_refused(house: House, line: str) -> None:
    lock = house.blobs.put(b"a lock")
    run = keeping(house, lock)
    text = line.format(house.blobs.put(b"one"))
    with pytest.raises(InvalidInput):
        archives.put(house, ANN, run.id, Kept(lock=lock, manifest=house.blobs.put(text.encode())))
    with pytest.raises(InvalidInput, match="1 of its 1 files are not here"):
        entry = Entry("pip/wheels/x.whl", size=1, content="ab" * 32)
        archives.put(house, ANN, run.id, Kept(lock=lock, manifest=house.blobs.put(write_manifest([entry]))))


def test_a_run_is_offline_only_with_all_of_it(house: House) -> None:
    lock = house.blobs.put(b"a lock")
    with pytest.raises(InvalidInput, match="names no lock"):
        submit(house, environment=use("", offline=True))
    with pytest.raises(NotFound, match="Nothing is kept of environment 'mine'"):
        submit(house, environment=use(lock, offline=True))
    run = keeping(house, lock)
    lacks = tuple(f"p{number}==1: gone." for number in range(5))
    archives.put(house, ANN, run.id, Kept(lock=lock, manifest=manifest(house, b"one"), missing=lacks))
    with pytest.raises(InvalidInput, match=r"not complete: p0==1: gone; p1==1: gone; p2==1: gone, and 2 more\."):
        submit(house, environment=use(lock, offline=True))
    archives.put(house, ANN, run.id, Kept(lock=lock, manifest=manifest(house, b"one", b"two")))
    submit(house, environment=use(lock, offline=True))
