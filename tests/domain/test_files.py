"""Manifests: equal folders have one text, and what is read back is what was written or an error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.domain import names
from roost.domain.errors import InvalidInput
from roost.domain.files import Entry, EntryKind, line, read_manifest, write_manifest

HASH = "0123456789abcdef" * 4


def is_path(text: str) -> bool:
    try:
        return names.path(text) == text
    except InvalidInput:
        return False


paths = st.text(min_size=1, max_size=20).filter(is_path)
entries = st.one_of(
    st.builds(
        Entry, paths, st.just(EntryKind.FILE), st.sampled_from([0o644, 0o755]), st.integers(0, 2**60), st.just(HASH)
    ),
    st.builds(Entry, paths, st.just(EntryKind.FOLDER), st.just(0o755)),
    st.builds(Entry, paths, st.just(EntryKind.LINK), st.just(0o777), st.just(0), st.just("target/file")),
)


def is_through_no_link(found: list[Entry]) -> bool:
    links = [f"{entry.path}/" for entry in found if entry.kind is EntryKind.LINK]
    return not any(entry.path.startswith(link) for entry in found for link in links)


@given(st.lists(entries, unique_by=lambda entry: entry.path).filter(is_through_no_link))
def test_a_manifest_reads_back_whatever_the_order(found: list[Entry]) -> None:
    text = write_manifest(found)
    assert write_manifest(reversed(found)) == text
    assert read_manifest(text) == sorted(found, key=lambda entry: entry.path)


def test_the_text_of_an_entry() -> None:
    assert line(Entry("a/b", EntryKind.FILE, 0o755, 7, HASH)) == f"f\t755\t7\t{HASH}\ta/b\n"
    assert read_manifest(b"") == []


@pytest.mark.parametrize(
    "text",
    [
        "nonsense\n",
        f"f\t644\t1\t{HASH}\t../x\n",
        f"f\t644\t1\t{HASH}\t/x\n",
        "f\t644\t1\tnot-a-hash\ta\n",
        f"x\t644\t1\t{HASH}\ta\n",
        f"f\t999\t1\t{HASH}\ta\n",
        f"f\t644\tmany\t{HASH}\ta\n",
        "l\t777\t0\t../../x\ta\n",
        "l\t777\t0\t/etc\ta\n",
        f"f\t644\t1\t{HASH}\ta\tb\n",
        f"f\t644\t1\t{HASH}\ta\n\n",
        f"l\t777\t0\tb\ta\nf\t644\t1\t{HASH}\ta/x\n",
        f"f\t644\t1\t{HASH}\ta/b/x\nl\t777\t0\tb\ta\n",
        "l\t777\t0\tb\ta\nl\t777\t0\t..\ta/x\n",
    ],
)
def test_damaged_and_hostile_lines_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        read_manifest(text.encode())


def test_a_manifest_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidInput):
        read_manifest(b"\xff\xfe\n")
