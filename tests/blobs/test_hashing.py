"""The names of content."""

import threading
from pathlib import Path

from roost.blobs.hashing import hash_beside, hash_file


def test_beside_others_it_is_the_same_hash(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"abc" * 3_000_000)
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(hash_beside(tmp_path / "large", lambda: True)))
    thread.start()
    thread.join()
    assert found == [hash_file(tmp_path / "large")]


def test_what_nobody_wants_any_more_is_not_hashed_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(20_000_000))
    looks = iter([True, True, False])
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(hash_beside(tmp_path / "large", lambda: next(looks))))
    thread.start()
    thread.join()
    assert found == [""] and list(looks) == []
