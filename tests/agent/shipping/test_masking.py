"""Masking: the same bytes whatever pieces a log came in, and nothing of a secret in any of them."""

import base64
import json
import re
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.agent.folder import Folder
from roost.agent.shipping.masking import MASK, Mask, Masks
from roost.domain.secret_forms import patterns

SECRET = "s3cr3t-Wört"


def masked(text, *values, at=()):
    """The text fed in pieces that end at these places."""
    mask = Mask(patterns(values))
    data = text.encode() if isinstance(text, str) else text
    out, start = b"", 0
    for place in (*at, len(data)):
        out += mask.feed(data[start:place])
        start = place
    return out + mask.feed(b"", last=True)


def test_a_value_split_at_every_position():
    text = f"before {SECRET} between {SECRET}{SECRET} after\n".encode()
    whole = b"before *** between ****** after\n"
    for place in range(len(text) + 1):
        assert masked(text, SECRET, at=(place,)) == whole, place
    assert masked(text, SECRET, at=tuple(range(len(text)))) == whole


def test_values_that_begin_alike_and_stand_in_each_other():
    for place in range(40):
        assert masked("x abcd y abcdef z abcde", "abcd", "abcdef", at=(place,)) == b"x *** y *** z ***e"
        assert masked("xabc abcx", "xabc", "abcx", at=(place,)) == b"*** ***"
        assert masked("aaaaaaa", "aaaab", at=(place,)) == b"aaaaaaa"


def test_values_of_several_lines_are_hidden_line_by_line():
    key = "-----BEGIN KEY-----\r\nMIIEabc123\nxyz\n}\n-----END KEY-----\n"
    assert {b"-----BEGIN KEY-----", b"-----END KEY-----", b"MIIEabc123"} < set(patterns([key]))
    shown = masked(f"it is:\n{key}and MIIEabc123 again xyz", key)
    assert shown == b"it is:\n***\r\n***\nxyz\n}\n***\nand *** again xyz"


@pytest.mark.parametrize("value", ["", "abc", "a\nbc\n", "   \n"])
def test_short_values_would_stand_everywhere(value):
    assert patterns([value]) == ()


HARD = 'p@ss "w\\rd"/Wört+1 & more=%\t!'


@pytest.mark.parametrize(
    "spelt",
    [
        json.dumps,
        lambda value: json.dumps({"password": value, "other": [value]}, ensure_ascii=False),
        lambda value: repr({"password": value}),
        lambda value: repr(value.encode()),
        urllib.parse.quote,
        lambda value: urllib.parse.quote(value, safe=""),
        lambda value: urllib.parse.urlencode({"a": value, "b": 1}),
        lambda value: urllib.parse.quote(value, safe="!'()*"),
        lambda value: re.sub("%..", lambda found: found[0].lower(), urllib.parse.quote(value)),
    ],
    ids=["json", "json unicode", "repr", "bytes", "quote", "quote all", "form", "encodeURIComponent", "lower hex"],
)
@pytest.mark.parametrize("value", [HARD, "hunter22", SECRET, "a/b+c==", "tab\there", "line one\nline: two\n"])
def test_spellings_of_a_value_are_hidden(value, spelt):
    text = f"before {spelt(value)} after"
    shown = masked(text, value).decode()
    assert "***" in shown and shown.startswith("before ") and shown.endswith(" after")
    for line in value.splitlines():
        for part in re.findall("[A-Za-z0-9]{4,}", line):
            assert part not in shown
    for place in range(0, len(text.encode()), 3):
        assert masked(text, value, at=(place,)).decode() == shown


