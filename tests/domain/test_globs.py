"""Patterns of paths: what they match, quickly whatever they are, and the folder that all of it is in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.domain import globs
from roost.domain.errors import InvalidInput


@pytest.mark.parametrize(
    ("pattern", "meant", "not_meant"),
    [
        ("", ["a", "a/b"], []),
        ("a", ["a", "a/b", "a/b/c"], ["ab", "b/a", "b"]),
        ("a/*.csv", ["a/x.csv", "a/.csv"], ["a/b/x.csv", "x.csv", "a/x.csvx", "a/xcsv"]),
        ("**/*.csv", ["x.csv", "a/x.csv", "a/b/x.csv"], ["x.txt", "x.csv/y"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "ab/c"]),
        ("**", ["a", "a/b"], []),
        ("a/*/2018", ["a/x/2018", "a/x/2018/m.csv"], ["a/2018", "a/x/y/2018"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b/z"], ["a", "b"]),
        ("a?c", ["abc"], ["ac", "a/c", "abcd"]),
        ("a*b*c", ["abc", "axbxc"], ["acb", "a/b/c"]),
        ("**/a/**/*x*y", ["a/xy", "b/a/c/1x2y3y"], ["xy", "a/x/y"]),
        ("a[1].csv", ["a[1].csv"], ["a1.csv"]),
        ("(a+.x", ["(a+.x"], ["aa.x"]),
    ],
)
def test_what_is_meant(pattern: str, meant: list[str], not_meant: list[str]) -> None:
    fits = globs.matcher(globs.checked(pattern))
    assert [name for name in meant if not fits(name)] == []
    assert [name for name in not_meant if fits(name)] == []


WORDS = st.lists(st.text("ab*?", min_size=1, max_size=4) | st.just("**"), min_size=1, max_size=5).map("/".join)
NAMES = st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=5).map("/".join)


@given(WORDS, NAMES)
def test_both_ways_of_matching_agree(pattern: str, name: str) -> None:
    parts = pattern.split("/")
    if parts[-1] == "**":
        parts = [*parts, "*"]
    tests = [None if part == "**" else globs._part(part) for part in parts]
    tests += [] if globs.is_pattern(parts[-1]) else [None]
    if not any("**" in part and part != "**" for part in parts):
        assert globs.matcher(pattern)(name) == globs.fit(tests, name.split("/"))


def test_no_pattern_takes_long() -> None:
    fits = globs.matcher("/".join(["**", "*a*a*a*a*a*a*a*b"] * 8))
    assert not fits("/".join(["a" * 100] * 40))


def test_bases_and_what_they_share() -> None:
    assert [globs.base(each) for each in ("a/b", "a/*.csv", "*", "a/b/**/c", "a?/b")] == ["a/b", "a", "", "a/b", ""]
    assert globs.common(["a/b/c", "a/b", "a/bc"]) == "a" and globs.common(["a"]) == "a" and globs.common([]) == ""
    assert globs.below("a/b/c", "a") == "b/c" and globs.below("a", "") == "a"


@pytest.mark.parametrize("path", ["..", "../a", "a/../b", "a\\b", "a\x00", "c:/x", "./..", 3])
def test_paths_that_lead_outside(path: object) -> None:
    with pytest.raises(InvalidInput):
        globs.checked(path)


def test_paths_are_made_regular() -> None:
    assert [globs.checked(each) for each in ("/", "", "./", "/a//b/", "./a/*.csv")] == ["", "", "", "a/b", "a/*.csv"]
