"""Tables into pandas: the types of columns, and values that do not fit them."""

import json
from collections.abc import Mapping
from typing import Any

import pandas
import pytest
from tests.roost_job.tables import CSV, Make, files, read

from roost_job.data import columns, frames
from roost_job.exceptions import UserErrorException

__all__ = ["files"]


@pytest.mark.parametrize(
    ("kind", "bad"), [("integer", "x"), ("float", "x"), ("boolean", "maybe"), ("datetime", "yesterday")]
)
def test_a_value_that_does_not_fit_its_type(files: Make, kind: str, bad: str) -> None:
    good = "2020-01-01" if kind == "datetime" else "1"
    given = files({"a.csv": f"c,d\n{good},2\n{bad},3\n,4\n"})
    definition = {"format": {**CSV, "column_types": {"c": {"type": kind}}}}
    assert frames.read(definition, given)["c"].isnull().tolist()[1:] == [True, True]
    words = f"Column 'c' has 1 value that cannot be of the type '{kind}'; the first is '{bad}'."
    with pytest.raises(UserErrorException, match=words):
        frames.read(definition, given, strict=True)
    fits = files({"a.csv": "c,d\n,2\n"})
    assert frames.read(definition, fits, strict=True)["c"].isnull().tolist() == [True]


def test_a_type_for_a_column_that_is_not_there(files: Make) -> None:
    given, types = files({"a.csv": "c,d\n1,2\n"}), {"zz": {"type": "float"}}
    with pytest.raises(UserErrorException, match="names column 'zz', which the table does not have") as caught:
        read(given, column_types=types)
    assert caught.value.hint == "It has: 'c', 'd'."
    assert (
        len(read(given, {"op": "keep_columns", "columns": ["c"]}, column_types={"d": {"type": "float"}}).columns) == 1
    )
    lines = files({"a.jsonl": '{"c": 1}\n'})
    assert len(read(lines, type="json_lines", column_types=types)) == 1, "other rows may have it"


MIXED = ["2020-01-02", "2020-01-02T03:04:05Z", "2020-01-03 03:04", "2020-01-04T03:04:05.5+02:00"]


def test_times_each_written_in_its_own_way(files: Make) -> None:
    expected = [pandas.Timestamp(each) for each in ("2020-01-02", "2020-01-02T03:04:05", "2020-01-03T03:04")]
    expected.append(pandas.Timestamp("2020-01-04T01:04:05.5"))
    given = files(
        {"a.csv": "at\n" + "\n".join(MIXED), "b.jsonl": "\n".join(json.dumps({"at": each}) for each in MIXED)}
    )
    asked = read(given[:1], column_types={"at": {"type": "datetime", "formats": []}})
    assert asked["at"].tolist() == expected, "all of them are times, whatever the form of the first"
    step = {"op": "timestamps", "fine": "at", "coarse": None}
    after = {"op": "time_after", "time": "2020-01-01T00:00:00", "inclusive": True}
    assert read(given[1:], step, after, type="json_lines")["at"].tolist() == expected


def test_times_of_other_forms_keep_their_fractions(files: Make) -> None:
    text = "at\n01/02/2020 10:00:00.25\n01/03/2020 10:00:00.5\n2020-01-04\n"
    frame = read(files({"a.csv": text}), column_types={"at": {"type": "datetime", "formats": []}})
    stamps = ("2020-01-02T10:00:00.25", "2020-01-03T10:00:00.5", "2020-01-04")
    assert frame["at"].tolist() == [pandas.Timestamp(each) for each in stamps]


def test_truth_values_that_are_numbers_in_a_column_with_gaps(files: Make) -> None:
    frame = read(files({"a.csv": "ok,x\n1,a\n0,b\n,c\n"}), column_types={"ok": {"type": "boolean"}})
    assert frame["ok"].tolist() == [True, False, None]


@pytest.mark.parametrize("bad", ["1.7", "inf", "9223372036854775808"])
def test_what_is_no_whole_number_of_64_bits(files: Make, bad: str) -> None:
    given, types = files({"a.csv": f"n\n{bad}\n2\n"}), {"n": {"type": "integer"}}
    assert read(given, column_types=types)["n"].isnull().tolist() == [True, False]
    with pytest.raises(UserErrorException, match="has 1 value that cannot be of the type 'integer'"):
        frames.read({"format": {**CSV, "column_types": types}}, given, strict=True)


def test_truth_values_as_whole_numbers(files: Make) -> None:
    frame = read(files({"a.csv": "n\nTrue\nFalse\n"}), column_types={"n": {"type": "integer"}})
    assert frame["n"].tolist() == [1, 0]
    for kind, given in (("boolean", [True, None]), ("Int64", [1, None])):
        gaps = pandas.DataFrame({"n": pandas.array(given, dtype=kind)})
        made = columns.convert(gaps, {"n": {"type": "integer"}})["n"]
        assert (made[0], made.isnull().tolist()) == (1, [False, True])


class TestTimesOutOfRange:
    """A value with nine digits behind the point makes a column of nanoseconds, which hold the years 1678 to 2261 only."""

    TEXT = "at\n2020-01-01T00:00:00.123456789\n9999-12-31\n2020-01-03\n"

    @pytest.mark.parametrize("types", [{}, {"at": {"type": "datetime", "formats": []}}])
    def test_they_are_empty_or_refused(self, files: Make, types: Mapping[str, Any]) -> None:
        given, definition = files({"a.csv": self.TEXT}), {"format": {**CSV, "column_types": types}}
        frame = frames.read(definition, given, strict=True)
        assert str(frame["at"].dtype).startswith("datetime64"), "one sentinel leaves the others times"
        assert frame["at"].isnull().tolist() == [False, True, False]
        with pytest.raises(UserErrorException, match=r"'at' has 1 time out of the range .* '9999-12-31'") as caught:
            frames.read(definition, given, bounded=True)
        assert "out_of_range_datetime='null'" in str(caught.value)

    def test_what_is_no_time_at_all_is_not_out_of_range(self, files: Make) -> None:
        given = files({"a.csv": "at,x\n2020-01-01,1\n9999-13-31,2\n"})
        assert frames.read({"format": CSV}, given, bounded=True)["at"].tolist() == ["2020-01-01", "9999-13-31"]
        definition = {"format": {**CSV, "column_types": {"at": {"type": "datetime", "formats": ["%Y-%m-%d"]}}}}
        assert frames.read(definition, given, bounded=True)["at"].isnull().tolist() == [False, True]

    def test_words_behind_a_time_make_it_none(self, files: Make) -> None:
        days = ["2020-01-01"] * 250
        given = files({"a.csv": "\n".join(["at", *days, "9999-12-31 or later"])})
        assert read(given)["at"].tolist() == [*days, "9999-12-31 or later"]
        definition = {"format": {**CSV, "column_types": {"at": {"type": "datetime", "formats": []}}}}
        with pytest.raises(UserErrorException, match="has 1 value that cannot be of the type 'datetime'"):
            frames.read(definition, given, strict=True)

    @pytest.mark.parametrize(
        "text", ["9999-12-31,01/02/2020 10:00:00.123456789", "2020-01-01T00:00:00.123456789,12/31/9999"]
    )
    def test_beside_one_of_another_form(self, files: Make, text: str) -> None:
        given = files({"a.csv": "at\n" + text.replace(",", "\n")})
        frame = read(given, column_types={"at": {"type": "datetime", "formats": []}})
        assert frame["at"].isnull().tolist() == ["9999" in each for each in text.split(",")]