@pytest.mark.parametrize("value", [HARD, "hunter22", SECRET, "?>?>?>?>??>>", "f00d", "line one\nline: two\n"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize(
    "around", [(b"", b""), (b"u", b""), (b"me", b"!"), (b"me:", b":x"), (b"user:", b"\n"), (b"x" * 50, b"y")]
)
def test_base64_of_a_value_is_hidden_wherever_it_stands_in_what_was_encoded(value, encode, around):
    before, after = around
    shown = masked(encode(before + value.encode() + after), value)
    assert MASK in shown
    longest = max(map(len, shown.split(MASK)))
    assert longest <= 4 + 4 * max(len(before), len(after)) // 3, "but for what stands beside it, and half a letter"
    if not after:
        assert shown.endswith(MASK), "nothing of its end is left over"
    if not before and not after:
        assert shown == MASK


@pytest.mark.parametrize("width", [64, 76])
def test_base64_in_lines_is_hidden(width):
    key = "-----BEGIN KEY-----\n" + "\n".join(str(number) * 60 for number in range(10, 30)) + "\n-----END KEY-----\n"
    encoded = base64.b64encode(key.encode()).decode()
    lines = [encoded[at : at + width] for at in range(0, len(encoded), width)]
    assert len(lines) > 5
    shown = masked("\n".join(lines), key).decode().split("\n")
    assert shown[:-1] == ["***"] * (len(lines) - 1) and len(shown[-1]) < 8


def test_a_dense_text_is_as_before():
    assert masked("a" * 100_003, "aaaa") == b"***" * 25_000 + b"aaa"


def test_bytes_that_are_no_text_stay():
    assert masked(b"\xff\x00 hunter22 \xfe", "hunter22", at=(3, 7)) == b"\xff\x00 *** \xfe"


@given(
    words=st.lists(st.text("ab", min_size=4, max_size=7), min_size=1, max_size=3),
    text=st.text("abc", max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=6),
)
def test_pieces_never_matter(words, text, cuts):
    whole = masked(text, *words)
    assert masked(text, *words, at=tuple(sorted(min(cut, len(text)) for cut in cuts))) == whole
    found = re.compile("|".join(sorted(map(re.escape, words), key=len, reverse=True)))
    assert whole.decode() == found.sub("***", text)


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path / "runs" / "exp_1_ab")
    made.root.mkdir(parents=True)
    return made


class TestLogs:
    def test_a_log_is_sent_as_it_is_while_there_is_nothing_to_hide(self, folder):
        folder.std_log.write_text("hello")
        masks = Masks(folder)
        masks.add(["abc"])
        assert masks.shown("std", folder.std_log) == (folder.std_log, False)
        assert masks.sealed("std", folder.std_log) == folder.std_log
        assert masks.hide("hello") == "hello"

    def test_a_growing_log(self, folder):
        masks = Masks(folder)
        folder.std_log.write_text("begin\n")
        masks.add(["hunter22"])
        copy, differs = masks.shown("std", folder.std_log)
        assert (copy.read_text(), differs) == ("begin\n", False)
        for letter in "it is hunter22":
            with folder.std_log.open("a") as file:
                file.write(letter)
            copy, differs = masks.shown("std", folder.std_log)
            assert "hunt" not in copy.read_text()
            assert not differs
        assert copy.read_text() == "begin\nit is ***"
        with folder.std_log.open("a") as file:
            file.write(" hunter2")
        assert masks.shown("std", folder.std_log)[0].read_text() == "begin\nit is *** "
        assert masks.shown("std", folder.std_log, last=True)[0].read_text() == "begin\nit is *** hunter2"
        assert masks.sealed("std", folder.std_log).read_bytes() == copy.read_bytes()
        assert folder.std_log.read_text() == "begin\nit is hunter22 hunter2"

    def test_what_was_written_before_is_hidden_too_and_sent_again(self, folder):
        masks = Masks(folder)
        folder.std_log.write_text("hunter22 swordfish\n")
        masks.add(["hunter22"])
        copy, differs = masks.shown("std", folder.std_log)
        assert (copy.read_text(), differs) == ("*** swordfish\n", True)
        masks.add(["hunter22"])
        assert masks.shown("std", folder.std_log) == (copy, False)
        masks.add(["swordfish"])
        copy, differs = masks.shown("std", folder.std_log)
        assert (copy.read_text(), differs) == ("*** ***\n", True)

    def test_a_log_that_begins_anew(self, folder):
        masks = Masks(folder)
        masks.add(["hunter22"])
        folder.std_log.write_text("first and longer hunter22\n")
        masks.shown("std", folder.std_log)
        folder.std_log.write_text("second hunter22\n")
        copy, differs = masks.shown("std", folder.std_log)
        assert (copy.read_text(), differs) == ("second ***\n", True)

    def test_a_salvage_pass_knows_what_to_hide(self, folder):
        Masks(folder).add(["hunter22"])
        assert folder.secrets.stat().st_mode & 0o777 == 0o600
        assert json.loads(folder.secrets.read_text()) == ["hunter22"]
        folder.std_log.write_text("hunter22 again")
        masks = Masks(folder)
        assert masks.sealed("std", folder.std_log).read_text() == "*** again"
        assert masks.hide("Error: hunter22") == "Error: ***"
