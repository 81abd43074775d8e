"""Pauses before a worker is begun anew: none after one that was ready; longer ones never for all replicas of a version."""

from pathlib import Path

from roost.agent.launching.pauses import LEAST_SECONDS, LONGEST_OF_FIRST, PAUSES, Pauses


def test_one_that_was_ready_is_begun_at_once(tmp_path: Path) -> None:
    replica = Pauses(tmp_path, "blue")
    assert [replica.after(True, 5.0) for _ in range(20)] == [0.0] * 20
    assert replica.after(True, 0.0) == LEAST_SECONDS


def test_one_that_does_not_become_ready_waits_until_one_does(tmp_path: Path) -> None:
    first, second = Pauses(tmp_path, "blue"), Pauses(tmp_path, "blue")
    first.after(False, 5.0)
    assert [second.after(False, 5.0) for _ in PAUSES] == list(PAUSES)
    assert second.after(False, 5.0) == PAUSES[-1]
    assert second.after(True, 5.0) == 0.0
    assert second.after(False, 5.0) == PAUSES[0]


def test_never_do_all_replicas_of_a_version_wait(tmp_path: Path) -> None:
    replicas = [Pauses(tmp_path, "blue") for _ in range(3)]
    for _ in range(20):
        waits = [replica.after(False, 5.0) for replica in replicas]
    assert sorted(waits) == [LONGEST_OF_FIRST, PAUSES[-1], PAUSES[-1]]
    replicas[waits.index(LONGEST_OF_FIRST)].close()  # it serves again, or its run was ended
    assert min(replica.after(False, 5.0) for replica in replicas) == LONGEST_OF_FIRST
    other = Pauses(tmp_path, "green")
    assert max(other.after(False, 5.0) for _ in range(20)) == LONGEST_OF_FIRST


def test_the_lock_leaves_nothing_behind(tmp_path: Path) -> None:
    replica = Pauses(tmp_path, "blue")
    replica.after(False, 5.0)
    assert list(tmp_path.iterdir())
    replica.close()
    replica.close()
    assert not list(tmp_path.iterdir())
    assert Pauses(tmp_path / "gone", "blue").after(False, 5.0) == PAUSES[0]
