import pytest

from roost.domain.errors import InvalidInput
from roost.domain.requirements import checked


@pytest.mark.parametrize(
    "line",
    [
        "pkg @ https://bob:open-sesame@host.test/pkg-1.whl",
        "https://open-sesame@host.test/pkg-1.whl",
        "git+https://open-sesame@host.test/org/pkg.git@v1",
        "pkg @ git+https://bob:open-sesame@host.test/org/pkg",
        "pkg @ git+ssh://git:open-sesame@host.test/org/pkg",
        "https://${USER}:open-sesame@host.test/pkg-1.whl",
        "https://bob:open-${REST}sesame@host.test/pkg-1.whl",
        "https://bob:p@open-sesame@host.test/pkg-1.whl",
    ],
)
def test_a_credential_in_the_clear_is_refused_and_not_shown(line: str) -> None:
    with pytest.raises(InvalidInput, match="written with a credential") as caught:
        checked([line])
    assert "sesame" not in str(caught.value) and "host.test" in str(caught.value)
    assert "${TOKEN}" in caught.value.hint


@pytest.mark.parametrize(
    "line",
    [
        "pkg @ https://bob:${PASSWORD}@host.test/pkg-1.whl",
        "git+https://${TOKEN}@host.test/org/pkg.git@v1",
        "https://${USER}:${PASSWORD}@host.test/pkg-1.whl",
        "git+ssh://git@host.test/org/pkg@v1",
        "pkg @ https://host.test/a@b/pkg-1.whl",
    ],
)
def test_a_variable_gives_nothing_away(line: str) -> None:
    assert checked([line]) == [line]


def test_two_options_in_a_line_are_two() -> None:
    lines = ["--index-url https://a.test/simple --extra-index-url=https://b.test/simple --pre"]
    assert checked(lines) == ["--extra-index-url=https://b.test/simple", "--index-url https://a.test/simple", "--pre"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--index-url https://a.test --proxy http://bob:open-sesame@b.test", "'--proxy' is not understood"),
        ("--index-url https://bob:open-sesame@a.test https://b.test", "'--index-url' takes one value, got 2"),
        ("--index-url", "'--index-url' takes one value, got 0"),
        ("--pre numpy", "'--pre' takes no value, got 1"),
    ],
)
def test_options_that_are_not_understood(line: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        checked([line])
    assert "sesame" not in str(caught.value)


def test_a_text_of_several_lines_is_several_requirements() -> None:
    assert checked(["numpy\nscipy # why\n", "torch \\\n >=1"]) == ["numpy", "scipy", "torch   >=1"]
    with pytest.raises(InvalidInput, match="'-r' is not understood"):
        checked(["numpy\n-r /etc/passwd"])
    with pytest.raises(InvalidInput, match="goes on"):
        checked(["numpy \\", "scipy"])


@pytest.mark.parametrize(
    ("line", "wanted"),
    [("six=1.16", "six==1.16"), ("six = 1.16", "six==1.16"), ("torch[cpu]=2.0=py3", "torch[cpu]==2.0")],
)
def test_one_sign_is_condas(line: str, wanted: str) -> None:
    with pytest.raises(InvalidInput, match=r"is not understood: pip compares with two signs") as caught:
        checked([line])
    assert repr(line) in str(caught.value) and wanted in caught.value.hint


def test_other_signs_are_pips() -> None:
    lines = [
        "a==1",
        "b>=1,<2",
        "c===1",
        "d~=1.0",
        "e!=2; python_version=='3.8'",
        "f[x]<=3",
        "g @ https://host.test/g?a=b",
    ]
    assert checked(lines) == lines
