"""Names from outside: what is let in stays inside, whatever folder it is joined to."""

from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.domain import names
from roost.domain.errors import InvalidInput


@pytest.mark.parametrize(
    ("given_name", "path"),
    [
        ("outputs/model.pt", "outputs/model.pt"),
        ("./outputs//model.pt/", "outputs/model.pt"),
        ("a", "a"),
        ("..a/b..", "..a/b.."),
        ("...", "..."),
        ("%2e%2e/passwd", "%2e%2e/passwd"),  # nothing is decoded: these are letters like others
        ("%252e%252e%252fpasswd", "%252e%252e%252fpasswd"),
        ("a#b?c", "a#b?c"),
        ("~/x", "~/x"),
        ("$HOME/x", "$HOME/x"),
        ("ünïcödé/日本語.txt", "ünïcödé/日本語.txt"),
        ("at 10:30.txt", "at 10:30.txt"),
        (" ", " "),
        ("a/" * 511 + "b", "a/" * 511 + "b"),
        ("x" * 255, "x" * 255),
    ],
)
def test_paths_that_stay_inside(given_name: str, path: str) -> None:
    assert names.path(given_name) == path
    assert names.path(path) == path


HOSTILE = [
    "",
    ".",
    "/",
    "./",
    "//",
    "..",
    "../x",
    "a/..",
    "a/../b",
    "a/./../b",
    "./../x",
    "/etc/passwd",
    "//host/share",
    "a\\b",
    "..\\x",
    "\\\\host\\share",
    "C:/x",
    "C:",
    "C:x",
    "c:..",
    "a\0b",
    "a\nb",
    "a\tb",
    "a\x7fb",
    "a\x85b",
    "a\udcffb",
    "q\n",
    ".roost-part-0a1b",
    "a/.roost-part-0a1b",
    ".roost-part-0a1b/x",
    "x" * 256,
    "ü" * 128,
    "a/" * 512 + "b",
    None,
    7,
    b"a",
    Path("a"),
]


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: repr(name)[:30])
def test_hostile_paths_are_refused_with_a_reason(name: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        names.path(name)
    assert len(caught.value.message) < 2000


@given(st.text(st.sampled_from("./\\:ab%C\0 ~ü\n"), max_size=12) | st.text(max_size=40))
def test_whatever_is_let_in_stays_inside(name: str) -> None:
    try:
        path = names.path(name)
    except InvalidInput:
        return
    joined = PurePosixPath("/some/folder") / path
    assert joined.parts[:3] == ("/", "some", "folder")
    assert len(joined.parts) > 3
    assert ".." not in joined.parts
    windows = PureWindowsPath("D:/folder") / path
    assert windows.parts[:2] == ("D:\\", "folder")
    assert ".." not in windows.parts
    assert names.path(path) == path


@pytest.mark.parametrize(
    ("at", "target"),
    [
        ("a", "b"),
        ("a/b", "../c"),
        ("a/b/c", "../../d"),
        ("a", "./b"),
        ("a/b", ".."),
        ("a", "b/c"),
        ("a", "..b"),
        ("a", "."),
    ],
)
def test_links_that_stay_inside(at: str, target: str) -> None:
    assert names.link(at, target) == target


@pytest.mark.parametrize(
    ("at", "target"),
    [
        ("a", ".."),
        ("a", "../x"),
        ("a/b", "../../x"),
        ("a", "/etc/passwd"),
        ("a", ""),
        ("a", "b\\c"),
        ("a", "b\0"),
        ("a", None),
        ("a", "b/../../c"),
        ("m", "d/l/.."),  # `d/l` may be a link to the root
        ("a/b", ".././../x"),
    ],
)
def test_links_that_lead_outside(at: str, target: object) -> None:
    with pytest.raises(InvalidInput, match="leads outside"):
        names.link(at, target)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (
            names.experiment,
            ["a", "9-_x", "a" * 255],
            ["", "-a", "_a", "a" * 256, "a/b", "a.b", "ä", "a\n", "a b", None, 1],
        ),
        (names.workspace, ["abc", "a" * 33, "my-ws_1"], ["", "ab", "a" * 34, "-abc", "a/bc", "abc\n", "äbc", None]),
        (names.run_id, ["train_1700000000_1a2b3c4d", "a"], ["", "../x", "a/b", "a.b", "a" * 301, "-a", "a\n", None]),
        (names.spool, ["0-12-ab", "a.b"], ["", ".", "..", ".a", "a/b", "a\0", "a" * 129, None]),
        (
            names.blob,
            ["0" * 64, "0123456789abcdef" * 4],
            ["", "0" * 63, "0" * 65, "A" * 64, "g" * 64, "0" * 64 + "\n", None],
        ),
    ],
)
def test_tables_of_names(check, good: list[str], bad: list[object]) -> None:  # type: ignore[no-untyped-def]
    for name in good:
        assert check(name) == name
    for wrong in bad:
        with pytest.raises(InvalidInput, match=r"not allowed|not the hash"):
            check(wrong)


def test_a_new_run_id() -> None:
    made = names.new_run_id("train", 1700000000.9)
    assert made.startswith("train_1700000000_")
    assert len(made) == len("train_1700000000_") + 8
    assert names.run_id(made) == made
    assert made != names.new_run_id("train", 1700000000.9)


@pytest.mark.parametrize(
    ("name", "shown", "why"),
    [
        ("caf\udce9.txt", "caf\\xe9.txt", "it is not UTF-8"),
        ("bs\\x.txt", "bs\\x.txt", "it has a backslash"),
        ("C:x", "C:x", "it begins with a drive letter"),
        ("a\nb", "a\\nb", "it has a control character"),
    ],
)
def test_the_true_reason_is_said_in_letters_that_can_be_shown(name: str, shown: str, why: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        names.path(name)
    assert caught.value.message == f"Path '{shown}' is not allowed: {why}."
    assert f"`{shown}` ({why})" in names.left_out([name])


def test_files_that_are_left_out_are_named() -> None:
    assert names.left_out([]) == ""
    assert names.left_out(["a\\b"]).startswith("1 file is left out, since its name is not allowed: `a\\b`")
    assert " and 2 more. Rename them to have them." in names.left_out([f"{each}\\" for each in range(7)])
